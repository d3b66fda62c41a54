"""Runs that settle at once, published by many at a time: each subscriber is started once, and told once."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from baton.domain.catalog import Subscription
from baton.domain.handoff import Settled
from baton.domain.settlement import DeliveryState
from baton.errors import Busy
from baton.services.delivering import Outcome
from baton.services.publishing import LEASED, Wish
from baton.services.republish import Republish
from tests.faults import asking, handed, invariants
from tests.faults.races.together import at_once
from tests.faults.world import NAMESPACE, World

COMPLETED = "run.completed:build"
RUNS = 100
ROUNDS = 25


class Told:
    """What an announcer would tell everyone outside."""

    def __init__(self) -> None:
        self.triggered: Counter[str] = Counter()

    def watch(self, container: Any) -> Any:
        container.runtime.publisher._announcer = self
        return container

    def ended(self, _settled: Settled, _payload: Any) -> None:
        """Best effort, and may come twice under one id."""

    def delivered(self, settled: Settled, outcomes: tuple[Outcome, ...]) -> None:
        for each in outcomes:
            if each.delivery is not None and each.delivery.state is DeliveryState.STARTED:
                self.triggered[settled.started_id(each.subscriber)] += 1


def test_a_hundred_runs_settled_at_once_start_a_hundred_subscribers(world: World, container: Any) -> None:
    handed.register(world, "report", Subscription(COMPLETED))
    containers = [container() for _ in range(4)]
    run_ids = [asking.running(containers[0]) for _ in range(RUNS)]

    def settle(mine: int) -> None:
        for run_id in run_ids[mine::8]:
            asking.finish(containers[mine % 4], run_id, asking.an_outcome())

    def publish(order: int) -> None:
        publisher = container()
        for run_id in random.Random(order).sample(run_ids, RUNS):
            asking.publish(publisher, run_id)

    settles: list[Callable[[], None]] = [partial(settle, mine) for mine in range(8)]
    at_once([*settles, *(partial(publish, order) for order in range(4))])
    at_once([partial(publish, order) for order in range(4, 8)])
    found = invariants.check(world)
    handed.check_all_handed(world, found)
    assert Counter(run.workflow for run in found.runs.values()) == {"build": RUNS, "report": RUNS}


def test_publishers_a_sweep_and_a_republish_at_once_end_the_same_and_tell_it_once(
    world: World, container: Any
) -> None:
    for name in ("bill", "report"):
        handed.register(world, name, Subscription(COMPLETED))
    told = Told()
    containers = [told.watch(container()) for _ in range(4)]

    def live(mine: int, run_id: str) -> None:
        containers[mine].runtime.publisher.publish(NAMESPACE, run_id)

    def leased(mine: int, run_id: str, wish: Wish) -> None:
        with suppress(Busy):  # whoever holds the lease does it
            containers[mine].runtime.publisher.publish(NAMESPACE, run_id, None, wish)

    def republish(mine: int, run_id: str) -> Any:
        return containers[mine].runtime.republisher.run(Republish(namespace=NAMESPACE), run_id)

    for _ in range(ROUNDS):
        run_id = asking.running(containers[0])
        asking.finish(containers[0], run_id, asking.an_outcome())
        at_once(
            [
                partial(live, 0, run_id),
                partial(live, 1, run_id),
                partial(leased, 2, run_id, LEASED),
                partial(republish, 3, run_id),
            ]
        )
    found = invariants.check(world)
    handed.check_all_handed(world, found)
    started = [run.id for run in found.runs.values() if run.triggered_by is not None]
    assert told.triggered == Counter(started)
    assert len(started) == 2 * ROUNDS


def test_a_run_resumed_while_its_failure_is_published_keeps_both_endings_apart(
    world: World, container: Any
) -> None:
    handed.register(world, "report", Subscription("run.failed:build"), Subscription(COMPLETED))
    containers = [container() for _ in range(3)]
    for _ in range(ROUNDS):
        run_id = asking.running(containers[0])
        asking.fail(containers[0], run_id)
        at_once(
            [
                partial(asking.publish, containers[0], run_id, 1),
                partial(asking.resume, containers[1], run_id, key="again"),
                partial(asking.publish, containers[2], run_id),
            ]
        )
        asking.finish(containers[0], run_id, asking.an_outcome(), attempt=2)
        at_once(
            [
                partial(asking.publish, containers[1], run_id, 1),
                partial(asking.publish, containers[2], run_id),
            ]
        )
    found = invariants.check(world)
    handed.check_all_handed(world, found)
    assert Counter(run.workflow for run in found.runs.values()) == {"build": ROUNDS, "report": 2 * ROUNDS}
