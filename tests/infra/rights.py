"""What each function asks of DynamoDB, recorded while runs live and die in every way that reads or writes."""

import json
from collections import defaultdict
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

import botocore.session

from baton import bootstrap
from baton.store.log import PURGE_BATCH
from infra.local.events import HttpRequest, answer_of, event_of
from infra.local.functions import Functions
from infra.local.memory import in_process
from infra.local.routing import Router
from infra.local.settings import local_settings, table_names
from infra.local.tables import create
from infra.manifest import FUNCTIONS, Function, function
from tests.unit.manual_clock import ManualClock

EVERYONE = {"namespace": "*", "role": "admin", "token_id": "test"}
LARGE = "x" * 1000


def used_rights():
    """(table, index, action) per function name."""
    with in_process():
        recorder = Recorder()
        live(recorder)
        return dict(recorder.used)


class Recorder:
    """A container per call, with no memory of the last, all over one client that is listened to."""

    def __init__(self):
        self.used = defaultdict(set)
        self.clock = ManualClock()
        self._settings = local_settings(
            {"due_shards": 1, "purge_delay_seconds": 0, "tail_memory_seconds": 0, "poll_seconds": 10}
        )
        self._names = {name: spec for spec, name in table_names(self._settings).items()}
        session: Any = botocore.session.get_session()
        self._client = session.create_client("dynamodb", region_name=self._settings.region)
        create(self._client, table_names(self._settings))
        self._caller = ""
        self._client.meta.events.register("provide-client-params.dynamodb", self._note)
        self._router = Router(FUNCTIONS)

    def ask(self, method, target, body=None, **headers):
        """One HTTP request to the function it is routed to; the body of its answer."""
        parts = urlsplit(target)
        request = HttpRequest(
            method=method,
            raw_path=parts.path,
            raw_query=parts.query,
            headers=[
                ("host", "localhost"),
                ("content-type", "application/json"),
                *((name.replace("_", "-"), value) for name, value in headers.items()),
            ],
            body=b"" if body is None else json.dumps(body).encode(),
            source_ip="127.0.0.1",
        )
        match = self._router.match(method, parts.path)
        event = event_of(request, match, request_id="id", at=self.clock.now(), authorizer=EVERYONE)
        answer = answer_of(self.call(match.function, event))
        assert answer.status < 500, answer
        return json.loads(answer.body) if answer.body.startswith(b"{") else None

    def call(self, of: Function, event):
        """One invocation of a function, in a container of its own."""
        runtime = bootstrap.build(self._settings, self.clock, seed=self.clock.now())
        runtime.dynamo.connection._client = self._client
        self.clock.advance(0.001)
        self._caller = of.name
        return Functions([of], runtime).call(of, event, "id")

    def lengthen_log(self, run_id, by):
        """Put ``by`` more items into a run's log, as many appends would; nobody's rights are used."""
        self._caller = ""
        log = self._settings.log_table
        standing = self._client.scan(TableName=log)["Items"]
        first = next(item for item in standing if item["k"]["S"].endswith(f"#{run_id}"))
        birth, slot = first["s"]["S"].split("#")
        puts = [
            {"PutRequest": {"Item": first | {"s": {"S": f"{birth}#{number:0{len(slot)}d}"}}}}
            for number in range(1, by + 1)
        ]
        for start in range(0, by, 25):
            self._client.batch_write_item(RequestItems={log: puts[start : start + 25]})

    def _note(self, params, model, **_):
        for table, index, action in _needs(model.name, params):
            self.used[self._caller].add((self._names[table], index, action))


def _needs(operation, params):
    """The rights that one call needs, by DynamoDB's IAM actions; a transaction needs those of its parts."""
    if operation == "TransactWriteItems":
        for item in params["TransactItems"]:
            for kind, request in item.items():
                yield request["TableName"], None, f"{kind}Item"
    elif operation in ("BatchGetItem", "BatchWriteItem"):
        for table in params["RequestItems"]:
            yield table, None, operation
    else:
        yield params["TableName"], params.get("IndexName"), operation


def live(house):
    """Runs started, repeated, spoken to, read, listed, cancelled, resumed, settled, deleted and purged."""
    house.ask("POST", "/v1/runs", {"workflow": "w", "run_id": "a", "input": LARGE}, idempotency_key="k")
    house.ask("POST", "/v1/runs", {"workflow": "w", "run_id": "a", "input": LARGE}, idempotency_key="k")
    house.ask("POST", "/v1/runs/a/stream", [{"type": "stdout"}])
    for query in ("", "?offset=-1&live=sse", "?offset=now&live=long-poll"):
        house.ask("GET", f"/v1/runs/a/stream{query}")
    house.ask("HEAD", "/v1/runs/a/stream")
    house.ask("GET", "/v1/runs/a")
    house.ask("GET", "/v1/runs/a/wait?timeout_seconds=0")
    house.ask("POST", "/v1/runs/a/cancel", {"reason": "enough"})
    house.ask("POST", "/v1/runs/a/finish", {"status": "failed", "output": LARGE, "resumable": True})
    house.ask("POST", "/v1/runs/a/finish", {"status": "completed"})
    house.ask("POST", "/v1/runs/a/stream", [{"type": "stdout"}])
    house.ask("POST", "/v1/runs", {"workflow": "w", "run_id": "a", "input": LARGE}, idempotency_key="k")
    house.ask("POST", "/v1/runs/a/resume")
    house.ask("POST", "/v1/runs/a/cancel", {"force": True})
    house.ask("GET", "/v1/runs/a")
    house.ask("POST", "/v1/runs", {"workflow": "w", "run_id": "c", "context_ref": "r"})
    for query in ("", "?workflow=w", "?context_ref=r"):
        house.ask("GET", f"/v1/runs{query}")
    house.ask("DELETE", "/v1/runs/a")
    house.ask("POST", "/v1/runs", {"workflow": "w", "run_id": "a"}, idempotency_key="k2")
    house.ask("POST", "/v1/runs", {"workflow": "w", "run_id": "b", "inactivity_timeout_seconds": 1})
    register(house)
    house.ask("GET", "/v1/health")
    house.ask("PUT", "/nowhere")
    sweep(house)
    long_log(house)
    with patch("baton.services.retention.PURGE_BATCHES", 1):
        sweep(house)


def register(house):
    """A workflow registered, again, otherwise; shown in every way; deleted."""
    for wish in ({}, {}, {"subscribes": [{"event": "run.completed:w"}]}):
        house.ask("PUT", "/v1/workflows/s", wish)
    for path in ("/v1/workflows", "/v1/workflows/s", "/v1/graph"):
        house.ask("GET", path)
    house.ask("DELETE", "/v1/workflows/s")


def sweep(house):
    house.clock.advance(60)
    house.call(function("sweep"), {})


def long_log(house):
    """A life whose log is too long for one sweep to purge: the rest is put off."""
    house.ask("POST", "/v1/runs", {"workflow": "w", "run_id": "d", "input": LARGE})
    house.lengthen_log("d", PURGE_BATCH + 1)
    house.ask("POST", "/v1/runs/d/cancel", {"force": True})
    house.ask("DELETE", "/v1/runs/d")
    house.ask("POST", "/v1/runs", {"workflow": "w", "run_id": "d"})
