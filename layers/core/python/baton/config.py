"""The settings of a deployment, read from the environment once per container."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from baton.domain import names

LEAST_REQUESTS_PER_SECOND = 0.1
"""Of a token: one in a window."""
MOST_REQUESTS_PER_SECOND = 1_000_000_000
"""Of a token: more than anything serves. DynamoDB counts up to 38 digits, and refuses to count by more."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Where the tables are, what signs, and how long things last. Constants: DESIGN, section 11."""

    runs_table: str
    log_table: str
    catalog_table: str
    signing_keys: tuple[bytes, ...] = ()
    """The newest last: it signs; all of them verify. Only functions that sign need them."""
    signing_keys_secret: str | None = None
    """The ARN of the secret that holds them, where they are not given: base64, with commas between them."""
    region: str = "us-east-1"
    endpoint_url: str | None = None
    """Of DynamoDB alone."""
    timers_queue_url: str | None = None
    """Where hints at what is due soon are sent; without it the sweep alone finds it, each minute."""
    events_bus: str | None = None
    """The name or ARN of the bus that lifecycle events go to; without it they go nowhere."""

    public_url: str | None = None
    """Where Baton serves, as its users reach it: what targets are told."""
    targets_allowed: tuple[str, ...] = ()
    """Patterns of the ARNs that every namespace may push to; in the environment with commas between them."""
    own_prefix: str = "baton-"
    """What the names of the deployment's own functions, queues and buses begin with: nobody may push to
    those."""
    iam_role: Literal["viewer", "driver", "operator", "admin"] = "admin"
    """What a caller is that the gateway knows by its IAM identity: whom IAM lets in, this lets do."""
    iam_namespace: str = "*"
    """The namespace of such a caller; ``*``: whichever it names."""

    authorizer_seconds: float = 60
    """How long a gateway remembers what the authoriser said of a token: a revoked one is let in no longer."""
    token_requests_per_second: float = 100
    """What a token may ask, over 10 seconds and about; 0: as often as it likes. Who comes without a token is
    not counted."""
    audit_seconds: float = 365 * 24 * 3600
    """How long it is kept who did what."""

    due_shards: int = 8
    settled_shards: int = 4
    queue_shards: int = 4
    catalog_seconds: float = 5
    """How old a catalog may be that a container decides by."""
    catalog_patience_seconds: float = 0.25
    """How long a settle waits for a catalog that is being read, beyond what it does meanwhile."""
    retention_seconds: float = 30 * 24 * 3600
    least_retention_seconds: float = 24 * 3600
    """What a workflow may ask for its runs; less only where nobody counts on them, on a laptop."""
    cancel_grace_seconds: float = 60
    lease_seconds: float = 60
    """Of a claim that names no other."""
    least_lease_seconds: float = 10
    """Less only where a worker's death is to be noticed at once, on a laptop."""
    skew_seconds: float = 2
    """How long after its end a lease counts as run out: clocks differ."""
    claim_poll_seconds: float = 0.1
    """Before a claim that waits looks again; twice as long each further time, up to the next setting."""
    claim_poll_longest_seconds: float = 2
    worker_seconds: float = 60
    """How long a worker counts as alive after it was heard."""
    worker_memory_seconds: float = 24 * 3600
    """How long after it was heard last it is remembered what a worker said: coming back with the same word it
    says nothing new."""
    announced_seconds: float = 7 * 24 * 3600
    """How long what workers announced of a workflow counts at least after the last that serves it was
    heard."""
    announced_again_seconds: float = 12 * 3600
    """How often a worker that lives sees to it that what it announced goes on to count."""
    publish_grace_seconds: float = 30
    """After a run settled, before the sweep delivers what nobody has delivered."""
    publish_lease_seconds: float = 30
    orphan_seconds: float = 3600
    """An owed subscriber that is gone from the catalog for so long is not waited for any more."""
    tail_memory_seconds: float = 60
    purge_delay_seconds: float = 600
    """After a life of a run id ended, before its log is removed. At least twice as long as a tail of it is
    remembered: a slot that is free again must not be taken for the next one."""
    poll_seconds: float = 0.5
    """Between two looks of a live read."""
    long_poll_seconds: float = 20
    sse_window_seconds: float = 55
    sse_comment_seconds: float = 15
    sweep_seconds: float = 40
    """How long one sweep, or one healing, may work before it leaves the rest to the next."""
    heal_window_seconds: float = 600
    """How long before a subscription was registered the runs may have settled that it still gets."""
    heal_grace_seconds: float = 120
    """After a subscription changed, until no container settles by an older catalog: they keep what they read
    for seconds, and their clocks are not alike."""
    republish_seconds: float = 20
    """How long one call of a republish may work before it hands back a token."""

    def __post_init__(self) -> None:
        if not all(self.signing_keys):
            raise ValueError("signing_keys: none may be empty")
        if min(self.due_shards, self.settled_shards, self.queue_shards) < 1:
            raise ValueError("due_shards, settled_shards, queue_shards: at least 1")
        if self.iam_namespace != "*" and not names.matches(names.NAMESPACE, self.iam_namespace):
            raise ValueError(f"iam_namespace: * or what matches {names.NAMESPACE}")
        limit = self.token_requests_per_second
        least, most = LEAST_REQUESTS_PER_SECOND, MOST_REQUESTS_PER_SECOND
        if limit and not least <= limit <= most:
            raise ValueError(f"token_requests_per_second: 0, or from {least} to {most}")
        if self.purge_delay_seconds < 2 * self.tail_memory_seconds:
            raise ValueError("purge_delay_seconds: at least twice tail_memory_seconds")
        if self.worker_memory_seconds > self.announced_seconds:
            raise ValueError("worker_memory_seconds: at most announced_seconds")
        if self.heal_grace_seconds < 2 * self.catalog_seconds:
            raise ValueError("heal_grace_seconds: at least twice catalog_seconds")

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ) -> Settings:
        """Read ``BATON_*``. Raises msgspec.ValidationError when a setting is missing or malformed."""
        given: dict[str, Any] = {
            field.name: env[name]
            for field in msgspec.structs.fields(cls)
            if (name := f"BATON_{field.name.upper()}") in env and field.name != "signing_keys"
        }
        given.setdefault("region", env.get("AWS_REGION", env.get("AWS_DEFAULT_REGION", "us-east-1")))
        if "targets_allowed" in given:
            given["targets_allowed"] = [each for each in given["targets_allowed"].split(",") if each]
        if "BATON_SIGNING_KEYS" in env:
            given["signing_keys"] = keys_of(env["BATON_SIGNING_KEYS"])
        settings: Settings = msgspec.convert(given, cls, strict=False)
        return settings


def keys_of(text: str) -> tuple[bytes, ...]:
    """Keys as they are written: in base64, with commas between them. Raises ValueError."""
    return tuple(base64.b64decode(key) for key in text.split(","))
