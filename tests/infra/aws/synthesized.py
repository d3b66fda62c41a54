"""Synthesized templates in a test's hand: resources by kind and by the names of what they were made from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Resource = Mapping[str, Any]


@dataclass(frozen=True)
class Synthesized:
    """The two templates of one stage."""

    prefix: str
    storage: Resource
    service: Resource

    def of(self, kind: str) -> dict[str, Resource]:
        """The resources of one type, by logical id, of either stack."""
        both = {**self.storage["Resources"], **self.service["Resources"]}
        return {name: each for name, each in both.items() if each["Type"] == kind}

    def properties(self, kind: str) -> list[Resource]:
        """The properties of the resources of one type."""
        return [each["Properties"] for each in self.of(kind).values()]

    def function(self, name: str) -> Resource:
        """The properties of the function that one of the manifest became."""
        [found] = [each for each in self.properties("AWS::Lambda::Function") if self.name(each) == name]
        return found

    def name(self, properties: Resource) -> str:
        """What a function is called in the manifest."""
        return str(properties["FunctionName"]).removeprefix(f"{self.prefix}-")

    def text(self, value: Any) -> str:
        """An intrinsic function as words: what is ours by its name in the manifest (``table/runs/index/due``,
        ``queue/timers``), the rest of an ARN as it stands."""
        if isinstance(value, str):
            return value
        [(kind, of)] = value.items()
        if kind == "Ref":
            return self._named(of, "")
        if kind == "Fn::GetAtt":
            return self._named(*of)
        if kind == "Fn::Join":
            return str(of[0]).join(self.text(part) for part in of[1])
        if kind == "Fn::Sub":
            return str(of)
        assert kind == "Fn::ImportValue", value
        [exported] = [
            output["Value"]
            for output in self.storage["Outputs"].values()
            if output.get("Export", {}).get("Name") == of
        ]
        return self.text(exported)

    def _named(self, logical: str, attribute: str) -> str:
        if logical.startswith("AWS::"):
            return f"${{{logical}}}"
        both = {**self.storage["Resources"], **self.service["Resources"]}
        resource = both[logical]
        properties = resource.get("Properties", {})
        match resource["Type"]:
            case "AWS::DynamoDB::GlobalTable":
                tail = "/stream" if attribute == "StreamArn" else ""
                return f"table/{self.table_names[logical]}{tail}"
            case "AWS::SQS::Queue":
                return f"queue/{properties['QueueName'].removeprefix(f'{self.prefix}-')}"
            case "AWS::Lambda::Function":
                return f"function/{self.name(properties)}"
            case "AWS::Lambda::Alias":
                return f"{self.text(properties['FunctionName'])}:{properties['Name']}"
            case "AWS::Events::EventBus":
                return "bus"
            case "AWS::SecretsManager::Secret":
                return "secret"
            case other:
                return f"{other}/{logical}"

    @property
    def table_names(self) -> dict[str, str]:
        """The names of the tables' specs, by logical id: by the storage stack's own outputs."""
        outputs = self.storage["Outputs"].items()
        named = {name.removesuffix("Table").lower(): each["Value"] for name, each in outputs}
        return {
            value["Ref"]: name
            for name, value in named.items()
            if "Ref" in value and not name.startswith("exports")
        }

    def statements(self, function: str) -> Iterator[Resource]:
        """All statements that allow a function something, from wherever they hang on its role."""
        [role, _] = self.function(function)["Role"]["Fn::GetAtt"]
        own = self.service["Resources"][role]["Properties"]
        assert "Policies" not in own
        documents = [
            each["PolicyDocument"]
            for each in self.properties("AWS::IAM::Policy")
            if {"Ref": role} in each["Roles"]
        ]
        managed = self.of("AWS::IAM::ManagedPolicy")
        documents += [managed[arn["Ref"]]["Properties"]["PolicyDocument"] for arn in own["ManagedPolicyArns"]]
        for document in documents:
            yield from document["Statement"]


def listed(value: Any) -> list[Any]:
    """What a template has alone or in a list, in one."""
    return value if isinstance(value, list) else [value]
