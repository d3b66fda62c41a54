"""``baton workflows apply``: register what files declare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.text import Text

from baton_sdk.cli.output import Output
from baton_sdk.cli.session import USAGE, Session
from baton_sdk.client import Client
from baton_sdk.errors import BatonError, InvalidRequest, NotFound

_COLOURS = {"created": "green", "updated": "yellow", "unchanged": "dim"}
# What a registration changes by being made.
_ITS_OWN = frozenset({"created_at", "updated_at"})


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
    try:
        with session.client() as client:
            for each in declared:
                result, raw = register(client, each.name, each.fields)
                done.append({"name": each.name, "result": result, "workflow": raw})
                _tell(session.out, result, each.name)
    except BatonError:
        if not session.out.as_json:
            refused, *left = declared[len(done) :]
            more = f", {len(left)} after it not sent" if left else ""
            session.out.note(f"{refused.place} was not registered{more}")
        raise
    finally:
        # Also of what an error or Ctrl-C cut short: to begin anew is safe.
        if session.out.as_json:
            session.out.document({"workflows": done})


def _tell(out: Output, result: str, name: str) -> None:
    if out.for_person:
        out.console.print(Text.assemble((f"{result:<9}", _COLOURS[result]), "  ", name))
    elif not out.as_json:
        out.table((), [(result, name)])


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
