"""A run with what stands in its log: its payloads and its tail."""

from __future__ import annotations

import msgspec

from baton.domain.log import Tail, unpack
from baton.domain.offset import Offset
from baton.domain.payload import NULL
from baton.domain.run import Ending, Run
from baton.domain.settling import Outcome
from baton.errors import NotFound
from baton.services.context import Context
from baton.services.lookup import Lookup
from baton.store.log import LogItem


class RunDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A run as answers show it. Payloads are canonical JSON; in lists they and ``next_offset`` are None."""

    run: Run
    input: bytes | None = None
    output: bytes | None = None
    error: bytes | None = None
    next_offset: Offset | None = None


class _StartData(msgspec.Struct):
    input: msgspec.Raw


class _EndData(msgspec.Struct):
    output: msgspec.Raw
    error: msgspec.Raw


_start_data = msgspec.json.Decoder(_StartData)
_end_data = msgspec.json.Decoder(_EndData)


class Details:
    """Puts a run together for an answer: one round trip, one more where payloads stand elsewhere in the
    log."""

    def __init__(self, context: Context, lookup: Lookup) -> None:
        self._context = context
        self._lookup = lookup

    def load(self, namespace: str, run_id: str) -> RunDetail:
        """The run now. The row is read consistently; a running run's tail may lag by the store's replication,
        though never behind what this container wrote. Raises NotFound."""
        context = self._context
        run, newest = context.dynamo.together(
            lambda: self._lookup.run(namespace, run_id),
            lambda: context.log.newest(namespace, run_id, consistent=False),
        )
        if newest is not None and newest.birth != run.birth:
            newest = context.log.newest_of(namespace, run_id, run.birth, consistent=True)
        return self._of(run, newest)

    def after(
        self, run: Run, tail: Tail, *, input_: bytes | None = None, outcome: Outcome | None = None
    ) -> RunDetail:
        """The run as this request left it, from what the request knows already."""
        detail = RunDetail(
            run=run,
            input=self.input_of(run) if input_ is None else input_,
            next_offset=tail.offset,
        )
        if outcome is not None:
            error = None if outcome.error is None else msgspec.json.encode(outcome.error)
            return msgspec.structs.replace(detail, output=outcome.output, error=error)
        return detail if run.ending is None else self._with_ending(detail, run.ending, None)

    def input_of(self, run: Run) -> bytes:
        """The run's input, from its row or from the log's item 0."""
        if run.input is not None:
            return run.input
        item = self._context.log.get(run.namespace, run.id, run.birth, 0)
        if item is None:
            raise NotFound(f"run {run.id!r} is gone")
        return _input(item)

    def _of(self, run: Run, newest: LogItem | None) -> RunDetail:
        at_hand = newest is not None and newest.slot == 0
        detail = RunDetail(run=run, input=_input(newest) if newest and at_hand else self.input_of(run))
        if run.ending is not None:
            detail = self._with_ending(detail, run.ending, newest)
            return msgspec.structs.replace(detail, next_offset=Offset(run.ending.seq + 1))
        seen = 1 if newest is None else newest.slot + newest.count
        mine = self._lookup.recall(run.namespace, run.id, None)
        if mine is not None and mine.birth == run.birth:
            seen = max(seen, mine.next)
        return msgspec.structs.replace(detail, next_offset=Offset(seen))

    def _with_ending(self, detail: RunDetail, ending: Ending, newest: LogItem | None) -> RunDetail:
        run, item = detail.run, newest
        if item is None or item.slot != ending.seq:
            item = self._context.log.get(run.namespace, run.id, run.birth, ending.seq)
        if item is None:
            raise NotFound(f"run {run.id!r} is gone")
        data = _end_data.decode(unpack(item.body)[-1].data)
        return msgspec.structs.replace(detail, output=bytes(data.output), error=_unless_null(data.error))


def _input(item: LogItem) -> bytes:
    return bytes(_start_data.decode(unpack(item.body)[0].data).input)


def _unless_null(raw: msgspec.Raw) -> bytes | None:
    return None if bytes(raw) == NULL else bytes(raw)
