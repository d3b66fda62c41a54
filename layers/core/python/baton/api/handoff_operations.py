"""The contract's rows of the hand-off: events, republishing, the catalog."""

from __future__ import annotations

from baton.api import answers, models
from baton.api.operation import (
    TRACEPARENT,
    Answer,
    Operation,
)
from baton.domain.roles import Role

_RUN = "/v1/runs/{id}"
_WORKFLOW = "/v1/workflows/{name}"

HANDOFF_OPERATIONS: tuple[Operation, ...] = (
    Operation(
        id="publishEvent",
        method="POST",
        path="/v1/events/{name}",
        function="events",
        role=Role.OPERATOR,
        summary="Publish an event of your own: start its subscribers, wake the runs that wait for it, once.",
        body=models.PublishEvent,
        headers=(TRACEPARENT,),
        answers={202: Answer("It is published.", answers.Published)},
        problems=(413, 415, 422),
    ),
    Operation(
        id="republishRun",
        method="POST",
        path=f"{_RUN}/republish",
        function="republish",
        role=Role.OPERATOR,
        summary="Deliver a run's endings again: what was started is found, never started twice.",
        body=models.RepublishRun,
        answers={200: Answer("What came of it.", answers.Republished)},
        problems=(404, 413, 415),
    ),
    Operation(
        id="republish",
        method="POST",
        path="/v1/republish",
        function="republish",
        role=Role.OPERATOR,
        summary="Deliver the endings of a workflow's runs again, for as long as a call may work.",
        body=models.RepublishRange,
        answers={200: Answer("What came of it, and where to go on.", answers.Republished)},
        problems=(413, 415),
    ),
    Operation(
        id="stats",
        method="GET",
        path="/v1/stats",
        function="meta",
        role=Role.VIEWER,
        summary="What is owed, for how long and why, and how much is due.",
        answers={200: Answer("As the index of what is due tells it.", answers.Stats)},
    ),
    Operation(
        id="listWorkflows",
        method="GET",
        path="/v1/workflows",
        function="workflows",
        role=Role.VIEWER,
        summary="List the workflows, registered and announced by workers, by name.",
        query=models.PageQuery,
        answers={200: Answer("One page.", answers.WorkflowsPage)},
    ),
    Operation(
        id="putWorkflow",
        method="PUT",
        path=_WORKFLOW,
        function="workflows",
        role=Role.OPERATOR,
        summary="Register a workflow: who performs it, what starts it. Replaces what is registered.",
        body=models.PutWorkflow,
        answers={
            201: Answer("It is registered.", answers.Registered),
            200: Answer("It is registered, in the place of the one before.", answers.Registered),
        },
        problems=(413, 415),
    ),
    Operation(
        id="getWorkflow",
        method="GET",
        path=_WORKFLOW,
        function="workflows",
        role=Role.VIEWER,
        summary="A workflow, what it starts, and what starts it.",
        answers={200: Answer("The workflow now.", answers.WorkflowDetail)},
        problems=(404,),
    ),
    Operation(
        id="deleteWorkflow",
        method="DELETE",
        path=_WORKFLOW,
        function="workflows",
        role=Role.OPERATOR,
        summary="Take a workflow out of the catalog: nothing starts it any more. Its runs stay.",
        answers={204: Answer("It is out.")},
        problems=(404,),
    ),
    Operation(
        id="graph",
        method="GET",
        path="/v1/graph",
        function="workflows",
        role=Role.VIEWER,
        summary="Who starts whom.",
        answers={200: Answer("All workflows and all links.", answers.Graph)},
    ),
)
