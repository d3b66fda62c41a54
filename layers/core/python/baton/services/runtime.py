"""What a container's handlers work with."""

from __future__ import annotations

from dataclasses import dataclass

from baton.config import Settings
from baton.domain.clock import Clock
from baton.services.announcing import Announcer
from baton.services.appends import Appends
from baton.services.catalog import Catalog
from baton.services.changes import Changes
from baton.services.coalescing import Coalescer
from baton.services.control import Control
from baton.services.events import Events
from baton.services.finishes import Finishes
from baton.services.heal import Heal
from baton.services.publishing import Publisher
from baton.services.republish import Republisher
from baton.services.runs import Runs
from baton.services.starts import Starts
from baton.services.stats import Statistics
from baton.services.streams import Streams
from baton.services.surroundings import Views
from baton.services.sweep import Sweep
from baton.services.waits import Waits
from baton.services.workflows import Workflows
from baton.store.dynamo import Dynamo


@dataclass(frozen=True, kw_only=True)
class Runtime:
    """One container: settings, clock, connection, services. ``baton.bootstrap`` builds it."""

    settings: Settings
    clock: Clock
    dynamo: Dynamo
    starts: Starts
    appends: Appends
    streams: Streams
    finishes: Finishes
    control: Control
    runs: Runs
    views: Views
    sweep: Sweep
    heal: Heal
    republisher: Republisher
    statistics: Statistics
    catalog: Catalog
    workflows: Workflows
    coalescer: Coalescer
    waits: Waits
    events: Events
    announcer: Announcer
    publisher: Publisher
    changes: Changes
