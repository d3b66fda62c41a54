"""The calls of handing off: deliver again, publish an event, wait for one, see what is owed."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from baton_sdk.calls import Calls, json_object, path_of, present, rfc3339, run_path
from baton_sdk.errors import InvalidRequest
from baton_sdk.handoff import Published, Republished, Stats
from baton_sdk.run import Run

REPUBLISH_READ_SECONDS = 60.0
"""A republish works for as long as a request may take before it hands back a token."""
RUNS_PER_CALL = 25
"""How far one call of ``republish_all`` goes: small enough that whoever waits sees it move."""


class HandoffCalls(Calls):
    """What follows a run's settling, and what a run waits for."""

    def republish_run(self, run_id: str, *, subscriber: str | None = None) -> Republished:
        """Deliver the run's ending again: to all who subscribe to it, or to one. What is started already is
        ``existing``, never started twice."""
        return self._republish(f"{run_path(run_id)}/republish", {"subscriber": subscriber})

    def republish(
        self,
        workflow: str,
        *,
        ending: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        limit: int | None = None,
        subscriber: str | None = None,
        dry_run: bool = False,
        next_token: str | None = None,
    ) -> Republished:
        """One call of a republish over a workflow's settled runs: ``next_token`` in the answer goes on.

        ``ending`` is ``completed`` or ``failed``; ``since`` and ``until`` are settle times; ``limit`` (1 to
        1000) is this call's; ``dry_run`` counts and changes nothing.
        """
        fields = {
            "workflow": workflow,
            "ending": ending,
            "since": rfc3339(since),
            "until": rfc3339(until),
            "limit": limit,
            "subscriber": subscriber,
            "dry_run": dry_run or None,
            "next_token": next_token,
        }
        return self._republish("/v1/republish", fields)

    def republish_all(
        self,
        workflow: str,
        *,
        ending: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        limit: int | None = None,
        subscriber: str | None = None,
        dry_run: bool = False,
        runs_per_call: int = RUNS_PER_CALL,
    ) -> Iterator[Republished]:
        """A republish to its end, call after call: yields what each came to (add them with ``plus``).

        ``limit`` is of all calls together. Stopped midway it can be begun anew: nothing is started twice.
        """
        token: str | None = None
        left = limit
        while left is None or left > 0:
            answer = self.republish(
                workflow,
                ending=ending,
                since=since,
                until=until,
                limit=runs_per_call if left is None else min(runs_per_call, left),
                subscriber=subscriber,
                dry_run=dry_run,
                next_token=token,
            )
            yield answer
            token = answer.next_token
            if token is None:
                return
            left = None if left is None else left - answer.runs

    def publish_event(self, name: str, payload: Any = None, *, id: str | None = None) -> Published:
        """Publish an event of your own: start its subscribers, wake the runs that wait for it.

        The same ``id`` again starts nothing new and answers the same; one is made up where none is given, so
        that a lost reply is repeated.
        """
        path = path_of("events", name, "an event's name")
        fields = {"payload": payload, "id": id or str(uuid.uuid4())}
        return Published.from_json(json_object(self._post(path, fields, repeatable=True)))

    def suspend(
        self,
        run_id: str,
        *,
        until: datetime | str | None = None,
        run: str | None = None,
        event: str | None = None,
        attempt: int | None = None,
        idempotency_key: str | None = None,
    ) -> Run:
        """Let a running run wait for exactly one of: a time, another run's settling, an event.

        Its driver may go: a woken attached run is ``running`` again, a queued one ``pending``. ``attempt`` is
        the driver's fence. Always sent with a key, so a lost reply is repeated.
        """
        fields = {"until": rfc3339(until), "run": run, "event": event}
        if len(present(fields)) != 1:
            raise InvalidRequest("a run waits for one thing: give until, run or event")
        headers = {
            "idempotency-key": idempotency_key or str(uuid.uuid4()),
            "baton-attempt": None if attempt is None else str(attempt),
        }
        response = self._post(
            f"{run_path(run_id)}/suspend", fields, headers=present(headers), repeatable=True
        )
        return Run.from_json(json_object(response).get("run"))

    def stats(self) -> Stats:
        """What is owed, for how long and why, and how much is due."""
        return Stats.from_json(json_object(self._get("/v1/stats")))

    def _republish(self, path: str, fields: Mapping[str, Any]) -> Republished:
        # Repeatable: a subscriber's run has an id derived from the ending, and is found by it.
        response = self._post(path, fields, repeatable=True, read_timeout=REPUBLISH_READ_SECONDS)
        return Republished.from_json(json_object(response))
