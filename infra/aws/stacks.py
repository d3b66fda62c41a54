"""What a stage consists of: a stack that keeps, its tables, and one that runs, all the rest."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import aws_cdk as cdk
from cdk_nag import AwsSolutionsChecks

from infra.alarms import ALARMS
from infra.aws.alarms import Alarms
from infra.aws.api import Api
from infra.aws.bus import Bus
from infra.aws.dashboard import Dashboard
from infra.aws.functions import Functions
from infra.aws.keys import SigningKeys
from infra.aws.layers import Layers
from infra.aws.outputs import Outputs
from infra.aws.queues import Queues
from infra.aws.rights import Granted
from infra.aws.schedules import Schedules
from infra.aws.stage import Stage, stage_of
from infra.aws.streams import Sources
from infra.aws.tables import Tables
from infra.manifest import FUNCTIONS, TABLES
from infra.outputs import API_URL, PARKED_QUEUE_URL
from infra.packages.layout import DIST
from infra.signals import PARKED, QUEUES, TIMERS


class Storage(cdk.Stack):
    """The tables, in a stack of their own: what holds data changes on other days than what runs."""

    def __init__(self, scope: cdk.App, name: str, *, stage: Stage) -> None:
        super().__init__(
            scope,
            name,
            description=f"Baton ({stage.name}): its tables",
            termination_protection=stage.protected,
        )
        self.tables = Tables(self, "tables", specs=TABLES, stage=stage)
        names = {
            f"{name.title()}Table": (table.table_name, f"The {name} table")
            for name, table in self.tables.by_name.items()
        }
        Outputs(self, "outputs", values=names)


class Service(cdk.Stack):
    """The functions, what calls them and what they call."""

    def __init__(self, scope: cdk.App, name: str, *, storage: Storage, stage: Stage, dist: Path) -> None:
        super().__init__(scope, name, description=f"Baton ({stage.name}): its functions and what calls them")
        tables = storage.tables.by_name
        queues = Queues(self, "queues", specs=QUEUES, stage=stage)
        granted = Granted(
            stage=stage,
            tables=tables,
            queues=queues.by_name,
            bus=Bus(self, "bus", stage=stage),
            keys=SigningKeys(self, "keys", stage=stage),
        )
        self.api = Api(self, "api", stage=stage)
        self.functions = Functions(
            self,
            "functions",
            specs=FUNCTIONS,
            granted=granted,
            layers=Layers(self, "layers", stage=stage, dist=dist),
            public_url=self.api.url,
            dist=dist,
        )
        called = self.functions.called
        self.api.serve(FUNCTIONS, called)
        Schedules(self, "schedules", specs=FUNCTIONS, called=called, parked=queues.parked, stage=stage)
        Sources(
            self,
            "sources",
            specs=FUNCTIONS,
            called=called,
            roles=self.functions.roles,
            tables=tables,
            queues=queues.by_name,
        )
        alarms = Alarms(self, "alarms", specs=ALARMS, stage=stage)
        Dashboard(self, "dashboard", http=self.api.http, tables=tables, alarms=alarms.all, stage=stage)
        self._tell(granted, alarms)

    def _tell(self, granted: Granted, alarms: Alarms) -> None:
        queues = {
            PARKED_QUEUE_URL: (granted.queues[PARKED.name].queue_url, "Where what kept failing is put aside"),
            "TimersQueueUrl": (granted.queues[TIMERS.name].queue_url, "Hints at what is due soon"),
        }
        values = {
            API_URL: (self.api.url, "Where Baton serves: BATON_URL of its clients"),
            **queues,
            "EventBusName": (granted.bus.event_bus_name, "Where run.started and the like are told"),
            "SigningKeysArn": (granted.keys.secret_arn, "The secret of the signing keys"),
            "AlarmTopicArn": (alarms.topic.topic_arn, "What alarms tell: subscribe to be told"),
            "Prefix": (granted.stage.prefix, "What the names of functions, queues and alarms begin with"),
        }
        Outputs(self, "outputs", values=values)


class Deployment(NamedTuple):
    """The stacks of a stage."""

    storage: Storage
    service: Service


def build(app: cdk.App, dist: Path = DIST) -> Deployment:
    """The stacks of the stage that the context `stage` names (else `dev`), of what is built in ``dist``.
    Raises LookupError for a stage that there is not."""
    return deployment(app, stage_of(app.node.try_get_context("stage")), dist)


def deployment(app: cdk.App, stage: Stage, dist: Path = DIST) -> Deployment:
    """The stacks of a stage, under the rules of cdk-nag: a finding fails the synthesis."""
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    storage = Storage(app, f"{stage.prefix}-storage", stage=stage)
    return Deployment(
        storage, Service(app, f"{stage.prefix}-service", storage=storage, stage=stage, dist=dist)
    )
