"""A worker as a Lambda function: what it makes of an invocation, and that it is done before that ends."""

from __future__ import annotations

import json
import threading

import pytest

from baton_sdk import RetryPolicy, TryAgain
from baton_sdk.worker.clock import Clock
from tests.unit.sdk import service as faults

GUARD_SECONDS = 30


class Shared(Clock):
    """Monotonic time that a test lets pass, also for threads that wait for it."""

    def __init__(self):
        self._passed = threading.Condition()
        self._time = 1000.0

    def monotonic(self):
        return self._time

    def advance(self, seconds):
        with self._passed:
            self._time += seconds
            self._passed.notify_all()

    def wait(self, event, seconds):
        until = self._time + seconds
        with self._passed:
            while not event.is_set() and self._time < until:
                self._passed.wait(0.01)  # an event that is set notifies nobody here
        return event.is_set()


class Invocation:
    def __init__(self, seconds=900):
        self._seconds = seconds

    def get_remaining_time_in_millis(self):
        return self._seconds * 1000


@pytest.fixture
def doubling(worker):
    @worker.workflow("double")
    def double(ctx, input):
        return {"doubled": input * 2}

    return worker


def hint(run_id="r1", workflow="double", **over):
    said = {"run_id": run_id, "workflow": workflow, "namespace": "default", "attempt": 1, "url": "http://x"}
    return said | over


def message(said, message_id="m1"):
    body = said if isinstance(said, str) else json.dumps(said)
    return {"messageId": message_id, "body": body, "eventSource": "aws:sqs", "attributes": {}}


@pytest.mark.parametrize(
    "event",
    [hint(), {"version": "0", "detail-type": "run.pending", "source": "baton", "detail": hint()}],
)
def test_a_hint_is_claimed_and_performed(event, doubling, baton):
    baton.start("r1", "double", 21, attempt=3)
    handler = doubling.lambda_handler
    assert handler(event, Invocation()) == {"run_id": "r1", "attempt": 3, "outcome": "completed"}
    assert baton.rows["r1"].run["output"] == {"doubled": 42}


def test_a_batch_names_only_the_messages_to_be_delivered_again(doubling, baton):
    baton.start("r1", "double", 1)
    baton.start("r2", "double", 2)
    records = [
        message(hint("r1"), "m1"),
        message("not JSON", "m2"),
        message(hint("r2"), "m3"),
        message(hint("gone"), "m4"),
        message({"run_id": 1}, "m5"),
        message(hint("r3", "other"), "m6"),
    ]
    answer = doubling.lambda_handler({"Records": records}, Invocation())
    assert answer == {"batchItemFailures": [{"itemIdentifier": name} for name in ("m2", "m5", "m6")]}
    assert [baton.rows[run_id].run["output"]["doubled"] for run_id in ("r1", "r2")] == [2, 4]


def test_a_batch_of_hints_to_the_same_run_performs_it_once(doubling, baton):
    baton.start("r1", "double", 21)
    records = [message(hint(), f"m{n}") for n in range(5)]
    assert doubling.lambda_handler({"Records": records}, Invocation()) == {"batchItemFailures": []}
    assert baton.seen.count("finish") == 1


@pytest.mark.parametrize("state", ["running", "suspended", "completed", None])
def test_a_run_that_is_not_there_to_claim_is_no_error(state, doubling, baton):
    if state:
        baton.start("r1", "double").run["state"] = state
    answer = doubling.lambda_handler(hint(), Invocation())
    assert answer == {"run_id": "r1", "attempt": None, "outcome": "not claimed"}
    assert baton.seen == ["claim"]


def test_a_run_that_settled_meanwhile_is_no_error(doubling, baton):
    baton.fate["claim"].append(lambda *_: faults.problem(409, "run-terminal"))
    assert doubling.lambda_handler(hint(), Invocation())["outcome"] == "not claimed"


def test_a_hint_is_trusted_for_no_more_than_the_run(doubling, baton):
    baton.start("r1", "double", 21)
    doubling.lambda_handler(hint(url="http://elsewhere", namespace="other", attempt=9), Invocation())
    sent = [headers for each in baton.headers.values() for headers in each]
    assert {headers["host"] for headers in sent} == {"baton.test"}
    assert all("baton-namespace" not in headers for headers in sent)
    assert {headers.get("baton-attempt", "1") for headers in sent} == {"1"}


def test_a_workflow_that_the_worker_does_not_have_is_told_and_left_alone(doubling, baton):
    baton.start("r1", "other")
    with pytest.raises(LookupError, match=r"no workflow 'other'; it has \['double'\]"):
        doubling.lambda_handler(hint(workflow="other"), Invocation())
    assert baton.seen == []


def test_a_run_that_is_of_another_workflow_than_the_hint_said_is_given_back(doubling, baton):
    row = baton.start("r1", "other")
    with pytest.raises(LookupError, match="other"):
        doubling.lambda_handler(hint(), Invocation())
    assert (baton.state("r1"), row.released, row.error) == ("pending", ("w1", 1), None)


@pytest.mark.parametrize(
    "event", [{}, {"detail": "text"}, {"detail": None}, hint() | {"run_id": None}, {"run_id": "r1"}]
)
def test_what_is_no_hint_is_told(event, doubling, baton):
    with pytest.raises(ValueError, match="not a hint"):
        doubling.lambda_handler(event, Invocation())
    assert baton.seen == []


def test_an_outage_fails_the_invocation_so_that_it_is_made_again(doubling, baton, connect):
    doubling.client = connect(baton, retry=RetryPolicy(attempts=1))
    baton.start("r1", "double", 21)
    baton.fate["claim"].extend([faults.unavailable] * 2)
    with pytest.raises(TryAgain):
        doubling.lambda_handler(hint(), Invocation())
    again = doubling.lambda_handler({"Records": [message(hint())]}, Invocation())
    assert again == {"batchItemFailures": [{"itemIdentifier": "m1"}]}
    assert doubling.lambda_handler(hint(), Invocation())["outcome"] == "completed"


def test_a_function_that_fails_is_the_services_to_try_again(worker, baton):
    @worker.workflow("double")
    def double(ctx):
        raise OSError("no disk")

    row = baton.start("r1", "double")
    records = {"Records": [message(hint())]}
    assert worker.lambda_handler(records, Invocation()) == {"batchItemFailures": []}
    assert baton.state("r1") == "pending" and row.error["message"] == "no disk"


def test_nothing_is_begun_at_the_end_of_an_invocation(doubling, baton):
    baton.start("r1", "double", 21)
    with pytest.raises(TimeoutError):
        doubling.lambda_handler(hint(), Invocation(1.5))
    assert baton.seen == []


@pytest.mark.parametrize(("remaining", "told_after"), [(900, 890), (45, 35), (3, 2)])
def test_a_function_is_told_to_end_while_there_is_time_to_give_its_run_back(
    remaining, told_after, hire, baton
):
    passing = Shared()
    worker = hire(clock=passing, lease_seconds=3600.0)

    @worker.workflow("double")
    def double(ctx):
        passing.advance(told_after - 0.5)
        ctx.emit("note", "time is left")
        passing.advance(0.5)
        ctx.sleep(1)  # waited out here, as short as it is; from this it is called away

    row = baton.start("r1", "double")
    answer = worker.lambda_handler(hint(), Invocation(remaining))
    assert answer == {"run_id": "r1", "attempt": 1, "outcome": "released"}
    assert (baton.state("r1"), row.released, row.error) == ("pending", ("w1", 1), None)
    assert baton.said("r1", "note") == ["time is left"]


def test_the_run_of_a_function_that_does_not_listen_is_given_back_before_the_end(hire, baton, connect):
    passing = Shared()
    worker = hire(clock=passing, lease_seconds=3600.0)
    given_back = threading.Event()

    @worker.workflow("double")
    def double(ctx):
        passing.advance(890)
        passing.advance(5)
        assert given_back.wait(GUARD_SECONDS)
        return "too late"

    def answering(request, handler):
        answer = handler(request)
        given_back.set()
        return answer

    row = baton.start("r1", "double")
    baton.fate["release"].append(answering)
    answer = worker.lambda_handler(hint(), Invocation(900))
    assert answer == {"run_id": "r1", "attempt": 1, "outcome": "released"}
    assert (baton.state("r1"), row.released, row.error) == ("pending", ("w1", 1), None)
    assert "finish" not in baton.seen
