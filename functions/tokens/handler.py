"""Tokens: made, listed, revoked; and who did what."""

from baton import bootstrap
from baton.api import identity, response, token_answers, token_commands, token_models, token_render
from baton.api.edge import operation
from baton.api.request import Request
from baton.api.response import Response
from baton.api.routing import Routes
from baton.api.signing import Signatures

runtime = bootstrap.runtime("audit", "tokens")
signatures = Signatures(runtime.signing_keys)


@operation("whoami", runtime)
def whoami(request: Request) -> Response:
    token_id = request.caller.token_id
    shown = None if token_id is None else runtime.tokens.still_good(token_id)
    if token_id is not None and shown is None:
        raise identity.refused()  # the gateway remembers it for a while
    return response.json(200, token_render.whoami(request.caller, shown))


@operation("createToken", runtime)
def create(request: Request) -> Response:
    made = runtime.tokens.create(token_commands.create(request), by=request.caller.by)
    return response.json(201, token_answers.Created(token_render.token(made.token), made.text))


@operation("listTokens", runtime)
def list_(request: Request) -> Response:
    query = request.query(token_models.NamespaceQuery)
    namespace = token_commands.namespace(request, query.namespace)
    pages = signatures.pages(namespace, "listTokens")
    page = runtime.tokens.list(namespace, limit=query.limit, after=pages.after(query.next_token))
    return response.json(200, token_render.page(page, pages.token))


@operation("revokeToken", runtime)
def revoke(request: Request) -> Response:
    runtime.tokens.revoke(request.token_id, within=token_commands.within(request), by=request.caller.by)
    return Response(status=204)


@operation("listAudit", runtime)
def audit(request: Request) -> Response:
    query = request.query(token_models.NamespaceQuery)
    namespace = token_commands.namespace(request, query.namespace)
    pages = signatures.pages(namespace, "listAudit")
    page = runtime.audit.list(namespace, limit=query.limit, after=pages.after(query.next_token))
    return response.json(200, token_render.audit(page, pages.token))


handler = Routes(runtime, whoami, create, list_, revoke, audit)
