"""What an append says: the messages of its body, held to the protocol's JSON mode and to Baton's types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from baton.api import models, shapes
from baton.api.request import JSON, Request
from baton.api.response import Response
from baton.api.signing import Signatures
from baton.domain.log import Entry
from baton.domain.names import RESERVED_TYPES
from baton.domain.payload import canonical, parse
from baton.errors import Conflict, InvalidRequest, RunTerminal, StreamConflict
from baton.services.appends import Append, Appended

if TYPE_CHECKING:
    from baton.services.runtime import Runtime

_Messages = list[models.NewMessage]


def command(runtime: Runtime, request: Request, signatures: Signatures) -> Append:
    """POST /v1/runs/{id}/stream. Raises InvalidRequest, and NotFound where the path names no run; on another
    media type, what that meets in the run."""
    raw = request.raw()
    if (request.header("stream-closed") or "").strip().lower() == "true":
        raise InvalidRequest.at(["header", "Stream-Closed"], "a run's log is closed by finishing the run")
    if not raw:
        raise InvalidRequest.at(["body"], "an append needs at least one message")
    if request.media_type is None:
        raise InvalidRequest.at(["header", "Content-Type"], f"required: {JSON}")
    attempt, producer, stream_seq = request.attempt, request.producer, request.stream_seq
    if request.media_type != JSON:
        raise _wrong_media_type(runtime, request, attempt)
    entries = _entries(parse(raw))  # before the path is looked at: shape comes first
    return Append(
        namespace=request.namespace,
        run_id=request.run_id,
        entries=entries,
        attempt=attempt,
        producer=producer,
        stream_seq=stream_seq,
        echo=signatures.echoed(request.namespace, request.run_id, request.header("baton-tail")),
    )


def answer(command: Append, done: Appended, signatures: Signatures) -> Response:
    """200 for a producer's batch, 204 for any other and for a duplicate, whose log may take nothing now: the
    tail of such a one is not handed out."""
    headers = {"Stream-Next-Offset": str(done.tail.offset)}
    if done.tail.header.closed:
        headers["Stream-Closed"] = "true"
    if command.producer is not None:
        headers["Producer-Epoch"] = str(command.producer.epoch)
        headers["Producer-Seq"] = str(done.producer_seq)
    if done.open:
        headers |= signatures.tail(command.namespace, command.run_id, done.tail)
    return Response(status=200 if command.producer and not done.duplicate else 204, headers=headers)


def _wrong_media_type(runtime: Runtime, request: Request, attempt: int | None) -> Conflict:
    """That a log is closed is said before that it holds JSON (Source: Durable Streams protocol, 5.2), and
    that the fence is another's before that."""
    run, tail = runtime.streams.tail(request.namespace, request.run_id)
    run.check_fence(attempt)
    if tail.header.closed:
        headers = {"Stream-Closed": "true", "Stream-Next-Offset": str(tail.offset)}
        return RunTerminal("the run has settled; its log is closed", run=run, headers=headers)
    return StreamConflict(f"a run's log holds {JSON}")


def _entries(body: Any) -> list[Entry]:
    messages = (
        shapes.convert(body, _Messages)
        if isinstance(body, list)
        else [shapes.convert(body, models.NewMessage)]
    )
    for at, message in enumerate(messages):
        if message.type in RESERVED_TYPES:
            where: list[str | int] = ["body", at, "type"] if isinstance(body, list) else ["body", "type"]
            raise InvalidRequest.at(where, f"{message.type!r} is written by Baton alone")
    return [Entry(message.type, msgspec.Raw(canonical(message.data))) for message in messages]
