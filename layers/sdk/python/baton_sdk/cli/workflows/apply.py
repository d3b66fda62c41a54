"""``baton workflows apply``: register what files declare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.text import Text

from baton_sdk.cli.session import USAGE, Session
from baton_sdk.client import Client
from baton_sdk.errors import BatonError, InvalidRequest, NotFound

_COLOURS = {"created": "green", "updated": "yellow", "unchanged": "dim"}
# What a registration changes by being made.
_ITS_OWN = frozenset({"created_at", "updated_at", "rev", "revision"})


def apply(
    session: Session,
    files: Annotated[
        list[str], typer.Argument(metavar="FILE", help="YAML (JSON is YAML too), or - for stdin.")
    ],
) -> None:
    """Register the workflows that FILE declares; one that is registered already is replaced.

    A file holds one workflow, several as documents between `---` lines, or a list under `workflows:`. All of
    it is checked before anything is sent.

    \b
    Examples:
      baton workflows apply report.yaml
      baton workflows apply workflows/*.yaml --json
    \b
    What report.yaml may say:
      name: report
      subscribes:
        - event: run.completed:build
          where: run.output.tests > `0`
          input: "{commit: run.output.commit}"
    """
    from baton_sdk.cli.workflows.files import read  # every other verb starts sooner without it

    try:
        declared = read(files)
    except InvalidRequest as error:
        session.out.error(error)
        raise typer.Exit(USAGE) from None
    done: list[dict[str, Any]] = []
    with session.client() as client:
        for at, (name, fields, place) in enumerate(declared):
            try:
                result, raw = register(client, name, fields)
            except BatonError as error:
                left = len(declared) - at - 1
                session.out.note(
                    f"{place} was not registered" + (f", {left} after it not sent" if left else "")
                )
                if session.out.as_json:
                    session.out.document({"workflows": done})
                raise error
            done.append({"name": name, "result": result, "workflow": raw})
            if not session.out.as_json:
                session.out.table((), [(Text(f"{result:<9}", style=_COLOURS[result]), name)])
    if session.out.as_json:
        session.out.document({"workflows": done})


def register(client: Client, name: str, fields: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Register one workflow: what that did (created, updated, unchanged) and the workflow as it stands."""
    before: Mapping[str, Any] | None
    try:
        before = client.get_workflow(name).workflow.raw
    except NotFound:
        before = None
    after = client.put_workflow(name, **fields).workflow.raw
    if before is None:
        return "created", after
    return ("unchanged" if _declared(before) == _declared(after) else "updated"), after


def _declared(workflow: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in workflow.items() if name not in _ITS_OWN}
