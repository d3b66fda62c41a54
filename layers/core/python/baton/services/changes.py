"""What follows from a change of an item of the runs table, as its stream tells it: at least once, and in
order for each item."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from baton.domain.run import Run
from baton.errors import BatonError
from baton.observability import logger
from baton.services.announcing import Announcer
from baton.services.publishing import Publisher
from baton.services.pushing import Pusher
from baton.services.retention import Retention
from baton.store.dynamo import Raw
from baton.store.images import announced_in, run_in, waiting_in


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One change of the item at ``keys`` (partition, sort). ``old`` None: there was none; ``new`` None: there
    is none any more. ``sequence`` names the change."""

    keys: tuple[str, str]
    old: Raw | None
    new: Raw | None
    sequence: str


class Changes:
    """Has the announced published or pushed, says which runs have begun, and purges what the removed leave
    behind."""

    def __init__(
        self, publisher: Publisher, pusher: Pusher, announcer: Announcer, retention: Retention
    ) -> None:
        self._publisher = publisher
        self._pusher = pusher
        self._announcer = announcer
        self._retention = retention

    def take(self, changes: Sequence[Change], *, time_left: Callable[[], bool]) -> list[str]:
        """Do what follows from each; the names of those that failed, and of those there was no time for.

        One in trouble never keeps another from its turn, and targets, which may take long to answer, have
        theirs last. An item that was announced more than once is published once, and pushed once: whoever
        does looks at how it stands now.
        """
        failed: list[str] = []
        done: set[tuple[str, str, bool]] = set()
        born: list[Run] = []
        for change in sorted(changes, key=_pushes):
            if not time_left():
                failed.append(change.sequence)
                continue
            try:
                self._follow(change, done)
                if (run := _born(change)) is not None:
                    born.append(run)
            except BatonError as trouble:
                failed.append(change.sequence)
                logger.warning("a change is to come again", keys=change.keys, reason=trouble.detail)
            except Exception:  # noqa: BLE001 - an edge of its own: one item's fault must not stop the rest
                failed.append(change.sequence)
                logger.exception("what follows from a change can't be done", keys=change.keys)
        self._announcer.started(born)
        return failed

    def _follow(self, change: Change, done: set[tuple[str, str, bool]]) -> None:
        removed = run_in(change.old) if change.new is None else None
        if removed is not None:
            self._retention.removed(removed)
        elif announced_in(change.new) and (work := (*change.keys, _pushes(change))) not in done:
            if _pushes(change):
                self._pusher.push_item(change.keys[0])
            else:
                self._publisher.publish_item(*change.keys)
            done.add(work)


def _pushes(change: Change) -> bool:
    """Whether a target is to be told of the run."""
    return announced_in(change.new) and waiting_in(change.new)


def _born(change: Change) -> Run | None:
    """The run whose life the change began."""
    now, before = run_in(change.new), run_in(change.old)
    return None if before is not None and now is not None and now.birth == before.birth else now
