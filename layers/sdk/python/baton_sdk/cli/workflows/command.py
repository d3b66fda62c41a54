"""``baton workflows list|show|delete``: what is registered, and what hangs together."""

from __future__ import annotations

from typing import Annotated

import typer

from baton_sdk.cli.output import Output
from baton_sdk.cli.session import Session, command, take_globals
from baton_sdk.cli.views import seconds, when
from baton_sdk.cli.workflows.apply import apply
from baton_sdk.workflow import Backoff, Batch, Link, WorkflowDetail

workflows = typer.Typer(
    name="workflows",
    help="Register workflows and what they subscribe to; list, show and delete them.",
    no_args_is_help=True,
    callback=take_globals,
)

WorkflowArgument = Annotated[str, typer.Argument(metavar="WORKFLOW", help="The workflow's name.")]


def list_workflows(session: Session) -> None:
    """List the workflows that are registered or announced by workers, and what each is started by.

    \b
    Example:
      baton workflows list --json | jq -r '.workflows[].name'
    """
    with session.client() as client:
        found = list(client.workflows(page_size=100))
    if session.out.as_json:
        session.out.document({"workflows": [workflow.raw for workflow in found]})
    elif found or not session.out.for_person:
        columns = ("WORKFLOW", "STARTED BY", "TARGET", "UPDATED", "DESCRIPTION")
        rows = (
            (
                workflow.name,
                ", ".join(dict.fromkeys(wish.event for wish in workflow.subscribes)),
                workflow.target.kind if workflow.target else None,
                when(workflow.updated_at),
                workflow.description,
            )
            for workflow in found
        )
        session.out.table(columns, rows)
    else:
        session.out.note("no workflows")


def show(session: Session, workflow: WorkflowArgument) -> None:
    """Show a workflow, what starts it and whom its endings start.

    \b
    Example:
      baton workflows show report
    """
    with session.client() as client:
        detail = client.get_workflow(workflow)
    if session.out.as_json:
        session.out.document(detail.raw)
    else:
        _show(session.out, detail)


def _show(out: Output, detail: WorkflowDetail) -> None:
    workflow = detail.workflow
    target = workflow.target
    out.facts(
        (
            ("workflow", workflow.name),
            ("description", workflow.description),
            ("target", f"{target.kind} {target.arn or ''}".rstrip() if target else None),
            ("batch", _batch(workflow.batch)),
            ("inactivity timeout", seconds(workflow.inactivity_timeout_seconds)),
            ("max attempts", workflow.max_attempts),
            ("backoff", _backoff(workflow.backoff)),
            ("retention", seconds(workflow.retention_seconds)),
            ("announced", "by a worker" if workflow.announced else None),
            ("created", when(workflow.created_at)),
            ("updated", when(workflow.updated_at)),
        )
    )
    if detail.started_by:
        heads = ("STARTED BY", "WHERE", "INPUT", "ANNOUNCED")
        out.table(heads, [(link.event, *_terms(link)) for link in detail.started_by])
    if detail.starts_on_settle:
        rows = [(link.workflow, link.event, *_terms(link)) for link in detail.starts_on_settle]
        out.table(("STARTS", "ON", "WHERE", "INPUT", "ANNOUNCED"), rows)


def _terms(link: Link) -> tuple[str | None, str | None, str | None]:
    return link.where, link.input, "by a worker" if link.announced else None


def _batch(batch: Batch | None) -> str | None:
    if batch is None:
        return None
    key = f" by {batch.key}" if batch.key else ""
    return f"{batch.mode}{key}, window {batch.window_seconds:g} s"


def _backoff(backoff: Backoff | None) -> str | None:
    if backoff is None:
        return None
    bounds = (("from", backoff.base_seconds), ("to", backoff.max_seconds))
    return " ".join(f"{word} {value:g} s" for word, value in bounds if value is not None)


def delete(session: Session, workflow: WorkflowArgument) -> None:
    """Take a workflow and its subscriptions out of the catalog.

    Its runs stay. What is still owed to it fails as orphaned after an hour.

    \b
    Example:
      baton workflows delete report
    """
    with session.client() as client:
        client.delete_workflow(workflow)
    if session.out.as_json:
        session.out.document({"deleted": workflow})
    else:
        session.out.note(f"deleted {workflow}")


for name, function, in_short in (
    ("apply", apply, "Register the workflows that files declare."),
    ("list", list_workflows, "List the registered workflows."),
    ("show", show, "Show a workflow and its links."),
    ("delete", delete, "Take a workflow out of the catalog."),
):
    workflows.command(name, short_help=in_short)(command(function))
