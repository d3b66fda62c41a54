"""Coalescing: inputs join their subscriber's open window, and a window that is over becomes one run."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from baton.domain.catalog import Batch
from baton.domain.coalescing import (
    Fire,
    FireFirst,
    Join,
    Window,
    check_alone,
    decide_fire,
    decide_join,
    hand_off,
    key_mark,
)
from baton.domain.names import id_from_window
from baton.domain.starting import HandOff, bear_handed
from baton.errors import TryAgain, Unavailable
from baton.observability import logger
from baton.services.context import Context
from baton.services.starts import first_item
from baton.store.runs import Creation
from baton.store.windows import OPEN, header_key

ROUNDS = 24


class Joined(NamedTuple):
    """The window that an input joined, the run that the window becomes, and whether it has become it."""

    window_id: str
    run_id: str
    fired: bool


class Standing(Enum):
    """Where a coalesced input is."""

    BUFFERED = "buffered"
    """In an open window: whatever it came from must be kept (I5)."""
    FIRED = "fired"


class Tended(Enum):
    """What the sweep did with a window that was due."""

    FIRED = "fired"
    PUT_OFF = "put off"
    STALE = "stale"


class Coalescer:
    """Where windows open, fill and fire."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def join(self, wish: HandOff, batch: Batch, key: bytes | None) -> Joined:
        """Take the input of ``wish``, the run that it would have of its own, into the subscriber's open
        window for ``key``, or open the next one.

        Idempotent by that run's id: an input that has joined before answers the window of the first time, and
        changes nothing, also after that window was fired. Once this has answered the input is kept, and its
        window due. Raises PayloadTooLarge, StartedAlone when it has a run of its own, and Unavailable when
        the race for the window is lost for too long: the same again finds out (I9).
        """
        check_alone(wish, batch)
        context, windows, mark = self._context, self._context.windows, key_mark(key)
        for round_ in range(ROUNDS):
            before = windows.open(wish.namespace, wish.workflow, mark)
            decided = decide_join(
                before,
                wish,
                batch,
                mark=mark,
                now=context.clock.now(),
                window_id=context.birth(),
                rev=context.nonce(),
            )
            if isinstance(decided, FireFirst):
                standing = windows.joined(wish.namespace, wish.run_id)
                if standing is None and before is not None and self._fire(before):
                    continue
            else:
                forget_at = decided.window.remembered_until(context.settings.retention_seconds)
                standing = windows.join(before, decided.window, wish, decided.place, forget_at=forget_at)
                if standing is not None and standing.rev == decided.window.rev:
                    return self._taken(before, decided)
            if standing is not None:
                return self._as_before(wish.namespace, standing.window_id)
            context.stand_back(round_)
        raise Unavailable("the window changes faster than it can be joined")

    def joined(self, namespace: str, run_id: str) -> Joined | None:
        """What became of an input that may have joined: by a publisher who died before he could record it.
        ``run_id`` is that of the run it would have of its own. Raises StartedAlone."""
        standing = self._context.windows.joined(namespace, run_id)
        return None if standing is None else self._as_before(namespace, standing.window_id)

    def fire(self, key: str) -> Tended:
        """Fire the window whose header a due entry names, if it is over; else put it off to when it is.

        Raises Unavailable.
        """
        context = self._context
        for round_ in range(ROUNDS):
            window = context.windows.at(key)
            if window is None:
                return Tended.STALE
            decided = decide_fire(window, now=context.clock.now(), rev=context.nonce())
            if decided is None:
                return Tended.STALE
            if isinstance(decided, Fire):
                if self._fire(window):
                    return Tended.FIRED
            elif context.windows.put_off(window, decided.window):
                self._hint(decided.window)
                return Tended.PUT_OFF
            context.stand_back(round_)
        raise Unavailable("the window changes faster than it can be fired")

    def clear(self, key: str) -> None:
        """Remove the payloads of the fired window whose reminder a due entry names."""
        self._context.windows.clear(key)

    def state_of(self, namespace: str, run_id: str) -> Standing:
        """Whether a window still waits to become ``run_id``: one that is fired stays so, also once its run is
        gone.

        Payloads may outlive a firing for a while, so the run is looked for first. One that is fired between
        the two looks may be told as buffered, which keeps what it came from a little longer.
        """
        context = self._context
        if context.runs.get(namespace, run_id) is not None:
            return Standing.FIRED
        return Standing.BUFFERED if context.windows.keeps(namespace, run_id) else Standing.FIRED

    def _as_before(self, namespace: str, window_id: str) -> Joined:
        """The answer to an input that had joined."""
        run_id = id_from_window(namespace, window_id)
        return Joined(window_id, run_id, self.state_of(namespace, run_id) is Standing.FIRED)

    def _taken(self, before: Window | None, join: Join) -> Joined:
        """What follows a join: what it filled is fired, and who looks at windows in time is told when."""
        window, fired = join.window, False
        if join.full:
            try:
                fired = self._fire(window)
            except TryAgain as trouble:  # the input is in, and the window due: the sweep fires it
                logger.warning(
                    "a full window was left to the sweep",
                    namespace=window.namespace,
                    run=window.run_id,
                    reason=trouble.detail,
                )
        if not fired and (before is None or window.due_at < before.due_at):
            self._hint(window)
        return Joined(window.id, window.run_id, fired)

    def _fire(self, window: Window) -> bool:
        """Whether the window has become its run, by this or by anyone; not when an input joined it meanwhile,
        or it is gone already."""
        context = self._context
        payloads = context.windows.payloads(window)
        if payloads is None:
            return False
        now = context.clock.now()
        born = bear_handed(hand_off(window, payloads), birth=context.birth(), rev=context.nonce(), now=now)
        creation = Creation(run=born.run, first_item=first_item(context, born))
        return context.windows.fire(window, context.runs.creation_writes(creation), now=now)

    def _hint(self, window: Window) -> None:
        key = header_key(window.namespace, window.subscriber, window.key_mark)
        self._context.timers.hint((key, OPEN), window.due_at)
