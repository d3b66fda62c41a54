"""What an operation may take, what it took, and the verdict on both."""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.bench.meter import Tally


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The most an operation may take; None: no limit is set."""

    wru: float | None = None
    rru: float | None = None
    trips: int | None = None
    reads: int | None = None
    """Calls that read."""
    calls: int | None = None


NONE = Limits()


@dataclass(frozen=True)
class Sample:
    """One measured operation, and its limits."""

    tally: Tally
    limits: Limits = NONE


@dataclass(frozen=True, kw_only=True)
class Row:
    """An operation measured ``samples`` times with ``containers`` taking turns: the most that one took."""

    operation: str
    containers: int
    samples: int
    wru: float
    rru: float
    trips: int
    calls: int
    refused: int
    unreported_wru: float
    """The least that AWS asks for the refused writes, which DynamoDB gives no units for."""
    limits: Limits
    broken: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """``ok``, ``over`` or, where there is no limit, nothing."""
        if self.broken:
            return "over"
        return "" if self.limits == NONE else "ok"


def row_of(operation: str, containers: int, samples: Sequence[Sample]) -> Row:
    """The row for some samples of one operation."""
    tallies = [sample.tally for sample in samples]
    return Row(
        operation=operation,
        containers=containers,
        samples=len(samples),
        wru=max(tally.wru for tally in tallies),
        rru=max(tally.rru for tally in tallies),
        trips=max(tally.trips for tally in tallies),
        calls=max(len(tally.calls) for tally in tallies),
        refused=max(tally.refused for tally in tallies),
        unreported_wru=max(tally.unreported for tally in tallies),
        limits=max((sample.limits for sample in samples), key=_loosest),
        broken=tuple(dict.fromkeys(said for sample in samples for said in _broken(sample))),
    )


def _broken(sample: Sample) -> list[str]:
    tally, limits = sample.tally, sample.limits
    taken = {
        "WRU": (tally.wru, limits.wru),
        "RRU": (tally.rru, limits.rru),
        "round trips": (tally.trips, limits.trips),
        "reads": (tally.reads, limits.reads),
        "calls": (len(tally.calls), limits.calls),
    }
    return [
        f"{took:g} {name} of {limit:g}"
        for name, (took, limit) in taken.items()
        if limit is not None and took > limit
    ]


def _loosest(limits: Limits) -> tuple[float, float]:
    return (limits.wru or 0, limits.rru or 0)
