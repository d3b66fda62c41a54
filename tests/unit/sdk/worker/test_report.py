"""What a worker says of its runs in its own logging."""

from __future__ import annotations

import logging
import typing

import pytest

from baton_sdk import TerminalError
from baton_sdk.worker import outcome
from baton_sdk.worker.endings import Ending
from baton_sdk.worker.execution import Execution
from baton_sdk.worker.report import ATTRIBUTE


@pytest.fixture
def said(caplog):
    """The records of runs so far: their levels and their data."""
    caplog.set_level(logging.INFO, "baton_sdk.worker")

    def said():
        records = [record for record in caplog.records if hasattr(record, ATTRIBUTE)]
        return [(record.levelname, getattr(record, ATTRIBUTE)) for record in records]

    return said


def test_every_ending_has_a_word_of_its_own():
    kinds = typing.get_args(Ending)
    assert len({outcome._WORDS[kind] for kind in kinds}) == len(kinds)


def test_it_says_what_it_has_claimed_and_how_long_it_took_to_what_end(worker, baton, hand, said):
    @worker.workflow("report")
    def report(ctx):
        hand.advance(2.5)

    baton.start("r1", attempt=3)
    worker.run_once()
    named = {"run_id": "r1", "workflow": "report", "attempt": 3}
    assert said() == [
        ("INFO", {"type": "claimed"} | named),
        ("INFO", {"type": "ended"} | named | {"outcome": "completed", "seconds": 2.5, "reason": None}),
    ]


@pytest.mark.parametrize(
    ("error", "word", "reason"),
    [
        (OSError("no disk"), "error", "OSError: no disk"),
        (TerminalError("no disk"), "failed", "TerminalError: no disk"),
        (AssertionError(), "error", "AssertionError"),
    ],
)
def test_what_went_wrong_is_a_warning_with_its_reason(error, word, reason, worker, baton, said):
    @worker.workflow("report")
    def report(ctx):
        raise error

    baton.start("r1")
    worker.run_once()
    (_, began), (found, ended) = said()
    assert (began["type"], found) == ("claimed", "WARNING")
    assert (ended["outcome"], ended["reason"]) == (word, reason)


def test_what_a_function_raised_is_told_with_its_traceback_from_the_function_on(worker, baton, caplog, said):
    @worker.workflow("report")
    def report(ctx):
        return ctx.step("divide", lambda: 1 / 0)

    row = baton.start("r1")
    worker.run_once()
    (*_, record) = caplog.records
    written = logging.Formatter().format(record).splitlines()
    assert "attempt 1 is error after" in written[0]
    assert written[0].endswith("ZeroDivisionError: division by zero")
    assert (written[1], written[-1]) == (
        "Traceback (most recent call last):",
        "ZeroDivisionError: division by zero",
    )
    assert "in report" in written[2]
    ((_, _began), (_, ended)) = said()
    assert ended["error"] == row.error
    assert ended["error"]["stack"].splitlines() == written[1:]


def test_what_is_given_back_in_spite_of_its_function_is_told_once(worker, baton, said):
    executions: list[Execution] = []

    @worker.workflow("report")
    def report(ctx):
        assert executions[0].abandon()

    baton.start("r1")
    run = worker.client.claim_run("r1", "w1")
    executions.append(worker.execution(run))
    executions[0].perform()
    assert [(data["type"], data.get("outcome")) for _, data in said()] == [
        ("claimed", None),
        ("ended", "released"),
    ]
