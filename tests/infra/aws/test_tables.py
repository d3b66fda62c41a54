"""The template has the tables that the store was written for, and loses none of them by accident."""

import pytest

from baton.store.schema import TABLES

pytestmark = pytest.mark.aws


@pytest.fixture
def tables_of(stages):
    """Stage name -> the tables of its template, by the name of their spec."""
    return {
        name: {
            stage.table_names[logical]: table
            for logical, table in stage.of("AWS::DynamoDB::GlobalTable").items()
        }
        for name, stage in stages.items()
    }


def keys(spec):
    return [
        {"AttributeName": spec.hash_key.name, "KeyType": "HASH"},
        {"AttributeName": spec.range_key.name, "KeyType": "RANGE"},
    ]


def test_every_table_is_deployed_and_no_other(tables_of):
    assert set(tables_of["prod"]) == {spec.name for spec in TABLES}


@pytest.mark.parametrize("spec", TABLES, ids=lambda spec: spec.name)
def test_a_table_has_the_keys_indexes_expiry_and_stream_of_its_spec(tables_of, spec):
    table = tables_of["prod"][spec.name]["Properties"]
    assert table["KeySchema"] == keys(spec)
    declared = {(key["AttributeName"], key["AttributeType"]) for key in table["AttributeDefinitions"]}
    assert declared == set(spec.attributes)
    assert table.get("GlobalSecondaryIndexes", []) == [
        {
            "IndexName": index.name,
            "KeySchema": keys(index),
            "Projection": {"ProjectionType": index.projection},
        }
        for index in spec.indexes
    ]
    assert table.get("TimeToLiveSpecification", {}).get("AttributeName") == spec.ttl_attribute
    assert table.get("StreamSpecification", {}).get("StreamViewType") == spec.stream_view


@pytest.mark.parametrize("spec", TABLES, ids=lambda spec: spec.name)
def test_a_table_is_on_demand_encrypted_and_recoverable_to_a_point_in_time(tables_of, spec):
    table = tables_of["prod"][spec.name]["Properties"]
    assert table["SSESpecification"] == {"SSEEnabled": True, "SSEType": "KMS"}
    assert table["BillingMode"] == "PAY_PER_REQUEST"
    assert [replica["PointInTimeRecoverySpecification"] for replica in table["Replicas"]] == [
        {"PointInTimeRecoveryEnabled": True}
    ]


@pytest.mark.parametrize(("stage", "kept"), [("dev", False), ("prod", True)])
def test_only_a_developers_stage_can_be_thrown_away(tables_of, stage, kept):
    for table in tables_of[stage].values():
        assert table["DeletionPolicy"] == ("Retain" if kept else "Delete")
        assert [r["DeletionProtectionEnabled"] for r in table["Properties"]["Replicas"]] == [kept]
