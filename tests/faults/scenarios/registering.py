"""Workflows registered, registered otherwise, and deleted: all that belongs to a change is there, or none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from baton.domain.catalog import HealWork, Subscription, Workflow
from baton.domain.clock import millis
from baton.domain.registering import Registration
from baton.errors import NotFound
from tests.faults.audited import audited
from tests.faults.crash import Scenario
from tests.faults.world import NAMESPACE, Container, World

BUILT, NIGHTLY = "run.completed:build", "nightly"
NAME, BY = "report", "token"


@dataclass
class Kept:
    """What the catalog's table holds of the workflow."""

    workflow: Workflow | None
    revision: int
    names: list[str]
    gone_at: int | None
    heals: dict[str, HealWork]
    audited: list[tuple[str, str, str]]


def kept(world: World) -> Kept:
    """Read from the table itself."""
    items = {(item["k"]["S"], item["s"]["S"]): item for item in world.house.scan("catalog")}
    row = items.get((NAMESPACE, f"wf#{NAME}"))
    gone = items.get((NAMESPACE, f"gone#{NAME}"))
    revision = items.get((NAMESPACE, "revision"))
    return Kept(
        workflow=None if row is None else msgspec.json.decode(row["d"]["S"], type=Workflow),
        revision=0 if revision is None else int(revision["n"]["N"]),
        names=[sort.removeprefix("name#") for _, sort in items if sort.startswith("name#")],
        gone_at=None if gone is None else int(gone["t"]["N"]),
        heals={work.event: work for work in world.container().runtime.workflows._context.catalog.heals()},
        audited=audited(world),
    )


def wish(*events: str, **given: Any) -> Registration:
    """A registration of the workflow as one that is started by ``events``."""
    return Registration(namespace=NAMESPACE, name=NAME, subscribes=tuple(map(Subscription, events)), **given)


def put(container: Container, wanted: Registration, *, by: str | None = None) -> Workflow:
    """Register it."""
    return container.runtime.workflows.put(wanted, by=by).workflow


@dataclass
class Registering(Scenario):
    """The workflow registered as `wanted`, over what stands `before`; `healed` are the events to go over."""

    wanted: Registration
    healed: tuple[str, ...]
    before: tuple[Registration, ...] = ()
    deleted: bool = False
    first: Kept = field(init=False)

    def prepare(self, world: World) -> Container:
        container = world.container()
        for each in self.before:
            put(container, each)
        if self.deleted:
            container.runtime.workflows.delete(NAMESPACE, NAME)
        for work in container.runtime.workflows._context.catalog.heals():
            container.runtime.workflows._context.catalog.heal_done(work)
        world.clock.advance(1)
        self.first = kept(world)
        return container

    def act(self, container: Container) -> Workflow:
        return put(container, self.wanted, by=BY)

    def verify(self, answer: Workflow) -> None:
        found = kept(self.world)
        assert found.workflow == answer
        assert answer.events == tuple(each.event for each in self.wanted.subscribes or ())
        self._whole(found)

    def verify_unretried(self) -> None:
        found = kept(self.world)
        if found.workflow == self.first.workflow:
            assert found == self.first
        else:
            self._whole(found)

    def _whole(self, found: Kept) -> None:
        """Everything that belongs to the change is there, once."""
        assert found.workflow is not None
        assert found.revision == self.first.revision + 1
        assert found.audited == [("workflow.put", NAME, BY)]
        assert found.names == [NAME]
        assert found.gone_at is None
        changed_at, window = found.workflow.updated_at, millis(self.world.settings.heal_window_seconds)
        for event in self.healed:
            assert found.heals[event] == HealWork(
                namespace=NAMESPACE,
                event=event,
                since=changed_at - window,
                changed_at=changed_at,
                rev=found.workflow.rev,
            )
        assert set(found.heals) == set(self.healed)


@dataclass
class Deleting(Scenario):
    """The workflow deleted. A retry that finds it gone has done what it was to do."""

    first: Kept = field(init=False)

    def prepare(self, world: World) -> Container:
        container = world.container()
        put(container, wish(BUILT))
        world.clock.advance(1)
        self.first = kept(world)
        return container

    def act(self, container: Container) -> bool:
        try:
            container.runtime.workflows.delete(NAMESPACE, NAME, by=BY)
        except NotFound:
            return False
        return True

    def verify(self, answer: bool) -> None:
        self._gone(kept(self.world))

    def verify_unretried(self) -> None:
        found = kept(self.world)
        if found.workflow is None:
            self._gone(found)
        else:
            assert found == self.first

    def _gone(self, found: Kept) -> None:
        assert found.workflow is None
        assert self.first.workflow is not None and found.gone_at is not None
        assert self.first.workflow.updated_at < found.gone_at <= self.world.clock.now()
        assert found.revision == 2
        assert found.audited == [("workflow.deleted", NAME, BY)]


SCENARIOS: dict[str, Callable[[], Scenario]] = {
    "register a workflow": lambda: Registering(wish(BUILT, NIGHTLY), healed=(BUILT, NIGHTLY)),
    "register it otherwise": lambda: Registering(
        wish(NIGHTLY, BUILT, max_attempts=3), healed=(BUILT,), before=(wish(NIGHTLY),)
    ),
    "register it with nothing to heal": lambda: Registering(
        wish(NIGHTLY, description="d"), healed=(), before=(wish(NIGHTLY, BUILT),)
    ),
    "register it again after it was deleted": lambda: Registering(
        wish(BUILT), healed=(BUILT,), before=(wish(BUILT),), deleted=True
    ),
    "delete a workflow": Deleting,
}
