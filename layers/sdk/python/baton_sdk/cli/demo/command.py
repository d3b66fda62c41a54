"""The command line of ``baton demo``."""

from __future__ import annotations

import signal
import tempfile
import time
import uuid
from pathlib import Path

from rich.text import Text

from baton_sdk.checkout import checkout
from baton_sdk.cli.demo.stack import own_stack
from baton_sdk.cli.session import Session


def demo(session: Session) -> None:
    """Play runs and their hand-offs on this machine, and check it all: exit 0 if everything was as promised.

    Starts the local stack, runs a real command through `exec`, follows it from a second client that joins
    late, cancels another one midway, resumes it to its end, and shows what the logs say. Then a build's
    report starts by itself, also where the publisher is killed; a subscriber that came late is healed, and a
    day's endings are sent again to a new one. Last, two workers perform a run: one is killed in its middle,
    and the other goes on from what is recorded.

    \b
    Example:
      baton demo
    """
    from baton_sdk.cli.demo.handoff import HEAL_WINDOW_SECONDS, HandOff  # every other verb starts sooner
    from baton_sdk.cli.demo.script import Script
    from baton_sdk.cli.demo.stage import Stage
    from baton_sdk.cli.demo.workers import LEASE_SECONDS, SKEW_SECONDS, Workers

    root = checkout()
    console = session.out.notes if session.out.as_json else session.out.console
    began = time.monotonic()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # an end in order, as by Ctrl-C
    mark = uuid.uuid4().hex[:6]
    doomed = f"demo-doomed-{mark}"
    with (
        tempfile.TemporaryDirectory(prefix="baton-demo-") as scratch,
        own_stack(
            root,
            doomed,
            heal_window_seconds=HEAL_WINDOW_SECONDS,
            least_lease_seconds=LEASE_SECONDS,
            skew_seconds=SKEW_SECONDS,
        ) as stack,
        Stage(console, stack.url, mark) as stage,
    ):
        console.print(Text(f"The local stack serves at {stack.url} after {stack.took:.1f} s", style="bold"))
        life, handed = Script(stage, root, Path(scratch)), HandOff(stage, doomed, stack.heard)
        handed.a_day_passes()
        life.play()
        handed.play()
        workers = Workers(stage, Path(scratch))
        workers.play()
    seconds = time.monotonic() - began
    if session.out.as_json:
        results = {**life.results, "hand_off": handed.results, "workers": workers.results}
        session.out.document({"ok": True, "seconds": round(seconds, 1), **results})
    else:
        console.print(Text(f"\nEverything was as promised, in {seconds:.0f} s.", style="bold green"))
