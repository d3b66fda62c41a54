"""The calls of the catalog: register, look up, list and delete workflows; who starts whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from baton_sdk.calls import Calls, json_object, path_of
from baton_sdk.graph import Graph
from baton_sdk.wish import plain
from baton_sdk.workflow import Backoff, Batch, Registered, Subscription, Target, Workflow, WorkflowDetail

CREATED = 201


class WorkflowCalls(Calls):
    """The workflows of a namespace and what they subscribe to."""

    def put_workflow(
        self,
        name: str,
        *,
        description: str | None = None,
        target: Target | Mapping[str, Any] | None = None,
        subscribes: Sequence[Subscription | Mapping[str, Any]] | None = None,
        batch: Batch | Mapping[str, Any] | None = None,
        backoff: Backoff | Mapping[str, Any] | None = None,
        inactivity_timeout_seconds: float | None = None,
        max_attempts: int | None = None,
        retention_seconds: float | None = None,
    ) -> Registered:
        """Register the workflow, or replace what is registered: what is not given is as if never set.

        ``subscribes`` outranks what workers announced, also when it is empty; without it theirs stays. An
        expression that is none is InvalidRequest with its place. Repeated after a lost reply, where
        ``created`` may then be False for a workflow that this very call made.
        """
        fields = {
            "description": description,
            "target": plain(target),
            "subscribes": None if subscribes is None else [plain(each) for each in subscribes],
            "batch": plain(batch),
            "backoff": plain(backoff),
            "inactivity_timeout_seconds": inactivity_timeout_seconds,
            "max_attempts": max_attempts,
            "retention_seconds": retention_seconds,
        }
        response = self._put(workflow_path(name), fields)
        document = json_object(response)
        return Registered(
            workflow=Workflow.from_json(document.get("workflow")), created=response.status_code == CREATED
        )

    def get_workflow(self, name: str) -> WorkflowDetail:
        """The workflow, whom its endings start and what starts it. NotFound where none is registered."""
        return WorkflowDetail.from_json(json_object(self._get(workflow_path(name))))

    def workflows(self, *, page_size: int | None = None) -> Iterator[Workflow]:
        """Every registered workflow, page after page."""
        return map(Workflow.from_json, self._pages("/v1/workflows", {"limit": page_size}, "workflows"))

    def delete_workflow(self, name: str) -> None:
        """Take the workflow and its subscriptions out of the catalog. Its runs stay; what is still owed to it
        fails as orphaned."""
        self._delete(workflow_path(name))

    def graph(self) -> Graph:
        """Who starts whom."""
        return Graph.from_json(json_object(self._get("/v1/graph")))


def workflow_path(name: str) -> str:
    """The path of a workflow. Raises InvalidRequest."""
    return path_of("workflows", name, "a workflow's name")
