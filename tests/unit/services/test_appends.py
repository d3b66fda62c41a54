"""Appending: durable and in order when it is answered, with no read while the log's end is remembered."""

import pytest
from msgspec.structs import replace

from baton.domain.controlling import Cancel
from baton.domain.log import Header, Producer, ProducerState
from baton.domain.offset import Offset
from baton.domain.states import Mode, State
from baton.errors import (
    InvalidRequest,
    LeaseLost,
    NotFound,
    PayloadTooLarge,
    ProducerFenced,
    RunTerminal,
    SequenceGap,
    StreamConflict,
    Unavailable,
)
from baton.store.log import LogItem, LogStore
from tests.unit.house import NS, before_each_call, calls_of, names_of, start
from tests.unit.services.acts import append, fail, finish, producer, put_row, replay, row, types_of


@pytest.fixture
def run_id(runtime):
    return start(runtime, run_id="r1").detail.run.id


def test_what_was_acknowledged_is_in_the_log_once_and_in_order(house, runtime, run_id):
    append(runtime, run_id, 1, 2)
    append(house.container(), run_id, 3)
    append(runtime, run_id, 4)
    messages = replay(house.container(), run_id)
    assert types_of(messages) == ["start", "note", "note", "note", "note"]
    assert [bytes(m.data) for m in messages[1:]] == [b"1", b"2", b"3", b"4"]


def test_the_answer_names_the_logs_end(runtime, run_id):
    first = append(runtime, run_id, 1, 2)
    assert (first.tail.offset, first.duplicate, first.producer_seq) == (Offset(3), False, None)
    second = append(runtime, run_id, 3, producer=producer(0))
    assert (second.tail.offset, second.producer_seq) == (Offset(4), 0)


# Round trips


def test_after_a_start_every_append_of_its_container_is_one_put(runtime, run_id):
    with calls_of(runtime) as calls:
        for seq in range(5):
            append(runtime, run_id, seq, producer=producer(seq))
    assert names_of(calls) == ["PutItem"] * 5


def test_a_cold_container_looks_once_and_then_never_again(house, run_id):
    cold = house.container()
    with calls_of(cold) as calls:
        append(cold, run_id, 1)
        append(cold, run_id, 2)
    assert sorted(names_of(calls[:2])) == ["GetItem", "Query"]
    assert names_of(calls[2:]) == ["PutItem", "PutItem"]


def test_with_the_tail_it_was_given_a_client_needs_no_read_of_any_container(house, runtime, run_id):
    tail = append(runtime, run_id, 0).tail
    for container in (house.container(), house.container(), runtime):
        with calls_of(container) as calls:
            tail = append(container, run_id, 1, echo=tail).tail
        assert names_of(calls) == ["PutItem"]
    assert types_of(replay(runtime, run_id)) == ["start"] + ["note"] * 4


def test_a_tail_serves_for_a_minute(house, runtime, run_id):
    tail = append(runtime, run_id, 0).tail
    house.clock.advance(60)
    with calls_of(runtime) as calls:
        append(runtime, run_id, 1, echo=tail)
    assert names_of(calls) == ["PutItem"]
    house.clock.advance(60.001)
    with calls_of(runtime) as calls:
        append(runtime, run_id, 2, echo=tail)
    assert len(calls) == 3


def test_a_container_that_was_overtaken_looks_again_and_takes_the_next_slot(house, runtime, run_id):
    append(house.container(), run_id, "theirs")
    with calls_of(runtime) as calls:
        append(runtime, run_id, "mine")
    assert sorted(names_of(calls)) == ["GetItem", "PutItem", "PutItem", "Query"]
    assert [bytes(m.data) for m in replay(runtime, run_id)[1:]] == [b'"theirs"', b'"mine"']


@pytest.mark.parametrize(
    "wrong",
    [
        {"closed": True},
        {"attempt": 9},
        {"closing_until": 2**50},
        {"producers": (ProducerState("p", 1, 0, 9),)},
        {"stream_seq": "z"},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_no_refusal_and_no_duplicate_rests_on_an_echo(house, runtime, run_id, wrong):
    tail = append(runtime, run_id, 0).tail
    echo = replace(tail, header=replace(tail.header, **wrong), seen_at=house.clock.now() + 1)
    done = append(house.container(), run_id, 1, echo=echo, producer=producer(0), stream_seq="a")
    assert not done.duplicate
    assert types_of(replay(house.container(), run_id)) == ["start", "note", "note"]


def test_an_echo_of_an_earlier_life_leads_to_this_one(house, runtime, run_id):
    echo = append(runtime, run_id, "past").tail
    finish(runtime, run_id)
    runtime.runs.delete(NS, run_id)
    start(house.container(), run_id=run_id)
    append(house.container(), run_id, "now", echo=echo)
    assert [bytes(m.data) for m in replay(runtime, run_id)[1:]] == [b'"now"']


# Refusals: none of them rests on memory


def test_an_absent_and_a_foreign_run_are_the_same_not_found(runtime, run_id):
    start(runtime, namespace="other", run_id="theirs")
    with pytest.raises(NotFound) as absent:
        append(runtime, "nobody", 1)
    with pytest.raises(NotFound) as foreign:
        append(runtime, "theirs", 1)
    assert str(absent.value).replace("nobody", "theirs") == str(foreign.value)


def test_a_deleted_run_is_not_found_by_a_container_that_remembers_it(house, runtime, run_id):
    append(runtime, run_id, 1)
    finish(house.container(), run_id)
    house.container().runs.delete(NS, run_id)
    with pytest.raises(NotFound):
        append(runtime, run_id, 2)


@pytest.mark.parametrize("warm", [True, False])
def test_after_the_end_nothing_is_appended(house, runtime, run_id, warm):
    finish(house.container(), run_id)
    with pytest.raises(RunTerminal) as refused:
        append(runtime if warm else house.container(), run_id, 1)
    assert refused.value.headers == {
        "Stream-Closed": "true",
        "Stream-Next-Offset": "0000000000000002_00000",
    }
    assert refused.value.run.state is State.COMPLETED


def test_a_driver_of_an_earlier_attempt_changes_nothing(house, runtime, run_id):
    append(runtime, run_id, 1)
    fail(house.container(), run_id)
    house.container().control.resume(NS, run_id, force=False, key=None)
    with pytest.raises(LeaseLost) as refused:
        append(runtime, run_id, 2, attempt=1)
    assert refused.value.run.attempt == 2
    with pytest.raises(InvalidRequest):
        append(runtime, run_id, 2)
    append(runtime, run_id, 3, attempt=2)
    assert types_of(replay(runtime, run_id)) == ["start", "note", "end", "resumed", "note"]


@pytest.mark.parametrize(("state", "end"), [(State.PENDING, 1), (State.SUSPENDED, 2)])
def test_a_run_that_does_not_run_takes_nothing(house, state, end):
    start(house.container(), run_id="r1", mode=Mode.QUEUED)
    put_row(house, "r1", state=state)
    with pytest.raises(StreamConflict) as refused:
        append(house.container(), "r1", 1)
    assert refused.value.run.state is state
    assert refused.value.headers["Stream-Next-Offset"] == f"{end:016d}_00000"


def test_a_pending_runs_end_is_not_remembered(house):
    container = house.container()
    start(container, run_id="r1", mode=Mode.QUEUED)
    with calls_of(container) as calls, pytest.raises(StreamConflict):
        append(container, "r1", 1)
    assert "PutItem" not in names_of(calls)


def test_an_oversize_batch_is_refused_before_any_call(runtime, run_id):
    with calls_of(runtime) as calls:
        with pytest.raises(PayloadTooLarge):
            append(runtime, run_id, "x" * (256 * 1024 - 2), 1)
        with pytest.raises(InvalidRequest):
            append(runtime, run_id)
    assert calls == []


def test_a_batch_of_256_kb_is_taken_to_the_byte(runtime, run_id):
    largest = "x" * (256 * 1024 - 2)
    append(runtime, run_id, largest)
    assert len(bytes(replay(runtime, run_id)[1].data)) == 256 * 1024


# Producers


def test_a_repeated_batch_is_taken_once_whoever_gets_it(house, runtime, run_id):
    append(runtime, run_id, "a", "b", producer=producer(0))
    for container in (runtime, house.container()):
        again = append(container, run_id, "a", "b", producer=producer(0))
        assert (again.duplicate, again.producer_seq, again.tail.offset) == (True, 0, Offset(3))
    assert types_of(replay(runtime, run_id)) == ["start", "note", "note"]


def test_a_duplicate_is_answered_with_the_highest_the_log_took(runtime, run_id):
    for seq in range(3):
        append(runtime, run_id, seq, producer=producer(seq))
    assert append(runtime, run_id, 0, producer=producer(0)).producer_seq == 2


def test_a_duplicate_is_known_after_the_end_and_in_a_later_attempt(house, runtime, run_id):
    append(runtime, run_id, 1, producer=producer(0), attempt=1)
    fail(runtime, run_id)
    assert append(runtime, run_id, 1, producer=producer(0), attempt=1).duplicate
    runtime.control.resume(NS, run_id, force=False, key=None)
    for container in (runtime, house.container()):
        assert append(container, run_id, 1, producer=producer(0), attempt=1).duplicate
    assert not append(runtime, run_id, 1, producer=producer(0), attempt=2).duplicate


def test_gaps_and_stale_epochs_are_refused(house, runtime, run_id):
    append(runtime, run_id, 1, producer=Producer("p", 1, 0))
    for container in (runtime, house.container()):
        with pytest.raises(SequenceGap):
            append(container, run_id, 2, producer=Producer("p", 1, 2))
        with pytest.raises(ProducerFenced):
            append(container, run_id, 2, producer=Producer("p", 0, 0))
    assert types_of(replay(runtime, run_id)) == ["start", "note"]


def test_a_producers_marks_survive_what_others_and_baton_write(house, runtime, run_id):
    append(runtime, run_id, 1, producer=producer(0))
    append(house.container(), run_id, 2, producer=producer(0, "q"))
    runtime.control.cancel(NS, run_id, Cancel())
    append(house.container(), run_id, 3)
    assert append(house.container(), run_id, 1, producer=producer(0)).duplicate
    assert append(house.container(), run_id, 2, producer=producer(0, "q")).duplicate


def test_stream_seq_must_rise_across_containers(house, runtime, run_id):
    append(runtime, run_id, 1, stream_seq="b")
    for given in ("b", "a"):
        with pytest.raises(StreamConflict):
            append(house.container(), run_id, 2, stream_seq=given)
    append(house.container(), run_id, 2)
    append(house.container(), run_id, 3, stream_seq="c")
    with pytest.raises(StreamConflict):
        append(runtime, run_id, 4, stream_seq="c")


# Lost replies, lost races, and a settle under way


def test_a_put_whose_reply_was_lost_is_known_again(runtime, run_id, house):
    def sent_before(operation, request):
        if operation == "PutItem":  # what botocore's own retry meets
            house.client._make_api_call(operation, dict(request))

    with before_each_call(runtime, sent_before):
        assert append(runtime, run_id, 1).tail.offset == Offset(2)
    assert types_of(replay(runtime, run_id)) == ["start", "note"]


def test_an_append_that_always_comes_second_is_unavailable_in_the_end(house, runtime, run_id, monkeypatch):
    monkeypatch.setattr("baton.services.appends.ROUNDS", 4)
    rival = house.container()

    def overtake(operation, request):
        if operation == "PutItem":
            append(rival, run_id, "first")

    with before_each_call(runtime, overtake), pytest.raises(Unavailable):
        append(runtime, run_id, "second")
    assert b'"second"' not in [bytes(m.data) for m in replay(runtime, run_id)]


def closing(house, run_id, until):
    """What a settle that keeps losing slots puts into the log."""
    birth = row(house.container(), run_id).birth
    logs = LogStore(house.dynamo(), house.settings.log_table)
    item = LogItem(
        birth=birth,
        slot=1,
        count=1,
        header=Header(closing_until=until),
        ts=house.clock.now(),
        nonce="settle",
        body=b'[["closing",{}]]',
    )
    assert logs.append(logs.put(NS, run_id, item))


def test_an_append_waits_for_a_settle_and_then_learns_of_it(house, runtime, run_id):
    closing(house, run_id, house.clock.now() + 5000)
    house.clock.plan(1, lambda: finish(house.container(), run_id))
    with pytest.raises(RunTerminal):
        append(runtime, run_id, 1)
    assert types_of(replay(runtime, run_id)) == ["start", "closing", "end"]


def test_an_append_goes_on_when_the_settle_does_not_come(house, runtime, run_id):
    asked_at = house.clock.now()
    closing(house, run_id, asked_at + 5000)
    append(runtime, run_id, 1)
    assert types_of(replay(runtime, run_id)) == ["start", "closing", "note"]
    assert 5 <= (house.clock.now() - asked_at) / 1000 < 6
