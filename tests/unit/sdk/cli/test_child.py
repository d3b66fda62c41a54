"""A command's output is moved byte for byte, and a command that is to stop stops."""

from __future__ import annotations

import io
import signal
import sys

import pytest

from baton_sdk.cli.exec.child import Child, Result, Stopper
from baton_sdk.cli.exec.outlet import Outlet
from baton_sdk.cli.exec.pump import Pump

FOREVER = "import threading; threading.Event().wait()"
IGNORES_TERM = f"import signal; signal.signal(15, signal.SIG_IGN); print('up', flush=True); {FOREVER}"


@pytest.fixture
def spawn():
    children = []

    def spawn(code):
        children.append(Child([sys.executable, "-c", code], {"BATON_RUN_ID": "r1"}))
        return children[-1]

    yield spawn
    for child in children:
        child.send(signal.SIGKILL)
        child.result()
        child.close()


def pump(child, *, on_line=lambda name, piece: None, drain_seconds=5.0):
    lines, through = [], {"stdout": io.BytesIO(), "stderr": io.BytesIO()}
    outlets = {name: Outlet(stream) for name, stream in through.items()}

    def emit(name, piece):
        lines.append((name, piece.text, piece.eol))
        on_line(name, piece)

    complete = Pump(child, emit, outlets, hurried=lambda: False, drain_seconds=drain_seconds).run()
    for outlet in outlets.values():
        outlet.drain(None)
        outlet.end()
    return complete, lines, {name: stream.getvalue() for name, stream in through.items()}


def test_both_streams_reach_the_log_by_line_and_the_terminal_by_byte(spawn):
    code = "import sys; print('out'); sys.stderr.write('err\\n'); sys.stdout.write('tail'); sys.exit(3)"
    child = spawn(code)
    complete, lines, through = pump(child)
    assert complete
    assert sorted(lines) == [("stderr", "err", True), ("stdout", "out", True), ("stdout", "tail", False)]
    assert through == {"stdout": b"out\ntail", "stderr": b"err\n"}
    assert child.result().exit_code == 3


def test_much_output_comes_whole_and_in_order(spawn):
    child = spawn("for n in range(20000): print(n)")
    _, lines, through = pump(child)
    assert [line for _, line, _ in lines] == [str(n) for n in range(20000)]
    assert through["stdout"] == b"".join(b"%d\n" % n for n in range(20000))


def test_a_reader_that_has_gone_does_not_stop_the_log(spawn):
    class Gone(io.BytesIO):
        def write(self, data):
            raise BrokenPipeError

    lines = []
    child = spawn("print('a'); print('b')")
    outlet = Outlet(Gone(), room=1)
    Pump(
        child,
        lambda name, piece: lines.append(piece.text),
        {"stdout": outlet},
        hurried=lambda: False,
        drain_seconds=5,
    ).run()
    outlet.end()
    assert lines == ["a", "b"]


def test_the_command_knows_its_run(spawn):
    child = spawn("import os; print(os.environ['BATON_RUN_ID'])")
    assert pump(child)[1] == [("stdout", "r1", True)]


def test_a_stop_reaches_the_whole_group(spawn):
    child = spawn(
        f"import subprocess,sys; subprocess.run([sys.executable, '-c', 'print(1, flush=True); {FOREVER}'])"
    )
    stopper = Stopper(child, grace_seconds=60)
    complete, _, _ = pump(child, on_line=lambda *_: stopper.stop("cancel"))
    stopper.done()
    assert complete  # the grandchild has let go of the pipes, too
    assert stopper.reason == "cancel"
    assert child.result().signal == "SIGTERM"


def test_a_command_that_ignores_the_stop_is_killed_after_the_grace(spawn):
    child = spawn(IGNORES_TERM)
    stopper = Stopper(child, grace_seconds=0)
    pump(child, on_line=lambda *_: stopper.stop("cancel"))
    assert child.result().signal == "SIGKILL"


def test_the_first_reason_to_stop_stands_and_after_the_end_there_is_none(spawn):
    child = spawn(f"print('up', flush=True); {FOREVER}")
    stopper = Stopper(child, grace_seconds=60)
    assert stopper.stop("cancel", 0)  # a signal that nobody feels
    assert stopper.stop("interrupt")  # told it has been
    assert stopper.reason == "cancel"
    assert stopper.kill()
    assert child.result().signal == "SIGKILL"
    stopper.done()
    assert not stopper.stop("interrupt")
    assert not stopper.kill()

    ended = spawn("pass")
    ended.result()
    late = Stopper(ended, grace_seconds=60)
    assert not late.stop("cancel")
    assert late.reason is None


def test_what_an_ended_command_left_behind_can_be_stopped_and_is_no_reason(spawn):
    behind = f"[sys.executable, '-c', {FOREVER!r}]"
    child = spawn(f"import subprocess,sys; subprocess.Popen({behind})")
    child.result()
    stopper = Stopper(child, grace_seconds=60)
    assert stopper.whom == "what the command left behind"
    assert stopper.stop("interrupt")
    complete, _, _ = pump(child)
    assert (complete, stopper.reason) == (True, None)
    stopper.done()


def test_what_a_command_leaves_behind_does_not_hold_it_up_for_ever(spawn):
    behind = "[sys.executable, '-c', 'import threading; threading.Event().wait()']"
    child = spawn(f"import subprocess,sys; print('out', flush=True); subprocess.Popen({behind})")
    complete, lines, _ = pump(child, drain_seconds=0)
    assert not complete
    assert lines == [("stdout", "out", True)]


@pytest.mark.parametrize(
    ("returncode", "code", "name", "exit_code"),
    [
        (0, 0, None, 0),
        (7, 7, None, 7),
        (-15, None, "SIGTERM", 143),
        (-9, None, "SIGKILL", 137),
        (-64, None, "SIGRTMAX", 192),
    ],
)
def test_exit_codes_are_a_shells(returncode, code, name, exit_code):
    result = Result(returncode)
    assert (result.code, result.signal, result.exit_code) == (code, name, exit_code)


def test_a_line_that_stands_still_is_logged_but_not_torn_while_the_log_makes_it_wait(spawn):
    ticks = iter(range(0, 10**6, 10))  # every look at the clock is ten seconds later: all waits are long

    prompt = spawn(f"import sys; sys.stdout.write('name: '); sys.stdout.flush(); {FOREVER}")
    pieces = []

    def emit(name, piece):
        pieces.append((piece.text, piece.eol))
        prompt.send(signal.SIGKILL)

    Pump(prompt, emit, {}, hurried=lambda: False, drain_seconds=5, clock=lambda: next(ticks)).run()
    assert pieces == [("name: ", False)]

    torn = spawn("import sys; sys.stdout.write(('x' * 99 + '\\n') * 5000)")  # the pipe is full all the time
    lines = []
    Pump(
        torn,
        lambda _, piece: lines.append((piece.text, piece.eol)),
        {},
        hurried=lambda: False,
        drain_seconds=5,
    ).run()
    assert lines == [("x" * 99, True)] * 5000
