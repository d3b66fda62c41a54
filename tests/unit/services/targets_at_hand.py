"""A target that answers what a test says, and runs of a workflow that is pushed to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton.bootstrap import Runtime
from baton.domain.catalog import Target, TargetKind
from baton.domain.pushing import Answer, Hint, NotNow, Taken
from baton.domain.registering import Registration
from baton.domain.targets import TAG
from tests.unit.house import NS, House, start

QUEUE = "arn:aws:sqs:eu-central-1:123456789012:jobs"
OTHER = "arn:aws:sqs:eu-central-1:123456789012:other"
TARGET = Target(TargetKind.SQS, QUEUE)


class Answers:
    """In the place of `baton.outbound.targets.Targets`: all it was told, and of which targets the tags were
    looked at. ``then`` is called with each hint."""

    def __init__(self, *answers: Answer) -> None:
        self.told: list[tuple[str | None, Hint]] = []
        self.marks: list[str] = []
        self.looks: list[str | None] = []
        self.tags_are: dict[str, str] | NotNow = {TAG: NS}
        self.then: Callable[[Hint], object] = lambda _hint: None
        self._answers = list(answers)

    def send(self, target: Target, hint: Hint, mark: str) -> Answer:
        self.told.append((target.arn, hint))
        self.marks.append(mark)
        self.then(hint)
        return self._answers.pop(0) if self._answers else Taken()

    def tags(self, target: Target) -> dict[str, str] | NotNow:
        self.looks.append(target.arn)
        return self.tags_are

    @property
    def run_ids(self) -> list[str]:
        """Of which runs it was told, in order."""
        return [hint.run_id for _, hint in self.told]


def at(house: House, targets: Answers) -> Runtime:
    """A container whose targets are these."""
    runtime = house.container()
    vars(runtime._context)["targets"] = targets
    return runtime


def registered(house: House, name: str = "build", arn: str | None = QUEUE, **wish: Any) -> None:
    """Register a workflow that is pushed; ``arn`` None: that has no target."""
    target = None if arn is None else Target(TargetKind.SQS, arn)
    house.container().workflows.put(Registration(namespace=NS, name=name, target=target, **wish))


def pushed_run(house: House, run_id: str = "r1", **wish: Any) -> None:
    """A run that waits to be pushed."""
    start(house.container(), run_id=run_id, **wish)
