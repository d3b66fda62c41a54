"""What a file may say of a workflow: the body of ``PUT /v1/workflows/{name}`` and its name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import jmespath
from jmespath.exceptions import JMESPathError, LexerError, ParseError
from msgspec import Meta, Struct

Steps = tuple[str | int, ...]
"""Where something stands in a document: names and indexes from its top."""
_NAME = r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}"
_OWN = r"(?!run\.)[A-Za-z0-9][A-Za-z0-9._:/-]{0,159}"
Name = Annotated[str, Meta(pattern=rf"^{_NAME}\Z")]
Event = Annotated[str, Meta(pattern=rf"^(run\.(completed|failed):{_NAME}|{_OWN})\Z")]

NO_MATCH = {
    "name": "a name is letters, digits and . _ : / - (at most 128), a letter or digit first",
    "event": "an event is run.completed:<workflow>, run.failed:<workflow>, or a name of your own: letters, "
    "digits and . _ : / - (at most 160), a letter or digit first",
}
"""What a text that does not match should have been, by its field."""


class Subscription(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """One event it is started by."""

    event: Event
    where: str | None = None
    input: str | None = None


class Batch(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """How its starts are put together."""

    mode: Literal["debounce", "batch"]
    window_seconds: Annotated[float, Meta(ge=1, le=86_400)]
    key: str | None = None
    max_size: Annotated[int, Meta(ge=1, le=1000)] | None = None
    max_wait_seconds: Annotated[float, Meta(ge=1, le=864_000)] | None = None


class Backoff(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """How long its runs wait after a failure."""

    base_seconds: Annotated[float, Meta(ge=0, le=86_400)] | None = None
    max_seconds: Annotated[float, Meta(ge=0, le=86_400)] | None = None


class Target(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Who performs its queued runs."""

    kind: Literal["worker", "lambda", "sqs", "eventbridge"]
    arn: str | None = None

    def __post_init__(self) -> None:
        if (self.kind == "worker") == (self.arn is not None):
            raise ValueError("a worker has no arn" if self.kind == "worker" else f"{self.kind} needs an arn")


class Workflow(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """One workflow. The service has the last word; what can't be right is told before it is asked."""

    name: Name
    description: Annotated[str, Meta(max_length=1024)] | None = None
    target: Target | None = None
    subscribes: Annotated[list[Subscription], Meta(max_length=64)] | None = None
    batch: Batch | None = None
    backoff: Backoff | None = None
    inactivity_timeout_seconds: Annotated[float, Meta(ge=0, le=2_592_000)] | None = None
    max_attempts: Annotated[int, Meta(ge=1, le=100)] | None = None
    retention_seconds: Annotated[float, Meta(ge=1, le=315_360_000)] | None = None

    def __post_init__(self) -> None:
        if 0 < (self.inactivity_timeout_seconds or 0) < 1:
            raise ValueError("inactivity_timeout_seconds is 0, which is never, or at least 1")

    def expressions(self) -> Iterator[tuple[Steps, str]]:
        """Each JMESPath expression and where it stands."""
        for at, each in enumerate(self.subscribes or ()):
            for field, text in (("where", each.where), ("input", each.input)):
                if text is not None:
                    yield ("subscribes", at, field), text
        if self.batch is not None and self.batch.key is not None:
            yield ("batch", "key"), self.batch.key


def misread(expression: str) -> str | None:
    """What is wrong with a JMESPath expression, with the place; None where nothing is."""
    try:
        jmespath.compile(expression)
    except LexerError as exc:
        return f"not JMESPath: {exc.message} at column {exc.lexer_position + 1} of {expression!r}"
    except ParseError as exc:
        place = f"column {exc.lex_position + 1}" if exc.token_type != "EOF" else "its end"
        return f"not JMESPath: unexpected {exc.token_value or 'end'!r} at {place} of {expression!r}"
    except (JMESPathError, RecursionError) as exc:
        return f"not JMESPath: {exc}"
    return None
