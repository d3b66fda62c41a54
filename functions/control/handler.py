"""What others than its driver do to a run: cancel, resume."""

from baton import bootstrap
from baton.api import answers, commands, render, response
from baton.api.edge import operation
from baton.api.request import Request
from baton.api.response import Response
from baton.api.roles import Role
from baton.api.routing import Routes

runtime = bootstrap.runtime()


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
    done = runtime.control.resume(request.namespace, request.run_id, force=bool(wish.force), key=key)
    return response.json(200, answers.Resumed(render.run(done.detail), done.resumed))


handler = Routes(runtime, cancel, resume)
