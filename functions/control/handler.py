"""What is done to a run between its start and its end: cancel, resume, suspend."""

from baton import bootstrap
from baton.api import answers, commands, render, response
from baton.api.edge import operation
from baton.api.request import Request
from baton.api.response import Response
from baton.api.routing import Routes
from baton.domain.roles import Role

runtime = bootstrap.runtime("control", "waits")


@operation("cancelRun", runtime)
def cancel(request: Request) -> Response:
    command = commands.cancel(request)
    if command.force:
        request.caller.demand(Role.OPERATOR, "force")
    detail = runtime.control.cancel(request.namespace, request.run_id, command)
    return response.json(200, answers.Cancelled(render.run(detail)))


@operation("resumeRun", runtime)
def resume(request: Request) -> Response:
    wish, key = commands.resume(request), commands.key_digest(request)
    if wish.force:
        request.caller.demand(Role.OPERATOR, "force")
    done = runtime.control.resume(
        request.namespace, request.run_id, force=bool(wish.force), key=key, by=request.caller.by
    )
    return response.json(200, answers.Resumed(render.run(done.detail), done.resumed))


@operation("suspendRun", runtime)
def suspend(request: Request) -> Response:
    command = commands.suspend(request)
    detail = runtime.waits.suspend(request.namespace, request.run_id, command)
    return response.json(200, answers.Suspended(render.run(detail)))


handler = Routes(runtime, cancel, resume, suspend)
