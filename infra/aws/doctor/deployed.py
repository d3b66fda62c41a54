"""What CloudFormation and Lambda know of a deployed stack: its outputs, its resources, its settings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from baton.config import Settings

FUNCTION = "AWS::Lambda::Function"
MAPPING = "AWS::Lambda::EventSourceMapping"
ALARM = "AWS::CloudWatch::Alarm"
SCHEDULE = "AWS::Scheduler::Schedule"
AUTHORIZER = "AWS::ApiGatewayV2::Authorizer"


@dataclass(frozen=True, kw_only=True)
class Deployed:
    """A stack. ``resources`` are physical ids by CloudFormation's name of their type."""

    name: str
    status: str
    outputs: Mapping[str, str]
    resources: Mapping[str, Sequence[str]]

    @property
    def asks_for_tokens(self) -> bool:
        """Whether callers are known by tokens, else by IAM."""
        return AUTHORIZER in self.resources

    def of(self, kind: str) -> Sequence[str]:
        """The physical ids of its resources of one type."""
        return self.resources.get(kind, ())


def deployed(cloudformation: Any, name: str) -> Deployed:
    """The stack of that name. Raises botocore's ClientError where there is none, or one may not look."""
    (stack,) = cloudformation.describe_stacks(StackName=name)["Stacks"]
    found: dict[str, list[str]] = defaultdict(list)
    for page in cloudformation.get_paginator("list_stack_resources").paginate(StackName=name):
        for each in page["StackResourceSummaries"]:
            if "PhysicalResourceId" in each:
                found[each["ResourceType"]].append(each["PhysicalResourceId"])
    return Deployed(
        name=name,
        status=stack["StackStatus"],
        outputs={each["OutputKey"]: each["OutputValue"] for each in stack.get("Outputs", ())},
        resources=found,
    )


def settings_of(lambda_: Any, stack: Deployed) -> Settings:
    """The settings that its functions run by: those of the first one that has any. Raises LookupError."""
    for name in stack.of(FUNCTION):
        told = lambda_.get_function_configuration(FunctionName=name)
        environment = told.get("Environment", {}).get("Variables", {})
        if "BATON_RUNS_TABLE" in environment:
            return Settings.from_env(environment)
    raise LookupError(f"no function of {stack.name} is told where its tables are")
