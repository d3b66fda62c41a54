"""Cancel and resume: what others than the driver do to a run."""

from __future__ import annotations

from typing import NamedTuple

from baton.domain.controlling import Cancel, decide_cancel, decide_resume, resumed_by
from baton.domain.log import Tail
from baton.domain.run import Run, Step
from baton.domain.settling import Outcome
from baton.services.context import Context
from baton.services.details import Details, InputReader, RunDetail
from baton.services.lookup import Lookup
from baton.services.performing import Performer


class Resumed(NamedTuple):
    """The run, and whether this very request began its attempt."""

    detail: RunDetail
    resumed: bool


class Control:
    """Where runs are told to stop, and to go on."""

    def __init__(self, context: Context, lookup: Lookup, performer: Performer, details: Details) -> None:
        self._context = context
        self._lookup = lookup
        self._performer = performer
        self._details = details

    def cancel(self, namespace: str, run_id: str, command: Cancel) -> RunDetail:
        """Latch the intent on a driven run; settle one that nobody drives, or when forced; else answer the
        truth.

        Repeating it changes nothing. Raises NotFound and IdempotencyMismatch.
        """
        context = self._context

        def decide(run: Run, _tail: Tail) -> Step | Outcome | None:
            return decide_cancel(
                run,
                command,
                rev=context.nonce(),
                now=context.clock.now(),
                grace_seconds=context.settings.cancel_grace_seconds,
            )

        reader = InputReader(self._details)
        hint = self._lookup.recall(namespace, run_id, None)
        done = self._performer.perform(namespace, run_id, decide, hint=hint, beside=reader, settles=True)
        return self._details.after(done.run, done.tail, input_=reader.input, outcome=done.outcome)

    def resume(
        self, namespace: str, run_id: str, *, force: bool, key: str | None, by: str | None = None
    ) -> Resumed:
        """Begin the next attempt of a settled run that may be resumed; else answer the truth, ``resumed``
        False.

        Of two at once one wins. With ``key``, the digest of an idempotency key, a repeat after a lost reply
        learns that it won. ``by`` is who asks, where somebody is known: the log tells. Raises NotFound.
        """
        context = self._context

        def decide(run: Run, _tail: Tail) -> Step | None:
            rev, now = context.nonce(), context.clock.now()
            return decide_resume(run, force=force, key=key, rev=rev, now=now, by=by)

        reader = InputReader(self._details)
        done = self._performer.perform(namespace, run_id, decide, beside=reader)
        detail = self._details.after(done.run, done.tail, input_=reader.input)
        return Resumed(detail, done.changed or resumed_by(done.run, key, force=force))
