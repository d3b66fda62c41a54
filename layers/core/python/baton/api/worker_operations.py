"""The contract's rows of workers."""

from __future__ import annotations

from baton.api import models, worker_answers, worker_models
from baton.api.operation import KEY, Answer, Operation
from baton.domain.roles import Role

_RUN = "/v1/runs/{id}"

WORKER_OPERATIONS: tuple[Operation, ...] = (
    Operation(
        id="claimRuns",
        method="POST",
        path="/v1/claims",
        function="workers",
        role=Role.DRIVER,
        summary="Claim runs that wait, each for one worker; wait for some to come.",
        body=worker_models.ClaimRuns,
        headers=(KEY,),
        answers={200: Answer("What the worker holds now.", worker_answers.ClaimedRuns)},
        problems=(413, 415, 422),
    ),
    Operation(
        id="claimRun",
        method="POST",
        path=f"{_RUN}/claim",
        function="workers",
        role=Role.DRIVER,
        summary="Claim one run.",
        body=worker_models.ClaimRun,
        headers=(KEY,),
        answers={200: Answer("The worker holds it now.", worker_answers.ClaimedRun)},
        problems=(404, 409, 413, 415, 422),
    ),
    Operation(
        id="renewLease",
        method="POST",
        path=f"{_RUN}/renew",
        function="workers",
        role=Role.DRIVER,
        summary="Hold a run for longer.",
        body=worker_models.RenewLease,
        answers={200: Answer("It is held for longer.", worker_answers.Renewed)},
        problems=(404, 409, 413, 415),
    ),
    Operation(
        id="releaseRun",
        method="POST",
        path=f"{_RUN}/release",
        function="workers",
        role=Role.DRIVER,
        summary="Give a run back, or report a failure to be tried again.",
        body=worker_models.ReleaseRun,
        answers={200: Answer("Nobody holds it.", worker_answers.ReleasedRun)},
        problems=(404, 409, 413, 415),
    ),
    Operation(
        id="putWorker",
        method="PUT",
        path="/v1/workers/{worker_id}",
        function="workers",
        role=Role.DRIVER,
        summary="Say that a worker is alive, what it serves and, as an operator, what starts that.",
        body=worker_models.PutWorker,
        answers={200: Answer("It counts as alive.", worker_answers.Heard)},
        problems=(413, 415),
    ),
    Operation(
        id="listWorkers",
        method="GET",
        path="/v1/workers",
        function="workers",
        role=Role.VIEWER,
        summary="List the workers that are alive, by id.",
        query=models.PageQuery,
        answers={200: Answer("One page.", worker_answers.WorkersPage)},
    ),
)
