"""What is logged while a test runs, held against what was sent and what is secret: neither may be in it."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from baton.domain.tokens import TEXT
from baton.observability import logger
from tests.functions.lambdas import Lambdas

PAYLOADS = frozenset({"input", "output", "data", "payload", "reason", "message", "stack", "description"})
"""The fields whose values are their senders' own."""

SHORTEST = 8
"""Characters that a text must have to be known again."""

LONGEST = 40
"""Characters by which a text is known: a line may be cut off."""

SECRETS = (TEXT, re.compile(r"(?i)bearer \S"), re.compile(r"(?i)authorization"), re.compile(r"AWS4-HMAC"))


class Watch(logging.Handler):
    """Keeps every line as it would be written, of any library and level; and what was sent meanwhile."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []
        self.sent: set[str] = set()
        self.keys: set[bytes] = set()
        self._plain = logging.Formatter("%(name)s %(message)s")

    def emit(self, record: logging.LogRecord) -> None:
        ours = record.name == logger.name
        self.lines.append((logger.registered_formatter if ours else self._plain).format(record))

    def note(self, body: Any) -> None:
        """Know the payloads of a request's body again."""
        self.sent.update(text[:LONGEST] for text in _payloads(_parsed(body)) if len(text) >= SHORTEST)

    def leaks(self) -> list[tuple[str, str]]:
        """What stands in a line and may not, with the line."""
        texts = self.sent | {json.dumps(text)[1:-1] for text in self.sent}
        texts |= {key.decode("latin-1") for key in self.keys if len(key) >= SHORTEST}
        found = [(text, line) for line in self.lines for text in texts if text in line]
        secret = [(each.pattern, line) for line in self.lines for each in SECRETS if each.search(line)]
        return found + secret


@contextmanager
def watching(level: int = logging.INFO) -> Iterator[Watch]:
    """Watch what is logged, and what `Lambdas` are sent. Loggers that have no level of their own log from
    ``level`` on, as where a deployment sets Lambda's own log level."""
    watch, root, event = Watch(), logging.getLogger(), Lambdas.event
    before = root.level

    def noting(self: Lambdas, method: str, path: str, body: Any = None, **more: Any) -> Any:
        watch.note(body)
        watch.keys.update(self.runtime.settings.signing_keys)
        return event(self, method, path, body, **more)

    root.addHandler(watch)
    root.setLevel(level)
    logging.getLogger("moto").setLevel(logging.INFO)  # it stands where DynamoDB does: nobody's log
    try:
        with patch.object(Lambdas, "event", noting):
            yield watch
    finally:
        root.setLevel(before)
        root.removeHandler(watch)


def _parsed(body: Any) -> Any:
    if not isinstance(body, bytes):
        return body
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _payloads(value: Any) -> Iterable[str]:
    """The texts within the fields that hold payloads: names of fields in there are payload too."""
    waiting = [(value, False)]
    while waiting:
        each, inside = waiting.pop()
        if isinstance(each, str) and inside:
            yield each
        elif isinstance(each, list):
            waiting += [(one, inside) for one in each]
        elif isinstance(each, dict):
            if inside:
                yield from each
            waiting += [(one, inside or name in PAYLOADS) for name, one in each.items()]
