"""The states of a run and what each command may do in each of them, as one table.

A cell is the first word on a command; guards that need more than the state (a fence, a lease, ``resumable``)
are the deciding function's and are named beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, StrEnum
from typing import NamedTuple

from baton.errors import Conflict, InFlight, LeaseLost, RunTerminal, StreamConflict


class State(StrEnum):
    """Where a run stands."""

    PENDING = "pending"
    RUNNING = "running"
    SUSPENDED = "suspended"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    DEAD = "dead"

    @property
    def terminal(self) -> bool:
        """Settled: nothing more is said in this attempt."""
        return self in TERMINAL


TERMINAL = frozenset({State.COMPLETED, State.FAILED, State.CANCELLED, State.DEAD})


class Mode(StrEnum):
    """Who drives: the caller that started it, or whoever claims it."""

    ATTACHED = "attached"
    QUEUED = "queued"


class Command(StrEnum):
    """Everything that may be asked of a run that exists."""

    APPEND = "append"
    FINISH = "finish"
    CANCEL = "cancel"
    FORCE_CANCEL = "force_cancel"
    SUSPEND = "suspend"
    WAKE = "wake"
    RESUME = "resume"
    FORCE_RESUME = "force_resume"
    CLAIM = "claim"
    RENEW = "renew"
    RELEASE = "release"
    EXPIRE_LEASE = "expire_lease"
    TIME_OUT = "time_out"
    DELETE = "delete"


class Verdict(Enum):
    """What a command does in a state, before its guards are asked."""

    ACT = "act"
    """It goes ahead, into one of the cell's states."""
    ANSWER = "answer"
    """Nothing changes; the present truth is the answer."""
    REFUSE = "refuse"
    """It is refused with the cell's error."""


class Cell(NamedTuple):
    """One entry of the table."""

    verdict: Verdict
    to: frozenset[State] = frozenset()
    error: type[Conflict] | None = None


def _act(*to: State) -> Cell:
    return Cell(Verdict.ACT, frozenset(to))


def _row(
    pending: Cell, running: Cell, suspended: Cell, completed: Cell, other_terminal: Cell
) -> Mapping[State, Cell]:
    return {
        State.PENDING: pending,
        State.RUNNING: running,
        State.SUSPENDED: suspended,
        State.COMPLETED: completed,
        State.FAILED: other_terminal,
        State.CANCELLED: other_terminal,
        State.DEAD: other_terminal,
    }


_ANSWER = Cell(Verdict.ANSWER)
_TERMINAL = Cell(Verdict.REFUSE, error=RunTerminal)
_IN_FLIGHT = Cell(Verdict.REFUSE, error=InFlight)
_NOBODYS = Cell(Verdict.REFUSE, error=LeaseLost)
_CLOSED_FOR_NOW = Cell(Verdict.REFUSE, error=StreamConflict)
_SETTLE = _act(State.COMPLETED, State.FAILED, State.CANCELLED)
_CANCEL = _act(State.CANCELLED)
_REOPEN = _act(State.RUNNING, State.PENDING)
_GONE = _act()

TRANSITIONS: Mapping[Command, Mapping[State, Cell]] = {
    # pending, running, suspended, completed, then failed = cancelled = dead
    Command.APPEND: _row(_CLOSED_FOR_NOW, _act(State.RUNNING), _CLOSED_FOR_NOW, _TERMINAL, _TERMINAL),
    # Guard: the fence. A terminal run answers what settled it.
    Command.FINISH: _row(_SETTLE, _SETTLE, _SETTLE, _ANSWER, _ANSWER),
    # Guard: a driven run only latches the intent and stays running.
    Command.CANCEL: _row(_CANCEL, _act(State.RUNNING, State.CANCELLED), _CANCEL, _ANSWER, _ANSWER),
    Command.FORCE_CANCEL: _row(_CANCEL, _CANCEL, _CANCEL, _ANSWER, _ANSWER),
    Command.SUSPEND: _row(_IN_FLIGHT, _act(State.SUSPENDED), _IN_FLIGHT, _TERMINAL, _TERMINAL),
    Command.WAKE: _row(_ANSWER, _ANSWER, _REOPEN, _ANSWER, _ANSWER),
    # Guard: resumable, and not continued as new. A completed run is never resumable.
    Command.RESUME: _row(_ANSWER, _ANSWER, _ANSWER, _ANSWER, _REOPEN),
    # Guard: not continued as new.
    Command.FORCE_RESUME: _row(_ANSWER, _ANSWER, _ANSWER, _ANSWER, _REOPEN),
    # Guard: available, unleased.
    Command.CLAIM: _row(_act(State.RUNNING), _IN_FLIGHT, _IN_FLIGHT, _TERMINAL, _TERMINAL),
    # Guard: the holder, under its attempt.
    Command.RENEW: _row(_NOBODYS, _act(State.RUNNING), _NOBODYS, _TERMINAL, _TERMINAL),
    # Guard: as above. A latched cancel settles it; its own repeat changes nothing.
    Command.RELEASE: _row(
        _NOBODYS, _act(State.PENDING, State.DEAD, State.CANCELLED), _NOBODYS, _TERMINAL, _TERMINAL
    ),
    # Guard: the lease has run out. A latched cancel settles it.
    Command.EXPIRE_LEASE: _row(
        _ANSWER, _act(State.PENDING, State.DEAD, State.CANCELLED), _ANSWER, _ANSWER, _ANSWER
    ),
    # Guard: nothing was heard within the inactivity timeout.
    Command.TIME_OUT: _row(_ANSWER, _act(State.FAILED), _ANSWER, _ANSWER, _ANSWER),
    # Guard: nothing owed, waited on or buffered.
    Command.DELETE: _row(_IN_FLIGHT, _IN_FLIGHT, _IN_FLIGHT, _GONE, _GONE),
}
"""Every command in every state. DELETE leads into no state: the run is gone."""


def cell(command: Command, state: State) -> Cell:
    """The table's word on ``command`` in ``state``; total over both."""
    return TRANSITIONS[command][state]
