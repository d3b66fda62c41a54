"""The HTTP contract as data, one row per operation: routes, role checks, 405 and OpenAPI come from it."""

from __future__ import annotations

from baton.api import answers
from baton.api.handoff_operations import HANDOFF_OPERATIONS
from baton.api.operation import ETAG, IF_NONE_MATCH, Answer, Operation
from baton.api.run_operations import RUN_OPERATIONS
from baton.api.token_operations import TOKEN_OPERATIONS
from baton.api.worker_operations import WORKER_OPERATIONS
from baton.domain.roles import Role

DEFAULT_FUNCTION = "meta"
"""Who answers what no row matches: 404, or 405 where the path has other methods."""

_META_OPERATIONS = (
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

OPERATIONS = (*RUN_OPERATIONS, *HANDOFF_OPERATIONS, *WORKER_OPERATIONS, *TOKEN_OPERATIONS, *_META_OPERATIONS)


def of_function(function: str) -> tuple[Operation, ...]:
    """The operations that one function serves."""
    return tuple(row for row in OPERATIONS if row.function == function)
