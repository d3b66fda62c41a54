"""One attempt of one claimed run: read what is recorded, call the function, and tell the service how it
ended."""

from __future__ import annotations

from baton_sdk.client import Client
from baton_sdk.errors import BatonError, Fault, InvalidRequest, NotFound, TryAgain
from baton_sdk.run import Run
from baton_sdk.worker.context import Context
from baton_sdk.worker.endings import (
    Completed,
    Continued,
    Ending,
    Failed,
    GivenBack,
    LeaseGone,
    Suspended,
    TryAgainLater,
    ending_of,
)
from baton_sdk.worker.errors import Unwinding
from baton_sdk.worker.failures import told
from baton_sdk.worker.journal import Journal
from baton_sdk.worker.keeper import Keeper, held_until
from baton_sdk.worker.recorder import Recorder, as_json
from baton_sdk.worker.report import report_claimed, report_ended
from baton_sdk.worker.standing import NOT_OURS, Standing
from baton_sdk.worker.telling import request_of
from baton_sdk.worker.terms import Terms
from baton_sdk.worker.tracing import attempt_span
from baton_sdk.worker.workflows import WorkflowFunction
from baton_sdk.writer import Writer

ERROR = "error"
"""The type of the log entry that tells of an attempt that failed and is tried again."""
_ABANDONED = GivenBack("the worker stops")


class Execution:
    """``perform`` does it all, in the thread that calls it; ``drain`` and ``abandon`` are for other threads.

    ``since``: a moment of the clock's monotonic time at which the claim had not been made yet.
    """

    def __init__(
        self, client: Client, run: Run, function: WorkflowFunction, terms: Terms, *, since: float
    ) -> None:
        self.run = run
        self._client = client
        self._function = function
        self._terms = terms
        self._begun_at = since
        self._context: Context | None = None
        self._writer: Writer | None = None
        self._interrupt: KeyboardInterrupt | None = None
        self._standing = Standing(
            terms.clock,
            held_until(since, terms.lease_seconds),
            report=self._report_loss,
            stop=self._stop_writing,
        )
        if run.cancel_requested is not None:
            self._standing.cancel(run.cancel_requested)
        self._keeper = Keeper(
            client,
            run,
            self._standing,
            worker_id=terms.worker_id,
            lease_seconds=terms.lease_seconds,
            clock=terms.clock,
            since=since,
        )

    def perform(self) -> Ending:
        """Perform the attempt and tell its ending: the one that the service took. Raises nothing but a
        KeyboardInterrupt that came meanwhile, once the run is given back."""
        self._begun_at = self._terms.clock.monotonic()
        report_claimed(self._terms.logger, self.run)
        self._keeper.start()
        try:
            ending = self._concluded(self._performed())
        finally:
            self._keeper.stop()
        if self._interrupt is not None:
            raise self._interrupt
        return ending

    def drain(self) -> None:
        """Let the function end at its next call; the run is given back then."""
        self._standing.drain()

    def abandon(self) -> bool:
        """Give the run back while its function goes on: nothing it does counts any more. False when it is
        over already, or its own thread is telling how it ended."""
        self._standing.drain()
        if not self._standing.conclude():
            return False
        if self._context is not None:
            self._context.end()
        self._stop_writing()
        self._report(self._told(_ABANDONED))
        self._keeper.stop()
        return True

    def _concluded(self, ending: Ending) -> Ending:
        if self._standing.conclude():
            ending = self._told(ending)
        elif self._standing.lost is not None:
            ending = LeaseGone(self._standing.lost)
        else:
            return _ABANDONED  # and reported, by who did it
        self._report(ending)
        return ending

    def _report(self, ending: Ending) -> None:
        seconds = self._terms.clock.monotonic() - self._begun_at
        report_ended(self._terms.logger, self.run, ending, seconds)

    def _performed(self) -> Ending:
        try:
            journal = self._journal()
            self._standing.check()
        except (Unwinding, BatonError) as error:
            outage = isinstance(error, TryAgain)
            return GivenBack(str(error)) if outage else ending_of(error, cancelling=False)
        writer = self._writer = self._client.writer(
            self.run.id, attempt=self.run.attempt, retry=self._terms.patience, on_failure=self._log_refused
        )
        recorder = Recorder(journal, writer, self._standing)
        context = self._context = Context(
            self.run,
            client=self._client,
            writer=writer,
            recorder=recorder,
            standing=self._standing,
            patience=self._terms.patience,
            clock=self._terms.clock,
            logger=self._terms.logger,
        )
        ending = self._called(context, recorder)
        context.end()
        return self._logged(writer, ending)

    def _journal(self) -> Journal:
        if self.run.attempt == 1:
            return Journal()  # every claim but a run's first is an attempt of its own
        return self._standing.outlast(
            self._terms.patience, lambda: Journal.read(self._client.stream(self.run.id))
        )

    def _called(self, context: Context, recorder: Recorder) -> Ending:
        try:
            with attempt_span(self.run):
                try:
                    output = self._function(context, self.run)
                except Exception:
                    recorder.check_not_leaving()
                    raise
                recorder.ended()
                return Completed(as_json(output, f"the output of {self._function.name}"))
        except BaseException as error:  # noqa: BLE001 - the edge of the user's code
            if isinstance(error, KeyboardInterrupt):
                self._interrupt = error
            return ending_of(error, cancelling=self._standing.cancel_requested is not None)

    def _logged(self, writer: Writer, ending: Ending) -> Ending:
        """The ending once all that the function said is in the log; another one where it can't be."""
        try:
            if isinstance(ending, TryAgainLater):
                writer.emit(ERROR, ending.error)
            writer.flush()
        except BatonError as error:
            self._log_refused(error)
            writer.abort()  # not closed: that would wait for a request that hangs
            return TryAgainLater(error=told(error))
        writer.close()
        return ending

    def _log_refused(self, error: BatonError) -> None:
        """The writer has stopped: where the run is not ours, everything has."""
        if isinstance(error, NOT_OURS):
            self._standing.lose(f"its log is closed to us: {error}")

    def _report_loss(self, reason: str) -> None:
        self._terms.logger.warning(
            "run %s: attempt %d is lost, what it does counts no more: %s",
            self.run.id,
            self.run.attempt,
            reason,
        )

    def _stop_writing(self) -> None:
        if self._writer is not None:
            self._writer.abort()

    def _told(self, ending: Ending) -> Ending:
        """Tell the service, over outages: what came of it. Refused once, it is reported and not repeated.

        An answer that says nothing (a proxy's page, a fault of the service's) is no refusal: that it was
        taken is as likely, and asked again the service knows.
        """
        retrying = self._terms.last_patience.retrying(lambda error: isinstance(error, TryAgain | Fault))
        try:
            retrying(request_of(ending, self._client, self.run, self._terms.worker_id, self._tail))
        except (InvalidRequest, NotFound) as refusal:
            if isinstance(ending, Completed | Continued | Suspended):
                return self._told(Failed(error=told(refusal)))
            return self._refused(ending, refusal)
        except BatonError as refusal:
            return self._refused(ending, refusal)
        return ending

    @property
    def _tail(self) -> str | None:
        return self._writer.tail if self._writer is not None else None

    def _refused(self, ending: Ending, refusal: BatonError) -> Ending:
        self._terms.logger.warning(
            "run %s: that attempt %d is %s was not taken: %s",
            self.run.id,
            self.run.attempt,
            type(ending).__name__,
            refusal,
        )
        return LeaseGone(str(refusal))
