"""The stores over empty tables, and one run to keep in them."""

from __future__ import annotations

import pytest

from baton.domain.run import Run
from baton.domain.states import Mode, State
from baton.store.due import DueStore
from baton.store.log import LogStore
from baton.store.rows import Shards
from baton.store.runs import RunStore
from tests.unit.house import House
from tests.unit.manual_clock import MIDNIGHT


@pytest.fixture
def dynamo(house: House):
    return house.dynamo()


@pytest.fixture
def runs(dynamo, house: House) -> RunStore:
    return RunStore(dynamo, house.settings.runs_table, shards=Shards(2, 1, 1))


@pytest.fixture
def due(dynamo, house: House) -> DueStore:
    return DueStore(dynamo, house.settings.runs_table, shards=Shards(2, 1, 1))


@pytest.fixture
def logs(dynamo, house: House) -> LogStore:
    return LogStore(dynamo, house.settings.log_table)


@pytest.fixture
def run() -> Run:
    return Run(
        namespace="default",
        id="r1",
        workflow="build",
        birth="birth1",
        rev="rev1",
        state=State.RUNNING,
        mode=Mode.ATTACHED,
        created_at=MIDNIGHT,
        updated_at=MIDNIGHT,
        input=b"null",
        due_at=MIDNIGHT + 1000,
    )
