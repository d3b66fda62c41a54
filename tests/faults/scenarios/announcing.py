"""Heartbeats of workers, which announce what they serve: whatever was left undone is done by the next one,
and the catalog changes exactly where something new was said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from baton.domain.catalog import HealWork, Subscription, Workflow
from baton.domain.clock import millis
from baton.domain.registering import Registration
from baton.domain.workers import Heartbeat, Served, Worker
from tests.faults.crash import Scenario
from tests.faults.world import NAMESPACE, Container, World

BUILT, NIGHTLY = "run.completed:build", "nightly"
WORKER = "worker-1"
DAY = 24 * 3600


@dataclass
class Catalog:
    """What the catalog's table holds."""

    workflows: dict[str, Workflow]
    revision: int
    names: set[str]
    heals: dict[str, HealWork]
    worker: Worker | None


def catalog(world: World) -> Catalog:
    """Read from the table itself."""
    items = {(item["k"]["S"], item["s"]["S"]): item for item in world.house.scan("catalog")}
    revision = items.get((NAMESPACE, "revision"))
    context = world.container().runtime.workers._context
    workers, _ = context.workers.page(NAMESPACE, after=None, limit=10)
    return Catalog(
        workflows={
            sort.removeprefix("wf#"): msgspec.json.decode(item["d"]["S"], type=Workflow)
            for (_, sort), item in items.items()
            if sort.startswith("wf#")
        },
        revision=0 if revision is None else int(revision["n"]["N"]),
        names={sort.removeprefix("name#") for _, sort in items if sort.startswith("name#")},
        heals={work.event: work for work in context.catalog.heals()},
        worker=next((each for each in workers if each.id == WORKER), None),
    )


def says(name: str, *events: str) -> Served:
    """Word of a workflow that is started by ``events``."""
    return Served(name, tuple(map(Subscription, events)))


def hear(container: Container, *serves: Served, worker_id: str = WORKER) -> None:
    """A heartbeat."""
    container.runtime.workers.hear(Heartbeat(namespace=NAMESPACE, worker_id=worker_id, serves=serves))


def registered(name: str, *events: str) -> Callable[[Container], object]:
    """It is registered so."""
    wish = Registration(namespace=NAMESPACE, name=name, subscribes=tuple(map(Subscription, events)))
    return lambda container: container.runtime.workflows.put(wish)


@dataclass
class Announcing(Scenario):
    """A worker is heard that ``says`` something after what was done ``before``: it changes the workflows
    ``changed`` and no others, and ``healed`` are the events to go over."""

    says: tuple[Served, ...]
    changed: tuple[str, ...] = ()
    healed: tuple[str, ...] = ()
    before: tuple[Callable[[Container], object], ...] = ()
    later_seconds: float = 1
    first: Catalog = field(init=False)

    def prepare(self, world: World) -> Container:
        container = world.container()
        for each in self.before:
            each(container)
        store = container.runtime.workers._context.catalog
        for work in store.heals():
            store.heal_done(work)
        world.clock.advance(self.later_seconds)
        self.first = catalog(world)
        return container

    def act(self, container: Container) -> None:
        hear(container, *self.says)

    def verify(self, answer: None) -> None:
        found = catalog(self.world)
        for served in self.says:
            said = found.workflows[served.name].announced
            assert said is not None
            assert said.subscribes == served.subscribes
            assert said.until - self.world.clock.now() >= millis(self.world.settings.announced_seconds)
        assert found.worker is not None
        assert list(found.worker.said) == [served.name for served in self.says]
        assert found.worker.seen_at > self.world.clock.now() - 10_000
        assert self._changed(found) == set(self.changed)
        self._whole(found)

    def verify_unretried(self) -> None:
        found = catalog(self.world)
        assert self._changed(found) <= set(self.changed)
        self._whole(found)
        hear(self.world.container(), *self.says)
        self.verify(None)

    def _changed(self, found: Catalog) -> set[str]:
        return {name for name, row in found.workflows.items() if row != self.first.workflows.get(name)}

    def _whole(self, found: Catalog) -> None:
        """All that belongs to each change is there, once; the worker is remembered only after all of them."""
        changed = self._changed(found)
        assert found.revision == self.first.revision + len(changed)
        assert found.names == set(found.workflows)
        rows = [found.workflows[name] for name in changed]
        events = {event: row for row in rows if (now := row.at(row.updated_at)) for event in now.events}
        window = millis(self.world.settings.heal_window_seconds)
        assert set(found.heals) == set(self.healed) & set(events)
        for event, work in found.heals.items():
            changed_at = events[event].updated_at
            assert (work.since, work.changed_at, work.rev) == (
                changed_at - window,
                changed_at,
                events[event].rev,
            )
        if changed != set(self.changed):
            assert found.worker == self.first.worker


SCENARIOS: dict[str, Callable[[], Scenario]] = {
    "announce a workflow": lambda: Announcing(
        (says("report", BUILT, NIGHTLY),), changed=("report",), healed=(BUILT, NIGHTLY)
    ),
    "announce two, one of them registered": lambda: Announcing(
        (says("report", BUILT), says("mail", NIGHTLY)),
        changed=("report", "mail"),
        healed=(BUILT,),
        before=(registered("mail", "hourly"),),
    ),
    "announce one of two otherwise": lambda: Announcing(
        (says("mail", NIGHTLY), says("report", NIGHTLY, BUILT)),
        changed=("report",),
        healed=(BUILT,),
        before=(lambda container: hear(container, says("mail", NIGHTLY), says("report", NIGHTLY)),),
    ),
    "announce what another worker has said": lambda: Announcing(
        (says("report", BUILT),),
        before=(lambda container: hear(container, says("report", BUILT), worker_id="other"),),
    ),
    "a heartbeat that says nothing new": lambda: Announcing(
        (says("report", BUILT),), before=(lambda container: hear(container, says("report", BUILT)),)
    ),
    "a heartbeat that renews what is announced": lambda: Announcing(
        (says("report", BUILT),),
        changed=("report",),
        before=(lambda container: hear(container, says("report", BUILT)),),
        later_seconds=DAY / 2 + 1,
    ),
    "announce again what counts no more": lambda: Announcing(
        (says("report", BUILT),),
        changed=("report",),
        healed=(BUILT,),
        before=(lambda container: hear(container, says("report", BUILT)),),
        later_seconds=8 * DAY,
    ),
}
