"""What each function asks of DynamoDB, and says to others, recorded while runs live, hand off and die in
every way that reads or writes."""

import json
from collections import defaultdict
from concurrent.futures import Future
from itertools import count
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

import botocore.session
from msgspec.structs import replace

from baton import bootstrap
from baton.domain.catalog import Snapshot
from baton.domain.targets import TAG
from baton.outbound.clients import LazyClient
from infra.local.events import HttpRequest, answer_of, authorizer_event, event_of
from infra.local.functions import Functions
from infra.local.memory import in_process
from infra.local.messaging import client_of, messaging
from infra.local.moto_streams import TrimmingReader
from infra.local.records import Filter
from infra.local.routing import Router
from infra.local.settings import local_settings, table_names
from infra.local.tables import create
from infra.manifest import AUTHORIZER, FUNCTIONS, Function, function
from infra.signals import CALLS_ITSELF, PUSHES, PUTS_EVENTS, READS_KEYS, RUN_CHANGES, SENDS_HINTS
from tests.infra.lives import PUSHED_TO, live
from tests.unit.manual_clock import ManualClock

NAMESPACE = "default"
EVERYONE = {"namespace": "*", "role": "admin"}
SAID_BY = {"SendMessage": SENDS_HINTS, "PutEvents": PUTS_EVENTS}
TO_TARGETS = {right.action.partition(":")[2]: right for right in PUSHES}
TO_TARGETS["Invoke"] = TO_TARGETS["InvokeFunction"]
TAGGED = {
    "ListTags": {"Tags": {TAG: NAMESPACE}},
    "ListQueueTags": {"Tags": {TAG: NAMESPACE}},
    "ListTagsForResource": {"Tags": [{"Key": TAG, "Value": NAMESPACE}]},
    "PutEvents": {"FailedEntryCount": 0, "Entries": [{"EventId": "1"}]},
}
"""What targets answer; the laptop has no functions to call, and no tags of buses."""


def used_rights():
    """Per function name: (table, index, action), and what it says to others."""
    with in_process():
        recorder = Recorder()
        with patch.object(LazyClient, "_made", lambda lazy: recorder.client(lazy)):
            live(recorder)
        return dict(recorder.used), dict(recorder.said)


class Recorder:
    """A container per call, with no memory of the last, all over clients that are listened to."""

    def __init__(self):
        self.used = defaultdict(set)
        self.said = defaultdict(set)
        self.clock = ManualClock()
        self._tokens = count()
        given = {
            "token_requests_per_second": 1,
            "due_shards": 1,
            "settled_shards": 1,
            "purge_delay_seconds": 0,
            "tail_memory_seconds": 0,
        }
        settings, _ = messaging(local_settings({**given, "poll_seconds": 10}))
        self._settings = replace(settings, signing_keys=(), signing_keys_secret="arn")
        self._names = {name: spec for spec, name in table_names(self._settings).items()}
        session: Any = botocore.session.get_session()
        self.dynamodb = session.create_client("dynamodb", region_name=self._settings.region)
        create(self.dynamodb, table_names(self._settings))
        self._caller = ""
        self.dynamodb.meta.events.register("provide-client-params.dynamodb", self._note)
        self._router = Router(FUNCTIONS)
        self._filter = Filter(RUN_CHANGES.filters)
        self.runs, self.log = self._settings.runs_table, self._settings.log_table
        arn = self.dynamodb.describe_table(TableName=self.runs)["Table"]["LatestStreamArn"]
        region, old_address = self._settings.region, {"account_id_endpoint_mode": "disabled"}
        self._stream = TrimmingReader(client_of("dynamodbstreams", region, None, **old_address), arn)

    def client(self, lazy):
        """The client that ``lazy`` makes, listened to."""
        client = client_of(lazy._service, lazy._region, lazy._endpoint_url)
        client.meta.events.register("provide-client-params.*", self._note_said)
        client.meta.events.register("before-call.*", self._answer)
        return client

    def get_secret_value(self, SecretId):  # noqa: N803 - as the SDK has it
        """Whoever is called is told the keys."""
        self.said[self._caller].add(READS_KEYS)
        return {"SecretString": "a2V5"}

    def later(self, function_event):
        """Whoever is called hands on."""
        self.said[self._caller].add(CALLS_ITSELF)

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
        caller = {**EVERYONE, "token_id": f"{next(self._tokens):08}"}  # of none a request goes uncounted
        event = event_of(request, match, request_id="id", at=self.clock.now(), authorizer=caller)
        answer = answer_of(self.call(match.function, event))
        assert answer.status < 500, answer
        return json.loads(answer.body) if answer.body.startswith(b"{") else None

    def show(self, token):
        """What the authoriser says of who shows a token."""
        request = HttpRequest("GET", "/v1/runs", "", [("authorization", f"Bearer {token}")], b"", "127.0.0.1")
        match = self._router.match("GET", "/v1/runs")
        event = authorizer_event(request, match, request_id="id", at=self.clock.now())
        return self.call(function(AUTHORIZER), event)["context"]

    def call(self, of: Function, event):
        """One invocation of a function, in a container of its own that knows an older catalog: so it asks
        whether that has changed, and reads it anew."""
        runtime: Any = bootstrap.build(self._settings, self.clock, seed=self.clock.now(), onward=self)
        runtime.dynamo.connection._client = self.dynamodb
        runtime.dynamo.client = lambda service, region: self
        old: Future[Snapshot] = Future()
        old.set_result(Snapshot(namespace=NAMESPACE, read_at=0, revision=-1))
        runtime.catalog._reads[NAMESPACE] = (0, old)
        self.clock.advance(0.001)
        self._caller = of.name
        answer = Functions([of], runtime).call(of, event, "id")
        self._caller = ""
        return answer

    def publish(self):
        """Hand the publisher what the stream tells of, and what follows from that, to the end."""
        while records := [record for page in self._stream.read() for record in page]:
            wanted = [record.body for record in records if self._filter.lets(record)]
            if wanted:
                answer = self.call(function("publish"), {"Records": wanted})
                assert answer == {"batchItemFailures": []}

    def miss(self):
        """What the stream tells of reaches nobody."""
        for _ in self._stream.read():
            pass

    def tick(self, name, seconds=0.0):
        """Let time pass, and its schedule call a function."""
        self.clock.advance(seconds)
        return self.call(function(name), {})

    def _note(self, params, model, **_):
        for table, index, action in _needs(model.name, params):
            self.used[self._caller].add((self._names[table], index, action))

    def _note_said(self, params, model, **_):
        self._to_target = PUSHED_TO in str(params)
        self.said[self._caller].add((TO_TARGETS if self._to_target else SAID_BY)[model.name])

    def _answer(self, model, **_):
        """The answer of a target; None: moto's."""
        return (SimpleNamespace(status_code=200), TAGGED.get(model.name, {})) if self._to_target else None


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
