"""What workers ask: runs to drive, to hold them for longer, to give them back."""

from baton import bootstrap
from baton.api import render, response, worker_answers, worker_commands
from baton.api.edge import operation
from baton.api.request import Request
from baton.api.response import Response
from baton.api.routing import Routes
from baton.domain.clock import rfc3339

runtime = bootstrap.runtime("claims", "leases")


@operation("claimRuns", runtime)
def claim(request: Request) -> Response:
    got = runtime.claims.claim(worker_commands.claims(request, runtime.settings))
    return response.json(200, worker_answers.ClaimedRuns([render.run(detail) for detail in got]))


@operation("claimRun", runtime)
def claim_one(request: Request) -> Response:
    command = worker_commands.claim(request, runtime.settings)
    detail = runtime.claims.claim_one(request.namespace, request.run_id, command)
    return response.json(200, worker_answers.ClaimedRun(render.run(detail)))


@operation("renewLease", runtime)
def renew(request: Request) -> Response:
    command = worker_commands.renew(request, runtime.settings)
    run = runtime.leases.renew(request.namespace, request.run_id, command)
    until = rfc3339(run.lease.expires_at if run.lease else runtime.clock.now())
    return response.json(200, worker_answers.Renewed(until, render.cancel_requested(run.cancel)))


@operation("releaseRun", runtime)
def release(request: Request) -> Response:
    detail = runtime.leases.release(request.namespace, request.run_id, worker_commands.release(request))
    return response.json(200, worker_answers.ReleasedRun(render.run(detail)))


handler = Routes(runtime, claim, claim_one, renew, release)
