"""Items whose time to live is over are removed, and the stream tells of it; all others stay."""

import pytest

from baton.store.schema import RUNS, TABLES
from infra.local.collector import Collector
from infra.local.memory import in_process
from infra.local.messaging import client_of
from infra.local.moto_streams import TrimmingReader
from infra.local.tables import create
from tests.unit.manual_clock import MIDNIGHT, ManualClock

REGION = "eu-west-3"  # where no other test of this process keeps tables
NAMES = {spec.name: f"collected-{spec.name}" for spec in TABLES}
NOW = MIDNIGHT // 1000


@pytest.fixture
def client():
    with in_process():
        client = client_of("dynamodb", REGION, None)
        create(client, NAMES)
        yield client
        for name in NAMES.values():
            client.delete_table(TableName=name)


@pytest.fixture
def collector(client):
    return Collector(client, NAMES, clock=ManualClock())


def put(client, sort, ttl=None, table="runs"):
    item = {"k": {"S": "a"}, "s": {"S": sort}}
    item |= {} if ttl is None else {"ttl": {"N": str(ttl)}}
    client.put_item(TableName=NAMES[table], Item=item)


def sorts(client, table="runs"):
    return sorted(item["s"]["S"] for item in client.scan(TableName=NAMES[table])["Items"])


def test_what_is_over_is_removed_and_all_else_stays(client, collector):
    put(client, "over", NOW)
    put(client, "long over", 1)
    put(client, "not yet", NOW + 1)
    put(client, "for good")
    assert collector.round() == 2
    assert sorts(client) == ["for good", "not yet"]
    assert collector.round() == 0


def test_each_table_that_has_a_time_to_live_is_collected_and_no_other(client, collector):
    for spec in TABLES:
        put(client, "over", NOW, spec.name)
    collector.round()
    left = {spec.name for spec in TABLES if sorts(client, spec.name)}
    assert left == {spec.name for spec in TABLES if spec.ttl_attribute is None}


def test_the_stream_tells_of_it_as_of_any_removal(client, collector):
    arn = client.describe_table(TableName=NAMES[RUNS.name])["Table"]["LatestStreamArn"]
    put(client, "over", NOW)
    reader = TrimmingReader(
        client_of("dynamodbstreams", REGION, None, account_id_endpoint_mode="disabled"), arn
    )
    list(reader.read())
    collector.round()
    [[told]] = reader.read()
    assert told.body["eventName"] == "REMOVE"
    assert told.body["dynamodb"]["OldImage"]["s"] == {"S": "over"}


def test_what_was_written_since_it_was_looked_at_stays(client, collector, monkeypatch):
    put(client, "over", NOW)
    seen = collector._over

    def then_reprieved(spec, now):
        keys = seen(spec, now)
        put(client, "over", NOW + 100)
        return keys

    monkeypatch.setattr(collector, "_over", then_reprieved)
    assert collector.round() == 0
    assert sorts(client) == ["over"]


def test_stopping_does_not_wait_for_the_next_collection(collector):
    collector.start()
    assert collector.stop(10)
