"""The command: which stack, what was found, for a person or for a program."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

import boto3
import httpx
import typer
from botocore.exceptions import BotoCoreError
from rich.console import Console
from rich.text import Text

from baton.bootstrap import SystemClock
from infra.aws.doctor.examine import examine
from infra.aws.doctor.finding import Finding
from infra.outputs import DEFAULT_STACK

WIDTH = 16

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def doctor(
    stack: Annotated[str, typer.Option(help="The stack's name.")] = DEFAULT_STACK,
    region: Annotated[str | None, typer.Option(help="Where it is deployed.")] = None,
    profile: Annotated[str | None, typer.Option(help="Whose credentials to use.")] = None,
    namespace: Annotated[
        str, typer.Option(envvar="BATON_NAMESPACE", help="Whose endings to look after.")
    ] = "default",
    token: Annotated[
        str | None,
        typer.Option(envvar="BATON_TOKEN", help="A viewer's or more, where callers are known by tokens."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Examine a deployed stack. Exit 1 when something is wrong, with what to do about it."""
    try:
        # Its type has an overload for each service there is.
        session: Any = boto3.Session(region_name=region, profile_name=profile)
        if session.region_name is None or session.get_credentials() is None:
            typer.echo(
                "error: no region or no credentials: --region, --profile, or AWS's environment", err=True
            )
            raise typer.Exit(1)
        with httpx.Client() as http:
            findings = []
            for finding in examine(
                session, http, SystemClock(), stack=stack, namespace=namespace, token=token
            ):
                findings.append(finding)
                if not as_json:
                    show(Console(highlight=False, soft_wrap=True), finding)
    except BotoCoreError as trouble:
        typer.echo(f"error: {trouble}", err=True)
        raise typer.Exit(1) from None
    if as_json:
        typer.echo(json.dumps(document(stack, session.region_name, findings), indent=2))
    if not all(each.ok for each in findings):
        raise typer.Exit(1)


def show(console: Console, finding: Finding) -> None:
    """One line for what was found, and one for what to do."""
    mark = ("ok    ", "green") if finding.ok else ("FAILED", "bold red")
    console.print(Text.assemble(mark, f"  {finding.check:<{WIDTH}} {finding.found}"))
    if finding.do is not None:
        console.print(Text(f"        {'':<{WIDTH}} do: {finding.do}", style="yellow"))


def document(stack: str, region: str, findings: Sequence[Finding]) -> dict[str, object]:
    """All that was found, for a program."""
    checks = [
        {"check": each.check, "ok": each.ok, "found": each.found, **({"do": each.do} if each.do else {})}
        for each in findings
    ]
    return {"stack": stack, "region": region, "ok": all(each.ok for each in findings), "checks": checks}
