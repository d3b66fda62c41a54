"""Every route, as OpenAPI has it, asked by every role about what is its own, another tenant's, and nobody's.

What another tenant has must be as if it were not there: the same caller asks the same in a deployment where
that tenant has it, and in one where nobody does, and is told the same to the byte. Chance and time are the
same in both, so that nothing else differs either.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import jsonschema_rs
import pytest

from baton.api import openapi
from baton.api.identity import vouched
from baton.domain.roles import Role
from baton.domain.tokens import EVERY_NAMESPACE, Token
from baton.store.tokens import TokenStore
from tests.functions.lambdas import Answer, Lambdas
from tests.unit.house import House, house_of
from tests.unit.manual_clock import MIDNIGHT
from tests.unit.moto_tables import empty_tables

DOCUMENT = openapi.document()
THEIRS, YOURS = "theirs", "yours"
WORK = "the-work"
MARKER = "known to the first alone"
KEYED = {"workflow": WORK, "mode": "attached"}
KEY = {"idempotency_key": "the-key"}
HELD = {"worker_id": "the-worker", "attempt": 1}


class Route(NamedTuple):
    """An operation of the document. ``role`` None: open to anybody."""

    id: str
    method: str
    path: str
    role: Role | None
    body: Mapping[str, Any] | None
    may_miss: bool


class Asked(NamedTuple):
    """A request that is right. ``run``: how the run is that it is about. Headers may name what is known."""

    body: Any = None
    query: str = ""
    headers: Mapping[str, str] = {}
    run: str = "running"


VALID = {
    "startRun": Asked(KEYED, headers=KEY),
    "listRuns": Asked(query="workflow=the-work"),
    "getRun": Asked(),
    "deleteRun": Asked(run="settled"),
    "waitForRun": Asked(query="timeout_seconds=0"),
    "finishRun": Asked({"status": "completed"}, headers={**KEY, "baton_tail": "{tail}"}),
    "cancelRun": Asked({}, headers=KEY),
    "resumeRun": Asked({}, headers=KEY, run="settled"),
    "suspendRun": Asked({"event": "later"}, headers=KEY),
    "readStream": Asked(query="offset=-1"),
    "headStream": Asked(),
    "appendToStream": Asked({"type": "note"}, headers={"baton_tail": "{tail}"}),
    "publishEvent": Asked({"id": "the-id", "payload": 1}),
    "republishRun": Asked({}, run="settled"),
    "republish": Asked({"workflow": WORK}, run="settled"),
    "stats": Asked(),
    "listWorkflows": Asked(),
    "putWorkflow": Asked({"description": "d"}),
    "getWorkflow": Asked(),
    "deleteWorkflow": Asked(),
    "graph": Asked(),
    "claimRuns": Asked({"worker_id": "the-worker", "workflows": [WORK]}, headers=KEY, run="queued"),
    "claimRun": Asked({"worker_id": "the-worker"}, headers=KEY, run="queued"),
    "renewLease": Asked(HELD, run="claimed"),
    "releaseRun": Asked(HELD, run="claimed"),
    "putWorker": Asked({"workflows": [{"name": WORK}]}),
    "listWorkers": Asked(),
    "whoami": Asked(),
    "createToken": Asked({"role": "viewer"}),
    "listTokens": Asked(),
    "revokeToken": Asked(),
    "listAudit": Asked(),
    "health": Asked(),
    "openapi": Asked(),
}
"""By operation. A new one is to be added here."""

ROUTES = [
    Route(
        id=row["operationId"],
        method=method.upper(),
        path=path,
        role=Role.named(row.get("x-baton-role")),
        body=row.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema"),
        may_miss="404" in row["responses"],
    )
    for path, methods in DOCUMENT["paths"].items()
    for method, row in methods.items()
]

NOBODIES = ("anonymous", "expired")
STRANGER = "admin who names another namespace"
NARROWED = "driver of other work"
RANKS = {
    "viewer": Role.VIEWER,
    NARROWED: Role.DRIVER,
    "driver": Role.DRIVER,
    "operator": Role.OPERATOR,
    "admin": Role.ADMIN,
    "admin of all": Role.ADMIN,
}
"""Who asks, the weakest first."""
NAMED = ("admin of all", STRANGER)


def token_of(who: str, namespace: str) -> Token:
    """What they show."""
    mark = "abcdefgh"[(*RANKS, "expired", STRANGER).index(who)] * 8
    everywhere = who == "admin of all"
    return Token(
        namespace=EVERY_NAMESPACE if everywhere else namespace,
        id=mark if everywhere else f"{namespace}_{mark}",
        role=RANKS.get(who, Role.ADMIN),
        secret_digest="",
        created_at=0,
        rev="",
        workflows=("other-work",) if who == NARROWED else None,
        expires_at=MIDNIGHT if who == "expired" else None,
    )


def known(who: str, namespace: str) -> dict[str, str]:
    """What the authoriser says of them."""
    return {} if who == "anonymous" else vouched(token_of(who, namespace))


class World:
    """A deployment with callers in two namespaces; with ``run`` there is also something in the first."""

    def __init__(self, dynamodb: Any, run: str | None) -> None:
        empty_tables()
        self.house: House = house_of(dynamodb)
        self.api = Lambdas(self.house.container())
        self._makers = Lambdas(self.house.container())
        self.names: dict[str, str] = {}
        kept = TokenStore(self.house.dynamo(), self.house.settings.catalog_table)
        for namespace in (THEIRS, YOURS):
            for who in (*RANKS, "expired", STRANGER):
                assert kept.create(token_of(who, namespace))
        if run is not None:
            self._fill(run)

    def ask(self, route: Route, namespace: str, who: str, names: Mapping[str, str]) -> Answer:
        asked = VALID[route.id]
        headers: dict[str, Any] = {name: value.format(**names) for name, value in asked.headers.items()}
        if who in NAMED:
            headers["baton_namespace"] = namespace if who == "admin of all" else THEIRS
        answer = self.api.call(
            route.method,
            route.path.format(**names),
            asked.body,
            query=asked.query,
            authorizer=known(who, namespace),
            **headers,
        )
        del answer.headers["x-request-id"]
        return answer

    def kept(self) -> list[str]:
        """All that stands in the tables and has to do with the first namespace."""
        settings = self.house.settings
        tables = (settings.runs_table, settings.log_table, settings.catalog_table)
        items = [repr(item) for table in tables for item in self.house.items(table)]
        return sorted(item for item in items if THEIRS in item)

    def _fill(self, run: str) -> None:
        """One of everything, of which each name is asked for later."""
        self._make("PUT", "/v1/workflows/the-name", {"subscribes": [{"event": "the-name"}]})
        self._make("POST", "/v1/runs", KEYED, **KEY)
        self._make("POST", "/v1/events/the-name", {"id": "the-id", "payload": 1})
        mode = "queued" if run in ("queued", "claimed") else "attached"
        made = self._make("POST", "/v1/runs", {**KEYED, "run_id": "the-run", "mode": mode, "input": MARKER})
        if run == "claimed":
            self._make("POST", "/v1/runs/the-run/claim", {"worker_id": "the-worker"})
        if run == "settled":
            failed = {"status": "failed", "resumable": True}
            self._make("POST", "/v1/runs/the-run/finish", failed)
        self._make("PUT", "/v1/workers/the-worker", {"workflows": [{"name": "the-name"}]})
        token = self._make("POST", "/v1/tokens", {"role": "viewer"}).json["token"]["id"]
        self.names = {
            "id": "the-run",
            "name": "the-name",
            "worker_id": "the-worker",
            "token_id": token,
            "tail": made.headers.get("baton-tail", ""),
        }

    def _make(self, method: str, path: str, body: Any, **headers: Any) -> Answer:
        answer = self._makers.call(method, path, body, authorizer=known("admin", THEIRS), **headers)
        assert answer.status < 300, answer
        return answer


def test_every_operation_has_a_request_here_that_is_right():
    assert {route.id for route in ROUTES} == VALID.keys()
    for route in ROUTES:
        body = VALID[route.id].body
        assert (body is None) == (route.body is None), route.id
        if route.body is not None:
            schema = {**route.body, "components": DOCUMENT["components"]}
            jsonschema_rs.Draft202012Validator(schema).validate(body)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.id)
def test_what_another_tenant_has_is_as_if_it_were_not_there(dynamodb: Any, route: Route):
    everyone = (*NOBODIES, STRANGER, *RANKS)
    world = World(dynamodb, VALID[route.id].run)
    before, names = world.kept(), world.names
    foreign = {who: world.ask(route, YOURS, who, names) for who in everyone}
    assert world.kept() == before
    nowhere = World(dynamodb, None)
    absent = {who: nowhere.ask(route, YOURS, who, names) for who in everyone}
    for who in everyone:
        assert foreign[who] == absent[who], who
        assert MARKER.encode() not in foreign[who].body
    assert foreign[STRANGER].status == (403 if route.role else 200)
    if route.may_miss:
        able = {who for who, rank in RANKS.items() if rank >= (route.role or Role.VIEWER)}
        assert {who for who in everyone if foreign[who].status == 404} == able


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.id)
def test_each_role_may_what_the_document_says_and_is_told_no_more(dynamodb: Any, route: Route):
    world = World(dynamodb, VALID[route.id].run)
    done = False
    for who in (*NOBODIES, *RANKS):
        own = world.ask(route, THEIRS, who, world.names)
        rank = RANKS.get(who)
        if route.role is not None and (rank is None or rank < route.role):
            assert own.status == (401 if rank is None else 403), who
            assert own == world.ask(route, YOURS, who, world.names), who
        elif who == NARROWED and route.role is Role.DRIVER:
            assert own.status == 403
        else:
            assert own.status not in (401, 403), who
            assert done or own.status < 300, own
            done = True
    assert done
