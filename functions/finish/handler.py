"""POST /v1/runs/{id}/finish: settle a run, or learn what settled it."""

from baton import bootstrap
from baton.api import answers, commands, render, response
from baton.api.edge import operation
from baton.api.request import Request
from baton.api.response import Response
from baton.api.signing import Signatures

runtime = bootstrap.runtime("finishes")
signatures = Signatures(runtime.signing_keys)


@operation("finishRun", runtime)
def handler(request: Request) -> Response:
    command = commands.finish(request)
    echo = signatures.echoed(request.namespace, request.run_id, request.header("baton-tail"))
    done = runtime.finishes.finish(request.namespace, request.run_id, command, echo=echo)
    return response.json(200, answers.Finished(render.run(done.detail), done.finished))
