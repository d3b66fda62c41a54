"""What workers ask: to be known as alive, runs to drive, to hold them for longer, to give them back."""

from baton import bootstrap
from baton.api import models, render, response, worker_answers, worker_commands, worker_render
from baton.api.edge import operation
from baton.api.request import Request
from baton.api.response import Response
from baton.api.routing import Routes
from baton.api.signing import Signatures
from baton.domain.clock import rfc3339
from baton.domain.roles import Role

runtime = bootstrap.runtime("claims", "leases", "workers")
signatures = Signatures(runtime.signing_keys)


@operation("putWorker", runtime)
def hear(request: Request) -> Response:
    heartbeat = worker_commands.heartbeat(request)
    if any(each.subscribes is not None for each in heartbeat.serves):
        request.caller.demand(Role.OPERATOR, "announcing subscriptions")
    for each in heartbeat.serves:
        request.caller.demand_workflow(each.name)
    runtime.workers.hear(heartbeat, replacing=request.caller.demand_workflow)
    return response.json(200, worker_answers.Heard(runtime.settings.worker_seconds))


@operation("listWorkers", runtime)
def list_(request: Request) -> Response:
    query = request.query(models.PageQuery)
    pages = signatures.pages(request.namespace, "listWorkers")
    page = runtime.workers.list(request.namespace, limit=query.limit, after=pages.after(query.next_token))
    answer = worker_render.page(page, pages.token, runtime.workers.dead_at)
    return response.json(200, answer)


@operation("claimRuns", runtime)
def claim(request: Request) -> Response:
    wanted = worker_commands.claims(request, runtime.settings)
    for workflow in wanted.workflows:
        request.caller.demand_workflow(workflow)
    got = runtime.claims.claim(wanted)
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
    command = worker_commands.release(request)
    detail = runtime.leases.release(request.namespace, request.run_id, command)
    return response.json(200, worker_answers.ReleasedRun(render.run(detail)))


handler = Routes(runtime, hear, list_, claim, claim_one, renew, release)
