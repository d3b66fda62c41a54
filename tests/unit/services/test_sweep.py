"""The sweep: what nobody did in time, and nothing else; one item's trouble is never another's."""

from functools import partialmethod

import pytest
from botocore.exceptions import ClientError

from baton.domain.controlling import Cancel
from baton.domain.states import Mode, State
from baton.domain.sweeping import FIRST_PAUSE_SECONDS
from baton.errors import Unavailable
from baton.services.appends import Appended
from baton.services.finishes import Finished
from baton.services.retention import PURGE_BATCHES
from baton.services.sweep import Swept
from baton.store.due import DueStore
from baton.store.log import PURGE_BATCH
from baton.store.rows import due_shard
from tests.unit.house import NS, House, before_each_call, calls_of, names_of, start
from tests.unit.services.acts import append, fail, finish, replay, row, types_of


def counts(swept):
    assert (swept.published, swept.fired, swept.handed_on) == (0, 0, 0)
    return (swept.settled, swept.postponed, swept.purged, swept.stale, swept.failed, swept.more)


NOTHING = (0, 0, 0, 0, 0, False)


def sweep(house):
    return counts(house.container().sweep.run())


def watched(house, run_id="r1", seconds=10.0, **wish):
    return start(house.container(), run_id=run_id, inactivity_timeout_seconds=seconds, **wish)


# Silence


def test_with_nothing_due_a_sweep_reads_each_shard_once_and_writes_nothing(house):
    watched(house)
    container = house.container()
    with calls_of(container) as calls:
        assert counts(container.sweep.run()) == NOTHING
    assert names_of(calls) == ["Query"] * house.settings.due_shards


def test_a_silent_run_fails_resumable_and_says_why(house):
    watched(house)
    house.clock.advance(9.999)
    assert sweep(house) == NOTHING
    house.clock.advance(0.001)
    assert sweep(house) == (1, 0, 0, 0, 0, False)
    detail = house.container().runs.get(NS, "r1")
    assert (detail.run.state, detail.run.ending.resumable) == (State.FAILED, True)
    assert detail.error == b'{"message":"nothing was heard for 10 s","type":"inactivity"}'
    assert types_of(replay(house.container(), "r1")) == ["start", "end"]
    assert sweep(house) == NOTHING


def test_who_was_heard_of_is_watched_from_then_on_though_the_row_never_moved(house):
    watched(house)
    house.clock.advance(7)
    driver = house.container()
    with calls_of(driver) as calls:
        append(driver, "r1", 1)
    assert not [request for _, request in calls if "UpdateExpression" in request]
    house.clock.advance(3)
    assert sweep(house) == (0, 1, 0, 0, 0, False)
    assert row(house.container(), "r1").due_at == house.clock.now() + 7000
    assert sweep(house) == NOTHING
    house.clock.advance(7)
    assert sweep(house) == (1, 0, 0, 0, 0, False)


def test_an_append_at_the_last_moment_saves_the_run(house):
    watched(house)
    house.clock.advance(10)
    driver, sweeper = house.container(), house.container()
    saved: list[Appended] = []

    def speak_up(operation, request):
        if operation == "TransactWriteItems" and not saved:
            saved.append(append(driver, "r1", "here I am"))

    with before_each_call(sweeper, speak_up):
        swept = sweeper.sweep.run()
    assert counts(swept) == (0, 1, 0, 0, 0, False)
    assert row(driver, "r1").state is State.RUNNING


def test_a_run_that_is_not_watched_is_left_alone_for_ever(house):
    watched(house, seconds=0)
    start(house.container(), run_id="q", mode=Mode.QUEUED)
    house.clock.advance(10**7)
    assert sweep(house) == NOTHING


def test_a_finished_run_is_due_no_more(house):
    watched(house)
    finish(house.container(), "r1")
    house.clock.advance(100)
    assert sweep(house) == NOTHING


def test_a_resumed_run_is_watched_anew(house):
    watched(house)
    fail(house.container(), "r1")
    house.clock.advance(8)
    house.container().control.resume(NS, "r1", force=False, key=None)
    house.clock.advance(8)
    assert sweep(house) == NOTHING
    house.clock.advance(2)
    assert sweep(house) == (1, 0, 0, 0, 0, False)
    assert row(house.container(), "r1").attempt == 2


# Cancels


def cancel(house, run_id="r1"):
    house.container().control.cancel(NS, run_id, Cancel(reason="why"))


def test_a_cancel_nobody_obeys_is_forced_after_the_grace_time(house):
    start(house.container(), run_id="r1")
    cancel(house)
    house.clock.advance(house.settings.cancel_grace_seconds - 0.001)
    assert sweep(house) == NOTHING
    house.clock.advance(0.001)
    assert sweep(house) == (1, 0, 0, 0, 0, False)
    detail = house.container().runs.get(NS, "r1")
    assert (detail.run.state, detail.error) == (State.CANCELLED, b'{"message":"why","type":"cancelled"}')
    assert types_of(replay(house.container(), "r1")) == ["start", "cancel", "end"]


def test_appends_do_not_put_a_forced_cancel_off(house):
    start(house.container(), run_id="r1")
    cancel(house)
    house.clock.advance(house.settings.cancel_grace_seconds)
    append(house.container(), "r1", "still at it")
    assert sweep(house) == (1, 0, 0, 0, 0, False)


def test_a_driver_that_finishes_meanwhile_reports_its_own_outcome(house):
    start(house.container(), run_id="r1")
    cancel(house)
    house.clock.advance(house.settings.cancel_grace_seconds)
    driver, sweeper = house.container(), house.container()
    done: list[Finished] = []

    def overtake(operation, request):
        if operation == "TransactWriteItems" and not done:
            done.append(finish(driver, "r1"))

    with before_each_call(sweeper, overtake):
        assert counts(sweeper.sweep.run()) == (0, 0, 0, 1, 0, False)
    assert row(driver, "r1").state is State.COMPLETED


def test_a_cancel_of_a_watched_run_waits_for_the_sooner_deadline(house):
    watched(house, seconds=10)
    cancel(house)
    house.clock.advance(10)
    assert sweep(house) == (1, 0, 0, 0, 0, False)
    assert row(house.container(), "r1").state is State.FAILED


# Purges


def past_life(house, run_id="r1", items=3):
    """A life that ended and was replaced, with some items in its log."""
    container = house.container()
    start(container, run_id=run_id, inactivity_timeout_seconds=0)
    for i in range(items - 1):
        append(container, run_id, i)
    finish(container, run_id)
    container.runs.delete(NS, run_id)
    start(container, run_id=run_id, inactivity_timeout_seconds=0, body="next")
    append(container, run_id, "present")


def test_a_past_life_is_purged_once_nobody_can_remember_a_tail_of_it(house: House):
    assert house.settings.purge_delay_seconds > house.settings.tail_memory_seconds
    past_life(house)
    assert sweep(house) == NOTHING
    house.clock.advance(house.settings.purge_delay_seconds)
    assert sweep(house) == (0, 0, 1, 0, 0, False)
    assert len(house.log()) == 1
    assert types_of(replay(house.container(), "r1")) == ["start", "note"]
    assert sweep(house) == NOTHING


def test_a_long_purge_is_done_bit_by_bit(house, monkeypatch):
    monkeypatch.setattr("baton.services.retention.PURGE_BATCHES", 2)
    monkeypatch.setattr("baton.store.log.PURGE_BATCH", 3)
    assert PURGE_BATCHES * PURGE_BATCH == 1000
    past_life(house, items=14)
    house.clock.advance(house.settings.purge_delay_seconds)
    results = [sweep(house) for _ in range(4)]
    assert results == [(0, 1, 0, 0, 0, False)] * 2 + [(0, 0, 1, 0, 0, False), NOTHING]
    assert len(house.log()) == 1


# Many, overlapping, in trouble, out of time


def test_more_than_a_page_of_due_runs_is_swept_at_once(house, monkeypatch):
    monkeypatch.setattr(DueStore, "page", partialmethod(DueStore.page, limit=3))
    container = house.container()
    for i in range(20):
        start(container, run_id=f"r{i}", inactivity_timeout_seconds=1)
    house.clock.advance(1)
    assert sweep(house) == (20, 0, 0, 0, 0, False)
    assert sweep(house) == NOTHING


def test_overlapping_sweeps_settle_each_run_once(house):
    for i in range(6):
        watched(house, f"r{i}")
    house.clock.advance(10)
    one, other = house.container(), house.container()
    overlapping: list[Swept] = []

    def overlap(operation, request):
        if operation == "TransactWriteItems" and not overlapping:
            overlapping.append(other.sweep.run())

    with before_each_call(one, overlap):
        mine = one.sweep.run()
    theirs = overlapping[0]
    assert (mine.settled, theirs.settled) == (0, 6)
    assert (mine.failed, theirs.failed) == (0, 0)
    for i in range(6):
        assert types_of(replay(one, f"r{i}")) == ["start", "end"]


POISON = {
    "a state that no version knows": "SET st = :v",
    "no update time": "REMOVE ua",
    "an unreadable ending": "SET en = :v",
}


@pytest.mark.parametrize("poison", POISON.values(), ids=POISON)
def test_an_item_that_cannot_be_read_keeps_nobody_else_waiting(house, poison):
    for i in range(6):
        watched(house, f"r{i}", seconds=1 + i)
    house.client.update_item(
        TableName=house.settings.runs_table,
        Key={"k": {"S": f"{NS}#r0"}, "s": {"S": "run"}},
        UpdateExpression=poison,
        **({"ExpressionAttributeValues": {":v": {"S": "{"}}} if ":v" in poison else {}),
    )
    house.clock.advance(10)
    assert sweep(house) == (5, 0, 0, 0, 1, False)
    assert sweep(house) == NOTHING  # put off
    house.clock.advance(FIRST_PAUSE_SECONDS)
    assert sweep(house) == (0, 0, 0, 0, 1, False)


@pytest.mark.parametrize(
    "trouble",
    [Unavailable("busy"), ClientError({"Error": {"Code": "ValidationException", "Message": ""}}, "PutItem")],
    ids=["busy", "a fault"],
)
def test_an_item_in_trouble_is_left_to_the_next_sweep(house, trouble):
    for i in range(6):
        watched(house, f"r{i}")
    house.clock.advance(10)
    sweeper = house.container()

    def refuse_r3(operation, request):
        if operation == "TransactWriteItems" and f"{NS}#r3" in str(request):
            raise trouble

    with before_each_call(sweeper, refuse_r3):
        assert counts(sweeper.sweep.run()) == (5, 0, 0, 0, 1, False)
    house.clock.advance(FIRST_PAUSE_SECONDS)
    assert sweep(house) == (1, 0, 0, 0, 0, False)


def test_a_shard_that_cannot_be_read_keeps_no_other_waiting(house, monkeypatch):
    for i in range(8):
        watched(house, f"r{i}")
    house.clock.advance(10)
    there = [i for i in range(8) if due_shard(f"r{i}", 2) == "due0"]
    assert 0 < len(there) < 8
    true_due = DueStore.page

    def throttled(self, shard, *given, **how):
        if shard == 0:
            raise Unavailable("the store is busy")
        return true_due(self, shard, *given, **how)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(DueStore, "page", throttled)
        assert sweep(house) == (8 - len(there), 0, 0, 0, 1, False)
    assert sweep(house) == (len(there), 0, 0, 0, 0, False)


def test_an_index_entry_of_a_run_that_is_gone_is_stale(house):
    watched(house)
    house.clock.advance(10)
    sweeper = house.container()

    def collect(operation, request):
        if operation == "GetItem":
            house.client.delete_item(TableName=request["TableName"], Key=request["Key"])

    with before_each_call(sweeper, collect):
        assert counts(sweeper.sweep.run()) == (0, 0, 0, 1, 0, False)


def test_a_sweep_out_of_time_leaves_the_rest_to_the_next(house):
    for i in range(10):
        watched(house, f"r{i}")
    house.clock.advance(10)
    sweeper = house.container()

    def take_time(operation, request):
        if operation == "TransactWriteItems":
            house.clock.advance(house.settings.sweep_seconds / 4)

    with before_each_call(sweeper, take_time):
        first = sweeper.sweep.run()
    assert (first.settled, first.more) == (4, True)
    assert sweep(house) == (6, 0, 0, 0, 0, False)


def test_no_shard_is_always_the_last_to_be_swept(house):
    first = []
    for _ in range(20):
        container = house.container()
        with calls_of(container) as calls:
            container.sweep.run()
        first.append(calls[0][1]["ExpressionAttributeValues"][":0"]["S"])
    assert set(first) == {"due0", "due1"}
