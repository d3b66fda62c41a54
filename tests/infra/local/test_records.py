"""What moto's stream says becomes what Lambda hands a function, and the manifest's filters let it through."""

import json
from typing import Any

import pytest

from infra.local.memory import in_process
from infra.local.messaging import client_of
from infra.local.moto_streams import TrimmingReader
from infra.local.records import Filter, Record, record_of
from infra.signals import ANNOUNCED, BORN, BORN_OVER_AN_ALIAS, REMOVED, REPRIEVED, RUN_CHANGES
from tests.infra.local.test_shards import ARN, WRITTEN, record


def read(**change):
    told = record(1)
    return told | {"dynamodb": told["dynamodb"] | change}


def test_a_record_is_what_lambda_hands_over():
    image = {"k": {"S": "a"}, "n": {"N": "1.50"}, "o": {"BOOL": True}}
    made = record_of(read(NewImage=image), shard="shard", stream_arn=ARN)
    assert made == Record(
        "shard",
        {
            "eventID": "e1",
            "eventName": "INSERT",
            "eventVersion": "1.1",
            "eventSource": "aws:dynamodb",
            "awsRegion": "eu-central-1",
            "dynamodb": {
                "ApproximateCreationDateTime": WRITTEN.timestamp(),
                "Keys": {"k": {"S": "1"}},
                "NewImage": image,
                "SequenceNumber": "1",
                "SizeBytes": 1,
                "StreamViewType": "NEW_AND_OLD_IMAGES",
            },
            "eventSourceARN": ARN,
        },
    )
    assert (made.sequence, made.at) == ("1", WRITTEN.timestamp())


def test_bytes_are_base64_however_deep():
    deep = {"M": {"a": {"L": [{"B": b"\x00\xff"}, {"BS": [b"1", b"2"]}, {"NULL": True}]}}}
    made = record_of(read(OldImage={"b": {"B": b"x"}, "m": deep}), shard="s", stream_arn=ARN)
    assert json.loads(json.dumps(made.body["dynamodb"]["OldImage"])) == {
        "b": {"B": "eA=="},
        "m": {"M": {"a": {"L": [{"B": "AP8="}, {"BS": ["MQ==", "Mg=="]}, {"NULL": True}]}}},
    }


def test_what_dynamodb_removed_itself_says_so():
    who = {"PrincipalId": "dynamodb.amazonaws.com", "Type": "Service"}
    made = record_of(read() | {"userIdentity": who}, shard="s", stream_arn=ARN)
    assert made.body["userIdentity"] == {"principalId": "dynamodb.amazonaws.com", "type": "Service"}


def test_records_of_one_key_go_by_the_same_lane_and_others_by_all():
    def lane(key):
        return record_of(read(Keys={"k": {"S": key}}), shard="s", stream_arn=ARN).lane(4, "k")

    assert {lane("same") for _ in range(10)} == {lane("same")}
    assert {lane(str(number)) for number in range(100)} == set(range(4))


ROW = {"lk": {"S": "default#w"}, "st": {"S": "running"}}
ALIAS = {"al": {"S": "r1"}}
PURGE = {"b": {"S": "birth"}}
ENDED = {**ROW, "xa": {"N": "1"}}
OWING = {**ROW, "an": {"N": "1"}}

CHANGES = {
    "a run begins": (None, ROW, [BORN]),
    "a run begins over an alias": (ALIAS, ROW, [BORN_OVER_AN_ALIAS]),
    "a run begins over an expired one": (ENDED, ROW, [REPRIEVED]),
    "a run ends and owes": (ROW, OWING, [ANNOUNCED]),
    "what it owes is delivered": (OWING, ENDED, []),
    "it owes again": (ENDED, OWING, [ANNOUNCED, REPRIEVED]),
    "a settlement of its own owes": (None, {"an": {"N": "1"}}, [ANNOUNCED]),
    "a run is resumed": (ENDED, ROW, [REPRIEVED]),
    "a run goes on": (ROW, ROW, []),
    "a run's row is removed": (ENDED, None, [REMOVED]),
    "an alias begins": (None, ALIAS, []),
    "an alias takes an expired run's place": (ENDED, ALIAS, []),
    "an alias is removed": (ALIAS, None, []),
    "a purge begins": (None, PURGE, []),
    "a purge is done": (PURGE, None, []),
}


@pytest.fixture(scope="module")
def told():
    """told(old, new) -> the record of that change, as a function gets it from moto's stream."""
    with in_process():
        region = "eu-central-1"
        dynamodb = client_of("dynamodb", region, None)
        dynamodb.create_table(
            TableName="told",
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}],
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        )
        arn = dynamodb.describe_table(TableName="told")["Table"]["LatestStreamArn"]
        streams = client_of("dynamodbstreams", region, None, account_id_endpoint_mode="disabled")
        reader = TrimmingReader(streams, arn)

        def write(image: dict[str, Any] | None) -> None:
            key = {"k": {"S": "a"}}
            if image is None:
                dynamodb.delete_item(TableName="told", Key=key)
            else:
                dynamodb.put_item(TableName="told", Item={**key, **image})

        def change(old, new):
            write(None)
            write(old)
            list(reader.read())
            write(new)
            [[made]] = reader.read()
            return made

        yield change


@pytest.mark.parametrize("what", CHANGES)
def test_of_all_changes_those_get_through_that_something_follows_from(told, what):
    old, new, expected = CHANGES[what]
    made = told(old, new)
    assert [pattern for pattern in RUN_CHANGES.filters if Filter([pattern]).lets(made)] == expected
    assert Filter(RUN_CHANGES.filters).lets(made) == bool(expected)
