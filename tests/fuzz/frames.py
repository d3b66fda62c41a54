"""Server-sent events read as the standard says (WHATWG HTML, 9.2.6), byte by byte: no client's leniency."""

from __future__ import annotations

import re
from typing import NamedTuple

LINE_END = re.compile(rb"\r\n|\r|\n")


class Frame(NamedTuple):
    """One dispatched event."""

    event: str
    data: bytes
    id: str | None


def frames(stream: bytes) -> list[Frame]:
    """The events of a whole stream; an unfinished one at its end is dropped, as a browser does."""
    found: list[Frame] = []
    data: list[bytes] = []
    event, id_ = "message", None
    *lines, rest = LINE_END.split(stream)
    assert rest == b"", "the stream ends within a line"
    for line in lines:
        if not line:
            if data:
                found.append(Frame(event, b"\n".join(data), id_))
            event, data, id_ = "message", [], None
            continue
        name, colon, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"event":
                event = value.decode()
            case b"data":
                data.append(value)
            case b"id":
                id_ = value.decode()
            case b"retry":
                assert value.isdigit()
            case b"":
                assert colon, "an empty line is no comment"
            case _:
                raise AssertionError(f"no field of an event stream: {line!r}")
    return found
