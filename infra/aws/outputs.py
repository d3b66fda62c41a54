"""What a deployment tells of itself: what a client, an operator and `baton doctor --aws` need to find it."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import CfnOutput
from constructs import Construct


class Outputs(Construct):
    """One output for each of ``values``: by its name, what it is and what it is for."""

    def __init__(self, scope: Construct, name: str, *, values: Mapping[str, tuple[str, str]]) -> None:
        super().__init__(scope, name)
        for output, (value, description) in values.items():
            CfnOutput(self, output, value=value, description=description).override_logical_id(output)
