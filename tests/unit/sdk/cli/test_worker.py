"""``baton worker``: what it makes of its options, and what it shows of a worker's runs."""

from __future__ import annotations

import io
import json
import logging
import sys
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from rich.console import Console

from baton_sdk import FieldError, InvalidRequest, Run, Unreachable, Worker
from baton_sdk.cli.output import Output
from baton_sdk.cli.worker.lines import shown
from baton_sdk.worker.endings import Completed, Failed, GivenBack, LeaseGone, TryAgainLater
from baton_sdk.worker.outages import Outages
from baton_sdk.worker.report import report_claimed, report_ended
from tests.unit.sdk.service import run_json

APP = """\
from baton_sdk import Worker

worker = Worker(concurrency=3, lease_seconds=30, drain_seconds=7, worker_id="of-the-module")

@worker.workflow("report")
def report(ctx):
    return None
"""
RUN = Run.from_json(run_json("r1", workflow="report"))
AGAIN = Run.from_json(run_json("r1", workflow="report", attempt=2))


@dataclass
class Worked:
    """What a worker was like when it began to work."""

    concurrency: int
    lease_seconds: float
    drain_seconds: float
    worker_id: str
    url: str


@pytest.fixture
def module(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def module(text=APP):
        (tmp_path / "app_for_worker.py").write_text(text)
        return "app_for_worker"

    yield module
    sys.modules.pop("app_for_worker", None)


@pytest.fixture
def worked(monkeypatch):
    """Workers that begin to work and have nothing to do; what they were like."""
    seen = []

    def work(self):
        terms = self.terms
        seen.append(
            Worked(
                self.concurrency,
                terms.lease_seconds,
                self.drain_seconds,
                terms.worker_id,
                self.client.address.url,
            )
        )

    monkeypatch.setattr(Worker, "run", work)
    return seen


def test_a_worker_works_as_its_module_has_it(module, worked, run):
    done = run("worker", module())
    assert done.exit_code == 0
    assert worked == [Worked(3, 30, 7, "of-the-module", "http://127.0.0.1:4437")]
    assert "of-the-module serves report of http://127.0.0.1:4437, 3 runs at once" in done.stderr
    assert done.stdout == ""


def test_options_outrank_the_module(module, worked, run):
    options = (
        "-c",
        "5",
        "--lease-seconds",
        "12",
        "--drain-seconds",
        "0",
        "--id",
        "me",
        "--url",
        "http://svc",
    )
    assert run("worker", module(), *options).exit_code == 0
    assert worked == [Worked(5, 12, 0, "me", "http://svc")]


def test_a_client_of_the_modules_own_is_kept(module, worked, run):
    text = APP.replace("concurrency=3", 'client=Client("http://own")').replace("import", "import Client,")
    assert run("worker", module(text)).exit_code == 0
    assert worked[0].url == "http://own"


def test_a_program_is_told_what_is_served(module, worked, run):
    said, last = map(json.loads, run("worker", module(), "--json").stdout.splitlines())
    assert last == {"type": "stopped", "worker_id": "of-the-module"}
    assert said == {
        "type": "serving", "worker_id": "of-the-module", "workflows": ["report"],
        "url": "http://127.0.0.1:4437", "concurrency": 3,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "from baton_sdk import Worker\nworker = Worker()",
            "has no workflows: @worker.workflow(…) registers one",
        ),
        ("x = 1", "has no Worker: make one"),
    ],
)
def test_a_module_that_serves_nothing_is_a_usage_error(text, said, module, worked, run):
    done = run("worker", module(text))
    assert done.exit_code == 2
    assert said in " ".join(done.stderr.replace("│", " ").split())
    assert worked == []


def test_an_id_that_is_none_is_a_usage_error(module, worked, run):
    done = run("worker", module(), "--id", "me too")
    assert done.exit_code == 2
    assert "'me too' is not a worker's id" in " ".join(done.stderr.replace("│", " ").split())
    assert worked == []


def test_a_lease_that_the_service_refuses_is_told_by_its_option(module, monkeypatch, run):
    def refused(self):
        said = FieldError(("body", "lease_seconds"), "must be at least 10")
        raise InvalidRequest("body.lease_seconds: must be at least 10", status=400, errors=[said])

    monkeypatch.setattr(Worker, "run", refused)
    done = run("worker", module(), "--lease-seconds", "5")
    assert done.exit_code == 1
    assert "--lease-seconds 5 (lease_seconds of the Worker): must be at least 10" in done.stderr


def test_a_module_that_fails_by_itself_ends_with_its_own_traceback(module, worked, run):
    done = run("worker", module("raise OSError('no disk')"))
    assert done.exit_code == 1
    assert "OSError: no disk" in done.stderr and "app_for_worker.py" in done.stderr


# What is shown of a worker's logging.


@pytest.fixture
def logger():
    return logging.getLogger("baton_sdk.worker.of_test")


@contextmanager
def watched(out, logger, *theirs):
    """Show it in a program whose own handlers of logging are ``theirs``."""
    root = logging.getLogger()
    kept, root.handlers = root.handlers, list(theirs)
    try:
        with shown(out, logger):
            yield
        assert (root.handlers, logger.handlers, logger.level) == (list(theirs), [], logging.NOTSET)
    finally:
        root.handlers = kept


@pytest.fixture
def out():
    out = Output(as_json=False)
    out.notes = Console(file=io.StringIO(), width=200)
    return out


def notes(out):
    return out.notes.file.getvalue()


def lines(capsysbinary):
    return capsysbinary.readouterr().out.decode().splitlines()


def test_in_a_pipe_each_beginning_and_each_end_is_a_line(logger, out, capsysbinary):
    with watched(out, logger):
        report_claimed(logger, AGAIN)
        report_ended(logger, AGAIN, TryAgainLater(error={"message": "no disk"}), 1.25)
        report_ended(logger, RUN, Completed(None), 2)
    assert [line.split("\t")[1:] for line in lines(capsysbinary)] == [
        ["claimed", "report", "r1", "2", "", "", ""],
        ["ended", "report", "r1", "2", "error", "1.25", "no disk"],
        ["ended", "report", "r1", "1", "completed", "2", ""],
    ]
    assert notes(out) == ""


def test_a_program_gets_json_lines(logger, capsysbinary):
    with watched(Output(as_json=True), logger):
        report_claimed(logger, RUN)
        report_ended(logger, RUN, LeaseGone("its log is closed to us"), 1)
    began, ended = map(json.loads, lines(capsysbinary))
    assert began.pop("at").endswith("Z") and ended.pop("at").endswith("Z")
    named = {"run_id": "r1", "workflow": "report", "attempt": 1}
    assert began == {"type": "claimed"} | named
    more = {"outcome": "lost", "seconds": 1, "reason": "its log is closed to us"}
    assert ended == {"type": "ended"} | named | more


def test_a_person_reads_what_became_of_each_run(logger, out):
    out.console = Console(file=io.StringIO(), force_terminal=True, color_system=None, width=200)
    with watched(out, logger):
        report_claimed(logger, RUN)
        report_claimed(logger, AGAIN)
        report_ended(logger, AGAIN, GivenBack("the worker stops"), 0.04)
        report_ended(logger, AGAIN, Failed(error={"message": "bad input"}), 61)
    said = [line.split("  ", 1)[1] for line in out.console.file.getvalue().splitlines()]
    assert said == [
        "report  r1  begins",
        "report  r1  begins, attempt 2",
        "report  r1  released after 0.0 s: the worker stops",
        "report  r1  failed after 61.0 s: bad input",
    ]


def raised(error):
    try:
        raise error
    except OSError as caught:
        return TryAgainLater(error={"message": str(caught), "type": "OSError"}, raised=caught)


def test_the_traceback_of_what_a_function_raised_is_shown_beside_its_line(logger, out, capsysbinary):
    with watched(out, logger):
        report_ended(logger, RUN, raised(OSError("no disk")), 1)
    (line,) = lines(capsysbinary)
    assert line.endswith("\tOSError: no disk")
    shown = notes(out).splitlines()
    assert shown[0] == "Traceback (most recent call last):"
    assert "in raised" in shown[1] and shown[-1] == "OSError: no disk"


def test_a_program_gets_what_a_function_raised_in_the_line(logger, capsysbinary):
    out = Output(as_json=True)
    out.notes = Console(file=io.StringIO())
    with watched(out, logger):
        report_ended(logger, RUN, raised(OSError("no disk")), 1)
    (ended,) = map(json.loads, lines(capsysbinary))
    assert ended["reason"] == "OSError: no disk"
    assert (ended["error"]["type"], ended["error"]["message"]) == ("OSError", "no disk")
    assert ended["error"]["stack"].endswith("OSError: no disk\n")
    assert notes(out) == ""


def test_what_else_is_logged_is_a_note_with_its_run(logger, out, capsysbinary):
    child = logger.getChild("r1")
    with watched(out, logger):
        logger.warning("run %s: attempt is lost", "r1")
        child.info("counted %d", 42)
        logger.debug("not this")
        logging.getLogger("httpx").info("nor this")
        logging.getLogger("their.own").warning("but this")
    assert notes(out).splitlines() == ["run r1: attempt is lost", "r1: counted 42", "their.own: but this"]
    assert lines(capsysbinary) == []


def test_an_outage_is_told_with_the_hint_of_every_verb_and_its_end(logger, out):
    outages = Outages(logger)
    with watched(out, logger):
        for what in ("announced", "announced", "given runs"):
            outages.failed(what, Unreachable("no answer", maybe_sent=False), 0.5)
        outages.answered("announced")
        outages.answered("given runs")
        outages.answered("announced")
    assert notes(out).splitlines() == [
        "the worker can't be announced now, the next try is in 0.5 s: no answer",
        "  is it running? `baton dev` starts one on this machine; --url or BATON_URL names another",
        "the worker can't be announced now, the next try is in 0.5 s: no answer",
        "the worker can't be given runs now, the next try is in 0.5 s: no answer",
        "the service is reached again",
    ]


def test_a_program_that_has_set_up_logging_keeps_it(logger, out, capsysbinary):
    with watched(out, logger, logging.StreamHandler(stream := io.StringIO())):
        logger.warning("trouble")
        report_claimed(logger, RUN)
    assert "trouble" in stream.getvalue()
    assert notes(out) == "" and len(lines(capsysbinary)) == 1


def test_the_work_goes_on_when_whoever_read_the_lines_has_gone(logger, out, monkeypatch):
    def gone(*_):
        raise BrokenPipeError

    monkeypatch.setattr(out, "table", gone)
    with watched(out, logger):
        report_claimed(logger, RUN)
        report_ended(logger, RUN, Completed(None), 1)
    assert notes(out) == ""
