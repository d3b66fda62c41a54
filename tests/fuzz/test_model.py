"""Any sequence of requests about one run id is answered as the contract says, and its log tells the same."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import httpx
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from tests.fuzz.model import Answer, Model

COUNT = itertools.count()
RUN = "/v1/runs/the-run"
KEYS = st.sampled_from([None, "a", "b"])
ATTEMPTS = st.sampled_from([None, 1, 2, 3])
STARTS = st.sampled_from(
    [
        {"input": 1},
        {"input": {"big": "x" * 600}},
        {"input": None, "mode": "queued"},
        {"input": [], "inactivity_timeout_seconds": 0},
    ]
)
ENDINGS = st.sampled_from(
    [
        {"status": "completed", "output": {"a": 1}},
        {"status": "failed", "resumable": True, "error": {"message": "m"}},
        {"status": "failed"},
        {"status": "cancelled", "output": 0, "resumable": True},
    ]
)
CANCELS = st.sampled_from([{}, {"reason": "r"}, {"force": True}, {"reason": "s", "force": True}])
PRODUCERS = st.none() | st.tuples(st.integers(0, 2), st.integers(0, 2))
SEQS = st.sampled_from([None, None, "a", "b", "c"])


def given(**headers: Any) -> dict[str, str]:
    return {name.replace("_", "-"): str(value) for name, value in headers.items() if value is not None}


class OneRun(RuleBasedStateMachine):
    """Requests about one id in a namespace of its own."""

    def __init__(self, http: httpx.Client) -> None:
        super().__init__()
        self.http = http
        self.namespace = f"model-{next(COUNT)}"
        self.model = Model()
        self.tail: str | None = None

    def ask(self, method: str, path: str, body: Any = None, **headers: Any) -> httpx.Response:
        answer = self.http.request(
            method,
            path,
            json=body,
            headers=given(baton_namespace=self.namespace, baton_tail=self.tail, **headers),
        )
        self.tail = answer.headers.get("baton-tail", self.tail)
        return answer

    @staticmethod
    def told(answer: httpx.Response) -> Answer:
        slug = "" if answer.is_success else answer.json()["type"].removeprefix("urn:baton:")
        return answer.status_code, slug

    @rule(key=KEYS, wish=STARTS)
    def start(self, key: str | None, wish: dict[str, Any]) -> None:
        body = {"workflow": "w", "run_id": "the-run", **wish}
        expected, started = self.model.start(key, body)
        answer = self.ask("POST", "/v1/runs", body, idempotency_key=key)
        assert self.told(answer) == expected
        assert answer.json().get("started", False) == started

    @rule(data=st.integers(0, 9), attempt=ATTEMPTS, producer=PRODUCERS, seq=SEQS)
    def append(
        self, data: int, attempt: int | None, producer: tuple[int, int] | None, seq: str | None
    ) -> None:
        expected = self.model.append(data, attempt, producer, seq)
        named = (
            {"producer_id": "p", "producer_epoch": producer[0], "producer_seq": producer[1]}
            if producer
            else {}
        )
        answer = self.ask(
            "POST",
            f"{RUN}/stream",
            {"type": "x", "data": data},
            baton_attempt=attempt,
            stream_seq=seq,
            **named,
        )
        assert self.told(answer) in expected

    @rule(key=KEYS, attempt=ATTEMPTS, body=ENDINGS)
    def finish(self, key: str | None, attempt: int | None, body: dict[str, Any]) -> None:
        expected, finished = self.model.finish(key, attempt, body)
        answer = self.ask("POST", f"{RUN}/finish", body, idempotency_key=key, baton_attempt=attempt)
        assert self.told(answer) == expected
        assert answer.json().get("finished", False) == finished

    @rule(key=KEYS, body=CANCELS)
    def cancel(self, key: str | None, body: dict[str, Any]) -> None:
        expected = self.model.cancel(key, body)
        assert self.told(self.ask("POST", f"{RUN}/cancel", body, idempotency_key=key)) == expected

    @rule(key=KEYS, force=st.booleans())
    def resume(self, key: str | None, force: bool) -> None:
        expected, resumed = self.model.resume(key, force)
        answer = self.ask("POST", f"{RUN}/resume", {"force": force}, idempotency_key=key)
        assert self.told(answer) == expected
        assert answer.json().get("resumed", False) == resumed

    @rule()
    def delete(self) -> None:
        expected = self.model.delete()
        assert self.told(self.ask("DELETE", RUN)) == expected

    @invariant()
    def run_and_log_are_the_models(self) -> None:
        life, answer, log = self.model.life, self.ask("GET", RUN), self.ask("GET", f"{RUN}/stream")
        if life is None:
            assert answer.status_code == log.status_code == 404
            return
        run = answer.json()["run"]
        assert (run["state"], run["attempt"], run["mode"]) == (life.state, life.attempt, life.mode)
        assert (run["output"], run["error"], run["resumable"]) == (life.output, life.error, life.resumable)
        assert run["input"] == life.body["input"]
        assert (run["cancel_requested"] is not None) == (life.cancel is not None)
        said = [(message["type"], message["attempt"], message["data"]) for message in log.json()]
        assert said == life.log
        assert [message["seq"] for message in log.json()] == list(range(len(said)))
        assert run["next_offset"] == log.headers["stream-next-offset"]
        assert ("stream-closed" in log.headers) == life.settled


def lived(http: httpx.Client, lives: int, steps: int) -> None:
    made: Any = partial(OneRun, http)
    run_state_machine_as_test(
        made, settings=settings(max_examples=lives, stateful_step_count=steps, deadline=None)
    )


def test_a_run_lives_as_the_contract_says(http: httpx.Client):
    lived(http, lives=10, steps=20)


@pytest.mark.slow
def test_many_runs_live_as_the_contract_says(http: httpx.Client):
    lived(http, lives=40, steps=25)
