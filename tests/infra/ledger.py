"""What operations write and read, place by place: units by the AWS formula from what stood there before and
after, on tables in this process."""

import copy
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field

from baton.store.schema import TableSpec
from infra.local.messaging import client_of
from infra.local.moto_streams import TrimmingReader
from tests.bench.house import REGION, Container, StandingClock, Tables
from tests.bench.sizes import read_units
from tests.bench.streaming import Told
from tests.bench.transactions import TABLE_FACTOR, Place, part, places

_WRITES = {"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"}


@dataclass
class Taken:
    """Units by the name of a table or an index."""

    written: Counter = field(default_factory=Counter)
    read: Counter = field(default_factory=Counter)
    calls: int = 0


class Ledger:
    """One container, listened to."""

    def __init__(self):
        self.tables = Tables(None)
        self.clock = StandingClock()
        self.container = Container(self.tables, self.clock)
        self.told = _told(self.tables)
        self._taken: Taken | None = None
        events = self.container.runtime.dynamo.connection.client.meta.events
        events.register("before-parameter-build.dynamodb", self._asked)
        events.register("after-call.dynamodb", self._answered)

    @contextmanager
    def taking(self):
        """Count while the block lasts; what was refused is not counted."""
        self._taken = Taken()
        try:
            yield self._taken
        finally:
            self._taken = None

    def _asked(self, params, model, context, **_):
        if self._taken is not None:
            context["ledger_request"] = copy.deepcopy(params)
            context["ledger_before"] = [self._item(place) for place in _places(self, model.name, params)]

    def _answered(self, parsed, model, context, **_):
        request = context.get("ledger_request")
        if self._taken is None or request is None or "Error" in parsed:
            return
        self._taken.calls += 1
        if model.name in _WRITES:
            factor = TABLE_FACTOR if model.name == "TransactWriteItems" else 1
            places = _places(self, model.name, request)
            for place, before in zip(places, context["ledger_before"], strict=True):
                self._note(self._taken, place, before, self._item(place), factor)
        else:
            self._read(self._taken, model.name, request, parsed)

    def _note(self, taken, place, before, after, factor):
        spec: TableSpec = self.tables.specs[place.table]
        taken.written[spec.name] += factor * part(place, spec, before, after).base
        for index in spec.indexes:
            units = part(place, spec._replace(indexes=(index,)), before, after).index
            if units:
                taken.written[index.name] += units

    def _read(self, taken, operation, request, answer):
        if operation == "BatchGetItem":
            for table, wanted in request["RequestItems"].items():
                taken.read[self.tables.specs[table].name] += 0.5 * len(wanted["Keys"])
            return
        name = request.get("IndexName") or self.tables.specs[request["TableName"]].name
        items = answer.get("Items", [answer["Item"]] if "Item" in answer else [])
        whole = max(1, sum(map(read_units, items)) if operation == "GetItem" else 1)
        taken.read[name] += whole if request.get("ConsistentRead") else whole / 2

    def _item(self, place):
        return self.tables.client.get_item(TableName=place.table, Key=place.key).get("Item")


def _told(tables):
    """What the stream tells: read as the laptop reads it, for moto knows its old address alone."""
    told = Told(tables)
    arn = tables.client.describe_table(TableName=tables.names["runs"])["Table"]["LatestStreamArn"]
    client = client_of("dynamodbstreams", REGION, None, account_id_endpoint_mode="disabled")
    told.__dict__["_reader"] = TrimmingReader(client, arn)
    return told


def _places(ledger, operation, request):
    specs = ledger.tables.specs
    if operation == "TransactWriteItems":
        return places(request, specs)
    if operation == "BatchWriteItem":
        return [
            Place(table, write["DeleteRequest"]["Key"])
            for table, writes in request["RequestItems"].items()
            for write in writes
        ]
    if operation not in _WRITES:
        return []
    spec = specs[request["TableName"]]
    given = request.get("Item") or request["Key"]
    return [
        Place(request["TableName"], {key.name: given[key.name] for key in (spec.hash_key, spec.range_key)})
    ]
