"""DynamoDB in this process: one call at a time, the answers moto gives, without its costs."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any

import botocore.session
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws
from moto.dynamodb.models import dynamodb_backends
from moto.dynamodb.models.table import Table
from moto.dynamodbstreams.models import DynamoDBStreamsBackend

from baton.store.schema import TABLES
from infra.local.memory import LOCK, in_process
from infra.local.messaging import client_of
from infra.local.moto_costs import proportionate
from infra.local.tables import create

NAMES = {spec.name: spec.name for spec in TABLES}


@pytest.fixture
def client():
    with in_process():
        yield made()


def made():
    """A client of tables that hold nothing. Blocks nest and share their tables, and an outer one may be open
    for as long as this process tests: each client gets a region that nobody has used."""
    session = botocore.session.get_session()
    regions = session.get_available_regions("dynamodb")
    region = next(name for name in regions if not backend(name).tables)
    client: Any = session.create_client("dynamodb", region_name=region)
    create(client, NAMES)
    return client


def put(client, sort, table="log", **more):
    client.put_item(TableName=table, Item={"k": {"S": "a"}, "s": {"S": sort}}, **more)


def test_of_many_that_want_one_free_key_one_gets_it(client):
    ready = threading.Barrier(8)

    def take(_):
        ready.wait(10)
        won = 0
        for number in range(20):
            try:
                put(client, f"{number}", ConditionExpression="attribute_not_exists(k)")
                won += 1
            except client.exceptions.ConditionalCheckFailedException:
                pass
        return won

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(take, range(8))) == 20


def test_a_stream_is_read_between_writes_and_not_within_one(client, monkeypatch):
    """A transaction that is undone in the end has been in the stream by then."""
    whole, held = DynamoDBStreamsBackend.describe_stream, []
    lock: Any = LOCK

    def described(backend, arn):
        held.append(lock._is_owned())
        return whole(backend, arn)

    monkeypatch.setattr(DynamoDBStreamsBackend, "describe_stream", described)
    arn = client.describe_table(TableName="runs")["Table"]["LatestStreamArn"]
    region = client.meta.region_name
    streams = client_of("dynamodbstreams", region, None, account_id_endpoint_mode="disabled")
    streams.describe_stream(StreamArn=arn)
    assert held == [True]


def test_making_the_tables_again_changes_nothing(client):
    put(client, "1")
    create(client, NAMES)
    assert client.scan(TableName="log")["Count"] == 1
    expiry = client.describe_time_to_live(TableName="runs")["TimeToLiveDescription"]
    assert (expiry["TimeToLiveStatus"], expiry["AttributeName"]) == ("ENABLED", "ttl")


def test_a_look_at_a_logs_end_does_not_sort_what_lies_before_it(client, monkeypatch):
    for number in range(50):
        put(client, f"{number:03d}")
    sizes = []
    all_items = Table.all_items

    def counted(table):
        items = all_items(table)
        sizes.append(len(items))
        return items

    monkeypatch.setattr(Table, "all_items", counted)
    a, last = {":k": {"S": "a"}}, {":s": {"S": "048"}}
    client.query(
        TableName="log",
        KeyConditionExpression="k = :k AND s >= :s",
        ExpressionAttributeValues=a | last,
    )
    client.query(
        TableName="log",
        KeyConditionExpression="k = :k",
        ExpressionAttributeValues=a,
        ScanIndexForward=False,
        Limit=1,
    )
    assert sizes == [2, 2]


def test_a_transaction_that_is_refused_leaves_items_and_stream_as_they_were(client):
    put(client, "1", "runs")
    before = records(client)
    update = {
        "TableName": "runs",
        "Key": {"k": {"S": "a"}, "s": {"S": "1"}},
        "UpdateExpression": "SET v = :v",
        "ExpressionAttributeValues": {":v": {"S": "changed"}},
    }
    fresh = {"TableName": "runs", "Item": {"k": {"S": "a"}, "s": {"S": "2"}}}
    refused = {
        "TableName": "log",
        "Item": {"k": {"S": "a"}, "s": {"S": "3"}},
        "ConditionExpression": "attribute_exists(k)",
    }
    with pytest.raises(client.exceptions.TransactionCanceledException):
        client.transact_write_items(TransactItems=[{"Update": update}, {"Put": fresh}, {"Put": refused}])
    assert client.scan(TableName="runs")["Items"] == [{"k": {"S": "a"}, "s": {"S": "1"}}]
    assert records(client) == before


def backend(region):
    return dynamodb_backends["123456789012"][region]


def records(client):
    shard = backend(client.meta.region_name).tables["runs"].stream_shard
    assert shard is not None
    return len(shard.items)


@pytest.mark.parametrize("seed", range(2))
def test_whatever_is_asked_the_answers_are_those_of_moto_as_it_comes(seed):
    assert list(played(seed, proportionate())) == list(played(seed, nullcontext()))


def played(seed, way):
    """The answers to a play of random calls, made the same by its seed."""
    chance = random.Random(seed)
    with mock_aws(), way:
        client = made()
        for _ in range(40):
            operation, request = chance.choice([one_query, one_index_query, one_write, one_transaction])(
                chance
            )
            try:
                answer = getattr(client, operation)(**request)
            except ClientError as refused:
                answer = refused.response
            yield operation, {name: answer.get(name) for name in ("Items", "Error", "CancellationReasons")}


def key(chance):
    return {"k": {"S": chance.choice("ab")}, "s": {"S": f"{chance.randrange(12):02d}"}}


def item(chance):
    return key(chance) | {"dk": {"S": chance.choice("xy")}, "du": {"N": str(chance.randrange(30))}}


def one_query(chance):
    condition, values = chance.choice(
        [
            ("k = :k", {}),
            ("k = :k AND s BETWEEN :a AND :b", {":a": "03", ":b": "08"}),
            ("k = :k AND s <= :a", {":a": "05"}),
            ("k = :k AND begins_with(s, :a)", {":a": "1"}),
        ]
    )
    return "query", {
        "TableName": "runs",
        "KeyConditionExpression": condition,
        "ExpressionAttributeValues": {
            name: {"S": value} for name, value in {":k": chance.choice("abc"), **values}.items()
        },
        "ScanIndexForward": chance.random() < 0.5,
        **({"Limit": chance.randrange(1, 6)} if condition == "k = :k" and chance.random() < 0.5 else {}),
    }


def one_index_query(chance):
    return "query", {
        "TableName": "runs",
        "IndexName": "due",
        "KeyConditionExpression": "dk = :k AND du <= :u",
        "ExpressionAttributeValues": {
            ":k": {"S": chance.choice("xyz")},
            ":u": {"N": str(chance.randrange(30))},
        },
        "ScanIndexForward": chance.random() < 0.5,
    }


def one_write(chance):
    condition = chance.choice([{}, {"ConditionExpression": "attribute_not_exists(k)"}])
    if chance.random() < 0.2:
        return "delete_item", {"TableName": "runs", "Key": key(chance)}
    return "put_item", {"TableName": "runs", "Item": item(chance), **condition}


def one_transaction(chance):
    update = {
        "TableName": "runs",
        "Key": key(chance),
        "UpdateExpression": "SET du = :u REMOVE dk",
        "ExpressionAttributeValues": {":u": {"N": str(chance.randrange(30))}},
        "ConditionExpression": chance.choice(["attribute_exists(k)", "attribute_not_exists(k)"]),
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    put_ = {"TableName": "runs", "Item": item(chance), "ConditionExpression": "attribute_not_exists(k)"}
    return "transact_write_items", {"TransactItems": [{"Put": put_}, {"Update": update}]}


def test_stacks_of_one_process_may_nest():
    with in_process():
        outer = made()
        with in_process():
            transact(outer, "1")
        transact(outer, "2")
    assert Table.query.__name__ == "query"


def transact(client, sort):
    item = {"k": {"S": "a"}, "s": {"S": sort}}
    client.transact_write_items(TransactItems=[{"Put": {"TableName": "log", "Item": item}}])
