"""Workers that are heard: what they announce stands in the catalog once it is new, and for as long as one of
them lives."""

from __future__ import annotations

from typing import Any

import pytest

from baton.bootstrap import Runtime
from baton.domain.catalog import Subscription, Target, TargetKind, Workflow
from baton.domain.registering import Registration
from baton.domain.states import Mode, State
from baton.domain.workers import Heartbeat, Served
from baton.errors import InvalidRequest, NotFound, PayloadTooLarge, Unavailable
from tests.unit.house import NS, House, before_each_call, calls_of, names_of, start
from tests.unit.manual_clock import MIDNIGHT
from tests.unit.services.endings_at_hand import (
    BUILT,
    publish,
    register,
    settle,
    started,
    states_of,
)

WORKER = Target(TargetKind.WORKER)
DAY = 24 * 3600
AGAIN = DAY / 2
"""How often a live worker looks after what it announced."""


def served(name: str, *events: str | Subscription) -> Served:
    return Served(name, tuple(Subscription(each) if isinstance(each, str) else each for each in events))


def hear(at: House | Runtime, *serves: Served, worker_id: str = "w1", **given: Any) -> None:
    """A heartbeat, in a container of its own unless it is given one."""
    runtime = at.container() if isinstance(at, House) else at
    heartbeat = Heartbeat(**{"namespace": NS, "worker_id": worker_id, "serves": serves, **given})
    runtime.workers.hear(heartbeat)


def live_on(house: House, seconds: float, *serves: Served, **given: Any) -> None:
    """Let time pass while a worker is heard four times a day."""
    runtime = house.container()
    for _ in range(round(seconds / AGAIN * 2)):
        house.clock.advance(AGAIN / 2)
        hear(runtime, *serves, **given)


def catalog_of(house: House) -> dict[str, dict[str, Any]]:
    items = house.items(house.settings.catalog_table)
    return {item["s"]["S"]: item for item in items if item["k"]["S"] == NS}


def revision_of(house: House) -> int:
    item = catalog_of(house).get("revision")
    return 0 if item is None else int(item["n"]["N"])


def found(house: House, name: str) -> Workflow | None:
    """The workflow as it counts now."""
    return house.container().catalog.snapshot(NS, fresh=True).workflow(name)


def events_of(house: House, name: str) -> tuple[str, ...]:
    workflow = found(house, name)
    assert workflow is not None
    return workflow.events


def healed(house: House) -> list[str]:
    """The events that are to be gone over, which are forgotten by that."""
    store = house.container().workflows._context.catalog
    works = store.heals()
    assert all(store.heal_done(work) for work in works)
    return [work.event for work in works]


# What a heartbeat does.


def test_a_workflow_that_nobody_knew_is_announced_with_all_that_follows_from_it(
    house: House, runtime: Runtime
):
    hear(runtime, served("report", BUILT), runtime="python 3.13")
    assert set(catalog_of(house)) == {"revision", "wf#report", "name#report", "worker#w1"}
    assert revision_of(house) == 1
    assert healed(house) == [BUILT]
    workflow = found(house, "report")
    assert workflow is not None
    assert (workflow.target, workflow.events, workflow.registered) == (WORKER, (BUILT,), False)
    (link,) = runtime.workflows.get(NS, "report").started_by
    assert link.announced


def test_a_heartbeat_that_says_the_same_is_one_write_and_changes_no_catalog(house: House, runtime: Runtime):
    hear(runtime, served("report", BUILT), served("mail"))
    healed(house)
    house.clock.advance(15)
    for by in (runtime, house.container()):
        with calls_of(by) as calls:
            hear(by, served("mail"), served("report", BUILT))
        assert names_of(calls) == ["UpdateItem"]
    assert revision_of(house) == 2
    assert healed(house) == []


def test_what_is_announced_here_is_seen_here_at_once(runtime: Runtime):
    runtime.catalog.snapshot(NS)
    hear(runtime, served("report", BUILT))
    assert runtime.catalog.snapshot(NS).subscribers_of(BUILT) == ("report",)


def test_workers_are_not_read_with_the_catalog(house: House, runtime: Runtime):
    hear(house, served("report"))
    house.client.put_item(
        TableName=house.settings.catalog_table,
        Item={"k": {"S": NS}, "s": {"S": "worker#garbled"}, "d": {"S": "{"}},
    )
    assert list(runtime.catalog.snapshot(NS).workflows) == ["report"]


def test_what_a_worker_says_otherwise_stands_in_the_place_of_what_it_said(house: House, runtime: Runtime):
    hear(runtime, served("report", BUILT, "nightly"), served("mail", BUILT))
    healed(house)
    hear(runtime, served("report", "nightly", "hourly"), served("mail", BUILT))
    assert events_of(house, "report") == ("nightly", "hourly")
    assert healed(house) == ["hourly"]
    assert revision_of(house) == 3
    hear(runtime, served("report"), served("mail", BUILT))
    assert events_of(house, "report") == ()
    assert events_of(house, "mail") == (BUILT,)
    assert healed(house) == []


def test_who_says_nothing_of_subscriptions_leaves_what_is_announced(house: House):
    hear(house, served("report", BUILT))
    hear(house, Served("report"), worker_id="w2")
    hear(house, Served("report"))
    assert events_of(house, "report") == (BUILT,)
    assert revision_of(house) == 1


def test_a_workflow_that_is_served_no_more_stays_announced(house: House):
    hear(house, served("report", BUILT), served("mail", BUILT))
    hear(house, served("report", BUILT))
    assert events_of(house, "mail") == (BUILT,)
    assert revision_of(house) == 2


def test_many_workers_that_say_the_same_change_the_catalog_once(house: House):
    for number in range(5):
        hear(house, served("report", BUILT), worker_id=f"w{number}")
    assert revision_of(house) == 1


# Two versions side by side.


def test_of_two_that_disagree_the_later_stands_whoever_is_heard_next(house: House):
    hear(house, served("report", "old"), worker_id="old")
    hear(house, served("report", "new"), worker_id="new")
    for _ in range(8):
        house.clock.advance(15)
        hear(house, served("report", "old"), worker_id="old")
        hear(house, served("report", "new"), worker_id="new")
    assert events_of(house, "report") == ("new",)
    assert revision_of(house) == 2


def test_the_older_one_is_heard_when_it_says_something_new(house: House):
    hear(house, served("report", "old"), served("mail", "old"), worker_id="old")
    hear(house, served("report", "new"), served("mail", "new"), worker_id="new")
    hear(house, served("report", "newest"), served("mail", "old"), worker_id="old")
    assert events_of(house, "report") == ("newest",)
    assert events_of(house, "mail") == ("new",)  # of that it says what it said


def test_one_that_was_silent_does_not_take_it_back_from_the_later_one(house: House):
    hear(house, served("report", "old"), worker_id="old")
    hear(house, served("report", "new"), worker_id="new")
    house.clock.advance(DAY - 1)
    hear(house, served("report", "old"), worker_id="old")
    assert events_of(house, "report") == ("new",)


def test_one_that_was_silent_for_a_day_is_a_new_one(house: House):
    hear(house, served("report", "old"), worker_id="old")
    hear(house, served("report", "new"), worker_id="new")
    house.clock.advance(DAY)
    hear(house, served("report", "old"), worker_id="old")
    assert events_of(house, "report") == ("old",)


# For how long it counts.


def test_it_counts_for_a_week_after_the_last_worker_was_heard_and_for_a_day_more_at_the_most(house: House):
    hear(house, served("report", BUILT))
    live_on(house, 3 * DAY, served("report", BUILT))
    house.clock.advance(7 * DAY)
    assert events_of(house, "report") == (BUILT,)
    house.clock.advance(DAY)
    assert found(house, "report") is None
    with pytest.raises(NotFound):
        house.container().workflows.get(NS, "report")
    assert house.container().workflows.list(NS, limit=9, after=None).workflows == []


def test_a_worker_that_lives_renews_it_twice_a_day_at_most_and_heals_nothing_by_that(house: House):
    hear(house, served("report", BUILT))
    healed(house)
    live_on(house, 10 * DAY, served("report", BUILT))
    assert events_of(house, "report") == (BUILT,)
    assert 10 <= revision_of(house) <= 1 + 2 * 10
    assert healed(house) == []
    workflow = found(house, "report")
    assert workflow is not None
    assert workflow.updated_at == MIDNIGHT


def test_many_that_live_renew_it_no_oftener_than_one(house: House):
    runtime = house.container()
    for _ in range(4 * 8):
        for number in range(3):
            hear(runtime, served("report", BUILT), worker_id=f"w{number}")
            house.clock.advance(3600)
    assert revision_of(house) <= 1 + 2 * 4


def test_a_container_that_finds_the_catalog_unchanged_forgets_what_counts_no_more(house: House):
    hear(house, served("report", BUILT))
    runtime = house.container()
    assert runtime.catalog.snapshot(NS).subscribers_of(BUILT) == ("report",)
    house.clock.advance(8 * DAY)
    assert runtime.catalog.snapshot(NS).subscribers_of(BUILT) == ()
    assert runtime.catalog.snapshot(NS).revision == 1


def test_what_counted_no_more_is_healed_like_new_when_it_is_said_again(house: House):
    hear(house, served("report", BUILT))
    healed(house)
    house.clock.advance(9 * DAY)
    hear(house, served("report", BUILT))
    assert events_of(house, "report") == (BUILT,)
    assert healed(house) == [BUILT]


def test_a_row_that_counts_no_more_goes_by_itself_a_week_later(house: House):
    hear(house, served("report", BUILT))
    assert int(catalog_of(house)["wf#report"]["ttl"]["N"]) == (MIDNIGHT // 1000) + 15 * DAY
    register(house, "report")
    assert "ttl" not in catalog_of(house)["wf#report"]


def test_a_worker_is_forgotten_a_day_after_it_was_heard(house: House):
    hear(house, served("report"))
    house.clock.advance(100)
    hear(house, served("report"))
    assert int(catalog_of(house)["worker#w1"]["ttl"]["N"]) == MIDNIGHT // 1000 + 100 + DAY


# What an operator says outranks it.


def test_what_is_registered_with_subscriptions_outranks_what_was_and_will_be_announced(house: House):
    hear(house, served("report", "announced"))
    register(house, "report", "registered")
    assert events_of(house, "report") == ("registered",)
    hear(house, served("report", "other"), worker_id="w2")
    assert events_of(house, "report") == ("registered",)
    assert [link.announced for link in house.container().workflows.get(NS, "report").started_by] == [False]


def test_what_is_registered_without_leaves_it_to_workers(house: House):
    hear(house, served("report", BUILT))
    wish = Registration(namespace=NS, name="report", max_attempts=7)
    done = house.container().workflows.put(wish)
    assert done.created
    assert (done.workflow.target, done.workflow.events) == (WORKER, (BUILT,))
    assert house.container().workflows.put(wish).workflow == done.workflow
    assert revision_of(house) == 2
    hear(house, served("report", "nightly"), worker_id="w2")
    workflow = found(house, "report")
    assert workflow is not None
    assert (workflow.events, workflow.max_attempts) == (("nightly",), 7)


def test_what_comes_to_count_as_an_operator_gives_way_is_healed(house: House):
    hear(house, served("report", BUILT))
    register(house, "report", "nightly")
    healed(house)
    house.container().workflows.put(Registration(namespace=NS, name="report"))
    assert events_of(house, "report") == (BUILT,)
    assert healed(house) == [BUILT]


def test_what_is_deleted_stays_so_until_a_worker_says_something_new(house: House):
    hear(house, served("report", BUILT))
    house.container().workflows.delete(NS, "report")
    assert found(house, "report") is None
    with pytest.raises(NotFound):
        house.container().workflows.delete(NS, "report")
    live_on(house, 2 * DAY, served("report", BUILT))
    assert found(house, "report") is None
    hear(house, served("report", BUILT), worker_id="w2")
    assert events_of(house, "report") == (BUILT,)
    assert house.container().catalog.gone_since(NS, "report") is None


# What follows from it.


def test_a_start_of_an_announced_workflow_waits_for_a_worker(house: House):
    assert start(house.container(), workflow="report").detail.run.mode is Mode.ATTACHED
    hear(house, served("report"))
    run = start(house.container(), workflow="report").detail.run
    assert (run.mode, run.state) == (Mode.QUEUED, State.PENDING)


def test_an_ending_starts_what_was_announced_also_a_moment_late(house: House):
    settle(house, "early")
    publish(house, "early")
    hear(house, served("report", Subscription(BUILT, where="run.id != 'late'")))
    house.container().heal.run()
    settle(house, "r1")
    publish(house, "r1")
    settle(house, "late")
    publish(house, "late")
    assert states_of(house, "early") == states_of(house, "r1") == {"report": "started"}
    assert states_of(house, "late") == {"report": "declined"}
    assert len(started(house, "report")) == 2


def test_a_subscriber_whose_announcement_is_over_is_gone_from_then_on(house: House):
    hear(house, served("report", BUILT))
    until = MIDNIGHT + 8 * DAY * 1000
    catalog = house.container().catalog
    assert catalog.gone_since(NS, "report") is None
    house.clock.advance(9 * DAY)
    assert catalog.gone_since(NS, "report") == until


# What is refused, before any of it stands.


def test_an_expression_is_checked_where_it_stands(house: House):
    with pytest.raises(InvalidRequest, match=r"body\.workflows\.1\.subscribes\.0\.where: .*character 3"):
        hear(house, served("mail"), served("report", Subscription(BUILT, where="a[")))
    with pytest.raises(PayloadTooLarge, match=r"body\.workflows\.0\.subscribes\.1\.input"):
        hear(house, served("report", BUILT, Subscription(BUILT, input="a" * 1023)))
    with pytest.raises(InvalidRequest, match=r"body\.workflows\.0\.subscribes\.0\.event"):
        hear(house, served("report", "run.started:build"))
    assert catalog_of(house) == {}


def test_one_subscriber_too_many_is_refused_where_it_is_said(house: House, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("baton.domain.registering.MAX_SUBSCRIBERS", 2)
    register(house, "first", BUILT)
    before = catalog_of(house)
    with pytest.raises(InvalidRequest, match=r"body\.workflows\.2\.subscribes\.1\.event: .*2 subscribers"):
        hear(house, served("mail"), served("second", BUILT), served("third", "nightly", BUILT))
    assert catalog_of(house) == before


def test_what_counts_no_more_takes_no_place_at_an_event(house: House, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("baton.domain.registering.MAX_SUBSCRIBERS", 1)
    hear(house, served("report", BUILT))
    with pytest.raises(InvalidRequest):
        register(house, "mail", BUILT)
    house.clock.advance(8 * DAY)
    register(house, "mail", BUILT)
    with pytest.raises(InvalidRequest):
        hear(house, served("report", BUILT))


# At once.


def test_what_two_workers_announce_at_once_both_stands(house: House, runtime: Runtime):
    other = house.container()
    acted: list[str] = []

    def meanwhile(operation: str, _request: dict[str, Any]) -> None:
        if operation == "TransactWriteItems" and not acted:
            acted.append(operation)
            hear(other, served("report", "theirs"), served("mail", BUILT), worker_id="w2")

    with before_each_call(runtime, meanwhile):
        hear(runtime, served("report", "mine"), served("page", BUILT))
    assert events_of(house, "report") == ("mine",)
    assert events_of(house, "mail") == events_of(house, "page") == (BUILT,)
    assert revision_of(house) == 4


def test_a_worker_that_is_heard_twice_at_once_is_taken_at_one_word(house: House, runtime: Runtime):
    other = house.container()
    acted: list[str] = []

    def meanwhile(operation: str, _request: dict[str, Any]) -> None:
        if operation == "PutItem" and not acted:
            acted.append(operation)
            hear(other, served("report", "later"))

    with before_each_call(runtime, meanwhile):
        hear(runtime, served("report", "earlier"))
    (event,) = events_of(house, "report")
    with calls_of(runtime) as calls:
        hear(runtime, served("report", event))
    assert names_of(calls) == ["UpdateItem"]  # what stands is what it is remembered to have said


def test_a_catalog_that_changes_all_the_time_is_given_up(house: House, runtime: Runtime):
    numbers = iter(range(1000))

    def meanwhile(operation: str, _request: dict[str, Any]) -> None:
        if operation == "TransactWriteItems":
            register(house, "other", description=str(next(numbers)))

    with before_each_call(runtime, meanwhile), pytest.raises(Unavailable):
        hear(runtime, served("report"))


# Who lives.


def ids(house: House, limit: int = 50, namespace: str = NS) -> list[str]:
    """Those of all pages, none of which is longer than it may be."""
    names: list[str] = []
    after: str | None = None
    while True:
        page = house.container().workers.list(namespace, limit=limit, after=after)
        assert len(page.workers) <= limit
        names += [worker.id for worker in page.workers]
        after = page.after
        if after is None:
            return names


def test_those_alive_are_listed_by_id_to_the_end(house: House, monkeypatch: pytest.MonkeyPatch):
    for number in range(7):
        hear(house, served("report"), worker_id=f"w{number}")
    house.clock.advance(59.999)
    for number in (1, 5, 6):
        hear(house, served("report"), worker_id=f"w{number}")
    assert len(ids(house)) == 7
    house.clock.advance(0.001)
    for examined in (1000, 3, 1):
        monkeypatch.setattr("baton.services.workers.EXAMINED", examined)
        for limit in (1, 2, 3, 50):
            assert ids(house, limit) == ["w1", "w5", "w6"]


def test_a_worker_is_shown_as_it_was_heard_last(house: House, runtime: Runtime):
    hear(runtime, served("report"), served("a/b"), runtime="old")
    house.clock.advance(15)
    hear(runtime, served("report"), served("a/b"), runtime="new")
    (worker,) = runtime.workers.list(NS, limit=1, after=None).workers
    assert (worker.id, worker.runtime, list(worker.said)) == ("w1", "new", ["report", "a/b"])
    assert (worker.seen_at, runtime.workers.dead_at(worker)) == (MIDNIGHT + 15_000, MIDNIGHT + 75_000)
    hear(runtime, served("report"), served("a/b"))
    assert runtime.workers.list(NS, limit=1, after=None).workers[0].runtime is None


def test_namespaces_know_nothing_of_each_others_workers(house: House):
    hear(house, served("report", BUILT))
    hear(house, served("report", "nightly"), namespace="other")
    assert events_of(house, "report") == (BUILT,)
    theirs = house.container().catalog.snapshot("other").workflow("report")
    assert theirs is not None
    assert theirs.events == ("nightly",)
    assert ids(house) == ids(house, namespace="other") == ["w1"]
    assert ids(house, namespace="third") == []
    house.container().workflows.delete("other", "report")
    assert events_of(house, "report") == (BUILT,)
