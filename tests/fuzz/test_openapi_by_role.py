"""The same by whoever shows a token, of each role, and by who shows none: nobody is told what the document
has no word for, and nobody may more than it says."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.config import SchemathesisConfig

from baton.api import openapi
from baton.domain.roles import Role
from baton.domain.tokens import EVERY_NAMESPACE, Wish
from infra.local.testing import running_stack
from tests.fuzz.conftest import PATIENCE
from tests.fuzz.test_openapi import aim, beside_the_point, excluded, hurry

EXAMPLES = 10
SEED = 20261130
TURN = itertools.count()


class Someone(NamedTuple):
    """Who asks; ``role`` None: whom nobody knows."""

    role: Role | None
    headers: dict[str, str]


class Guarded(NamedTuple):
    """A stack that asks for tokens, an admin's client of it, and who else comes."""

    admin: httpx.Client
    everyone: tuple[Someone, ...]


@pytest.fixture(scope="module")
def guarded(quiet_metrics: None) -> Iterator[Guarded]:
    short: dict[str, Any] = {"long_poll_seconds": 0.05, "sse_window_seconds": 0.05, "poll_seconds": 0.01}
    with running_stack(auth=True, token_requests_per_second=0, **short) as stack:

        def someone(role: Role, **narrowed: Any) -> Someone:
            wish = Wish(namespace=EVERY_NAMESPACE, role=role, **narrowed)
            return Someone(role, _bearer(stack.runtime.tokens.create(wish, by=None).text))

        everyone = (
            *map(someone, Role),
            someone(Role.DRIVER, workflows=("w",)),
            Someone(None, {}),
            Someone(None, _bearer("bt_aaaaaaaa_" + "a" * 32)),
        )
        headers = _bearer(stack.admin_token or "")
        with httpx.Client(base_url=stack.url, timeout=PATIENCE, headers=headers) as admin:
            yield Guarded(admin, everyone)


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


schema = schemathesis.openapi.from_dict(openapi.document(), config=SchemathesisConfig(seed=SEED))


@schema.parametrize()
@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@pytest.mark.schemathesis
def test_each_is_answered_as_the_document_says(case: Any, guarded: Guarded):
    if beside_the_point(case):
        return
    aim(case, guarded.admin)
    hurry(case)
    who = guarded.everyone[next(TURN) % len(guarded.everyone)]
    answer = case.call(base_url=str(guarded.admin.base_url), headers=who.headers)
    case.validate_response(answer, excluded_checks=excluded(answer), headers=who.headers)
    least = Role.named(case.operation.definition.raw.get("x-baton-role"))
    if least is not None and (who.role is None or who.role < least):
        assert answer.status_code >= 400
