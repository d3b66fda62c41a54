"""How times, events and endings look to a person."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from baton_sdk.cli.views import event_text, outcome, when
from baton_sdk.log import Event
from baton_sdk.run import Run
from tests.unit.sdk.service import message, run_json

AT = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("ago", "short"),
    [
        (timedelta(hours=23), True),
        (timedelta(0), True),
        (timedelta(seconds=-2), True),
        (timedelta(hours=25), False),
        (timedelta(hours=-23), False),
    ],
)
def test_only_a_time_of_the_day_before_goes_without_its_date(ago, short):
    whole = when(AT)
    assert whole is not None
    assert when(AT, AT + ago) == (whole.partition(" ")[2] if short else whole)


@pytest.mark.parametrize(
    ("kind", "data", "said"),
    [
        ("start", {"workflow": "w", "input": [1], "by": "default_k7q2m4xz"}, "w [1], by default_k7q2m4xz"),
        ("start", {"workflow": "w"}, "w"),
        ("end", {"status": "cancelled", "by": "default_k7q2m4xz"}, "cancelled, by default_k7q2m4xz"),
        ("end", {"status": "failed", "code": 3, "by": "x"}, "failed, code 3, by x"),
        ("end", {"status": "completed", "by": None}, "completed"),
    ],
)
def test_who_started_and_who_ended_a_run_is_told(kind, data, said):
    assert event_text(Event.from_json(message(1, kind, data))).plain == said


def test_a_run_that_went_on_as_another_says_as_which():
    run = Run.from_json(run_json("r", state="completed", continued_as="c~2"))
    assert outcome(run).plain == "run r completed, continued as c~2"
