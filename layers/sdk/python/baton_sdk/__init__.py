"""Baton's client library: start runs, write and follow their logs, settle them, hand off. Speaks HTTP and
nothing else.

import baton_sdk

with baton_sdk.Client() as baton:
    run = baton.start("build", input={"commit": "4f1c"}).run
    with baton.writer(run.id, attempt=run.attempt) as log:
        log.emit("stdout", {"line": "compiling"})
    baton.finish(run.id, "completed", attempt=run.attempt)
    for event in baton.follow(run.id):
        print(event.seq, event.type, event.data)
"""

from importlib import import_module
from typing import TYPE_CHECKING

from baton_sdk.client import Client
from baton_sdk.errors import (
    BadAnswer,
    BatonError,
    Busy,
    Conflict,
    Fault,
    FieldError,
    Forbidden,
    IdempotencyMismatch,
    InFlight,
    Internal,
    InvalidRequest,
    LeaseLost,
    LogGap,
    NotAllowed,
    NotFound,
    PayloadTooLarge,
    ProducerFenced,
    RunExists,
    RunTerminal,
    StillOwed,
    StreamConflict,
    TooManyRequests,
    TryAgain,
    Unauthenticated,
    Unavailable,
    Unreachable,
    UnsupportedMediaType,
)
from baton_sdk.follower import Follower
from baton_sdk.graph import Graph
from baton_sdk.handoff import Handed, Owing, Published, Refusal, Republished, Stats
from baton_sdk.lease import Renewed, WorkerInfo
from baton_sdk.log import NOW, START, Appended, Event, Page
from baton_sdk.outbox import Limits
from baton_sdk.producer import Producer
from baton_sdk.retry import DEFAULT, FOREVER, PATIENT, RetryPolicy
from baton_sdk.run import (
    CancelRequest,
    ContinueAsNew,
    Delivery,
    Finished,
    Lease,
    Released,
    Resumed,
    Run,
    RunDetail,
    Started,
    Trigger,
    Wait,
    Waiter,
)
from baton_sdk.tokens import Audited, NewToken, Token, Whoami
from baton_sdk.workflow import (
    Backoff,
    Batch,
    Link,
    Registered,
    Subscription,
    Target,
    Workflow,
    WorkflowDetail,
)
from baton_sdk.writer import Writer

if TYPE_CHECKING:
    from baton_sdk.worker.context import Context
    from baton_sdk.worker.errors import Cancelled, CodeChanged, RetryableError, StepFailed, TerminalError
    from baton_sdk.worker.worker import Worker
else:
    _OF_WORKERS = {
        "Cancelled": "errors",
        "CodeChanged": "errors",
        "Context": "context",
        "RetryableError": "errors",
        "StepFailed": "errors",
        "TerminalError": "errors",
        "Worker": "worker",
    }

    def __getattr__(name: str) -> object:
        """What workers are made of, where somebody asks for it: most clients are none."""
        if name not in _OF_WORKERS:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.worker.{_OF_WORKERS[name]}"), name)


__all__ = [
    "DEFAULT",
    "FOREVER",
    "NOW",
    "PATIENT",
    "START",
    "Appended",
    "Audited",
    "Backoff",
    "BadAnswer",
    "Batch",
    "BatonError",
    "Busy",
    "CancelRequest",
    "Cancelled",
    "Client",
    "CodeChanged",
    "Conflict",
    "Context",
    "ContinueAsNew",
    "Delivery",
    "Event",
    "Fault",
    "FieldError",
    "Finished",
    "Follower",
    "Forbidden",
    "Graph",
    "Handed",
    "IdempotencyMismatch",
    "InFlight",
    "Internal",
    "InvalidRequest",
    "Lease",
    "LeaseLost",
    "Limits",
    "Link",
    "LogGap",
    "NewToken",
    "NotAllowed",
    "NotFound",
    "Owing",
    "Page",
    "PayloadTooLarge",
    "Producer",
    "ProducerFenced",
    "Published",
    "Refusal",
    "Registered",
    "Released",
    "Renewed",
    "Republished",
    "Resumed",
    "RetryPolicy",
    "RetryableError",
    "Run",
    "RunDetail",
    "RunExists",
    "RunTerminal",
    "Started",
    "Stats",
    "StepFailed",
    "StillOwed",
    "StreamConflict",
    "Subscription",
    "Target",
    "TerminalError",
    "Token",
    "TooManyRequests",
    "Trigger",
    "TryAgain",
    "Unauthenticated",
    "Unavailable",
    "Unreachable",
    "UnsupportedMediaType",
    "Wait",
    "Waiter",
    "Whoami",
    "Worker",
    "WorkerInfo",
    "Workflow",
    "WorkflowDetail",
    "Writer",
]
