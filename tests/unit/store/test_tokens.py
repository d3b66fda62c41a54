"""Tokens in the catalog's table: kept once, gone at once, and brought back by nothing."""

import pytest
from msgspec.structs import replace

from baton.domain.audit import Action, Audited
from baton.domain.roles import Role
from baton.domain.tokens import EVERY_NAMESPACE, Token
from baton.store.audit import AuditStore
from baton.store.catalog import CatalogStore
from baton.store.tokens import EXPIRED_FOR_SECONDS, TokenStore
from tests.unit.house import before_each_call
from tests.unit.manual_clock import MIDNIGHT

PLAIN = Token(
    namespace="tenant",
    id="tenant_aaaaaaaa",
    role=Role.VIEWER,
    secret_digest="digest",
    created_at=MIDNIGHT,
    rev="rev1",
)
FULL = replace(
    PLAIN,
    id="tenant_bbbbbbbb",
    role=Role.DRIVER,
    created_by="tenant_aaaaaaaa",
    workflows=("a b", 'c"', "d,e"),
    description="π",
    expires_at=MIDNIGHT + 1,
)
ANYWHERE = replace(PLAIN, namespace=EVERY_NAMESPACE, id="aaaaaaaa", role=Role.ADMIN)


@pytest.fixture
def audit(house):
    return AuditStore(house.dynamo(), house.settings.catalog_table, memory_seconds=60)


@pytest.fixture
def store(house):
    return TokenStore(house.dynamo(), house.settings.catalog_table)


def audited(audit, token, action=Action.TOKEN_CREATED, rev="rev1"):
    return audit.put(
        Audited(
            namespace=token.namespace, at=MIDNIGHT, action=action, subject=token.id, by="someone", rev=rev
        )
    )


def done(audit, namespace="tenant"):
    return [each.action for _, each in audit.page(namespace, after=None, limit=10)[0]]


@pytest.mark.parametrize("token", [PLAIN, FULL, ANYWHERE])
def test_what_was_kept_is_read_again_and_only_in_its_namespace(store, token):
    assert store.create(token)
    assert store.get(token.namespace, token.id) == token
    assert store.get("other", token.id) is None


def test_an_id_is_kept_once_and_the_second_leaves_no_trace(store, audit, house):
    assert store.create(PLAIN)
    before = house.items(house.settings.catalog_table)
    other = replace(FULL, id=PLAIN.id, rev="rev2")
    assert not store.create(other, audited(audit, other, rev="rev2"))
    assert house.items(house.settings.catalog_table) == before


@pytest.mark.parametrize("known", [False, True])
def test_a_write_whose_reply_was_lost_is_its_own(store, audit, known):
    made = [audited(audit, PLAIN)] if known else []
    revoked = [audited(audit, PLAIN, Action.TOKEN_REVOKED, "rev2")] if known else []
    for _ in range(2):
        assert store.create(PLAIN, *made)
    for _ in range(2):
        assert store.delete(PLAIN, *revoked)
    assert store.get("tenant", PLAIN.id) is None
    assert done(audit) == ([Action.TOKEN_REVOKED, Action.TOKEN_CREATED] if known else [])


def test_the_like_named_one_that_came_after_is_not_revoked(store, audit):
    younger = replace(PLAIN, rev="rev2")
    store.create(younger)
    assert not store.delete(PLAIN, audited(audit, PLAIN, Action.TOKEN_REVOKED))
    assert store.get("tenant", PLAIN.id) == younger
    assert done(audit) == []


def test_use_is_noted_of_what_is_there_and_brings_back_nothing(store, house):
    store.create(FULL)
    store.use(FULL, MIDNIGHT + 5)
    assert store.get("tenant", FULL.id) == replace(FULL, used_at=MIDNIGHT + 5)
    store.use(replace(FULL, rev="of a life before"), MIDNIGHT + 6)
    assert store.get("tenant", FULL.id) == replace(FULL, used_at=MIDNIGHT + 5)
    store.delete(FULL)
    store.use(FULL, MIDNIGHT + 7)
    assert house.items(house.settings.catalog_table) == []


def test_reads_are_consistent(store, house):
    requests = []
    runtime = house.container()
    with before_each_call(runtime, lambda operation, request: requests.append(request)):
        runtime._context.tokens.get("tenant", PLAIN.id)
    assert [request["ConsistentRead"] for request in requests] == [True]


def test_pages_go_by_id_without_gap_or_repeat_among_all_that_is_kept_there(store, audit, house):
    """The audit, the workflows and the tokens of other namespaces stand in the same table."""
    tokens = [replace(PLAIN, id=f"tenant_aaaaaaa{letter}") for letter in "zyxwv"]
    for token in tokens:
        store.create(token, audited(audit, token, rev=token.id))
    store.create(ANYWHERE)
    catalog = CatalogStore(house.dynamo(), house.settings.catalog_table)
    catalog.note("tenant", "bearer", 1)
    seen: list[Token] = []
    after, more = None, True
    while more:
        page, more = store.page("tenant", after=after, limit=2)
        assert len(page) <= 2
        seen, after = seen + page, page[-1].id if page else after
    assert seen == tokens[::-1]
    assert store.page(EVERY_NAMESPACE, after=None, limit=9) == ([ANYWHERE], False)
    assert catalog.workflow_names("tenant") == ["bearer"]


def test_an_expired_one_is_listed_for_a_week_and_then_removed(store, house):
    store.create(FULL)
    store.create(PLAIN)
    removed_at = {item["s"]["S"]: item.get("ttl") for item in house.items(house.settings.catalog_table)}
    assert removed_at == {
        "bearer#tenant_aaaaaaaa": None,
        "bearer#tenant_bbbbbbbb": {"N": str((MIDNIGHT + 1) // 1000 + EXPIRED_FOR_SECONDS)},
    }
