"""A run's whole life over real HTTP, on DynamoDB in process and on DynamoDB Local."""

import itertools
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import httpx_sse
import pytest

from infra.local.testing import running_stack

SECONDS = 15
COUNT = itertools.count()


@pytest.fixture(scope="module")
def on_dynamodb_local(dynamodb_local_url):
    with running_stack(endpoint_url=dynamodb_local_url) as stack:
        yield stack


@pytest.fixture(params=["moto", pytest.param("dynamodb_local", marks=pytest.mark.dynamodb_local)])
def client(request):
    """A client with a namespace of its own."""
    stack = request.getfixturevalue("stack" if request.param == "moto" else "on_dynamodb_local")
    namespace = f"life-{next(COUNT)}"
    with httpx.Client(base_url=stack.url, headers={"Baton-Namespace": namespace}, timeout=SECONDS) as client:
        yield client


def started(client, **wish):
    answer = client.post("/v1/runs", json={"workflow": "build", **wish})
    assert answer.status_code == 201, answer.text
    return f"/v1/runs/{answer.json()['run']['id']}"


def append(client, run, seq, *lines):
    messages = [{"type": "stdout", "data": {"line": line}} for line in lines]
    headers = {"Producer-Id": "p", "Producer-Epoch": "0", "Producer-Seq": str(seq)}
    answer = client.post(f"{run}/stream", json=messages, headers=headers)
    assert answer.status_code in (200, 204), answer.text
    return answer


def finish(client, run, status="completed", **more):
    answer = client.post(f"{run}/finish", json={"status": status, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


def events(client, run, offset="-1", **headers):
    """(id, messages) of each data frame of one connection, until it ends."""
    query = {"live": "sse", "offset": offset}
    with httpx_sse.connect_sse(client, "GET", f"{run}/stream", params=query, headers=headers) as source:
        for event in source.iter_sse():
            if event.event == "data":
                yield event.id, json.loads(event.data)


def lines_of(messages):
    return [message["data"]["line"] for message in messages if message["type"] == "stdout"]


def test_a_run_is_started_once_logged_whole_and_finished_once(client):
    key = {"Idempotency-Key": "k"}
    first = client.post("/v1/runs", json={"workflow": "build", "input": {"n": 0.1}}, headers=key)
    again = client.post("/v1/runs", json={"workflow": "build", "input": {"n": 0.1}}, headers=key)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["run"]["id"] == again.json()["run"]["id"]
    run = f"/v1/runs/{first.json()['run']['id']}"
    append(client, run, 0, "one", "two")
    append(client, run, 0, "one", "two")
    append(client, run, 1, "three")
    assert finish(client, run, output={"ok": True})["finished"] is True
    assert finish(client, run, "failed")["run"]["state"] == "completed"
    messages = client.get(f"{run}/stream").json()
    assert [(message["seq"], message["type"]) for message in messages] == [
        (0, "start"),
        (1, "stdout"),
        (2, "stdout"),
        (3, "stdout"),
        (4, "end"),
    ]
    assert lines_of(messages) == ["one", "two", "three"]
    detail = client.get(run).json()["run"]
    assert (detail["state"], detail["output"], detail["input"]) == ("completed", {"ok": True}, {"n": 0.1})


def test_a_reader_who_joins_late_sees_all_of_it_and_then_what_comes(client):
    run = started(client)
    append(client, run, 0, "before")
    seen: list[dict] = []
    reading = events(client, run)
    while "before" not in lines_of(seen):
        seen += next(reading)[1]
    append(client, run, 1, "while it reads")
    while "while it reads" not in lines_of(seen):
        seen += next(reading)[1]
    finish(client, run)
    seen += [message for _, messages in reading for message in messages]
    assert [message["seq"] for message in seen] == [0, 1, 2, 3]
    assert seen[-1]["type"] == "end"


def test_a_reader_who_drops_and_comes_back_with_its_last_event_id_misses_and_repeats_nothing(client):
    run = started(client)
    seen: list[dict] = []
    last_id = None
    for number in range(4):
        append(client, run, number, f"line {number}")
        headers: dict[str, str] = {} if last_id is None else {"Last-Event-ID": last_id}
        reading = events(client, run, **headers)
        while f"line {number}" not in lines_of(seen):
            last_id, messages = next(reading)
            seen += messages
        reading.close()
    finish(client, run)
    seen += [
        message for _, messages in events(client, run, **{"Last-Event-ID": last_id}) for message in messages
    ]
    assert [message["seq"] for message in seen] == list(range(6))


def test_who_joins_a_settled_run_is_done_at_once(client):
    run = started(client)
    finish(client, run)
    messages = [message for _, messages in events(client, run) for message in messages]
    assert [message["type"] for message in messages] == ["start", "end"]
    tail = client.head(f"{run}/stream")
    assert tail.headers["stream-closed"] == "true"
    again = client.get(
        f"{run}/stream", params={"live": "long-poll", "offset": tail.headers["stream-next-offset"]}
    )
    assert (again.status_code, again.headers["stream-closed"]) == (204, "true")


def test_who_waits_learns_of_the_end_when_it_comes(client):
    run = started(client)
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(client.get, f"{run}/wait", params={"timeout_seconds": 10})
        finish(client, run, "failed", error={"message": "no"})
        answer = waiting.result(SECONDS).json()
    assert (answer["terminal"], answer["run"]["state"]) == (True, "failed")


def test_a_cancelled_run_is_resumed_and_its_log_goes_on(client):
    run = started(client)
    assert client.post(f"{run}/cancel", json={"reason": "enough"}).json()["run"]["cancel_requested"]
    assert finish(client, run, "cancelled", resumable=True)["run"]["state"] == "cancelled"
    resumed = client.post(f"{run}/resume").json()
    assert (resumed["resumed"], resumed["run"]["attempt"], resumed["run"]["state"]) == (True, 2, "running")
    done = client.post(f"{run}/finish", json={"status": "completed"}, headers={"Baton-Attempt": "2"})
    assert done.json()["run"]["state"] == "completed"
    kinds = [message["type"] for message in client.get(f"{run}/stream").json()]
    assert kinds == ["start", "cancel", "end", "resumed", "end"]


def test_runs_are_listed_page_by_page_and_deleted_for_good(client):
    runs = [started(client, run_id=f"r{number}") for number in range(3)]
    page = client.get("/v1/runs", params={"limit": 2}).json()
    rest = client.get("/v1/runs", params={"limit": 2, "next_token": page["next_token"]}).json()
    assert [run["id"] for run in page["runs"] + rest["runs"]] == ["r2", "r1", "r0"]
    assert client.delete(runs[0]).status_code == 409
    finish(client, runs[0])
    assert client.delete(runs[0]).status_code == 204
    assert client.get(runs[0]).status_code == 404


def test_of_many_who_start_with_one_key_at_once_all_get_the_same_run(client):
    ready = threading.Barrier(16)

    def start(_):
        ready.wait(SECONDS)
        answer = client.post("/v1/runs", json={"workflow": "build"}, headers={"Idempotency-Key": "one"})
        return answer.status_code, answer.json()["run"]["id"]

    with ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(start, range(16)))
    assert sorted(status for status, _ in answers) == [200] * 15 + [201]
    assert len({id_ for _, id_ in answers}) == 1


def test_many_at_once_are_each_told_of_their_own(client):
    runs = [started(client, run_id=f"own-{number}") for number in range(24)]
    with ThreadPoolExecutor(24) as threads:
        answers = list(threads.map(client.get, runs))
    assert [f"/v1/runs/{answer.json()['run']['id']}" for answer in answers] == runs


def test_the_sweep_ends_a_run_that_nobody_drives_on(client):
    run = started(client, inactivity_timeout_seconds=1)
    answer = client.get(f"{run}/wait", params={"timeout_seconds": 10}).json()["run"]
    assert (answer["state"], answer["error"]["type"]) == ("failed", "inactivity")
