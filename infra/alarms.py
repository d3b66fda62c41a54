"""What a person is woken for, once, as data: what is measured, when it is too much, and what that means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from infra.manifest import AUTHORIZER, FUNCTIONS
from infra.signals import PARKED, TIMERS

__all__ = ["ALARMS", "Alarm", "Metric", "OfFunction", "OfOperation", "OfQueue"]


class OfFunction(NamedTuple):
    """What Lambda measures of a function."""

    function: str
    name: str


class OfQueue(NamedTuple):
    """What SQS measures of a queue."""

    queue: str
    name: str


class OfOperation(NamedTuple):
    """What Baton says of an operation, by `baton.observability.note`."""

    operation: str
    name: str


Metric = OfFunction | OfQueue | OfOperation


@dataclass(frozen=True, kw_only=True)
class Alarm:
    """Raised when ``metric`` was ``threshold`` or more in ``of`` of the last ``among`` periods. Where nothing
    is measured nothing is wrong, as Baton at rest measures nothing; unless ``below``: then less than
    ``threshold`` raises it, and so does nothing."""

    name: str
    metric: Metric
    statistic: str
    threshold: int
    period_seconds: int = 60
    of: int = 3
    among: int = 5
    below: bool = False
    means: str
    do: str


SHUT_OUT = " Nobody gets in whom the gateway does not remember."


def _of_each_function() -> tuple[Alarm, ...]:
    return tuple(
        alarm
        for each in FUNCTIONS
        for alarm in (
            Alarm(
                name=f"{each.name}-errors",
                metric=OfFunction(each.name, "Errors"),
                statistic="Sum",
                threshold=1,
                means=f"Calls of {each.name} end without an answer: it can't start, or runs out of time."
                + (SHUT_OUT if each.name == AUTHORIZER else ""),
                do="Read its log group. Requests are answered 500 meanwhile and may be repeated; what the "
                "stream, the clock and queues bring is tried again.",
            ),
            Alarm(
                name=f"{each.name}-throttles",
                metric=OfFunction(each.name, "Throttles"),
                statistic="Sum",
                threshold=1,
                means=f"Lambda refuses to call {each.name}: the account's containers are used up, or its own "
                "reserve." + (SHUT_OUT if each.name == AUTHORIZER else ""),
                do="Look at the account's ConcurrentExecutions, ask for a higher quota, or change "
                "`reserved` of the stage.",
            ),
        )
    )


def _of_each_stream() -> tuple[Alarm, ...]:
    return tuple(
        Alarm(
            name=f"{each.name}-lag",
            metric=OfFunction(each.name, "IteratorAge"),
            statistic="Maximum",
            threshold=60_000,
            means=f"{each.name} reads the stream a minute or more late, so hand-offs are as late; the sweep "
            "does what is older than its grace.",
            do="Look at its errors, throttles and duration. A record that can't be handled is put aside "
            "after some tries; if there are merely too many, raise `parallel` or `memory_mb`.",
        )
        for each in FUNCTIONS
        if each.streams_from
    )


def _of_each_schedule() -> tuple[Alarm, ...]:
    return tuple(
        Alarm(
            name=f"{each.name}-silent",
            metric=OfFunction(each.name, "Invocations"),
            statistic="Sum",
            threshold=1,
            below=True,
            period_seconds=300,
            of=2,
            among=2,
            means=f"The clock does not call {each.name}: what is due or came late waits.",
            do="Look whether its schedule is there and enabled, and may still call it.",
        )
        for each in FUNCTIONS
        if each.schedule is not None
    )


ALARMS = (
    *_of_each_function(),
    *_of_each_stream(),
    *_of_each_schedule(),
    Alarm(
        name="parked",
        metric=OfQueue(PARKED.name, "ApproximateNumberOfMessagesVisible"),
        statistic="Maximum",
        threshold=1,
        of=1,
        among=1,
        period_seconds=300,
        means="Something was given up on and put aside: records of the stream, hints, or calls by the clock.",
        do="Look at a message: it says which function could not take it. The sweep and heal do what it was "
        "about all the same; mend the cause, then purge the queue.",
    ),
    Alarm(
        name="hints-late",
        metric=OfQueue(TIMERS.name, "ApproximateAgeOfOldestMessage"),
        statistic="Maximum",
        # A hint may be delayed for 15 minutes by intent, and its age may count from when it was sent.
        threshold=1200,
        means="Hints at what is due are not taken: timers are as late as the sweep's minute.",
        do="Look at the sweep's errors and throttles.",
    ),
    Alarm(
        name="owed",
        metric=OfOperation("sweep", "owed_seconds"),
        statistic="Maximum",
        # What fails is looked at again after up to an hour, so one sighting in an hour is enough.
        threshold=900,
        of=1,
        among=12,
        period_seconds=300,
        means="An ending of 15 minutes ago or more is owed still, to a subscriber or a run that waits.",
        do="Ask GET /v1/stats of the namespace: it names the endings, to whom they are owed, and why still. "
        "Then mend the subscriber, delete it, or republish the run.",
    ),
    Alarm(
        name="sweep-overrun",
        metric=OfOperation("sweep", "more"),
        statistic="Sum",
        threshold=1,
        of=5,
        among=5,
        means="Sweeps run out of time before their index is done: there is more due than they can do.",
        do="Look at `failed` of the sweep and at its log for what it fails at; else raise its "
        "`memory_mb`, or its reserve.",
    ),
    Alarm(
        name="heal-overrun",
        metric=OfOperation("heal", "more"),
        statistic="Sum",
        threshold=1,
        of=5,
        among=5,
        means="Healing runs out of time again and again: subscriptions that came late wait for their runs.",
        do="Look at `endings` and `failed` of heal. It goes on where it stopped; fewer registrations for "
        "busy endings at once, or more `memory_mb`, make it faster.",
    ),
)
