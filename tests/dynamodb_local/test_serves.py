"""DynamoDB Local itself: what the proofs rest on."""

import uuid

import boto3
import pytest
from botocore.exceptions import ClientError


@pytest.fixture
def client(dynamodb_local_url):
    # A key of one's own is a database of one's own.
    return boto3.client(
        "dynamodb",
        endpoint_url=dynamodb_local_url,
        aws_access_key_id=uuid.uuid4().hex,
        aws_secret_access_key="any",
    )


def test_a_condition_is_refused_when_the_item_is_there(client):
    client.create_table(
        TableName="proof",
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "key", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "key", "AttributeType": "S"}],
    )
    put = {
        "TableName": "proof",
        "Item": {"key": {"S": "a"}},
        "ConditionExpression": "attribute_not_exists(#k)",
        "ExpressionAttributeNames": {"#k": "key"},
    }
    client.put_item(**put)
    with pytest.raises(ClientError, match="ConditionalCheckFailed"):
        client.put_item(**put)


def test_another_access_key_sees_no_tables(client):
    assert client.list_tables()["TableNames"] == []
