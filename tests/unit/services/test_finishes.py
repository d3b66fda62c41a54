"""Finishing: the first settles, everyone learns the real outcome, a retry finds what its lost reply held."""

from typing import Any

import pytest

from baton.domain.log import entry
from baton.domain.offset import Offset
from baton.domain.settling import Finish, Outcome
from baton.domain.states import Mode, State
from baton.errors import (
    IdempotencyMismatch,
    InFlight,
    InvalidRequest,
    LeaseLost,
    NotFound,
    PayloadTooLarge,
    Unavailable,
)
from baton.services.appends import Appended
from baton.services.finishes import Finished
from tests.unit.house import NS, before_each_call, calls_of, names_of, start
from tests.unit.services.acts import append, fail, finish, put_row, replay, row, types_of

LARGE = b'"' + b"x" * 600 + b'"'


@pytest.fixture
def run_id(runtime):
    return start(runtime, run_id="r1").detail.run.id


@pytest.mark.parametrize("status", [State.COMPLETED, State.FAILED, State.CANCELLED])
def test_a_finish_settles_with_its_whole_outcome(house, runtime, run_id, status):
    append(runtime, run_id, 1)
    outcome: dict[str, Any] = {
        "output": b'{"n":0.10}',
        "error": {"message": "m", "type": "t"},
        "code": 3,
        "signal": "SIGTERM",
        "session_ref": "ref",
    }
    done = finish(runtime, run_id, status, **outcome)
    assert done.finished
    seen = house.container().runs.get(NS, run_id)
    assert seen == done.detail
    assert (seen.run.state, seen.output, seen.next_offset) == (status, b'{"n":0.10}', Offset(3))
    assert seen.error == b'{"message":"m","type":"t"}'
    assert (seen.run.ending.code, seen.run.ending.signal) == (3, "SIGTERM")
    assert seen.run.ending.session_ref == "ref"
    assert types_of(replay(runtime, run_id)) == ["start", "note", "end"]


def test_a_settled_run_is_due_no_more_and_lives_as_long_as_retention_says(house, runtime, run_id):
    run = finish(runtime, run_id).detail.run
    assert run.due_at is None
    assert run.expires_at == house.clock.now() + house.settings.retention_seconds * 1000
    house.clock.advance(house.settings.retention_seconds - 0.001)
    assert row(runtime, run_id).state is State.COMPLETED
    house.clock.advance(0.001)
    with pytest.raises(NotFound):
        row(runtime, run_id)


def test_a_later_finish_changes_nothing_and_answers_what_stands(house, runtime, run_id):
    first = finish(runtime, run_id, State.FAILED, output=b"1", error={"message": "m"})
    for container in (runtime, house.container()):
        later = finish(container, run_id, State.COMPLETED, output=b"2")
        assert not later.finished
        assert later.detail == first.detail
    assert types_of(replay(runtime, run_id)) == ["start", "end"]


@pytest.mark.parametrize("attempt", [None, 1])
def test_a_repeat_under_its_key_is_told_that_it_finished(house, runtime, run_id, attempt):
    first = finish(runtime, run_id, key="K", body="b", output=b"1", attempt=attempt)
    again = finish(house.container(), run_id, key="K", body="b", output=b"1", attempt=attempt)
    assert again == first


def test_a_repeat_without_key_is_known_by_body_and_attempt(house, runtime, run_id):
    finish(runtime, run_id, body="b", attempt=1)
    assert finish(house.container(), run_id, body="b", attempt=1).finished
    assert not finish(house.container(), run_id, body="b").finished
    assert not finish(house.container(), run_id, body="other", attempt=1).finished


def test_the_same_key_with_another_body_is_told_so(house, runtime, run_id):
    finish(runtime, run_id, key="K", body="b")
    with pytest.raises(IdempotencyMismatch) as refused:
        finish(house.container(), run_id, State.FAILED, key="K", body="other")
    assert refused.value.run.state is State.COMPLETED


def test_a_resumed_run_finishes_again_under_its_new_attempt_only(house, runtime, run_id):
    fail(runtime, run_id, output=b"1")
    runtime.control.resume(NS, run_id, force=False, key=None)
    with pytest.raises(LeaseLost):
        finish(house.container(), run_id, attempt=1)
    with pytest.raises(InvalidRequest):
        finish(house.container(), run_id)
    done = finish(house.container(), run_id, attempt=2, output=b"2")
    assert (done.finished, done.detail.output, done.detail.run.attempt) == (True, b"2", 2)
    assert types_of(replay(runtime, run_id)) == ["start", "end", "resumed", "end"]


def test_a_foreign_fence_is_refused_also_after_the_end(runtime, run_id):
    finish(runtime, run_id)
    with pytest.raises(LeaseLost):
        finish(runtime, run_id, attempt=2)


def test_a_suspended_run_is_finished_and_a_pending_one_under_its_attempt(house):
    for run_id, state in (("s", State.SUSPENDED), ("p", State.PENDING)):
        start(house.container(), run_id=run_id, mode=Mode.QUEUED)
        put_row(house, run_id, state=state)
    assert finish(house.container(), "s").finished
    with pytest.raises(InFlight):
        finish(house.container(), "p")
    assert finish(house.container(), "p", attempt=1).finished


def test_an_absent_run_is_not_found(runtime):
    with pytest.raises(NotFound):
        finish(runtime, "nobody")


def test_an_oversize_outcome_is_refused_before_any_call(runtime, run_id):
    with calls_of(runtime) as calls, pytest.raises(PayloadTooLarge):
        finish(runtime, run_id, output=b"1" * (256 * 1024 + 1))
    assert calls == []


def test_an_outcome_of_256_kb_is_kept_to_the_byte(house, runtime, run_id):
    largest = b'"' + b"x" * (256 * 1024 - 2) + b'"'
    finish(runtime, run_id, output=largest)
    assert house.container().runs.get(NS, run_id).output == largest


# Round trips


@pytest.mark.parametrize("warm", [True, False])
def test_a_finish_is_a_look_and_a_transaction(house, runtime, run_id, warm):
    container = runtime if warm else house.container()
    with calls_of(container) as calls:
        finish(container, run_id, output=b'"out"')
    looks = ["GetItem"] if warm else ["GetItem", "Query"]
    assert sorted(names_of(calls[:-1])) == looks
    assert calls[-1][0] == "TransactWriteItems"


def test_with_the_tail_it_was_given_a_client_saves_the_look_at_the_log(house, runtime, run_id):
    tail = append(runtime, run_id, 1).tail
    cold = house.container()
    with calls_of(cold) as calls:
        cold.finishes.finish(NS, run_id, Finish(outcome=Outcome(status=State.COMPLETED)), echo=tail)
    assert names_of(calls) == ["GetItem", "TransactWriteItems"]


def test_a_large_input_is_answered_too(house):
    start(house.container(), run_id="large", input=LARGE)
    assert finish(house.container(), "large").detail.input == LARGE


# Races


def test_a_finish_that_was_overtaken_by_appends_takes_the_next_slot(house, runtime, run_id):
    rival = house.container()
    overtaken: list[Appended] = []

    def overtake(operation, request):
        if operation == "TransactWriteItems" and len(overtaken) < 2:
            overtaken.append(append(rival, run_id, "first"))

    with before_each_call(runtime, overtake):
        assert finish(runtime, run_id).finished
    assert types_of(replay(runtime, run_id)) == ["start", "note", "note", "end"]


def test_a_settle_that_lost_three_slots_asks_appenders_to_wait_and_gets_the_next(house, runtime, run_id):
    rival = house.container()
    seen: list[str] = []

    def overtake(operation, request):
        seen.append(operation)
        if seen.count("TransactWriteItems") <= 3 and operation == "TransactWriteItems":
            append(rival, run_id, "first")

    with before_each_call(runtime, overtake):
        assert finish(runtime, run_id).finished
    assert types_of(replay(runtime, run_id)) == ["start", "note", "note", "note", "closing", "end"]


def test_of_two_finishes_one_settles_and_the_other_learns_of_it(house, runtime, run_id):
    rival = house.container()
    won: list[Finished] = []

    def overtake(operation, request):
        if operation == "TransactWriteItems" and not won:
            won.append(finish(rival, run_id, State.FAILED, output=b"1", body="theirs"))

    with before_each_call(runtime, overtake):
        lost = finish(runtime, run_id, output=b"2", body="ours")
    assert won[0].finished
    assert not lost.finished
    assert lost.detail == won[0].detail


def test_a_settle_whose_reply_was_lost_is_known_again(house, runtime, run_id):
    def sent_before(operation, request):
        if operation == "TransactWriteItems":  # what botocore's own retry meets
            house.client._make_api_call(operation, dict(request))

    with before_each_call(runtime, sent_before):
        assert finish(runtime, run_id, output=b"1").finished
    assert types_of(replay(runtime, run_id)) == ["start", "end"]


def test_a_run_that_always_moves_is_unavailable_in_the_end(house, runtime, run_id):
    def overtake(operation, request):
        if operation == "TransactWriteItems":
            put_row(house, run_id)

    with before_each_call(runtime, overtake), pytest.raises(Unavailable):
        finish(runtime, run_id)
    assert row(runtime, run_id).state is State.RUNNING


def test_nothing_but_what_was_said_is_in_the_log(runtime, run_id):
    append(runtime, run_id, entry("stdout", {"line": ""}))
    finish(runtime, run_id, output=b"[]")
    start_, said, end = replay(runtime, run_id)
    assert bytes(start_.data) == b'{"agent_id":null,"context_ref":null,"input":null,"workflow":"build"}'
    assert bytes(said.data) == b'{"line":""}'
    assert b'"output":[]' in bytes(end.data)
    assert {message.attempt for message in (start_, said, end)} == {1}
