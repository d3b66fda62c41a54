"""The HTTP contract as data, one row per operation: routes, role checks, 405 and OpenAPI come from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from baton.api import answers, models
from baton.api.roles import Role
from baton.domain import names

DEFAULT_FUNCTION = "meta"
"""Who answers what no row matches: 404, or 405 where the path has other methods."""

JSON = "application/json"
PROBLEM = "application/problem+json"
EVENTS = "text/event-stream"


_STRING: Mapping[str, Any] = {"type": "string"}


class Header(NamedTuple):
    """A header that an operation reads or sends; ``schema`` is JSON Schema."""

    name: str
    description: str
    schema: Mapping[str, Any] = _STRING


class Answer(NamedTuple):
    """One way an operation answers when it does what was asked."""

    description: str
    model: Any = None
    headers: tuple[Header, ...] = ()
    media: tuple[str, ...] = (JSON,)


class Operation(NamedTuple):
    """One method on one path (API Gateway's spelling).

    ``problems`` are the statuses beside those that any operation may answer. ``role`` None: no one need be
    known. ``streams``: the function has ``stream`` too.
    """

    id: str
    method: str
    path: str
    function: str
    role: Role | None
    summary: str
    answers: dict[int, Answer]
    problems: tuple[int, ...] = ()
    body: Any = None
    query: Any = None
    headers: tuple[Header, ...] = ()
    streams: bool = False


_INT = {"type": "integer", "minimum": 0, "maximum": models.MAX_SAFE}
_SHORT = {"type": "string", "minLength": 1, "maxLength": 256, "pattern": "^[ -~]+$"}
_TRUE = {"type": "string", "const": "true"}

NAMESPACE = Header(
    "Baton-Namespace",
    "The namespace to act in; default `default`. Only where the token may name one.",
    {"type": "string", "pattern": names.NAMESPACE},
)
KEY = Header(
    "Idempotency-Key",
    "Makes the request safe to repeat: the same key with the same body is the same request.",
    {"type": "string", "minLength": 1, "maxLength": 255, "pattern": r"^[!-~]([ -~]{0,253}[!-~])?$"},
)
ATTEMPT = Header(
    "Baton-Attempt",
    "The driver's fence. Required once the run has been claimed or its attempt is above 1.",
    {"type": "integer", "minimum": 1, "maximum": models.MAX_SAFE},
)
ECHO = Header("Baton-Tail", "The tail that an earlier answer gave: saves a read; ignored if old or forged.")
PRODUCER = (
    Header("Producer-Id", "With Producer-Epoch and Producer-Seq, or none of them.", _SHORT),
    Header("Producer-Epoch", "The producer's session.", _INT),
    Header("Producer-Seq", "Counts the producer's batches from 0 within its epoch.", _INT),
)
STREAM_SEQ = Header("Stream-Seq", "Must sort after the last one, byte by byte.", _SHORT)
IF_NONE_MATCH = Header("If-None-Match", "An ETag: 304 when nothing has changed.")
LAST_EVENT_ID = Header("Last-Event-ID", "Where an interrupted reader stood; wins over `offset`.")
TRACEPARENT = Header("traceparent", "W3C trace context, kept with the run; a malformed one is ignored.")

TAIL = Header("Baton-Tail", "The log's tail, signed: send it back with the next append or finish.")
ETAG = Header("ETag", "Changes with anything in the answer.")
NEXT_OFFSET = Header("Stream-Next-Offset", "Where to read on.")
UP_TO_DATE = Header("Stream-Up-To-Date", "There was nothing more when this was answered.", _TRUE)
CLOSED = Header("Stream-Closed", "The run is settled and this is the log's end.", _TRUE)
CURSOR = Header("Stream-Cursor", "Send it back as `cursor` with the next live read.")
READING = (NEXT_OFFSET, UP_TO_DATE, CLOSED, CURSOR, ETAG)

COMMON_HEADERS = (
    Header("X-Request-Id", "Names this request to whoever looks into it."),
    Header("Cache-Control", "`no-store` unless the answer has an ETag."),
)
RETRY_AFTER = Header(
    "Retry-After", "Seconds after which the same request may do better.", {"type": "integer"}
)
ANY_PROBLEMS = (400, 401, 403, 500, 503)
"""Statuses with which any operation may refuse."""

_RUN = "/v1/runs/{id}"
_LOG = "/v1/runs/{id}/stream"
_WORKFLOW = "/v1/workflows/{name}"

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        id="startRun",
        method="POST",
        path="/v1/runs",
        function="start",
        role=Role.DRIVER,
        summary="Start a run, once.",
        body=models.StartRun,
        headers=(KEY, TRACEPARENT),
        answers={
            201: Answer("This request made the run.", answers.Started, (TAIL,)),
            200: Answer("The same key made it before: the run as it is now.", answers.Started),
        },
        problems=(409, 413, 415, 422),
    ),
    Operation(
        id="listRuns",
        method="GET",
        path="/v1/runs",
        function="runs",
        role=Role.VIEWER,
        summary="List runs, newest first.",
        query=models.RunsQuery,
        answers={200: Answer("One page.", answers.RunsPage)},
    ),
    Operation(
        id="getRun",
        method="GET",
        path=_RUN,
        function="runs",
        role=Role.VIEWER,
        summary="A run and all around it.",
        headers=(IF_NONE_MATCH,),
        answers={
            200: Answer("The run now.", answers.RunDetail, (ETAG,)),
            304: Answer("Nothing has changed.", headers=(ETAG,)),
        },
        problems=(404,),
    ),
    Operation(
        id="deleteRun",
        method="DELETE",
        path=_RUN,
        function="runs",
        role=Role.OPERATOR,
        summary="Delete a settled run, at once and for good.",
        answers={204: Answer("It is gone.")},
        problems=(404, 409),
    ),
    Operation(
        id="waitForRun",
        method="GET",
        path=f"{_RUN}/wait",
        function="runs",
        role=Role.VIEWER,
        summary="Wait until a run has settled.",
        query=models.WaitQuery,
        answers={200: Answer("It has settled, or the time was up.", answers.Waited)},
        problems=(404,),
    ),
    Operation(
        id="finishRun",
        method="POST",
        path=f"{_RUN}/finish",
        function="finish",
        role=Role.DRIVER,
        summary="Settle a run, or learn what settled it.",
        body=models.FinishRun,
        headers=(ATTEMPT, KEY, ECHO),
        answers={200: Answer("The run is settled.", answers.Finished)},
        problems=(404, 409, 413, 415, 422),
    ),
    Operation(
        id="cancelRun",
        method="POST",
        path=f"{_RUN}/cancel",
        function="control",
        role=Role.DRIVER,
        summary="Ask a run to end; `force` (operator) does not wait for its driver.",
        body=models.CancelRun,
        headers=(KEY,),
        answers={200: Answer("The run, settled or with the intent latched.", answers.Cancelled)},
        problems=(404, 413, 415, 422),
    ),
    Operation(
        id="resumeRun",
        method="POST",
        path=f"{_RUN}/resume",
        function="control",
        role=Role.DRIVER,
        summary="Begin a settled run's next attempt; `force` (operator): also where it is not resumable.",
        body=models.ResumeRun,
        headers=(KEY,),
        answers={200: Answer("The run, resumed or as it was.", answers.Resumed)},
        problems=(404, 413, 415, 422),
    ),
    Operation(
        id="suspendRun",
        method="POST",
        path=f"{_RUN}/suspend",
        function="control",
        role=Role.DRIVER,
        summary="Let a running run wait for a time, another run's settling, or an event.",
        body=models.SuspendRun,
        headers=(ATTEMPT, KEY),
        answers={200: Answer("The run, suspended, or woken already.", answers.Suspended)},
        problems=(404, 409, 413, 415, 422),
    ),
    Operation(
        id="readStream",
        method="GET",
        path=_LOG,
        function="stream",
        role=Role.VIEWER,
        summary="Read a run's log from an offset, and live from there on (Durable Streams).",
        query=models.StreamQuery,
        headers=(IF_NONE_MATCH, LAST_EVENT_ID),
        answers={
            200: Answer("Messages.", list[answers.Message], READING, (JSON, EVENTS)),
            204: Answer("Long-poll: nothing came in time, or nothing will.", headers=READING),
            304: Answer("Nothing has changed.", headers=(ETAG,)),
        },
        problems=(404,),
        streams=True,
    ),
    Operation(
        id="headStream",
        method="HEAD",
        path=_LOG,
        function="stream",
        role=Role.VIEWER,
        summary="Where a run's log ends, and whether it is closed.",
        answers={200: Answer("The log's end.", headers=(NEXT_OFFSET, CLOSED))},
        problems=(404,),
        streams=True,
    ),
    Operation(
        id="appendToStream",
        method="POST",
        path=_LOG,
        function="append",
        role=Role.DRIVER,
        summary="Append one message, or an array of them as one batch.",
        body=models.NewMessage | models.NewMessages,
        headers=(ATTEMPT, ECHO, *PRODUCER, STREAM_SEQ),
        answers={
            200: Answer("Appended (with producer headers).", headers=(NEXT_OFFSET, TAIL, *PRODUCER[1:])),
            204: Answer("Appended, or a producer's duplicate.", headers=(NEXT_OFFSET, TAIL, *PRODUCER[1:])),
        },
        problems=(404, 409, 413),
    ),
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
        summary="List the registered workflows, by name.",
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
    Operation(
        id="health",
        method="GET",
        path="/v1/health",
        function="meta",
        role=None,
        summary="Whether the service answers.",
        answers={200: Answer("It does.", answers.Health)},
    ),
    Operation(
        id="openapi",
        method="GET",
        path="/v1/openapi.json",
        function="meta",
        role=Role.VIEWER,
        summary="This document.",
        headers=(IF_NONE_MATCH,),
        answers={
            200: Answer("OpenAPI 3.1.", answers.Document, (ETAG,)),
            304: Answer("Nothing has changed.", headers=(ETAG,)),
        },
    ),
)


def of_function(function: str) -> tuple[Operation, ...]:
    """The operations that one function serves."""
    return tuple(row for row in OPERATIONS if row.function == function)
