"""Appending to a run's log: one conditional put, and no read while the log's end is remembered."""

from __future__ import annotations

import msgspec

from baton.domain.log import (
    Accept,
    Duplicate,
    Entry,
    Header,
    Producer,
    Tail,
    WaitOut,
    check_batch,
    decide_append,
    pack,
)
from baton.domain.run import Run
from baton.domain.states import Command, State, cell
from baton.errors import BatonError, Conflict, Unavailable
from baton.services.context import Context
from baton.services.lookup import Lookup
from baton.store.log import LogItem

ROUNDS = 60
WAIT_OUT_SECONDS = 0.2


class Append(msgspec.Struct, frozen=True, kw_only=True):
    """A batch for a log. ``attempt`` is the driver's fence; ``echo`` the tail that an earlier answer gave
    it."""

    namespace: str
    run_id: str
    entries: list[Entry]
    attempt: int | None = None
    producer: Producer | None = None
    stream_seq: str | None = None
    echo: Tail | None = None


class Appended(msgspec.Struct, frozen=True):
    """The log's end now, and whether it had this batch before. ``producer_seq`` is the highest it took of the
    producer's epoch; ``open``: the log takes more."""

    tail: Tail
    duplicate: bool = False
    producer_seq: int | None = None
    open: bool = True


class Appends:
    """Where drivers speak."""

    def __init__(self, context: Context, lookup: Lookup) -> None:
        self._context = context
        self._lookup = lookup

    def append(self, command: Append) -> Appended:
        """Put the batch into the log's next slot: it is durable, whole and in order when this returns.

        A remembered end is only ever acted on by the put that proves it; a refusal or a duplicate is looked
        up first. Raises PayloadTooLarge, InvalidRequest, NotFound, LeaseLost, RunTerminal, StreamConflict
        (also SequenceGap), ProducerFenced, and Unavailable when others keep taking the slot.
        """
        check_batch(command.entries)
        body = pack(command.entries)
        nonce = self._context.nonce()
        tail, seen = self._lookup.recall(command.namespace, command.run_id, command.echo), None
        for round_ in range(ROUNDS):
            run: Run | None = None
            if tail is None:
                run, tail, _ = self._lookup.sight(command.namespace, command.run_id)
                seen = self._lookup.same_life(seen, run)
            decision = self._decide(command, tail, run)
            if isinstance(decision, Duplicate):
                running = run is not None and run.state is State.RUNNING
                return Appended(tail, True, decision.seq if command.producer else None, running)
            if isinstance(decision, Accept):
                appended = self._put(command, tail, decision.header, body, nonce)
                if appended is not None:
                    return appended
                self._context.stand_back(round_)
            if isinstance(decision, WaitOut):
                self._context.clock.sleep(WAIT_OUT_SECONDS)
            self._lookup.forget(command.namespace, command.run_id)
            tail = None
        raise Unavailable("too many others append to this run at once")

    def _decide(self, command: Append, tail: Tail, run: Run | None) -> Accept | Duplicate | WaitOut | None:
        """The log's word, and the row's where it was read; None: memory alone does not answer this."""
        try:
            decision = decide_append(
                tail,
                attempt=command.attempt,
                producer=command.producer,
                stream_seq=command.stream_seq,
                now=self._context.clock.now(),
            )
        except BatonError as refused:
            if run is None:
                return None
            refused.run = refused.run or run
            raise
        if run is None:
            return decision if isinstance(decision, Accept) else None
        if isinstance(decision, Accept):
            _check_open(run, tail)
        return decision

    def _put(self, command: Append, tail: Tail, header: Header, body: bytes, nonce: str) -> Appended | None:
        context, now = self._context, self._context.clock.now()
        item = LogItem(
            birth=tail.birth,
            slot=tail.next,
            count=len(command.entries),
            header=header,
            ts=now,
            nonce=nonce,
            body=body,
        )
        if not context.log.append(context.log.put(command.namespace, command.run_id, item)):
            return None
        after = tail.after(item.count, header, now)
        self._lookup.remember(command.namespace, command.run_id, after)
        return Appended(after, False, command.producer.seq if command.producer else None)


def _check_open(run: Run, tail: Tail) -> None:
    """Raise unless the run's state takes appends. A terminal run's log is closed, and was refused by its
    header."""
    refusal: type[Conflict] | None = cell(Command.APPEND, run.state).error
    if refusal is not None:
        raise refusal(
            f"the run is {run.state.value}: its log takes nothing now",
            run=run,
            headers={"Stream-Next-Offset": str(tail.offset)},
        )
