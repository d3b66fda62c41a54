"""What a registration makes of what stands: all of it anew, but for what workers announced."""

from __future__ import annotations

from typing import Any

import pytest

from baton.domain.catalog import Announced, Backoff, Subscription, Workflow
from baton.domain.registering import (
    SUBSCRIBES,
    Loc,
    Registration,
    check_crowd,
    newly_subscribed,
    register,
)
from baton.errors import InvalidRequest

NIGHTLY, HOURLY = Subscription("nightly"), Subscription("hourly")
SAID = Announced(10, (NIGHTLY,))


def row(**given: Any) -> Workflow:
    """A workflow as it is written."""
    fields = {"namespace": "ns", "name": "report", "created_at": 1, "updated_at": 1, "rev": "old", **given}
    return Workflow(**fields)


def put(before: Workflow | None, **given: Any) -> Workflow:
    return register(before, Registration(namespace="ns", name="report", **given), rev="new", now=5)


def test_it_replaces_all_but_what_was_announced():
    before = row(subscribes=(HOURLY,), declares=True, max_attempts=7, backoff=Backoff(0, 1), announced=SAID)
    assert put(before, backoff=Backoff(2, 3)) == row(
        backoff=Backoff(2, 3), announced=SAID, updated_at=5, rev="new"
    )


def test_it_takes_over_what_workers_alone_know_of():
    before = row(registered=False, announced=SAID)
    after = put(before)
    assert after == row(announced=SAID, updated_at=5, rev="new")
    assert put(after) is after


@pytest.mark.parametrize("announced", [None, SAID])
def test_one_that_says_the_same_is_the_one_that_stands(announced: Announced | None):
    before = row(max_attempts=7, backoff=Backoff(0, 1), announced=announced)
    assert put(before, max_attempts=7, backoff=Backoff(0, 1)) is before
    assert put(before, max_attempts=7, backoff=Backoff(0, 2)) is not before


def test_what_begins_to_count_is_newly_subscribed_whoever_said_it():
    silent, declared = row(announced=SAID), row(subscribes=(HOURLY,), declares=True, announced=SAID)
    assert newly_subscribed(None, _now(silent)) == ("nightly",)
    assert newly_subscribed(_now(declared), _now(silent)) == ("nightly",)
    assert newly_subscribed(_now(silent), _now(declared)) == ("hourly",)
    assert newly_subscribed(silent.at(10), _now(silent)) == ("nightly",)
    assert newly_subscribed(_now(silent), _now(silent)) == ()


def test_one_too_many_is_told_where_it_is_said(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("baton.domain.registering.MAX_SUBSCRIBERS", 1)
    joining = row(subscribes=(HOURLY, NIGHTLY))
    check_crowd([joining, row(name="other", subscribes=())], joining, SUBSCRIBES)
    other = row(name="other", subscribes=(NIGHTLY, NIGHTLY))
    places: list[tuple[Loc, str]] = [(SUBSCRIBES, "body.subscribes.1"), (["there", 3], "there.3.1")]
    for loc, where in places:
        with pytest.raises(InvalidRequest, match=f"{where}.event: 'nightly' has 1 subscribers"):
            check_crowd([other], joining, loc)


def _now(workflow: Workflow) -> Workflow:
    counting = workflow.at(9)
    assert counting is not None
    return counting
