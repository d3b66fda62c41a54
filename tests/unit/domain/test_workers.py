"""What a heartbeat changes: new words once, the rest never."""

from __future__ import annotations

from typing import Any

import pytest

from baton.domain.catalog import Announced, Subscription, Workflow
from baton.domain.workers import Heartbeat, Lasting, Served, Worker, announce, is_news

LASTING = Lasting(at_least=700, renewed_every=50)
NOW = 10_000
ENOUGH, FRESH = NOW + 750, NOW + 800
NIGHTLY, HOURLY = (Subscription("nightly"),), (Subscription("hourly"),)


def row(**given: Any) -> Workflow:
    """A workflow as it is written."""
    fields = {"namespace": "ns", "name": "report", "created_at": 1, "updated_at": 1, "rev": "old", **given}
    return Workflow(**fields)


def known(*subscribes: Subscription, until: int = ENOUGH) -> Workflow:
    """One that workers alone know of."""
    return row(registered=False, announced=Announced(until, subscribes))


def heard(
    before: Workflow | None, subscribes: tuple[Subscription, ...] | None = NIGHTLY, *, news: bool = True
) -> Workflow | None:
    served = Served("report", subscribes)
    return announce(before, "ns", served, news=news, lasting=LASTING, rev="new", now=NOW)


def heartbeat(*serves: Served, **given: Any) -> Heartbeat:
    return Heartbeat(**{"namespace": "ns", "worker_id": "w", "serves": serves, **given})


def test_a_workflow_that_nobody_knew_comes_to_be():
    assert heard(None) == row(
        registered=False, announced=Announced(FRESH, NIGHTLY), created_at=NOW, updated_at=NOW, rev="new"
    )


def test_a_registered_one_is_left_as_it_is_but_for_what_is_announced():
    registered = row(subscribes=HOURLY, declares=True, max_attempts=3)
    assert heard(registered) == row(
        subscribes=HOURLY,
        declares=True,
        max_attempts=3,
        announced=Announced(FRESH, NIGHTLY),
        updated_at=NOW,
        rev="new",
    )


def test_what_is_said_anew_stands_in_the_place_of_what_was_said_before():
    after = heard(known(*HOURLY))
    assert after is not None
    assert after.announced == Announced(FRESH, NIGHTLY)
    assert (after.updated_at, after.rev) == (NOW, "new")
    none = heard(known(*HOURLY), ())
    assert none is not None
    assert none.announced == Announced(FRESH, ())


def test_who_says_nothing_of_subscriptions_leaves_them():
    before = known(*HOURLY)
    assert heard(before, None) is before


def test_a_new_worker_that_says_the_same_changes_nothing():
    before = known(*NIGHTLY)
    assert heard(before) is before


def test_a_worker_that_said_it_before_does_not_take_it_back_from_a_later_one():
    before = known(*HOURLY)
    assert heard(before, NIGHTLY, news=False) is before


@pytest.mark.parametrize("news", [True, False])
def test_what_would_cease_to_count_before_the_next_look_is_made_to_last(news: bool):
    after = heard(known(*NIGHTLY, until=ENOUGH - 1), news=news)
    assert after is not None
    assert after.announced == Announced(FRESH, NIGHTLY)
    assert (after.updated_at, after.rev) == (1, "new")  # nobody is started otherwise by it


def test_what_an_operator_removed_is_not_brought_back_by_who_said_it_before():
    assert heard(None, news=False) is None
    registered = row()
    assert heard(registered, news=False) is registered


def test_what_has_ceased_to_count_counts_again_when_it_is_said_again():
    after = heard(known(*HOURLY, until=NOW), None)
    assert after is not None
    assert after.announced == Announced(FRESH, None)
    assert after.updated_at == NOW


def test_a_word_is_news_to_whom_it_was_not_said_before():
    before = heartbeat(Served("a", NIGHTLY), Served("b", ()), Served("c"))
    worker = Worker(
        namespace="ns",
        id="w",
        runtime=None,
        said=before.said,
        digest=before.digest,
        seen_at=1,
        applied_at=1,
        rev="r",
    )
    now = heartbeat(Served("a", NIGHTLY), Served("b"), Served("c", ()), Served("d"))
    assert [is_news(each, now, worker) for each in now.serves] == [False, True, True, True]
    assert all(is_news(each, before, None) for each in before.serves)


def test_an_announcement_is_the_same_in_any_order_and_from_any_runtime():
    served = [Served("a", NIGHTLY), Served("b")]
    assert heartbeat(*served).digest == heartbeat(*reversed(served), runtime="3.12").digest
    assert heartbeat(*served).digest != heartbeat(Served("a", HOURLY), Served("b")).digest
    assert heartbeat(*served).digest != heartbeat(served[0]).digest
