"""A run's life in scenes. Each does something real and says what was seen; anything unexpected ends the
play."""

from __future__ import annotations

import sys
import sysconfig
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.text import Text

from baton_sdk.cli.demo.attached import Exec, Tail, output_lines
from baton_sdk.cli.demo.stage import Stage
from baton_sdk.cli.demo.timeline import timeline
from baton_sdk.cli.dev import stack_environment
from baton_sdk.errors import NotFound
from baton_sdk.log import Event
from baton_sdk.retry import RetryPolicy

LATE_AFTER_LINES = 12
CANCEL_AFTER_LINES = 40
LIBRARY_FILES = 120
SHOW_EVERY = 25
_SPOKEN = "baton exec -- python -u -m compileall"
# Its own tests hold broken code on purpose, and what needs a display may be missing.
_NOT_COMPILED = frozenset({"test", "tests", "lib2to3", "idlelib", "turtledemo", "tkinter", "site-packages"})


class Script:
    """Plays on ``stage``; ``root`` is the checkout whose code the runs work on."""

    def __init__(self, stage: Stage, root: Path, scratch: Path) -> None:
        self._console = stage.console
        self._url = stage.url
        self._root = root
        self._scratch = scratch
        self._client = stage.client
        self._mark = stage.mark
        self._scene, self._say, self._expect = stage.scene, stage.say, stage.expect
        self._running: list[Exec] = []
        self.results: dict[str, object] = {}

    def play(self) -> None:
        """Every scene in order. Raises BatonError at the first deviation."""
        try:
            self._start_once()
            self._run_and_follow()
            self._cancel_and_resume()
        finally:
            for started in self._running:
                started.stop()

    def _start_once(self) -> None:
        self._scene("Start once: ten clients send the same start at the same moment")
        key, gate = f"demo-{self._mark}", threading.Barrier(10)

        def start(_: int) -> tuple[str, bool]:
            gate.wait()
            answer = self._client.start("demo-once", input={"n": 1}, idempotency_key=key)
            return answer.run.id, answer.started

        with ThreadPoolExecutor(10) as pool:
            answers = list(pool.map(start, range(10)))
        self._expect(len({run_id for run_id, _ in answers}) == 1, "they made one run")
        self._expect(sum(started for _, started in answers) == 1, "one was told it started, nine that it was")
        run = self._client.finish(answers[0][0], "completed", attempt=1)
        again = self._client.finish(answers[0][0], "failed", attempt=1)
        self._expect(run.finished and not again.finished, "it finished once")
        self._expect(again.run.state == "completed", "who came late learnt the real outcome")

    def _run_and_follow(self) -> None:
        rooms = [name for name in ("layers", "functions", "infra") if (self._root / name).is_dir()]
        options = ["-f", "-o", "0", "-o", "1", *rooms]
        self._scene(" ".join(["Run a command:", _SPOKEN, *options]))
        run_id = f"demo-build-{self._mark}"
        job = self._exec(
            ["--run-id", run_id, "--workflow", "compile"], self._compile(*options), cwd=self._root
        )
        self._await_run(run_id)
        first = Tail(self._url, run_id, see=self._shower())
        first.wait_for_lines(LATE_AFTER_LINES)
        late = Tail(self._url, run_id)
        self._say("a second client has joined, late")
        self._expect(job.wait() == 0, f"the command ended with exit code 0 {job.complaint()}")
        seen, replayed = first.to_the_end(), late.to_the_end()
        self._expect_whole(seen)
        self._expect(output_lines(seen) == job.lines, f"the log has its {len(job.lines)} lines, each once")
        self._expect(
            [e.raw for e in replayed] == [e.raw for e in seen], "the late client saw the very same events"
        )
        run = self._client.get(run_id).run
        self._expect((run.state, run.code) == ("completed", 0), "the run is completed, code 0")
        self._console.print(timeline(run, seen))
        self.results["completed"] = {"run_id": run_id, "events": len(seen)}

    def _cancel_and_resume(self) -> None:
        listing = self._scratch / "files.txt"
        library = Path(sysconfig.get_path("stdlib"))
        files = [path.relative_to(library) for path in standard_library(library)[:LIBRARY_FILES]]
        listing.write_text("\n".join(map(str, files)))
        self._scene(f"Cancel another one midway: {_SPOKEN} ({len(files)} files)")
        run_id = f"demo-library-{self._mark}"
        command = self._compile("-i", str(listing))
        job = self._exec(["--run-id", run_id, "--workflow", "compile-library"], command, cwd=library)
        self._await_run(run_id)
        tail = Tail(self._url, run_id, see=self._shower())
        tail.wait_for_lines(CANCEL_AFTER_LINES)
        self._client.cancel(run_id, reason="the demo wants to see it stop")
        self._say("cancel asked for")
        code = job.wait()
        before = tail.to_the_end()
        run = self._client.get(run_id).run
        self._expect(
            run.state == "cancelled" and run.resumable, f"it is cancelled, resumable {job.complaint()}"
        )
        self._expect(code != 0 and run.signal == "SIGTERM", f"the cancel reached it as {run.signal}")
        self._resume(run_id, command, files, before, tail.offset)

    def _resume(
        self, run_id: str, command: Sequence[str], files: Sequence[Path], before: list[Event], offset: str
    ) -> None:
        self._scene("Resume it: the next attempt goes on where the first was stopped")
        answer = self._client.resume(run_id)
        self._expect(answer.resumed and answer.run.attempt == 2, "it is open again, attempt 2")
        tail = Tail(self._url, run_id, offset, see=self._shower())
        job = self._exec(["--run", run_id], command, cwd=Path(sysconfig.get_path("stdlib")))
        self._expect(job.wait() == 0, f"the command ended with exit code 0 {job.complaint()}")
        events = before + tail.to_the_end()
        self._expect_whole(events)
        kinds = [event.type for event in events if event.type not in {"stdout", "stderr"}]
        self._expect(
            kinds == ["start", "cancel", "end", "resumed", "end"], "the log tells it in order, without a gap"
        )
        lines = [line for line in output_lines(events) if line.startswith("Compiling")]
        # What the signal interrupted may be compiled again: no more than the one file.
        self._expect(len(files) <= len(lines) <= len(files) + 1, "together the attempts did the work once")
        run = self._client.get(run_id).run
        self._expect(run.state == "completed", "the run is completed")
        self._console.print(timeline(run, events))
        self.results["resumed"] = {"run_id": run_id, "events": len(events), "attempts": run.attempt}

    def _exec(self, options: Sequence[str], command: Sequence[str], *, cwd: Path) -> Exec:
        started = Exec(self._url, options, command, cwd=cwd, env=stack_environment(self._root))
        self._running.append(started)
        return started

    def _compile(self, *arguments: str) -> list[str]:
        # The bytecode goes to a folder of the demo's own, and only what is compiled for show: what Python
        # compiles for itself, in `exec` or in the command, would be found there and skipped.
        folder = self._scratch / "pycache"
        return [sys.executable, "-u", "-B", "-X", f"pycache_prefix={folder}", "-m", "compileall", *arguments]

    def _await_run(self, run_id: str) -> None:
        # `exec` starts the run when its interpreter is up; until then there is nothing to follow.
        eager = RetryPolicy(
            attempts=None, patience_seconds=20, first_wait_seconds=0.1, longest_wait_seconds=0.1
        )
        eager.retrying(lambda error: isinstance(error, NotFound))(self._client.tail, run_id)

    def _expect_whole(self, events: Sequence[Event]) -> None:
        seqs = [event.seq for event in events]
        self._expect(seqs == list(range(len(seqs))), f"events 0 to {len(seqs) - 1}, none missing, none twice")

    def _shower(self) -> Callable[[Event], None]:
        def see(event: Event) -> None:
            if event.type == "stdout" and event.seq % SHOW_EVERY == 0:
                line = Text(f"  | {event.seq:>5}  {event.data['line']}", style="dim")
                self._console.print(line, overflow="ellipsis", no_wrap=True, soft_wrap=False)

        return see


def standard_library(top: Path) -> list[Path]:
    """The files of the standard library at ``top`` that every installation can compile."""
    packages = [path for path in sorted(top.iterdir()) if path.name not in _NOT_COMPILED]
    files = [path for path in packages if path.suffix == ".py"]
    for package in packages:
        if (package / "__init__.py").is_file():
            files += [f for f in sorted(package.rglob("*.py")) if not _NOT_COMPILED & set(f.parts)]
    return files
