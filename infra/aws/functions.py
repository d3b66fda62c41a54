"""A Lambda function for each of the manifest's: one factory, so that no two differ but in what it says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from aws_cdk import Duration
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_destinations as destinations
from constructs import Construct

from infra.aws.layers import ARCHITECTURE, RUNTIME, Layers
from infra.aws.log_groups import LogGroup
from infra.aws.rights import FunctionRole, Granted, Tracing
from infra.manifest import Function
from infra.packages.layout import function_dir
from infra.signals import BUS, KEYS, TARGETS, TOLD_BY

ALIAS = "live"
LATE_CALL_SECONDS = 60
"""A call of the clock or of a sweep to itself is worth nothing once the next one has come."""


class Functions(Construct):
    """`by_name` has the functions, `called` what whoever calls them calls: an alias where there is one."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        specs: Iterable[Function],
        granted: Granted,
        layers: Layers,
        public_url: str,
        dist: Path,
    ) -> None:
        super().__init__(scope, name)
        self._granted = granted
        self._stage = granted.stage
        self._layers = layers
        self._public_url = public_url
        self._dist = dist
        self._tracing = Tracing(self, "tracing")
        self.roles: dict[str, FunctionRole] = {}
        self.by_name: dict[str, lambda_.Function] = {}
        self.called: dict[str, lambda_.IFunction] = {}
        for spec in specs:
            self.by_name[spec.name] = self._function(spec)
            self.called[spec.name] = self._called(spec)

    def _function(self, spec: Function) -> lambda_.Function:
        stage, home = self._stage, Construct(self, spec.name)
        function_name = f"{stage.prefix}-{spec.name}"
        log_group = LogGroup(home, "logs", stage=stage)
        role = FunctionRole(
            home,
            "may",
            function=spec,
            function_name=function_name,
            log_group=log_group,
            granted=self._granted,
            tracing=self._tracing,
        )
        self.roles[spec.name] = role
        function = lambda_.Function(
            home,
            "function",
            function_name=function_name,
            description=f"Baton ({stage.name}): functions/{spec.name}",
            runtime=RUNTIME,
            architecture=ARCHITECTURE,
            handler="handler.handler",
            code=lambda_.Code.from_asset(str(function_dir(spec.name, self._dist))),
            layers=self._layers.all,
            memory_size=spec.memory_mb,
            timeout=Duration.seconds(spec.timeout_seconds),
            environment=self._environment(spec),
            log_group=log_group,
            # The role's rights are all from the manifest: nothing that the CDK would add by itself.
            role=role.role.without_policy_updates(),
            tracing=lambda_.Tracing.ACTIVE,
            recursive_loop=lambda_.RecursiveLoop.ALLOW if spec.loops else lambda_.RecursiveLoop.TERMINATE,
            reserved_concurrent_executions=stage.reserved.get(spec.name),
            snap_start=(
                lambda_.SnapStartConf.ON_PUBLISHED_VERSIONS if spec.name in stage.snap_start else None
            ),
            **self._asynchronous(spec),
        )
        _started_with(function, role)
        cdk.Validations.of(function).acknowledge(
            cdk.Acknowledgment(
                id="AwsSolutions-L1",
                reason="Wheels and bytecode of the layers are built for Python 3.13, which AWS supports "
                "until 2029; a newer runtime is one word in infra/aws/layers.py, and layers built for it.",
            )
        )
        return function

    def _called(self, spec: Function) -> lambda_.IFunction:
        """The function itself; an alias of its newest version where versions are started beforehand."""
        stage, function = self._stage, self.by_name[spec.name]
        if spec.name not in stage.snap_start and spec.name not in stage.provisioned:
            return function
        return lambda_.Alias(
            self,
            f"{spec.name}-{ALIAS}",
            alias_name=ALIAS,
            version=function.current_version,
            provisioned_concurrent_executions=stage.provisioned.get(spec.name),
            **self._asynchronous(spec),
        )

    def _asynchronous(self, spec: Function) -> dict[str, Any]:
        """Where nobody waits for an answer: when a call is given up, and where it goes then."""
        if not spec.asynchronous:
            return {}
        return {
            "on_failure": destinations.SqsDestination(self._granted.queues[spec.parks[0].name]),
            "max_event_age": Duration.seconds(LATE_CALL_SECONDS),
            "retry_attempts": 0,
        }

    def _environment(self, spec: Function) -> Mapping[str, str]:
        granted, stage = self._granted, self._stage
        told = {
            variable: value
            for right, variable in TOLD_BY.items()
            if right in spec.signals
            for value in [_address(granted, right.resource)]
        }
        if "BATON_SIGNING_KEYS_SECRET" in told:
            told["BATON_KEYS_GENERATION"] = str(stage.keys_generation)
        if any(right.resource == TARGETS for right in spec.signals):
            told["BATON_PUBLIC_URL"] = self._public_url
            if stage.targets_allowed:
                told["BATON_TARGETS_ALLOWED"] = ",".join(stage.targets_allowed)
        return {
            **{f"BATON_{table.upper()}_TABLE": each.table_name for table, each in granted.tables.items()},
            **told,
            **stage.environment,
            "POWERTOOLS_SERVICE_NAME": stage.prefix,
        }


def _started_with(function: lambda_.Function, role: FunctionRole) -> None:
    """Have a function made after its rights: who starts containers at once, a version with a snapshot does,
    needs them. (The CDK has it wait for the role, which is implied.)"""
    resource = function.node.default_child
    policy = cdk.Stack.of(function).get_logical_id(role.policy.node.default_child)
    resource.add_override("DependsOn", [policy])


def _address(granted: Granted, resource: str) -> str:
    """What a container is told of a queue, the bus or the secret."""
    if resource in granted.queues:
        return granted.queues[resource].queue_url
    return {BUS: granted.bus.event_bus_name, KEYS: granted.keys.secret_arn}[resource]
