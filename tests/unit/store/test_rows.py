"""A run's row: every field survives it, and it stays within one write unit."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import fields, replace

from baton.domain.leasing import MAX_MESSAGE
from baton.domain.names import id_from_key
from baton.domain.payload import digest, fits_row
from baton.domain.run import CancelRequest, Ending, Failure, Lease, Push, Released, Run, TriggeredBy
from baton.domain.settlement import Chain, Delivery, DeliveryState, PublishLease, Settlement, Wait
from baton.domain.states import Mode, State
from baton.store.rows import (
    Purge,
    RunsItem,
    Shards,
    created_key,
    due_shard,
    place_at,
    purge_item,
    purge_of,
    run_item,
    run_of,
)
from tests.unit.manual_clock import MIDNIGHT
from tests.unit.store.item_size import item_size

EIGHT = Shards(due=8, settled=4, queue=4)

names = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._:~-]{0,127}", fullmatch=True)
workflows = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}", fullmatch=True)
texts = st.text(min_size=1, max_size=30)
times = st.integers(0, 10**13 - 1)
counts = st.integers(0, 10**6)


def maybe(of):
    return st.none() | of


endings = st.builds(
    Ending,
    seq=counts,
    at=times,
    code=maybe(st.integers(-(2**31), 2**31)),
    signal=maybe(texts),
    resumable=st.booleans(),
    session_ref=maybe(texts),
    key=maybe(texts),
    body=maybe(texts),
    apart=st.booleans(),
)
deliveries = st.builds(
    Delivery,
    workflows,
    st.sampled_from(DeliveryState),
    times,
    run_id=maybe(names),
    error=maybe(texts),
    buffered=st.booleans(),
)
settlements = st.builds(
    Settlement,
    owed=st.lists(workflows, max_size=8).map(tuple),
    unresolved=st.booleans(),
    waiters=counts,
    deliveries=st.lists(deliveries, max_size=8).map(tuple),
    lease=maybe(st.builds(PublishLease, texts, times)),
)
every_field = {
    "namespace": st.from_regex(r"[a-z0-9][a-z0-9-]{0,62}", fullmatch=True),
    "id": names,
    "workflow": workflows,
    "birth": names,
    "rev": texts,
    "state": st.sampled_from(State),
    "mode": st.sampled_from(Mode),
    "created_at": times,
    "updated_at": times,
    "started_at": maybe(times),
    "available_at": maybe(times),
    "attempt": st.integers(1, 10**6),
    "claimed": st.booleans(),
    "failures": counts,
    "priority": st.integers(0, 9),
    "max_attempts": st.integers(1, 100),
    "inactivity_timeout_seconds": st.integers(0, 2_592_000) | st.floats(1, 2_592_000),
    "context_ref": maybe(texts),
    "agent_id": maybe(texts),
    "tags": st.lists(texts, max_size=16).map(tuple),
    "input": maybe(
        st.binary(min_size=1, max_size=512) | st.integers(513, 4096).map(lambda size: b"7" * size)
    ),
    "traceparent": maybe(texts),
    "depth": counts,
    "triggered_by": maybe(st.builds(TriggeredBy, texts, workflows, texts, counts)),
    "continued_from": maybe(names),
    "continued_as": maybe(names),
    "cancel": maybe(st.builds(CancelRequest, times, maybe(texts))),
    "lease": maybe(st.builds(Lease, names, times, times, maybe(texts))),
    "released": maybe(st.builds(Released, names, counts, maybe(st.builds(Failure, texts, maybe(texts))))),
    "push": maybe(st.builds(Push, counts, counts)),
    "ending": maybe(endings),
    "alias_id": maybe(names),
    "start_body": maybe(texts),
    "by": maybe(st.sampled_from(["_k7f3q2xw", "k7f3q2xw", "AIDACKCEVSQ6C2EXAMPLE:ann_2"])),
    "resume_key": maybe(texts),
    "suspend_key": maybe(texts),
    "wait": maybe(st.builds(Wait, id=texts, until=maybe(times), run_id=maybe(names), event=maybe(texts))),
    "chain": maybe(st.builds(Chain, names, counts)),
    "settlement": settlements,
    "apart": counts,
    "announce": st.booleans(),
    "strikes": counts,
    "due_at": maybe(times),
    "expires_at": maybe(times),
}
runs = st.builds(Run, **every_field).map(
    lambda run: replace(run, input_in_log=run.input is None, by=whose(run))
)


def whose(run):
    """The id of a token of the run's namespace begins with that."""
    return f"{run.namespace}{run.by}" if (run.by or "").startswith("_") else run.by


@settings(max_examples=50)
@given(runs)
def test_a_run_comes_back_from_its_row_field_by_field(run):
    item = RunsItem.from_raw_data(run_item(run, EIGHT).serialize())
    assert run_of(item) == run


def test_no_field_is_left_out_of_the_property_above():
    assert {field.name for field in fields(Run)} - set(every_field) == {"input_in_log"}


STARTED = DeliveryState.STARTED

FULL = Run(
    namespace="default",
    id="01a22806fde3b1d35fb4e39079df",
    workflow="nightly-build",
    birth="01a22806fde3b1d35fb4e39079df",
    rev="654e4136c709c409",
    state=State.RUNNING,
    mode=Mode.ATTACHED,
    created_at=MIDNIGHT + 123,
    updated_at=MIDNIGHT + 456,
    started_at=MIDNIGHT + 123,
    inactivity_timeout_seconds=86_400,
    input=b"x" * 512,
    start_body=digest(b"start"),
    by="default_k7f3q2xw",
    due_at=MIDNIGHT + 86_400_123,
)
ENDED = replace(
    FULL,
    state=State.FAILED,
    due_at=None,
    expires_at=MIDNIGHT + 30 * 86_400_000,
    ending=Ending(
        seq=12345,
        at=MIDNIGHT + 456,
        error=True,
        code=137,
        signal="SIGKILL",
        resumable=True,
        session_ref="session-0123456789",
        key=digest(b"key"),
        body=digest(b"body"),
    ),
)
WORKER = "ip-10-0-12-34.eu-central-1.compute.internal-4711-5f2c9a1b"
WAITING = replace(
    FULL,
    state=State.PENDING,
    mode=Mode.QUEUED,
    started_at=None,
    available_at=MIDNIGHT,
    inactivity_timeout_seconds=0,
    due_at=None,
)
CLAIMED = replace(
    WAITING,
    state=State.RUNNING,
    claimed=True,
    attempt=12,
    failures=2,
    started_at=MIDNIGHT,
    due_at=MIDNIGHT,
    lease=Lease(WORKER, MIDNIGHT, MIDNIGHT, f"{digest(b'key')}.{digest(b'body')}"),
)
BROKE = Failure("m" * MAX_MESSAGE, "ConnectionResetError")
GIVEN_BACK = replace(
    CLAIMED, state=State.PENDING, lease=None, due_at=None, released=Released(WORKER, 12, BROKE)
)
NAMED = {"alias_id": id_from_key("n", "r", "k"), "context_ref": "ticket-4711", "agent_id": "agent-1"}


@pytest.mark.parametrize(
    "run",
    [
        WAITING,
        CLAIMED,
        replace(CLAIMED, **NAMED),
        GIVEN_BACK,
        replace(GIVEN_BACK, **NAMED),
        FULL,
        ENDED,
        replace(FULL, cancel=CancelRequest(MIDNIGHT, "no longer wanted")),
        replace(ENDED, **NAMED),
        replace(ENDED, attempt=2, resume_key=digest(b"resume")),
        replace(ENDED, settlement=Settlement(owed=("nightly-report",)), announce=True, due_at=MIDNIGHT),
        replace(ENDED, settlement=Settlement(deliveries=(Delivery("report", STARTED, MIDNIGHT),))),
    ],
    ids=[
        "queued",
        "claimed",
        "claimed, with key, id and context",
        "given back",
        "given back, with key, id and context",
        "running",
        "settled",
        "cancel latched",
        "with key, id and context, settled",
        "resumed and settled",
        "owing",
        "delivered",
    ],
)
def test_a_row_with_512_bytes_of_input_stays_within_one_write_unit(run):
    assert item_size(run_item(run, EIGHT).serialize()) <= 1024


def test_a_larger_input_that_compresses_to_as_much_stays_within_one_too():
    input_ = b'{"output":"' + b"seven pages were read " * 100 + b'"}'
    assert fits_row(input_)
    row = run_item(replace(ENDED, input=input_), EIGHT)
    assert item_size(row.serialize()) <= 1024
    assert run_of(row).input == input_


def test_an_input_in_the_log_leaves_the_row_small():
    assert item_size(run_item(replace(ENDED, input=None, input_in_log=True), EIGHT).serialize()) <= 512


def test_nothing_in_a_row_is_a_map_or_a_list():
    full = replace(
        ENDED,
        tags=("a",),
        triggered_by=TriggeredBy("r0", "w", "e", 1),
        lease=Lease("w", 1),
        cancel=CancelRequest(1),
    )
    assert {kind for value in run_item(full, EIGHT).serialize().values() for kind in value} == {"S", "N", "B"}


def test_a_run_that_is_never_due_nor_expires_is_in_no_index_of_time():
    item = run_item(replace(FULL, due_at=None), EIGHT).serialize()
    assert not {"dk", "du", "ttl", "xa", "ck"} & set(item)


def test_dynamodb_collects_a_run_an_hour_after_it_reads_as_gone():
    item = run_item(replace(FULL, expires_at=MIDNIGHT), EIGHT).serialize()
    assert int(item["ttl"]["N"]) == MIDNIGHT // 1000 + 3600


@given(times, times, names, names)
def test_places_in_a_listing_sort_by_creation(one, other, id_one, id_other):
    first = created_key(replace(FULL, created_at=one, id=id_one))
    second = created_key(replace(FULL, created_at=other, id=id_other))
    if one != other:
        assert (first < second) == (one < other)
    assert place_at(one) <= first < place_at(one + 1) or one == 10**13 - 1


@pytest.mark.parametrize(("at", "place"), [(-5, "0000000000000"), (253_402_300_799_999, "9999999999999")])
def test_a_time_beyond_every_creation_stands_at_an_end(at, place):
    assert place_at(at) == place


@given(names, st.integers(1, 64))
def test_a_shard_is_the_same_wherever_it_is_computed(spread, shards):
    assert due_shard(spread, shards) == due_shard(spread, shards)
    assert due_shard(spread, shards) in {f"due{shard}" for shard in range(shards)}


def test_runs_spread_over_all_shards():
    assert len({due_shard(f"run-{i}", 8) for i in range(200)}) == 8


@given(
    st.builds(Purge, namespace=names, run_id=names, birth=names, rev=texts, due_at=times, alias=maybe(names))
)
def test_a_purge_comes_back_from_its_item(purge):
    assert purge_of(RunsItem.from_raw_data(purge_item(purge, EIGHT).serialize())) == purge


def test_no_two_attributes_of_an_item_have_one_name():
    names_ = [attribute.attr_name for attribute in RunsItem.get_attributes().values()]
    assert len(names_) == len(set(names_))
