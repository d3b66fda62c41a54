"""What is kept of who did what, where a run's log can't tell: it is gone, or was closed, or there is none."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from baton.domain.clock import Millis


class Action(StrEnum):
    """What was done."""

    RUN_DELETED = "run.deleted"
    RUN_REPUBLISHED = "run.republished"
    RUNS_REPUBLISHED = "runs.republished"
    WORKFLOW_PUT = "workflow.put"
    WORKFLOW_DELETED = "workflow.deleted"
    TOKEN_CREATED = "token.created"
    TOKEN_REVOKED = "token.revoked"


class Audited(msgspec.Struct, frozen=True, kw_only=True):
    """Someone did something to ``subject``: a run, a workflow, a token, by its id or name. ``by`` is the id
    of the token. ``rev`` marks the write."""

    namespace: str
    at: Millis
    action: Action
    subject: str
    by: str
    rev: str
