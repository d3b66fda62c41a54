"""The command line of ``baton demo``."""

from __future__ import annotations

import signal
import tempfile
import time
from pathlib import Path

from rich.text import Text

from baton_sdk.cli.demo.stack import own_stack
from baton_sdk.cli.dev import checkout
from baton_sdk.cli.session import Session


def demo(session: Session) -> None:
    """Play a run's whole life on this machine, and check it: exit 0 if everything was as promised.

    Starts the local stack, runs a real command through `exec`, follows it from a second client that joins
    late, cancels another one midway, resumes it to its end, and shows what the logs say.

    \b
    Example:
      baton demo
    """
    from baton_sdk.cli.demo.script import Script  # every other verb starts sooner without it
    from baton_sdk.cli.demo.stage import Stage

    root = checkout()
    console = session.out.notes if session.out.as_json else session.out.console
    began = time.monotonic()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # an end in order, as by Ctrl-C
    with tempfile.TemporaryDirectory(prefix="baton-demo-") as scratch, own_stack(root) as (url, took):
        console.print(Text(f"The local stack serves at {url} after {took:.1f} s", style="bold"))
        stage = Stage(console, url)
        script = Script(stage, root, Path(scratch))
        script.play()
    seconds = time.monotonic() - began
    if session.out.as_json:
        session.out.document({"ok": True, "seconds": round(seconds, 1), **script.results})
    else:
        console.print(Text(f"\nEverything was as promised, in {seconds:.0f} s.", style="bold green"))
