"""What a stage consists of. So far that is its tables; functions, API and rights are built on them."""

from __future__ import annotations

import aws_cdk as cdk
from cdk_nag import AwsSolutionsChecks

from infra.aws.stage import DEVELOPMENT, Stage
from infra.aws.tables import Tables
from infra.manifest import TABLES


class Storage(cdk.Stack):
    """The tables, in a stack of their own: what holds data changes on other days than what runs."""

    def __init__(self, scope: cdk.App, name: str, *, stage: Stage) -> None:
        super().__init__(scope, name, description=f"Baton ({stage.name}): its tables")
        self.tables = Tables(self, "tables", specs=TABLES, stage=stage)


def build(app: cdk.App) -> Storage:
    """The stacks of the stage that the context `stage` names (else `dev`), under the rules of cdk-nag."""
    stage = Stage(name=app.node.try_get_context("stage") or DEVELOPMENT)
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    return Storage(app, f"baton-{stage.name}-storage", stage=stage)
