"""The domain's names as constraints of request models: the whole string, no trailing newline let by."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from baton.domain import names
from baton.domain.catalog import BATONS_OWN

END = r"\Z"
"""How Python says "the end, and nothing after it"; JSON Schema says ``$``."""


def whole(pattern: str) -> str:
    """A domain pattern for ``re.search``, which is what msgspec does with it."""
    return pattern.removesuffix("$") + END


def printable(most: int, least: int = 1) -> Meta:
    """So many characters that can be shown."""
    return Meta(min_length=least, max_length=most, pattern=whole(names.PRINTABLE))


Workflow = Annotated[str, Meta(pattern=whole(names.WORKFLOW))]
_OWN = "|".join(names.DERIVED_PREFIXES)
_BATONS = BATONS_OWN.replace(".", r"\.")
RunId = Annotated[str, Meta(pattern=whole(names.RUN_ID).replace("^", f"^(?!{_OWN})", 1))]
"""An id that a caller may ask for: those Baton derives are its own."""
AnyRunId = Annotated[str, Meta(pattern=whole(names.RUN_ID))]
"""An id that a run may have."""
CustomEvent = Annotated[str, Meta(pattern=whole(names.EVENT).replace("^", rf"^(?!{_BATONS})", 1))]
"""An event of one's own: those that Baton publishes are its."""
Event = Annotated[
    str,
    Meta(
        pattern=whole(
            rf"^({_BATONS}(completed|failed):{names.WORKFLOW[1:-1]}|(?!{_BATONS}){names.EVENT[1:-1]})$"
        )
    ),
]
"""An event that starts runs: an ending of a workflow, or one of one's own."""
EventId = Annotated[str, Meta(pattern=whole(names.IDEMPOTENCY_KEY))]
Tag = Annotated[str, printable(64)]
Ref = Annotated[str, printable(256)]
"""context_ref, agent_id."""
Signal = Annotated[str, printable(64)]
AnyNamespace = Annotated[
    str,
    Meta(pattern=whole(rf"^(\*|{names.NAMESPACE[1:-1]})$"), description="A namespace; `*`: all of them."),
]
EntryType = Annotated[str, Meta(pattern=whole(names.ENTRY_TYPE))]
