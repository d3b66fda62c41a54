"""POST /v1/runs: start a run, once."""

from baton import bootstrap
from baton.api import answers, commands, render, response
from baton.api.edge import operation
from baton.api.request import Request
from baton.api.response import Response
from baton.api.signing import Signatures

runtime = bootstrap.runtime("starts")
signatures = Signatures(runtime.signing_keys)


@operation("startRun", runtime)
def handler(request: Request) -> Response:
    command = commands.start(request)
    request.caller.demand_workflow(command.workflow)
    done = runtime.starts.start(command)
    answer = answers.Started(render.run(done.detail), done.started)
    return response.json(201 if done.started else 200, answer, signatures.of_start(done))
