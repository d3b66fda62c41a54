"""Following a log as it grows: every event once, closed when it ends, and never beyond the time given."""

from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from baton.domain.offset import Offset
from baton.store.log import LogStore
from tests.unit.house import NS, calls_of, house_of, start
from tests.unit.moto_tables import empty_tables
from tests.unit.services.acts import append, fail, finish


@pytest.fixture
def run_id(runtime):
    return start(runtime, run_id="r1").detail.run.id


def follow(container, run_id, offset="-1", *, seconds=55.0):
    streams = container.streams
    return streams.follow(streams.open(NS, run_id, offset), container.clock.now() + round(seconds * 1000))


def seqs_of(chunks):
    return [message.seq for chunk in chunks if chunk for message in chunk.messages]


def test_the_first_chunk_comes_at_once_though_there_be_nothing(house, runtime, run_id):
    first = next(follow(house.container(), run_id, "now"))
    assert first is not None
    assert (first.messages, first.next, first.up_to_date, first.closed) == ([], Offset(1), True, False)
    assert house.clock.slept == []


def test_a_silent_log_is_followed_to_the_end_of_the_time_and_no_longer(house, run_id):
    begun = house.clock.now()
    chunks = list(follow(house.container(), run_id, seconds=2.2))
    assert seqs_of(chunks) == [0]
    assert chunks[1:] == [None] * 5  # every half second, and once at the end
    assert house.clock.now() - begun == 2200


def test_what_comes_is_passed_on_as_it_comes(house, runtime, run_id):
    house.clock.plan(0.2, lambda: append(runtime, run_id, "a"))
    house.clock.plan(1.2, lambda: append(runtime, run_id, "b", "c"))
    house.clock.plan(1.3, lambda: append(runtime, run_id, "d"))
    house.clock.plan(3.0, lambda: finish(runtime, run_id))
    chunks = list(follow(house.container(), run_id))
    assert [[m.seq for m in chunk.messages] for chunk in chunks if chunk] == [[0], [1], [2, 3, 4], [5]]
    assert chunks[-1] is not None
    assert chunks[-1].closed
    assert house.clock.slept == [0.5] * 6


def test_a_settled_run_ends_its_follower_at_once(house, runtime, run_id):
    append(runtime, run_id, "a")
    finish(runtime, run_id)
    for offset, expected in (("-1", [0, 1, 2]), (str(Offset(2)), [2]), (str(Offset(3)), []), ("now", [])):
        chunks = list(follow(house.container(), run_id, offset))
        assert len(chunks) == 1
        assert seqs_of(chunks) == expected
        assert chunks[0] is not None
        assert chunks[0].closed
    assert house.clock.slept == []


def test_a_follower_that_comes_back_after_a_resume_goes_on(house, runtime, run_id):
    fail(runtime, run_id)
    (closed,) = follow(house.container(), run_id)
    assert closed is not None
    runtime.control.resume(NS, run_id, force=False, key=None)
    house.clock.plan(1, lambda: finish(runtime, run_id, attempt=2))
    assert seqs_of(follow(house.container(), run_id, str(closed.next))) == [2, 3]


def test_who_stood_at_the_closed_end_when_it_was_resumed_reads_on(house, runtime, run_id):
    fail(runtime, run_id)
    end = str(Offset(2))
    runtime.control.resume(NS, run_id, force=False, key=None)
    assert seqs_of(follow(house.container(), run_id, end, seconds=1)) == [2]


def test_an_empty_look_costs_half_a_read_and_a_growing_log_is_read_on_consistently(
    house, runtime, run_id, monkeypatch
):
    append(runtime, run_id, "x" * 100, "y" * 100)
    monkeypatch.setattr("baton.services.streams.MAX_ANSWER", 400)
    cold = house.container()
    with calls_of(cold) as calls:
        chunks = list(follow(cold, run_id, seconds=1))
    assert seqs_of(chunks) == [0, 1, 2]
    looks = [bool(request.get("ConsistentRead")) for operation, request in calls if operation == "Query"]
    assert looks[1:] == [True, True, True, False, False]


def test_a_follower_that_never_catches_up_ends_with_its_time(house, runtime, run_id, monkeypatch):
    monkeypatch.setattr("baton.services.streams.MAX_ANSWER", 400)
    append(runtime, run_id, *["x" * 300] * 30)
    chunks = []
    for chunk in follow(house.container(), run_id, seconds=5):
        chunks.append(chunk)
        house.clock.advance(1)  # a slow client
    assert 5 <= len(chunks) <= 7
    assert chunks[-1] is not None
    assert not chunks[-1].up_to_date


def test_what_an_eventual_look_misses_the_next_one_finds(house, runtime, run_id, monkeypatch):
    true_read, looks = LogStore.read, list[bool]()

    def lagging(self, namespace, log, birth, slot, *, consistent):
        page = true_read(self, namespace, log, birth, slot, consistent=consistent)
        looks.append(consistent)
        return page._replace(items=[]) if not consistent and len(looks) % 2 == 0 else page

    monkeypatch.setattr(LogStore, "read", lagging)
    for i in range(6):
        house.clock.plan(0.4 * i, partial(append, runtime, run_id, i))
    house.clock.plan(3, lambda: finish(runtime, run_id))
    assert seqs_of(follow(house.container(), run_id)) == list(range(8))


def test_a_reader_that_leaves_stops_the_reading(house, run_id):
    cold = house.container()
    following = follow(cold, run_id)
    next(following)
    following.close()
    with calls_of(cold) as calls, pytest.raises(StopIteration):
        next(following)
    assert calls == []


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    batches=st.lists(st.integers(1, 4), min_size=1, max_size=6),
    join_after=st.integers(0, 6),
    leave_after=st.lists(st.integers(1, 3), max_size=4),
)
def test_a_reader_that_joins_drops_and_rejoins_sees_every_event_once(
    dynamodb, batches, join_after, leave_after
):
    empty_tables()
    house = house_of(dynamodb)
    driver = house.container()
    start(driver, run_id="r1")
    for number, count in enumerate(batches):
        house.clock.plan(0.3 * (number + 1), partial(append, driver, "r1", *range(count)))
    house.clock.plan(0.3 * (len(batches) + 1), lambda: finish(driver, "r1"))
    house.clock.advance(0.3 * join_after)
    seen, offset, closed = list[int](), "-1", False
    patience = [*leave_after, 100]
    while not closed:
        for number, chunk in enumerate(follow(house.container(), "r1", offset)):
            if chunk:
                seen += [message.seq for message in chunk.messages]
                offset, closed = str(chunk.next), chunk.closed
            if number + 1 >= patience[0]:
                break
        if len(patience) > 1:
            patience.pop(0)
    assert seen == list(range(sum(batches) + 2))
