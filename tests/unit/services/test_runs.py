"""Runs as others see them: one, many, awaited."""

from unittest.mock import patch

import pytest

from baton.domain.offset import Offset
from baton.domain.states import Mode, State
from baton.errors import NotFound
from baton.services.runs import MAX_EXAMINED, Filter
from baton.store.log import LogStore
from baton.store.runs import RunStore
from tests.unit.house import NS, calls_of, names_of, start
from tests.unit.services.acts import append, fail, finish, row

LARGE = b'"' + b"x" * 600 + b'"'


# One


@pytest.mark.parametrize("payload", [b"null", b'{"n":0.10}', LARGE])
def test_a_run_shows_its_input_wherever_it_stands(house, payload):
    start(house.container(), run_id="r1", input=payload)
    detail = house.container().runs.get(NS, "r1")
    assert (detail.input, detail.output, detail.error) == (payload, None, None)


def test_the_next_offset_follows_the_log(house, runtime):
    start(runtime, run_id="r1")
    for count, expected in ((1, 2), (3, 5)):
        append(runtime, "r1", *range(count))
        assert house.container().runs.get(NS, "r1").next_offset == Offset(expected)


def test_a_container_never_shows_less_of_a_log_than_it_wrote(house, runtime):
    start(runtime, run_id="r1")
    end = append(runtime, "r1", 1, 2).tail.offset

    with patch.object(LogStore, "newest", return_value=None):  # a replica that lags
        assert runtime.runs.get(NS, "r1").next_offset == end
        assert house.container().runs.get(NS, "r1").next_offset == Offset(1)


def test_an_output_of_null_is_told_from_none_yet(runtime):
    start(runtime, run_id="r1")
    assert runtime.runs.get(NS, "r1").output is None
    finish(runtime, "r1")
    assert runtime.runs.get(NS, "r1").output == b"null"


@pytest.mark.parametrize(
    ("payload", "settled", "calls"),
    [
        (b"null", False, ["GetItem", "Query"]),
        (b"null", True, ["GetItem", "Query"]),
        (LARGE, False, ["GetItem", "Query"]),  # item 0 is the newest
        (LARGE, True, ["GetItem", "GetItem", "Query"]),
    ],
)
def test_a_run_is_read_in_one_round_trip_and_one_more_for_what_stands_elsewhere(
    house, payload, settled, calls
):
    container = house.container()
    start(container, run_id="r1", input=payload)
    if settled:
        finish(container, "r1", output=b"1")
    cold = house.container()
    with calls_of(cold) as made:
        assert cold.runs.get(NS, "r1").input == payload
    assert sorted(names_of(made)) == calls


def test_a_run_over_a_past_life_shows_nothing_of_its_log(house):
    container = house.container()
    start(container, run_id="r1", input=LARGE)
    append(container, "r1", 1, 2, 3)
    finish(container, "r1", output=LARGE)
    container.runs.delete(NS, "r1")
    start(house.container(), run_id="r1", input=b"1")
    detail = house.container().runs.get(NS, "r1")
    assert (detail.input, detail.output, detail.next_offset) == (b"1", None, Offset(1))


# Waiting


def test_a_wait_ends_as_soon_as_the_run_is_terminal(house, runtime):
    start(runtime, run_id="r1")
    begun = house.clock.now()
    house.clock.plan(3, lambda: finish(house.container(), "r1", output=b"1"))
    detail = runtime.runs.wait(NS, "r1", 20)
    assert (detail.run.state, detail.output) == (State.COMPLETED, b"1")
    assert house.clock.now() - begun <= 3500


def test_a_wait_on_a_terminal_run_does_not_wait(house, runtime):
    start(runtime, run_id="r1")
    fail(runtime, "r1")
    assert runtime.runs.wait(NS, "r1", 20).run.state is State.FAILED
    assert house.clock.slept == []


@pytest.mark.parametrize("timeout", [0, 0.1, 2])
def test_a_wait_answers_the_run_as_it_is_at_the_timeout(house, runtime, timeout):
    start(runtime, run_id="r1")
    begun = house.clock.now()
    detail = runtime.runs.wait(NS, "r1", timeout)
    assert detail == runtime.runs.get(NS, "r1")
    assert house.clock.now() - begun == timeout * 1000


def test_waiting_looks_cost_half_a_read_each(house, runtime):
    start(runtime, run_id="r1")
    with calls_of(runtime) as calls:
        runtime.runs.wait(NS, "r1", 2)
    consistent = [request["ConsistentRead"] for operation, request in calls if operation == "GetItem"]
    assert consistent == [True, False, False, False, False, True]


def test_a_run_that_is_not_replicated_yet_is_waited_for(house, runtime, monkeypatch):
    start(runtime, run_id="r1")
    true_get = RunStore.get

    def lagging(self, namespace, run_id, *, consistent=True):
        return true_get(self, namespace, run_id, consistent=True) if consistent else None

    monkeypatch.setattr(RunStore, "get", lagging)
    house.clock.plan(2, lambda: finish(house.container(), "r1"))
    assert runtime.runs.wait(NS, "r1", 20).run.state is State.COMPLETED


def test_a_wait_for_nobody_is_not_found(runtime):
    with pytest.raises(NotFound):
        runtime.runs.wait(NS, "nobody", 20)


# Many


def ids(house, *, limit=100, after=None, namespace=NS, **wanted):
    page = house.container().runs.list(namespace, Filter(**wanted), limit=limit, after=after)
    return [detail.run.id for detail in page.runs]


def pages(house, limit, **wanted):
    """Every page's ids, to the end."""
    after = None
    while True:
        page = house.container().runs.list(NS, Filter(**wanted), limit=limit, after=after)
        yield [detail.run.id for detail in page.runs]
        if page.after is None:
            return
        after = page.after


@pytest.fixture
def six(house):
    """r0 to r5, a second apart, in three workflows, every way of telling them apart."""
    container = house.container()
    for i in range(6):
        start(
            container,
            run_id=f"r{i}",
            workflow=f"w{i % 3}",
            context_ref="ticket" if i in (1, 4) else None,
            tags=("even",) if i % 2 == 0 else ("odd", "x"),
            mode=Mode.QUEUED if i == 5 else None,
        )
        house.clock.advance(1)
    finish(container, "r0")
    fail(container, "r1")
    return container


NEWEST_FIRST = ["r5", "r4", "r3", "r2", "r1", "r0"]


def test_without_a_workflow_a_list_goes_over_all_of_them_newest_first(house, six):
    assert ids(house) == NEWEST_FIRST


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 6, 7])
@pytest.mark.parametrize("wanted", [{}, {"states": frozenset(State)}], ids=["plain", "filtered"])
def test_pages_put_together_are_the_whole_list_without_a_repeat(house, six, limit, wanted):
    found = list(pages(house, limit, **wanted))
    assert [id_ for page in found for id_ in page] == NEWEST_FIRST
    assert all(len(page) <= limit for page in found)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"workflow": "w1"}, ["r4", "r1"]),
        ({"workflow": "absent"}, []),
        ({"states": frozenset({State.RUNNING})}, ["r4", "r3", "r2"]),
        ({"states": frozenset({State.PENDING, State.COMPLETED})}, ["r5", "r0"]),
        ({"context_ref": "ticket"}, ["r4", "r1"]),
        ({"context_ref": "absent"}, []),
        ({"context_ref": "ticket", "workflow": "w0"}, []),
        ({"context_ref": "ticket", "workflow": "w1", "states": frozenset({State.FAILED})}, ["r1"]),
        ({"tag": "even"}, ["r4", "r2", "r0"]),
        ({"tag": "x", "workflow": "w2"}, ["r5"]),
        ({"tag": "eve"}, []),
    ],
)
def test_each_filter_takes_what_it_says(house, six, wanted, expected):
    assert ids(house, **wanted) == expected
    assert [id_ for page in pages(house, 1, **wanted) for id_ in page] == expected


@pytest.mark.parametrize("by", [{}, {"workflow": "w1"}, {"context_ref": "ticket"}])
def test_since_and_until_are_both_included_to_the_millisecond(house, six, by):
    whole = ids(house, **by)
    for id_ in whole[-2:]:
        at = row(six, id_).created_at
        assert ids(house, since=at, until=at, **by) == [id_]
        assert ids(house, since=at + 1, **by) == whole[: whole.index(id_)]
        assert ids(house, until=at - 1, **by) == whole[whole.index(id_) + 1 :]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"since": -1, "until": 253_402_300_799_999}, NEWEST_FIRST),
        ({"until": 10_413_792_000_000}, NEWEST_FIRST),  # the year 2300: one digit more than now
        ({"since": 10_413_792_000_000}, []),
        ({"until": -1}, []),
        ({"until": 0}, []),
        ({"since": 2, "until": 1}, []),
    ],
)
def test_any_time_may_be_asked_for(house, six, wanted, expected):
    assert ids(house, **wanted) == expected
    assert ids(house, **wanted, context_ref="ticket") == [id_ for id_ in expected if id_ in ("r4", "r1")]


def test_a_range_that_ends_before_it_begins_never_reaches_the_store(house, six):
    with calls_of(six) as calls:
        six.runs.list(NS, Filter(workflow="w1", since=5, until=4), limit=5, after=None)
    assert calls == []


def test_lists_show_no_payloads(house, six):
    page = six.runs.list(NS, Filter(), limit=6, after=None)
    assert all((d.input, d.output, d.error, d.next_offset) == (None,) * 4 for d in page.runs)


def test_what_is_gone_is_not_listed(house, six):
    six.runs.delete(NS, "r0")
    assert ids(house) == NEWEST_FIRST[:-1]
    house.clock.advance(house.settings.retention_seconds)
    assert ids(house) == ["r5", "r4", "r3", "r2"]


def test_another_namespace_sees_nothing(house, six):
    assert ids(house, namespace="other") == []
    assert ids(house, namespace="other", workflow="w1") == []
    assert ids(house, namespace="other", context_ref="ticket") == []


def test_a_run_started_between_two_pages_shifts_none_of_them(house, six):
    page = six.runs.list(NS, Filter(), limit=3, after=None)
    start(six, run_id="r6", workflow="w9")
    assert ids(house, after=page.after) == ["r2", "r1", "r0"]


def test_a_page_ends_with_the_runs_it_was_asked_for_and_reads_no_more(house, six):
    with calls_of(six) as calls:
        six.runs.list(NS, Filter(workflow="w1"), limit=1, after=None)
    (batch,) = [request for operation, request in calls if operation == "BatchGetItem"]
    assert len(batch["RequestItems"][house.settings.runs_table]["Keys"]) == 1
    (query,) = [request for operation, request in calls if operation == "Query"]
    assert query["Limit"] == 1


@pytest.fixture
def crowd(house, monkeypatch):
    """25 runs of one workflow, the oldest four of them tagged, where a page examines 20."""
    assert MAX_EXAMINED == 1000
    monkeypatch.setattr("baton.services.runs.MAX_EXAMINED", 20)
    monkeypatch.setattr("baton.services.runs.BATCH", 8)
    container = house.container()
    for i in range(25):
        start(container, run_id=f"c{i:02d}", workflow="crowd", tags=("old",) if i < 4 else ())
        house.clock.advance(0.001)
    return container


def test_a_page_examines_a_thousand_runs_and_hands_on_where_it_stopped(crowd):
    wanted = Filter(workflow="crowd", tag="old")
    page = crowd.runs.list(NS, wanted, limit=3, after=None)
    assert page.runs == []
    assert page.after is not None
    rest = crowd.runs.list(NS, wanted, limit=3, after=page.after)
    assert [detail.run.id for detail in rest.runs] == ["c03", "c02", "c01"]
    last = crowd.runs.list(NS, wanted, limit=3, after=rest.after)
    assert ([detail.run.id for detail in last.runs], last.after) == (["c00"], None)


def test_an_unfiltered_page_hands_on_too_when_it_stopped(crowd):
    page = crowd.runs.list(NS, Filter(), limit=100, after=None)
    assert len(page.runs) == 20
    rest = crowd.runs.list(NS, Filter(), limit=100, after=page.after)
    assert ([detail.run.id for detail in rest.runs], rest.after) == (
        ["c04", "c03", "c02", "c01", "c00"],
        None,
    )
