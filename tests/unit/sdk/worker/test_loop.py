"""A worker at work: so many runs at once as it may, announced, and in good order when it is told to stop."""

from __future__ import annotations

import logging
import threading

import pytest

from baton_sdk import Forbidden, InvalidRequest, Unauthenticated
from baton_sdk.worker import loop
from tests.unit.sdk import service as faults
from tests.unit.sdk.service import problem

GUARD_SECONDS = 20


@pytest.fixture(autouse=True)
def brisk(monkeypatch):
    """Nobody waits for a long poll of a test's service."""
    monkeypatch.setattr(loop, "CLAIM_WAIT_SECONDS", 0.05)
    monkeypatch.setattr(loop, "IDLE_SECONDS", 0.0)
    monkeypatch.setattr(loop, "GRACE_SECONDS", 0.05)


class Gate:
    """Holds functions until it is opened, and counts who came."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self._came = threading.Semaphore(0)

    def __call__(self):
        self._came.release()
        assert self.open.wait(GUARD_SECONDS)
        return 1

    def wait_for(self, count):
        for _ in range(count):
            assert self._came.acquire(timeout=GUARD_SECONDS)

    def crowded(self):
        return self._came.acquire(timeout=0.1)


class AtWork:
    """A worker whose ``run`` is in a thread of its own."""

    def __init__(self, worker) -> None:
        self.worker = worker
        self.raised: Exception | None = None
        self._thread = threading.Thread(target=self._run)

    def _run(self):
        try:
            self.worker.run(signals=False)
        except Exception as error:  # noqa: BLE001 - looked at by the test
            self.raised = error

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.worker.stop()
        self.ended()

    def ended(self):
        self._thread.join(GUARD_SECONDS)
        assert not self._thread.is_alive()


@pytest.fixture
def gate():
    gate = Gate()
    yield gate
    gate.open.set()


@pytest.fixture
def busy(hire, gate):
    """A worker of two hands, with the machine's clock."""
    worker = hire(clock=None, concurrency=2, drain_seconds=0.05)
    worker.workflow("report", on_completed=["build"])(lambda ctx: ctx.step("a", gate))
    return worker


def test_it_is_announced_before_it_claims_and_performs_what_comes(busy, baton, gate):
    gate.open.set()
    baton.start("r1")
    with AtWork(busy):
        assert baton.settled("r1")
        baton.start("r2")
        assert baton.settled("r2")
    assert baton.seen[:2] == ["workers", "claims"]
    (announced,) = baton.bodies["workers"]
    assert announced["workflows"] == [{"name": "report", "subscribes": [{"event": "run.completed:build"}]}]


def test_as_many_runs_at_once_as_it_may_and_claims_only_what_there_is_room_for(busy, baton, gate):
    for number in range(5):
        baton.start(f"r{number}")
    with AtWork(busy):
        gate.wait_for(2)
        assert not gate.crowded()
        gate.open.set()
        assert baton.settled(*baton.rows)
    assert max(body["max"] for body in baton.bodies["claims"]) == 2


def test_told_to_stop_it_claims_no_more_and_lets_functions_end(hire, baton, gate):
    worker = hire(clock=None, drain_seconds=GUARD_SECONDS)
    worker.workflow("report")(lambda ctx: ctx.step("a", gate))
    baton.start("r1")
    with AtWork(worker) as work:
        gate.wait_for(1)
        worker.stop()
        assert worker._loop._stopping.wait(GUARD_SECONDS)
        baton.start("r2")
        gate.open.set()
        work.ended()
    assert (baton.state("r1"), baton.state("r2")) == ("completed", "pending")


def test_a_function_that_has_not_ended_in_time_ends_at_its_next_call(hire, baton, gate):
    worker = hire(clock=None, drain_seconds=0.05)
    reached = []

    def report(ctx):
        ctx.step("a", gate)
        reached.append(1)
        ctx.step("b", lambda: reached.append(2))

    worker.workflow("report")(report)
    baton.start("r1")
    with AtWork(worker) as work:
        gate.wait_for(1)
        (execution,) = worker._loop._performing()
        worker.stop()
        assert execution._standing.stirred.wait(GUARD_SECONDS)
        gate.open.set()
        work.ended()
    assert reached in ([1], [])
    assert (baton.state("r1"), baton.rows["r1"].error) == ("pending", None)


def test_what_does_not_end_at_all_is_given_back_and_holds_nobody(busy, baton, gate, caplog):
    baton.start("r1")
    with AtWork(busy) as work:
        gate.wait_for(1)
        busy.stop()
        work.ended()
        assert (baton.state("r1"), baton.rows["r1"].released) == ("pending", ("w1", 1))
    gate.open.set()
    assert baton.seen.count("release") == 1


def test_told_twice_it_stops_at_once(hire, baton, gate, caplog):
    caplog.set_level(logging.INFO, "baton_sdk.worker")
    worker = hire(clock=None, drain_seconds=GUARD_SECONDS)
    worker.workflow("report")(lambda ctx: ctx.step("a", gate))
    baton.start("r1")
    with AtWork(worker) as work:
        gate.wait_for(1)
        worker.stop()
        worker.stop()
        work.ended()
    assert baton.state("r1") == "pending"
    (stopping,) = [each.message for each in caplog.records if each.message.startswith("stopping")]
    assert stopping.endswith("; a second signal gives all of it back at once")


def test_runs_of_a_claim_that_was_under_way_when_it_stopped_are_given_back(busy, baton, gate):
    asked, stopped = threading.Event(), threading.Event()

    def held(request, handler):
        asked.set()
        assert stopped.wait(GUARD_SECONDS)
        return handler(request)

    baton.fate["claims"].append(held)
    busy.drain_seconds = GUARD_SECONDS
    with AtWork(busy) as work:
        assert asked.wait(GUARD_SECONDS)
        baton.start("r1")
        busy.stop()
        assert busy._loop._stopping.wait(GUARD_SECONDS)
        stopped.set()
        work.ended()
    assert (baton.state("r1"), baton.rows["r1"].released) == ("pending", ("w1", 1))


@pytest.mark.parametrize("fault", [faults.refused, faults.unavailable, faults.lost_reply, faults.broken])
def test_an_outage_is_outlasted_and_loses_no_claim(fault, busy, baton, gate, caplog):
    caplog.set_level(logging.INFO, "baton_sdk.worker")
    gate.open.set()
    baton.fate["workers"].extend([fault] * 8)
    baton.fate["claims"].extend([fault] * 20)
    baton.start("r1")
    with AtWork(busy):
        assert baton.settled("r1")
    keys = [headers["idempotency-key"] for headers in baton.headers["claims"][:20]]
    assert len(set(keys)) == 1
    assert "the service is reached again" in [each.message for each in caplog.records]
    assert baton.rows["r1"].run["attempt"] == 1


@pytest.mark.parametrize(
    ("status", "slug", "kind"),
    [(403, "forbidden", Forbidden), (400, "invalid-request", InvalidRequest)],
)
@pytest.mark.parametrize("verb", ["workers", "claims"])
def test_what_does_not_get_better_by_waiting_ends_it(verb, status, slug, kind, busy, baton):
    baton.fate[verb].append(lambda *_: problem(status, slug, "not you"))
    with AtWork(busy) as work:
        work.ended()
    assert isinstance(work.raised, kind)
    assert "claims" not in baton.seen or verb == "claims"


def test_a_worker_that_is_refused_says_why_before_it_lets_functions_end(busy, baton, gate, caplog):
    caplog.set_level(logging.INFO, "baton_sdk.worker")
    baton.start("r1")
    with AtWork(busy) as work:
        gate.wait_for(1)
        baton.fate["claims"].append(lambda *_: problem(401, "unauthenticated", "it was revoked"))
        work.ended()
    assert isinstance(work.raised, Unauthenticated)
    (stopping,) = [each.message for each in caplog.records if each.message.startswith("stopping")]
    assert stopping.startswith("stopping: it was revoked; under way: 1")


@pytest.mark.parametrize("part", ["claims", "announce"])
def test_a_worker_that_can_only_half_work_ends_and_says_why(part, busy, monkeypatch):
    def broken(*_given, **_options):
        raise RuntimeError("can't start new thread")

    if part == "claims":
        monkeypatch.setattr(loop.Loop, "_claim_once", broken)
    else:
        monkeypatch.setattr(busy, "announce", broken)
    at_work = AtWork(busy)
    with at_work:
        at_work.ended()
    assert str(at_work.raised) == "can't start new thread"
