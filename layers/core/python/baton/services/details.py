"""A run with what stands in its log: its payloads and its tail."""

from __future__ import annotations

from collections.abc import Sequence

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
    """A run as answers show it. Payloads are canonical JSON; in lists input, output and ``next_offset`` are
    None."""

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


class InputReader:
    """Reads a run's input once, and keeps it for the answer."""

    def __init__(self, details: Details) -> None:
        self._details = details
        self.input: bytes | None = None

    def __call__(self, run: Run) -> None:
        if self.input is None:
            self.input = self._details.input_of(run)


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
        return self.of(run, newest)

    def after(
        self, run: Run, tail: Tail, *, input_: bytes | None = None, outcome: Outcome | None = None
    ) -> RunDetail:
        """The run as this request left it, from what the request knows already."""
        detail = RunDetail(run=run, next_offset=tail.offset)
        if outcome is not None:
            input_ = self.input_of(run) if input_ is None else input_
            error = None if outcome.error is None else msgspec.json.encode(outcome.error)
            return msgspec.structs.replace(detail, input=input_, output=outcome.output, error=error)
        return self._with_payloads(detail, input_=input_)

    def listed(self, namespace: str, runs: Sequence[Run]) -> list[RunDetail]:
        """Up to 100 runs as lists show them: with their errors, which stand in the logs, read at once."""
        erred = [(run.id, run.birth, run.ending.seq) for run in runs if run.ending and run.ending.error]
        ends = self._context.log.get_many(namespace, erred)
        return [RunDetail(run=run, error=self._error(run, ends.get(run.id))) for run in runs]

    def input_of(self, run: Run, newest: LogItem | None = None) -> bytes:
        """The run's input, from its row or from the log's item 0, which may be at hand."""
        if run.input is not None:
            return run.input
        return bytes(_start_data.decode(unpack(self._item(run, 0, newest).body)[0].data).input)

    def ending(self, run: Run, ending: Ending) -> tuple[bytes, bytes | None]:
        """Output and error of an attempt that ended, from the log. Raises NotFound."""
        end = self._end(run, ending, None)
        return bytes(end.output), _unless_null(end.error)

    def of(self, run: Run, newest: LogItem | None) -> RunDetail:
        """The run, given the newest item that stands in its id's log. Raises NotFound."""
        if newest is not None and newest.birth != run.birth:
            newest = self._context.log.newest_of(run.namespace, run.id, run.birth, consistent=True)
        if run.ending is not None:
            next_ = run.ending.seq + 1
        else:
            next_ = 1 if newest is None else newest.slot + newest.count
            mine = self._lookup.recall(run.namespace, run.id, None)
            if mine is not None and mine.birth == run.birth:
                next_ = max(next_, mine.next)
        return self._with_payloads(RunDetail(run=run, next_offset=Offset(next_)), newest)

    def _with_payloads(
        self, detail: RunDetail, newest: LogItem | None = None, *, input_: bytes | None = None
    ) -> RunDetail:
        """What the row does not hold: two items of the log at the most, read at once."""
        run, ending = detail.run, detail.run.ending

        def load_input() -> bytes:
            return self.input_of(run, newest) if input_ is None else input_

        if ending is None:
            return msgspec.structs.replace(detail, input=load_input())
        if run.input is None and input_ is None:
            said, end = self._context.dynamo.together(load_input, lambda: self._end(run, ending, newest))
        else:
            said, end = load_input(), self._end(run, ending, newest)
        return msgspec.structs.replace(
            detail, input=said, output=bytes(end.output), error=_unless_null(end.error)
        )

    def _error(self, run: Run, end: LogItem | None) -> bytes | None:
        if run.ending is None or not run.ending.error:
            return None
        try:
            return bytes(self._end(run, run.ending, end).error)
        except NotFound:
            return None  # deleted while the list was made

    def _end(self, run: Run, ending: Ending, newest: LogItem | None) -> _EndData:
        return _end_data.decode(unpack(self._item(run, ending.seq, newest).body)[-1].data)

    def _item(self, run: Run, slot: int, newest: LogItem | None) -> LogItem:
        if newest is not None and newest.slot == slot:
            return newest
        item = self._context.log.get(run.namespace, run.id, run.birth, slot)
        if item is None:
            raise NotFound(f"run {run.id!r} is gone")
        return item


def _unless_null(raw: msgspec.Raw) -> bytes | None:
    return None if bytes(raw) == NULL else bytes(raw)
