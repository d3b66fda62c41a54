"""One run id as the contract tells its life, kept beside the real one: what each request must be answered."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Answer = tuple[int, str]
"""A status and, of a problem, its slug."""

TERMINAL = {"completed", "failed", "cancelled"}
OK = (200, "")


@dataclass
class Life:
    """A run between its start and its deletion."""

    key: str | None
    body: Any
    mode: str
    state: str
    attempt: int = 1
    log: list[tuple[str, int, Any]] = field(default_factory=list)
    output: Any = None
    error: Any = None
    resumable: bool = False
    finish_key: str | None = None
    finish_body: Any = None
    cancel: tuple[str | None, Any] | None = None
    resume: tuple[str, bool] | None = None
    producers: dict[int, tuple[int, int]] = field(default_factory=dict)
    stream_seq: str | None = None

    @property
    def settled(self) -> bool:
        return self.state in TERMINAL

    def fence(self, attempt: int | None) -> Answer | None:
        """The refusal of a driver that names ``attempt``, if it is refused."""
        if attempt is None:
            return (400, "invalid-request") if self.attempt > 1 else None
        return None if attempt == self.attempt else (409, "lease-lost")

    def say(self, kind: str, data: Any) -> None:
        self.log.append((kind, self.attempt, data))

    def settle(self, state: str, *, output: Any = None, error: Any = None, resumable: bool = False) -> None:
        self.state, self.output, self.error, self.resumable = state, output, error, resumable
        said = {"status": state, "output": output, "error": error, "code": None, "signal": None}
        self.say("end", said | {"resumable": resumable, "session_ref": None})


class Model:
    """What may stand at the id."""

    def __init__(self) -> None:
        self.life: Life | None = None

    def start(self, key: str | None, body: dict[str, Any]) -> tuple[Answer, bool]:
        """The answer, and whether it made the run."""
        life = self.life
        if life is not None and key is not None and key == life.key:
            return (OK, False) if body == life.body else ((422, "idempotency-mismatch"), False)
        if life is not None:
            return (409, "run-exists"), False
        mode = body.get("mode", "attached")
        self.life = Life(key, body, mode, "running" if mode == "attached" else "pending")
        start = {"workflow": "w", "input": body["input"], "context_ref": None, "agent_id": None}
        self.life.say("start", start)
        return (201, ""), True

    def append(
        self,
        data: Any,
        attempt: int | None,
        producer: tuple[int, int] | None,
        stream_seq: str | None,
    ) -> set[Answer]:
        """Any of these answers is right."""
        life = self.life
        if life is None:
            return {(404, "not-found")}
        if attempt is None and life.attempt > 1:
            return {(400, "invalid-request")}
        known = life.producers.get(attempt or life.attempt)
        if producer and known and producer[0] == known[0] and producer[1] <= known[1]:
            return {(204, "")}
        refused = life.fence(attempt)
        if refused:
            return {refused}
        if life.settled:
            return {(409, "run-terminal")}
        wrong = self._producer(known, producer)
        if stream_seq is not None and life.stream_seq is not None and stream_seq <= life.stream_seq:
            wrong.add((409, "stream-conflict"))
        if life.state == "pending":
            wrong.add((409, "stream-conflict"))
        if wrong:
            return wrong
        life.stream_seq = stream_seq or life.stream_seq
        if producer:
            life.producers[life.attempt] = producer
        life.say("x", data)
        return {(200 if producer else 204, "")}

    @staticmethod
    def _producer(known: tuple[int, int] | None, producer: tuple[int, int] | None) -> set[Answer]:
        if producer is None:
            return set()
        epoch, seq = producer
        if known is None or epoch == known[0]:
            expected = known[1] + 1 if known else 0
            return set() if seq == expected else {(409, "stream-conflict")}
        if epoch < known[0]:
            return {(403, "forbidden")}
        return {(400, "invalid-request")} if seq else set()

    def finish(self, key: str | None, attempt: int | None, body: dict[str, Any]) -> tuple[Answer, bool]:
        """The answer, and what it says of ``finished``."""
        life = self.life
        if life is None:
            return (404, "not-found"), False
        refused = life.fence(attempt)
        if refused:
            return refused, False
        if not life.settled:
            if life.state == "pending" and attempt is None:
                return (409, "in-flight"), False
            life.finish_key, life.finish_body = key, body
            life.settle(
                body["status"],
                output=body.get("output"),
                error=body.get("error"),
                resumable=body.get("resumable", False),
            )
            return OK, True
        if key is not None and key == life.finish_key:
            return (OK, True) if body == life.finish_body else ((422, "idempotency-mismatch"), False)
        keyless = key is None and life.finish_key is None and attempt is not None
        return OK, keyless and body == life.finish_body

    def cancel(self, key: str | None, body: dict[str, Any]) -> Answer:
        life = self.life
        if life is None:
            return 404, "not-found"
        if life.cancel and key is not None and key == life.cancel[0] and body != life.cancel[1]:
            return 422, "idempotency-mismatch"
        if life.settled:
            return OK
        first = life.cancel is None
        if life.cancel is None:
            life.cancel = (key, body)
        reason = life.cancel[1].get("reason")
        if body.get("force") or life.state == "pending":
            life.finish_key = life.finish_body = None
            life.settle("cancelled", error={"message": reason or "cancelled", "type": "cancelled"})
        elif first:
            life.say("cancel", {"reason": reason, "force": False})
        return OK

    def resume(self, key: str | None, force: bool) -> tuple[Answer, bool]:
        """The answer, and what it says of ``resumed``."""
        life = self.life
        if life is None:
            return (404, "not-found"), False
        if life.resume and key == life.resume[0]:
            return (OK, True) if force == life.resume[1] else ((422, "idempotency-mismatch"), False)
        if not life.settled or not (life.resumable or (force and life.state != "completed")):
            return OK, False
        life.attempt += 1
        life.state = "running" if life.mode == "attached" else "pending"
        life.cancel, life.output, life.error, life.resumable = None, None, None, False
        life.finish_key = life.finish_body = None
        life.resume = None if key is None else (key, force)
        life.say("resumed", {"attempt": life.attempt})
        return OK, True

    def delete(self) -> Answer:
        life = self.life
        if life is None:
            return 404, "not-found"
        if not life.settled:
            return 409, "in-flight"
        self.life = None
        return 204, ""
