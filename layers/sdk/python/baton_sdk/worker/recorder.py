"""The order of a function's calls: each takes the next position, finds there what was recorded, or is
performed and recorded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from baton_sdk import payload
from baton_sdk.errors import BatonError, InvalidRequest
from baton_sdk.worker import failures
from baton_sdk.worker.errors import CodeChanged, InvalidResult, Misuse, Unwinding
from baton_sdk.worker.journal import CHECKPOINT, Journal, Record
from baton_sdk.worker.standing import NOT_OURS, Standing
from baton_sdk.writer import Writer


class Recorder:
    """One attempt's way through the journal. For the function's own thread only, but for what it says about
    itself."""

    def __init__(self, journal: Journal, writer: Writer, standing: Standing) -> None:
        self._journal = journal
        self._writer = writer
        self._standing = standing
        self._position = 0
        self._inside: str | None = None
        self._failed: Call | None = None
        self._leaving: CodeChanged | Unwinding | KeyboardInterrupt | None = None
        self.heeding = False
        """Whether the function knows that its run is to be cancelled."""

    @property
    def replaying(self) -> bool:
        """Whether what happens now is in the log already."""
        return self._position < self._journal.end

    @contextmanager
    def call(self, kind: str, name: str | None = None) -> Iterator[Call]:
        """One call of the context. Raises CodeChanged where another was recorded, what it failed with where
        it failed, Misuse inside of a step, Lost and Draining; and what the function is being left with, if it
        goes on all the same: what it does while it is left (in a ``finally``, say) it would not do at this
        position when it is called again.

        A failure is recorded only once the function goes on in spite of it: one that ends the attempt is
        tried again in the next.
        """
        self.check_outside(kind)
        self.check_not_leaving()
        self._record_failed()
        position = self._position
        try:
            record = self._journal.at(position, kind, name)
        except CodeChanged as changed:
            self._leaving = changed
            raise
        self._position += 1
        call = Call(self, position, kind, name, record)
        if record is not None and "error" in record.data:
            raise failures.revived(record.data["error"])
        self._inside = call.spoken
        try:
            yield call
        except (CodeChanged, Unwinding, KeyboardInterrupt) as leaving:
            self._leaving = leaving
            raise
        except BaseException as error:  # SystemExit and its like: a function may go on after these, too
            call.error = error
            self._failed = call
            raise
        finally:
            self._inside = None

    def check_outside(self, kind: str) -> None:
        """Raise Misuse inside of another call."""
        if self._inside is not None:
            raise Misuse(f"{kind} inside of {self._inside}: a step is performed whole, or not at all")

    def leave(self, unwinding: Unwinding) -> NoReturn:
        """Have the function left with this, also where it keeps that back and returns."""
        self._leaving = unwinding
        raise unwinding

    def check_not_leaving(self) -> None:
        """Raise again what the function is being left with, if it goes on all the same."""
        if self._leaving is not None:
            raise self._leaving

    def ended(self) -> None:
        """The function has returned. Raises CodeChanged unless it asked for all that is recorded, and what it
        was being left with and kept back."""
        self.check_not_leaving()
        self._journal.check_ended(self._position)

    def write(self, call: Call, own: dict[str, Any]) -> dict[str, Any]:
        """Have a call in the log, and return what is recorded of it, as a replay would find it. Raises
        InvalidResult for what the log can't keep, and Lost."""
        data: dict[str, Any] = {"position": call.position, "kind": call.kind, "name": call.name, **own}
        if self.heeding:
            data["cancelled"] = True
        found: dict[str, Any] = as_json(data, f"the result of {call.spoken}")
        with self.sending():
            self._writer.emit(CHECKPOINT, data)
            self._writer.flush()
        return found

    @contextmanager
    def sending(self) -> Iterator[None]:
        """Around what is written into the log: raises Lost where it is not ours to write any more."""
        try:
            yield
        except BatonError as error:
            if self._writer.failure is not None:
                if isinstance(error, NOT_OURS):
                    self._standing.lose(f"the log is closed to it: {error}")
                self._standing.check()
            raise

    def _record_failed(self) -> None:
        failed, self._failed = self._failed, None
        if failed is not None and failed.error is not None:
            self.write(failed, {"error": failures.kept(failed.error)})


class Call:
    """One call at its position. ``record`` is what the log has of it already."""

    def __init__(
        self, recorder: Recorder, position: int, kind: str, name: str | None, record: Record | None
    ) -> None:
        self.position = position
        self.kind = kind
        self.name = name
        self.record = record
        self.error: BaseException | None = None
        self._recorder = recorder

    @property
    def spoken(self) -> str:
        """The call, as messages name it."""
        return self.kind if self.name is None else f"{self.kind} {self.name!r}"

    def keep(self, **own: Any) -> dict[str, Any]:
        """Record it; see ``Recorder.write``."""
        return self._recorder.write(self, own)


def as_json(value: Any, what: str) -> Any:
    """The value as a log gives it back. Raises InvalidResult for one that a log can't keep."""
    try:
        encoded = payload.encode(value, what=what)
    except InvalidRequest as error:
        raise InvalidResult(str(error)) from error
    if len(encoded) > payload.MAX_BYTES:
        raise InvalidResult(f"{what} is too large: {len(encoded)} bytes of JSON, at most {payload.MAX_BYTES}")
    return payload.decode(encoded)
