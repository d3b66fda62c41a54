"""Finishing: warm and cold, with a key, under a fence, against a busy appender."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from baton.domain.states import State
from baton.services.finishes import Finished
from tests.faults import asking, invariants
from tests.faults.crash import Scenario
from tests.faults.seam import Call
from tests.faults.world import Container, World


@dataclass
class Finishing(Scenario):
    """A finish of a run that has spoken. Its repeat learns that it was this one, unless nothing names it."""

    key: str | None = "k"
    attempt: int | None = None
    warm: bool = True
    resumed: bool = False
    queued: bool = False
    input: object = None
    ends: set[int] = field(default_factory=set)

    def prepare(self, world: World) -> Container:
        container = world.container()
        if self.queued:
            self.run_id = asking.queued(container)
        else:
            self.run_id = asking.running(container, self.input)
            asking.append(world, container, self.run_id, "before")
        if self.resumed:
            asking.fail(container, self.run_id)
            asking.resume(container, self.run_id)
        return container if self.warm else world.container()

    def act(self, container: Container) -> Finished:
        outcome = asking.an_outcome(output={"n": 0.1}, key=self.key, code=3, session_ref="s")
        return asking.finish(container, self.run_id, outcome, attempt=self.attempt)

    def verify(self, answer: Finished) -> None:
        run = answer.detail.run
        assert run.state is State.COMPLETED
        assert answer.detail.output == b'{"n":0.1}'
        assert run.ending is not None
        self.ends.add(run.ending.seq)
        assert len(self.ends) == 1, "it settled twice"
        if self.key or self.attempt:
            assert answer.finished, "the request that settled it is not told so"

    def verify_once(self) -> None:
        """Whoever comes later learns what it was."""
        other = asking.an_outcome(State.FAILED, key="other")
        late = asking.finish(self.world.container(), self.run_id, other, attempt=self.attempt)
        assert not late.finished
        assert late.detail.run.state is State.COMPLETED


@dataclass
class BusyFinish(Finishing):
    """A finish that loses its slot three times to an appender, and then asks appends to wait."""

    left: int = 3

    def prepare(self, world: World) -> Container:
        container = super().prepare(world)
        self.rival = world.container()
        container.seam.interfere = self._be_faster
        return container

    def _be_faster(self, call: Call) -> None:
        if self.left and call.operation == "TransactWriteItems":
            self.left -= 1
            asking.append(self.world, self.rival, self.run_id, f"in between {self.left}")

    def verify(self, answer: Finished) -> None:
        super().verify(answer)
        found = invariants.facts(self.world)
        said = [entry.type for entry in invariants.entries_of(found, found.runs[self.run_id])]
        assert said.count("closing") <= 2  # one more where the first process died after its own
        assert said[-1] == "end"

    def verify_unretried(self) -> None:
        """Nobody settles it any more: appends go on once they have waited for the one who asked them to."""
        found = invariants.facts(self.world)
        if not found.runs[self.run_id].state.terminal:
            asking.append(self.world, self.world.container(), self.run_id, "after all")


SCENARIOS: dict[str, Callable[[], Scenario]] = {
    "finish": Finishing,
    "finish, cold": lambda: Finishing(warm=False),
    "finish, large input": lambda: Finishing(input=asking.LARGE),
    "finish by its fence alone": lambda: Finishing(key=None, attempt=1),
    "finish that nothing names": lambda: Finishing(key=None),
    "finish under the second attempt's fence": lambda: Finishing(attempt=2, resumed=True),
    "finish under the second attempt's fence, cold": lambda: Finishing(attempt=2, resumed=True, warm=False),
    "finish a pending run": lambda: Finishing(queued=True, attempt=1),
    "finish against a busy appender": BusyFinish,
    "finish against a busy appender, cold": lambda: BusyFinish(warm=False),
}
