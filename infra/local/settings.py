"""The settings of a laptop: the deployment's own, with what makes waiting short."""

from __future__ import annotations

import base64
import os
import secrets
from collections.abc import Mapping

import msgspec

from baton.config import Settings
from baton.store.schema import TABLES

POLL_SECONDS = 0.05
SWEEP_SECONDS = 5
"""A sweep that runs each second need not go on for long."""

GRACE_SECONDS = 2
CATALOG_SECONDS = 1


class Unknown(ValueError):
    """No setting has that name, or not that value."""


def local_settings(
    given: Mapping[str, object] | None = None, *, endpoint_url: str | None = None, suffix: str = ""
) -> Settings:
    """The laptop's defaults, over them the environment's ``BATON_*``, over them what is ``given`` by name.

    The signing key is new each time unless the environment has one: cursors end with the stack. ``suffix``
    sets the tables apart from other stacks' at the same endpoint. Raises Unknown.
    """
    known = {field.name for field in msgspec.structs.fields(Settings)}
    unknown = sorted(set(given or ()) - known)
    if unknown:
        raise Unknown(f"no setting {', '.join(unknown)}: there are {', '.join(sorted(known))}")
    env = {f"BATON_{spec.name.upper()}_TABLE": f"baton-{spec.name}{suffix}" for spec in TABLES}
    env |= {
        "BATON_SIGNING_KEYS": base64.b64encode(secrets.token_bytes(32)).decode(),
        "BATON_POLL_SECONDS": str(POLL_SECONDS),
        "BATON_LEAST_RETENTION_SECONDS": "1",
        "BATON_SWEEP_SECONDS": str(SWEEP_SECONDS),
        "BATON_PUBLISH_GRACE_SECONDS": str(GRACE_SECONDS),
        "BATON_HEAL_GRACE_SECONDS": str(GRACE_SECONDS),
        "BATON_CATALOG_SECONDS": str(CATALOG_SECONDS),
    }
    env |= os.environ
    env |= {f"BATON_{name.upper()}": str(value) for name, value in (given or {}).items()}
    env.pop("BATON_ENDPOINT_URL", None)
    if endpoint_url is not None:
        env["BATON_ENDPOINT_URL"] = endpoint_url
    try:
        return Settings.from_env(env)
    except (msgspec.ValidationError, ValueError) as exc:
        raise Unknown(str(exc)) from exc


def table_names(settings: Settings) -> dict[str, str]:
    """The name that each spec's table has here."""
    return {spec.name: getattr(settings, f"{spec.name}_table") for spec in TABLES}
