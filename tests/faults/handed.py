"""What was registered and what was handed off, read from the tables."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec

from baton.domain.catalog import Batch, Subscription, Target, Workflow, endings
from baton.domain.handoff import Settled
from baton.domain.registering import Registration
from baton.domain.run import Run, Step
from baton.domain.settlement import Delivery, DeliveryState
from baton.errors import Unavailable
from baton.store.runs import Changed
from tests.faults.seam import Death
from tests.faults.world import NAMESPACE, Container, World


def register(
    world: World,
    name: str,
    *subscriptions: Subscription,
    batch: Batch | None = None,
    target: Target | None = None,
) -> None:
    """A workflow stands in the catalog, from before everything else."""
    now = world.clock.now()
    workflow = Workflow(
        namespace=NAMESPACE,
        name=name,
        subscribes=subscriptions,
        declares=True,
        batch=batch,
        target=target,
        created_at=now,
        updated_at=now,
        rev=f"rev of {name}",
    )
    item: Any = {
        "k": {"S": NAMESPACE},
        "s": {"S": f"wf#{name}"},
        "d": {"S": msgspec.json.encode(workflow).decode()},
    }
    world.house.client.put_item(TableName=world.settings.catalog_table, Item=item)
    for wish in subscriptions:
        world.subscribed.setdefault(wish.event, set()).add(name)


def register_late(world: World, name: str, *subscriptions: Subscription) -> None:
    """A workflow is registered by the service, so that what happened just before is healed."""
    wish = Registration(namespace=NAMESPACE, name=name, subscribes=subscriptions)
    world.container().runtime.workflows.put(wish)
    for each in subscriptions:
        world.subscribed.setdefault(each.event, set()).add(name)


def remove(world: World, name: str) -> None:
    """A workflow leaves the catalog; whom it was owed to is told in the end that it is gone."""
    world.house.client.delete_item(
        TableName=world.settings.catalog_table, Key={"k": {"S": NAMESPACE}, "s": {"S": f"wf#{name}"}}
    )


def start_and_die(world: World, run_id: str) -> None:
    """A publisher starts the subscribers of a run's ending, and dies before it records that."""
    container = world.container()

    def die(_before: Run, _step: Step) -> Changed:
        raise Death

    runs: Any = container.runtime.publisher._context.runs
    runs.change = die
    with suppress(Death):
        container.runtime.publisher.publish(NAMESPACE, run_id)


def hide_catalog(container: Container) -> None:
    """The container can't read the catalog from now on."""

    def fail(_namespace: str) -> None:
        raise Unavailable("the catalog is out of reach")

    store: Any = container.runtime.catalog._context.catalog
    store.read = fail
    container.runtime.catalog._reads.clear()


def settled(found: Any, run_id: str) -> dict[int, Settled]:
    """Every ending of a run's present life, by attempt."""
    run: Run = found.runs[run_id]
    all_ = {
        each.attempt: Settled(run, each) for each in found.apart.get(run_id, []) if each.birth == run.birth
    }
    if run.ending is not None and not run.ending.apart:
        all_[run.attempt] = Settled(run)
    return all_


def deliveries(found: Any, run_id: str, attempt: int) -> dict[str, Delivery]:
    """What became of each subscriber to one ending."""
    made = settled(found, run_id)[attempt].settlement.deliveries
    return {each.subscriber: each for each in made}


def owed_or_delivered(found: Any, run_id: str) -> set[str]:
    """Whom a run's endings are, or were, owed to; "?" while that is not known."""
    names: set[str] = set()
    for each in settled(found, run_id).values():
        settlement = each.settlement
        names |= {*settlement.owed, *(delivery.subscriber for delivery in settlement.deliveries)}
        names |= {"?"} if settlement.unresolved else set()
    return names


def started_by(found: Any, run_id: str) -> list[Run]:
    """The runs that a run's endings have started."""
    return [
        run
        for run in found.runs.values()
        if run.triggered_by is not None and run.triggered_by.run_id == run_id
    ]


def check_all_handed(world: World, found: Any) -> None:
    """I3, in the end: each subscriber to each ending has exactly one run, or a delivery that says why not."""
    for run_id, run in found.runs.items():
        if not set(endings(run.workflow)) & world.subscribed.keys():
            continue
        for ending in settled(found, run_id).values():
            if run.continued_as is not None or run.expired(world.clock.now()):
                continue
            wanted = world.subscribed.get(ending.event, set())
            made = {each.subscriber: each for each in ending.settlement.deliveries}
            assert wanted <= made.keys(), f"never delivered to {wanted - made.keys()}: {ending}"
            for name in wanted:
                runs = [
                    each
                    for each in found.runs.values()
                    if each.workflow == name and each.triggered_by == ending.trigger
                ]
                expected = made[name].state is DeliveryState.STARTED
                assert len(runs) == expected, f"{name} was started {len(runs)} times: {made[name]}"
