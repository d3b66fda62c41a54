"""Starting once: every way of naming a run and its request, and what each repeat is told (I7)."""

import pytest

from baton.domain.names import id_from_key
from baton.domain.offset import Offset
from baton.domain.states import Mode, State
from baton.errors import IdempotencyMismatch, InvalidRequest, PayloadTooLarge, RunExists, Unavailable
from baton.services.runs import Filter
from baton.services.starts import ROUTE, Started
from tests.unit.house import NS, before_each_call, calls_of, names_of, start
from tests.unit.services.acts import append, fail, finish, put_row, read, row

KEY_ID = id_from_key(NS, ROUTE, "K")
LARGE = b'"' + b"x" * 600 + b'"'

NAMED = {
    "neither key nor id": {},
    "an id": {"run_id": "mine"},
    "a key": {"key": "K"},
    "a key and an id": {"key": "K", "run_id": "mine"},
}
each_way = pytest.mark.parametrize("named", NAMED.values(), ids=NAMED)
keyed = pytest.mark.parametrize(
    "named", [NAMED["a key"], NAMED["a key and an id"]], ids=["key", "key and id"]
)


@each_way
@pytest.mark.parametrize("payload", [b"null", LARGE], ids=["small input", "large input"])
def test_a_start_makes_a_run_that_any_container_sees(house, named, payload):
    started = start(house.container(), input=payload, **named)
    assert started.started
    seen = house.container().runs.get(NS, started.detail.run.id)
    assert seen == started.detail
    assert (seen.run.state, seen.input, seen.next_offset) == (State.RUNNING, payload, Offset(1))


def test_the_id_is_the_one_asked_for_else_the_keys_else_new(runtime):
    assert start(runtime, **NAMED["an id"]).detail.run.id == "mine"
    assert start(runtime, **NAMED["a key"]).detail.run.id == KEY_ID
    first, second = start(runtime), start(runtime)
    assert first.detail.run.id != second.detail.run.id
    assert first.started
    assert second.started


@keyed
@pytest.mark.parametrize("payload", [b"null", LARGE], ids=["small input", "large input"])
def test_the_same_start_again_finds_the_run_as_it_is_now(house, named, payload):
    first = start(house.container(), input=payload, **named)
    append(house.container(), first.detail.run.id, "a", "b")
    again = start(house.container(), input=payload, **named)
    assert not again.started
    assert again.tail is None
    assert again.detail.run.birth == first.detail.run.birth
    assert (again.detail.input, again.detail.next_offset) == (payload, Offset(3))


@keyed
def test_the_same_start_again_finds_the_run_also_after_it_settled(house, named):
    first = start(house.container(), **named)
    finish(house.container(), first.detail.run.id)
    again = start(house.container(), **named)
    assert (again.started, again.detail.run.state) == (False, State.COMPLETED)


@keyed
@pytest.mark.parametrize("other", [{}, {"run_id": "other"}, {"run_id": "mine"}], ids=["", "other id", "id"])
def test_the_same_key_with_another_body_is_told_so_on_every_path(house, named, other):
    first = start(house.container(), **named)
    with pytest.raises(IdempotencyMismatch) as refused:
        start(house.container(), key="K", body="another", **other)
    assert refused.value.run.id == first.detail.run.id
    assert [item for item in house.rows() if item.get("b") != {"S": first.detail.run.birth}] == []


@keyed
def test_a_mismatch_is_told_also_where_the_other_id_is_taken(house, named):
    start(house.container(), **named)
    start(house.container(), run_id="taken", body="third")
    with pytest.raises(IdempotencyMismatch):
        start(house.container(), key="K", run_id="taken", body="another")


def test_an_id_without_its_key_is_taken_for_everyone(house):
    first = start(house.container(), **NAMED["an id"])
    for named in (NAMED["an id"], NAMED["a key and an id"]):
        with pytest.raises(RunExists) as refused:
            start(house.container(), **named)
        assert refused.value.run == first.detail.run


def test_a_refused_start_takes_neither_the_key_nor_a_name_in_the_log(house):
    start(house.container(), run_id="mine")
    with pytest.raises(RunExists):
        start(house.container(), key="K", run_id="mine", input=LARGE)
    assert house.log() == []
    assert start(house.container(), key="K").started


def test_an_id_made_with_a_key_is_taken_for_those_without_it(house):
    start(house.container(), **NAMED["a key and an id"])
    with pytest.raises(RunExists):
        start(house.container(), **NAMED["an id"])
    with pytest.raises(RunExists):
        start(house.container(), key="another", run_id="mine")


def test_keys_and_ids_of_another_namespace_meet_nothing(house):
    start(house.container(), **NAMED["a key and an id"])
    for number, named in enumerate(NAMED.values()):
        namespace = f"other{number}"
        other = start(house.container(), namespace=namespace, body="another", **named)
        assert other.started
        assert other.detail.run.namespace == namespace


# Over an old life


def over(house, how):
    """Let the run that was started be gone."""

    def gone(run_id):
        finish(house.container(), run_id)
        if how == "deleted":
            house.container().runs.delete(NS, run_id)
        else:
            house.clock.advance(house.settings.retention_seconds)

    return gone


@pytest.mark.parametrize("how", ["deleted", "expired"])
@pytest.mark.parametrize("first", NAMED.values(), ids=NAMED)
@pytest.mark.parametrize("then", [n for n in NAMED.values() if n], ids=[i for i, n in NAMED.items() if n])
def test_a_start_over_a_past_life_meets_nothing_of_it(house, how, first, then):
    old = start(house.container(), input=LARGE, **first).detail.run
    append(house.container(), old.id, "of the past")
    over(house, how)(old.id)
    new = start(house.container(), body="another", input=b"1", **then)
    assert new.started
    assert new.detail.run.birth != old.birth
    assert [m.type for m in read(house.container(), new.detail.run.id).messages] == ["start"]
    assert house.container().runs.get(NS, new.detail.run.id).input == b"1"
    if "key" in then:
        assert not start(house.container(), body="another", input=b"1", **then).started


@pytest.mark.parametrize("how", ["deleted", "expired"])
def test_a_past_life_that_is_replaced_is_purged_later(house, how):
    old = start(house.container(), run_id="mine", input=LARGE).detail.run
    over(house, how)("mine")
    start(house.container(), run_id="mine")
    assert len(house.log()) == 2
    house.clock.advance(house.settings.purge_delay_seconds)
    assert house.container().sweep.run().purged == 1
    assert house.log() == []
    assert row(house.container(), "mine").birth != old.birth


def test_a_key_whose_run_is_gone_begins_anew_though_its_id_was_taken_since(house):
    old = start(house.container(), **NAMED["a key and an id"]).detail.run
    over(house, "deleted")("mine")
    start(house.container(), run_id="mine", body="a stranger's")
    with pytest.raises(RunExists):
        start(house.container(), **NAMED["a key and an id"])
    fresh = start(house.container(), key="K")
    assert fresh.started
    assert fresh.detail.run.birth != old.birth


def test_a_warm_containers_memory_of_a_past_life_leads_nowhere(house):
    warm = house.container()
    start(warm, run_id="mine")
    append(warm, "mine", 1)
    elsewhere = house.container()
    finish(elsewhere, "mine")
    elsewhere.runs.delete(NS, "mine")
    start(elsewhere, run_id="mine", body="another")
    append(warm, "mine", 2)
    assert [bytes(m.data) for m in read(warm, "mine").messages][1:] == [b"2"]


# What a run is given


def test_an_attached_run_runs_and_is_watched_for_a_day(runtime, house):
    run = start(runtime).detail.run
    assert (run.state, run.mode, run.started_at) == (State.RUNNING, Mode.ATTACHED, house.clock.now())
    assert run.inactivity_timeout_seconds == 86_400
    assert run.due_at == house.clock.now() + 86_400_000


def test_a_queued_run_waits_unwatched(runtime, house):
    run = start(runtime, mode=Mode.QUEUED).detail.run
    assert (run.state, run.started_at, run.due_at) == (State.PENDING, None, None)
    assert run.available_at == house.clock.now()


def test_a_queued_run_may_be_for_later_and_no_earlier(runtime, house):
    later = house.clock.now() + 5000
    assert start(runtime, mode=Mode.QUEUED, available_at=later).detail.run.available_at == later
    past = start(runtime, mode=Mode.QUEUED, available_at=5).detail.run
    assert past.available_at == house.clock.now()


def test_a_start_in_the_future_needs_the_queue(runtime, house):
    with pytest.raises(InvalidRequest) as refused:
        start(runtime, available_at=house.clock.now() + 1)
    assert refused.value.errors[0]["loc"] == ["body", "available_at"]
    assert start(runtime, available_at=house.clock.now()).started


@pytest.mark.parametrize("watch", [0, 1, 7.5])
def test_the_watch_is_as_asked_for(runtime, house, watch):
    run = start(runtime, inactivity_timeout_seconds=watch).detail.run
    assert run.due_at == (house.clock.now() + watch * 1000 if watch else None)


def test_everything_asked_for_is_kept(house):
    asked = {
        "workflow": "w/1",
        "context_ref": "ticket",
        "agent_id": "agent",
        "tags": ("a", "b"),
        "max_attempts": 7,
        "priority": 0,
        "traceparent": "00-1-2-3",
    }
    run_id = start(house.container(), **asked).detail.run.id
    run = row(house.container(), run_id)
    assert {name: getattr(run, name) for name in asked} == asked


def test_an_input_of_256_kb_is_taken_to_the_byte(house):
    largest = b'"' + b"x" * (256 * 1024 - 2) + b'"'
    run_id = start(house.container(), input=largest).detail.run.id
    assert house.container().runs.get(NS, run_id).input == largest
    with pytest.raises(PayloadTooLarge):
        start(house.container(), input=b" " + largest)


def test_an_input_of_512_bytes_stands_in_the_row_and_a_larger_one_in_the_log(house):
    start(house.container(), input=b'"' + b"x" * 510 + b'"')
    assert house.log() == []
    start(house.container(), input=b'"' + b"x" * 511 + b'"')
    assert len(house.log()) == 1


# Round trips


@each_way
def test_a_start_is_one_round_trip_once_the_workflows_name_is_known(house, named):
    warm = house.container()
    start(warm, body="first")
    with calls_of(warm) as calls:
        start(warm, **named)
    assert len(calls) == 1


def test_the_name_of_a_workflow_is_kept_before_its_first_start_is_answered(house):
    container = house.container()
    with calls_of(container) as calls:
        start(container, workflow="new")
    assert names_of(calls) == ["PutItem", "PutItem"]
    assert len(container.runs.list(NS, Filter(), limit=10, after=None).runs) == 1


# Races


def test_who_loses_the_race_for_a_key_learns_of_the_winners_run(house):
    loser, winner = house.container(), house.container()
    start(loser, body="warm")
    won: list[Started] = []

    def overtake(operation, request):
        if not won:
            won.append(start(winner, key="K"))

    with before_each_call(loser, overtake):
        lost = start(loser, key="K")
    assert won[0].started
    assert not lost.started
    assert lost.detail.run.birth == won[0].detail.run.birth


def test_a_run_deleted_between_the_looks_leaves_its_key_free(house):
    slow, quick = house.container(), house.container()
    start(quick, key="K")
    finish(quick, KEY_ID)
    seen: list[str] = []

    def overtake(operation, request):
        seen.append(operation)
        if operation == "GetItem" and seen.count("GetItem") == 2:
            quick.runs.delete(NS, KEY_ID)

    with before_each_call(slow, overtake):
        assert start(slow, key="K").started


def test_an_id_that_changes_hands_at_every_look_is_given_up_in_the_end(house):
    unlucky, other = house.container(), house.container()

    def overtake(operation, request):
        if operation == "PutItem" and request["TableName"] == house.settings.runs_table:
            start(other, run_id="mine")
            put_row(house, "mine", state=State.FAILED, expires_at=1)
        elif operation == "TransactWriteItems":
            put_row(house, "mine")

    with before_each_call(unlucky, overtake), pytest.raises(Unavailable):
        start(unlucky, run_id="mine")


def test_a_failed_resumable_run_is_still_the_keys(house):
    start(house.container(), key="K")
    fail(house.container(), KEY_ID)
    assert not start(house.container(), key="K").started
