"""The manifest's tables in DynamoDB: on demand, encrypted, recoverable, kept where the stage is protected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from aws_cdk import RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from baton.store.schema import IndexSpec, Key, TableSpec
from infra.aws.stage import Stage

TYPES: Mapping[str, dynamodb.AttributeType] = {
    "S": dynamodb.AttributeType.STRING,
    "N": dynamodb.AttributeType.NUMBER,
    "B": dynamodb.AttributeType.BINARY,
}


class Tables(Construct):
    """One table per spec, in `by_name`. Names are CloudFormation's, so that a table can be replaced."""

    def __init__(self, scope: Construct, name: str, *, specs: Iterable[TableSpec], stage: Stage) -> None:
        super().__init__(scope, name)
        self.by_name = {spec.name: self._table(spec, stage) for spec in specs}

    def _table(self, spec: TableSpec, stage: Stage) -> dynamodb.TableV2:
        return dynamodb.TableV2(
            self,
            spec.name,
            partition_key=_attribute(spec.hash_key),
            sort_key=_attribute(spec.range_key),
            global_secondary_indexes=[_index(index) for index in spec.indexes],
            billing=dynamodb.Billing.on_demand(),
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            # With the key of the account that AWS keeps for DynamoDB: each use of it is in CloudTrail.
            encryption=dynamodb.TableEncryptionV2.aws_managed_key(),
            time_to_live_attribute=spec.ttl_attribute,
            dynamo_stream=dynamodb.StreamViewType[spec.stream_view] if spec.stream_view else None,
            deletion_protection=stage.protected,
            removal_policy=RemovalPolicy.RETAIN if stage.protected else RemovalPolicy.DESTROY,
        )


def _attribute(key: Key) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=key.name, type=TYPES[key.type])


def _index(index: IndexSpec) -> dynamodb.GlobalSecondaryIndexPropsV2:
    return dynamodb.GlobalSecondaryIndexPropsV2(
        index_name=index.name,
        partition_key=_attribute(index.hash_key),
        sort_key=_attribute(index.range_key),
        projection_type=dynamodb.ProjectionType[index.projection],
    )
