"""Eventually consistent reads may be behind: nobody is told of a past that contradicts what he knows."""

from __future__ import annotations

from baton.domain.clock import millis
from baton.domain.states import State
from baton.services.runs import Filter
from tests.faults import asking, invariants
from tests.faults.lag import behind
from tests.faults.world import World

ID = "mine"


def test_a_run_just_started_is_there_for_who_waits_for_it(world: World) -> None:
    container, other = world.container(), world.container()
    with behind(other):
        asking.running(container, run_id=ID)
        detail = other.runtime.runs.wait(asking.NAMESPACE, ID, 5)
    assert detail.run.state is State.RUNNING


def test_who_waits_for_a_run_is_not_answered_by_its_past_life(world: World) -> None:
    container, other = world.container(), world.container()
    asking.running(container, run_id=ID)
    asking.fail(container, ID)
    with behind(other):
        asking.delete(container, ID)
        world.clock.advance(1)
        asking.running(container, run_id=ID)
        began = world.clock.now()
        detail = other.runtime.runs.wait(asking.NAMESPACE, ID, 5)
    assert detail.run.state is State.RUNNING
    assert world.clock.now() - began >= 5_000


def test_a_settled_run_is_shown_whole(world: World) -> None:
    container, other = world.container(), world.container()
    asking.running(container, asking.LARGE, run_id=ID)
    with behind(other):
        asking.append(world, container, ID, "one")
        asking.finish(container, ID, asking.an_outcome(output="done"))
        detail = asking.get(other, ID)
    assert detail.output == b'"done"'
    assert detail.input == asking.a_start(asking.LARGE).input
    assert str(detail.next_offset) == "0000000000000003_00000"


def test_a_run_started_again_is_shown_in_its_present_life(world: World) -> None:
    container, other = world.container(), world.container()
    asking.running(container, asking.LARGE, run_id=ID)
    asking.append(world, container, ID, "past")
    asking.fail(container, ID)
    with behind(other):
        asking.delete(container, ID)
        world.clock.advance(1)
        asking.running(container, "now", run_id=ID)
        asking.append(world, container, ID, "present")
        detail = asking.get(other, ID)
    assert detail.input == b'"now"'
    assert str(detail.next_offset) == "0000000000000002_00000"


def test_a_container_knows_of_its_own_appends_at_once(world: World) -> None:
    container = world.container()
    asking.running(container, run_id=ID)
    with behind(container):
        done = asking.append(world, container, ID, "one", "two")
        assert asking.get(container, ID).next_offset == done.tail.offset


def test_a_reader_behind_sees_each_event_once_and_is_not_told_that_a_log_goes_on_or_has_ended_wrongly(
    world: World,
) -> None:
    container, reader = world.container(), world.container()
    asking.running(container, run_id=ID)
    streams = reader.runtime.streams
    following = streams.follow(streams.open(asking.NAMESPACE, ID, "-1"), world.clock.now() + millis(60))
    first = next(following)
    assert first is not None
    seen = list(first.messages)
    for turn in range(3):
        with behind(reader):
            asking.append(world, container, ID, f"{turn} a", f"{turn} b")
            assert next(following) is None
        chunk = next(following)
        assert chunk is not None
        assert not chunk.closed
        seen += chunk.messages
    asking.finish(container, ID, asking.an_outcome())
    last = next(following)
    assert last is not None
    assert last.closed
    assert [message.seq for message in [*seen, *last.messages]] == list(range(8))
    assert next(following, "ended") == "ended"


def test_a_run_started_again_is_listed_once_where_it_is_now(world: World) -> None:
    container, other = world.container(), world.container()
    asking.running(container, run_id=ID, workflow="old")
    asking.fail(container, ID)
    world.clock.advance(1)
    asking.running(container, run_id="another", workflow="old")
    asking.delete(container, ID)
    world.clock.advance(1)
    asking.running(container, run_id=ID, workflow="new")
    listed = other.runtime.runs.list(asking.NAMESPACE, Filter(), limit=100, after=None)
    assert [detail.run.id for detail in listed.runs] == [ID, "another"]


def test_an_index_that_still_has_a_past_life_lists_no_run_twice(world: World) -> None:
    container, other = world.container(), world.container()
    asking.running(container, run_id=ID)
    asking.running(container, run_id="another")
    asking.fail(container, ID)
    asking.delete(container, ID)
    world.clock.advance(1)

    with behind(other, indexes=True):
        asking.running(container, run_id=ID)
        # The index is behind, the rows are not: the place is the past life's, the row the present one's.
        then = other.seam.watch
        assert then is not None
        other.seam.watch = lambda call, send: then(call, send) if "IndexName" in call.request else send()
        listed = other.runtime.runs.list(asking.NAMESPACE, Filter(), limit=100, after=None)
    assert [detail.run.id for detail in listed.runs] == ["another"]


def test_whoever_claims_by_an_index_that_is_behind_takes_nothing_that_is_anothers(world: World) -> None:
    for run_id in ("taken", "settled", "free"):
        asking.queued(world.container(), run_id=run_id)
        world.clock.advance(0.001)
    slow, fast = world.container(), world.container()
    with behind(slow, indexes=True):
        asking.claim_one(fast, "taken", "fast")
        asking.cancel(fast, "settled")
        assert [detail.run.id for detail in asking.claim(slow, "slow", most=3)] == ["free"]
    found = invariants.check(world)
    assert found.runs["taken"].lease is not None
    assert found.runs["taken"].lease.worker_id == "fast"


def test_nor_does_it_begin_an_attempt_of_what_was_claimed_and_given_back_meanwhile(world: World) -> None:
    asking.queued(world.container(), run_id=ID)
    slow, fast = world.container(), world.container()
    with behind(slow, indexes=True):
        asking.claim_one(fast, ID, "fast")
        asking.append(world, fast, ID, "mine", attempt=1)
        asking.release(fast, ID, "fast", delay_seconds=60)
        assert asking.claim(slow, "slow") == [], "it is not available yet"
    world.clock.advance(60)
    (detail,) = asking.claim(slow, "slow")
    assert detail.run.attempt == 2
    invariants.check(world, as_read=True)


def test_a_repeat_of_a_claim_is_known_however_far_behind_its_reads_are(world: World) -> None:
    for run_id in ("one", "two"):
        asking.queued(world.container(), run_id=run_id)
        world.clock.advance(0.001)
    again = world.container()
    with behind(again, indexes=True):
        first = asking.claim(world.container(), key="k")
        repeated = asking.claim(again, key="k")
    assert [detail.run for detail in repeated] == [detail.run for detail in first]
    assert invariants.check(world).runs["two"].state is State.PENDING
