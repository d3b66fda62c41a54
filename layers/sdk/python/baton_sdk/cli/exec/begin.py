"""Starts the run that a command will drive, and knows what may have become of a start without an answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import typer

from baton_sdk.cli.exec.notices import Notices
from baton_sdk.cli.exec.signals import Leave, Signals
from baton_sdk.cli.session import PROMPT
from baton_sdk.client import Client
from baton_sdk.errors import BatonError
from baton_sdk.run import Started


def begin(client: Client, workflow: str, signals: Signals, notices: Notices, **fields: Any) -> Started:
    """The answer to the start, which a signal lets come but not be asked for again. Raises BatonError; an
    Exit where a signal had come, and its Leave at the second. Warns where a run may have been started."""
    failures: list[BaseException] = []
    try:
        return client.start(
            workflow,
            mode="attached",
            retry=replace(PROMPT, give_up=lambda: signals.asked),
            listener=lambda error, _seconds: failures.append(error),
            **fields,
        )
    except Leave:
        _warn(notices, fields)
        raise
    except BatonError as error:
        if any(isinstance(each, BatonError) and each.maybe_done for each in (*failures, error)):
            _warn(notices, fields)
        if not signals.asked:
            raise
        notices.warn(f"not begun: {error}")
        raise typer.Exit(signals.exit_code) from None


def _warn(notices: Notices, fields: dict[str, Any]) -> None:
    run_id, key = fields.get("run_id"), fields.get("idempotency_key")
    if run_id is not None:
        which = f"{run_id} may have been started: `baton runs show {run_id}` tells"
    elif key is not None:
        which = f"a run may have been started with the key {key}: the same key again tells"
    else:
        which = "a run may have been started: `baton runs list` tells"
    notices.warn(f"{which}, and `baton finish` settles it")
