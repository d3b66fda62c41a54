"""A thousand at once: each is answered, each start makes its one run, nothing is left behind."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections import Counter
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from infra.local.testing import running_stack

COUNT = itertools.count()
CROWD = 1000
LIMITS = httpx.Limits(max_connections=100)


def together(http: httpx.Client, requests: list[tuple[str, str, dict[str, Any]]]) -> list[httpx.Response]:
    """The answers to requests sent by a hundred at a time."""

    async def all_of_them() -> list[httpx.Response]:
        async with httpx.AsyncClient(base_url=http.base_url, timeout=300, limits=LIMITS) as client:
            return await asyncio.gather(
                *(client.request(method, path, **options) for method, path, options in requests)
            )

    return asyncio.run(all_of_them())


@pytest.mark.slow
def test_a_thousand_starts_at_once_make_a_run_for_each_key_and_id(http: httpx.Client):
    namespace = {"Baton-Namespace": f"crowd-{next(COUNT)}"}
    wishes: list[tuple[str, str, dict[str, Any]]] = []
    for number in range(CROWD):
        key = {"Idempotency-Key": f"key-{number // 4}"} if number % 2 else {}
        run_id = {} if number % 2 else {"run_id": f"id-{number // 4}"}
        wishes.append(("POST", "/v1/runs", {"json": {"workflow": "w", **run_id}, "headers": namespace | key}))
    answers = together(http, wishes)
    assert Counter(answer.status_code for answer in answers) == {201: 500, 200: 250, 409: 250}
    made = [answer.json()["run"]["id"] for answer in answers if answer.status_code == 201]
    assert len(set(made)) == 500

    listed: list[str] = []
    query: dict[str, Any] = {"limit": 100}
    while True:
        page = http.get("/v1/runs", params=query, headers=namespace).json()
        listed += [run["id"] for run in page["runs"]]
        if "next_token" not in page:
            break
        query["next_token"] = page["next_token"]
    assert sorted(listed) == sorted(made)


BUSY = ("x", "cancel", "closing")


@pytest.mark.slow
def test_a_crowd_on_one_run_appends_all_and_settles_once(http: httpx.Client):
    run = f"/v1/runs/crowded-{next(COUNT)}"
    http.post("/v1/runs", json={"workflow": "w", "run_id": run.rpartition("/")[2]})
    asked: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", f"{run}/stream", {"json": {"type": "x", "data": number}}) for number in range(150)
    ]
    asked += [
        ("POST", f"{run}/finish", {"json": {"status": "completed", "output": number}}) for number in range(20)
    ]
    asked += [("GET", f"{run}/stream", {}), ("GET", run, {}), ("POST", f"{run}/cancel", {"json": {}})] * 10
    answers = together(http, asked)
    appended, finished = answers[:150], answers[150:170]
    assert {answer.status_code for answer in answers} <= {200, 204, 409}
    assert [answer.json()["finished"] for answer in finished].count(True) == 1
    assert len({answer.json()["run"]["output"] for answer in finished}) == 1
    log = http.get(f"{run}/stream").json()
    assert [message["seq"] for message in log] == list(range(len(log)))
    assert [message["type"] for message in log if message["type"] not in BUSY] == ["start", "end"]
    assert log[-1]["type"] == "end"
    kept = [number for number, answer in enumerate(appended) if answer.status_code == 204]
    assert sorted(message["data"] for message in log if message["type"] == "x") == kept


def test_a_stack_that_is_stopped_amid_readers_leaves_no_thread():
    before = {thread.name for thread in threading.enumerate()}
    with httpx.Client(timeout=30) as client, ExitStack() as reading, running_stack() as stack:
        client.post(f"{stack.url}/v1/runs", json={"workflow": "w", "run_id": "a"})
        for query in ("stream?offset=-1&live=sse", "stream?offset=0000000000000001_00000&live=sse"):
            answer = reading.enter_context(client.stream("GET", f"{stack.url}/v1/runs/a/{query}"))
            assert b"retry" in next(answer.iter_raw())
    left = {thread.name for thread in threading.enumerate()} - before
    assert [name for name in left if not name.startswith("dynamo")] == []  # those go with the runtime
