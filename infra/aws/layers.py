"""What the functions share: Baton's core, and what it depends on."""

from __future__ import annotations

from pathlib import Path

from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.aws.stage import Stage
from infra.packages.layout import LAYERS, layer_dir

RUNTIME = lambda_.Runtime.PYTHON_3_13
ARCHITECTURE = lambda_.Architecture.ARM_64


class Layers(Construct):
    """One layer version for each built layer, in `all`. A change of one leaves the others as they are."""

    def __init__(self, scope: Construct, name: str, *, stage: Stage, dist: Path) -> None:
        super().__init__(scope, name)
        self.all = [
            lambda_.LayerVersion(
                self,
                layer,
                layer_version_name=f"{stage.prefix}-{layer}",
                code=lambda_.Code.from_asset(str(layer_dir(layer, dist))),
                compatible_runtimes=[RUNTIME],
                compatible_architectures=[ARCHITECTURE],
            )
            for layer in LAYERS
        ]
