"""Cancel, resume, delete."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from baton.domain.states import State
from baton.errors import NotFound
from baton.services.control import Resumed
from baton.services.details import RunDetail
from tests.faults import asking, invariants
from tests.faults.audited import audited
from tests.faults.crash import Scenario
from tests.faults.world import Container, World


@dataclass
class Cancelling(Scenario):
    """A cancel: it latches on a driven run, settles another, and settles any when forced."""

    queued: bool = False
    force: bool = False
    latched: bool = False
    warm: bool = True

    def prepare(self, world: World) -> Container:
        container = world.container()
        if self.queued:
            self.run_id = asking.queued(container)
        else:
            self.run_id = asking.running(container)
            asking.append(world, container, self.run_id, "before")
        if self.latched:
            asking.cancel(container, self.run_id, reason="first")
        return container if self.warm else world.container()

    def act(self, container: Container) -> RunDetail:
        return asking.cancel(container, self.run_id, reason="second", force=self.force)

    def verify(self, answer: RunDetail) -> None:
        found = invariants.facts(self.world)
        types = [entry.type for entry in invariants.entries_of(found, found.runs[self.run_id])]
        reason = "first" if self.latched else "second"
        if self.queued or self.force:
            assert answer.run.state is State.CANCELLED
            assert answer.error is not None
            assert f'"{reason}"' in answer.error.decode()
            assert types.count("end") == 1
        else:
            assert answer.run.state is State.RUNNING
            assert answer.run.cancel is not None
            assert answer.run.cancel.reason == reason
            assert types.count("cancel") == 1
            asking.append(self.world, self.world.container(), self.run_id, "it is still driven")

    def verify_unretried(self) -> None:
        """The driver goes on as before, or under a latched cancel."""


@dataclass
class Resuming(Scenario):
    """A resume of a run that failed; with a key it happens once however often it is sent."""

    key: str | None = "k"
    queued: bool = False
    force: bool = False
    warm: bool = True

    def prepare(self, world: World) -> Container:
        container = world.container()
        self.run_id = asking.queued(container) if self.queued else asking.running(container)
        if self.force:
            asking.cancel(container, self.run_id, force=True)
        else:
            asking.fail(container, self.run_id, attempt=1)
        return container if self.warm else world.container()

    def act(self, container: Container) -> Resumed:
        return asking.resume(container, self.run_id, key=self.key, force=self.force)

    def verify(self, answer: Resumed) -> None:
        run = answer.detail.run
        assert run.attempt == 2
        assert run.state is (State.PENDING if self.queued else State.RUNNING)
        assert run.cancel is None
        assert run.expires_at is None
        if self.key:
            assert answer.resumed, "the request that resumed it is not told so"


@dataclass
class LateResume(Resuming):
    """A resume whose attempt has failed again before its retry comes."""

    def verify(self, answer: Resumed) -> None:
        assert answer.detail.run.attempt == 2, "one request began two attempts"
        assert answer.resumed
        if not answer.detail.run.state.terminal:
            asking.fail(self.world.container(), self.run_id, attempt=2)


@dataclass
class Deleting(Scenario):
    """A delete: once it is acknowledged nothing is there any more, and the audit tells once who did it."""

    by: str | None = None
    warm: bool = True
    resumed: bool = False
    asked: bool = False

    def prepare(self, world: World) -> Container:
        container = world.container()
        self.run_id = asking.running(container, key="k", run_id="mine")
        asking.fail(container, self.run_id)
        if self.resumed:
            asking.resume(container, self.run_id)
            asking.fail(container, self.run_id, attempt=2)
        return container if self.warm else world.container()

    def act(self, container: Container) -> None:
        # A repeat is told that nothing is there: it is the truth.
        with suppress(*[NotFound] * self.asked):
            self.asked = True
            asking.delete(container, self.run_id, by=self.by)

    def verify(self, _answer: None) -> None:
        stranger = self.world.container()
        assert invariants.gone(stranger, asking.NAMESPACE, self.run_id)
        assert invariants.gone(self.world.container(skew=-5), asking.NAMESPACE, self.run_id)
        self._told()

    def verify_unretried(self) -> None:
        if invariants.gone(self.world.container(), asking.NAMESPACE, self.run_id):
            self._told()
        else:
            assert audited(self.world) == []

    def _told(self) -> None:
        told = [] if self.by is None else [("run.deleted", self.run_id, self.by)]
        assert audited(self.world) == told


SCENARIOS: dict[str, Callable[[], Scenario]] = {
    "cancel a driven run": Cancelling,
    "cancel a driven run, cold": lambda: Cancelling(warm=False),
    "cancel a run that was told to": lambda: Cancelling(latched=True),
    "cancel a pending run": lambda: Cancelling(queued=True),
    "cancel by force": lambda: Cancelling(force=True),
    "cancel by force, cold": lambda: Cancelling(force=True, warm=False),
    "cancel by force a run that was told to": lambda: Cancelling(force=True, latched=True),
    "resume": Resuming,
    "resume, cold": lambda: Resuming(warm=False),
    "resume without a key": lambda: Resuming(key=None),
    "resume a queued run": lambda: Resuming(queued=True),
    "resume by force": lambda: Resuming(force=True),
    "resume an attempt that has failed again": LateResume,
    "delete": Deleting,
    "delete, by somebody": lambda: Deleting(by="token"),
    "delete, cold": lambda: Deleting(warm=False),
    "delete a run at its second attempt": lambda: Deleting(resumed=True),
}
