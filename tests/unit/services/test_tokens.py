"""Tokens made, listed, revoked and looked at, also when others do so at the same moment."""

import base64

import pytest
from botocore.exceptions import ReadTimeoutError

from baton.domain.audit import Action
from baton.domain.roles import Role
from baton.domain.tokens import EVERY_NAMESPACE, Wish, shown
from baton.errors import InvalidRequest, NotFound, Unavailable
from baton.services.tokens import ROUNDS, USED_EVERY_SECONDS
from tests.unit.house import before_each_call, calls_of, names_of

WISH = Wish(namespace="tenant", role=Role.DRIVER)


def create(runtime, wish=WISH, **given):
    return runtime.tokens.create(wish, by=given.get("by", "someone"))


def revoke(runtime, token, within=("tenant",)):
    runtime.tokens.revoke(token.id, within=within, by="someone")


def audit(house, namespace="tenant"):
    done = house.container().audit.list(namespace, limit=100, after=None).done
    return [(each.action, each.subject, each.by) for each in done]


def listed(house, namespace="tenant"):
    return house.container().tokens.list(namespace, limit=100, after=None).tokens


def broken(_operation, _request):
    raise ReadTimeoutError(endpoint_url="dynamodb")


# Make


def test_a_token_counts_from_its_making_in_every_container(house):
    made = create(house.container())
    assert house.container().tokens.authenticate(made.text) == made.token
    assert house.container().tokens.still_good(made.token.id)
    assert audit(house) == [(Action.TOKEN_CREATED, made.token.id, "someone")]


def test_a_repeated_wish_makes_another(house):
    runtime = house.container()
    one, other = create(runtime), create(runtime)
    assert one.text != other.text
    assert {each.id for each in listed(house)} == {one.token.id, other.token.id}


def test_where_nobody_is_known_nothing_is_audited(house):
    create(house.container(), by=None)
    assert audit(house) == []


def test_of_a_taken_id_another_is_tried_and_the_first_stays_as_it_is(house):
    first = create(house.container())
    runtime = house.container()
    mark = base64.b32decode(first.token.id[-8:].upper())
    chances = [mark, b"x" * 20, b"other", b"s" * 20]
    runtime._context.entropy = lambda size: chances.pop(0) if size in (5, 20) else bytes(size)
    second = create(runtime)
    assert chances == []
    assert second.token.id != first.token.id
    assert house.container().tokens.authenticate(first.text) == first.token
    assert [action for action, *_ in audit(house)] == [Action.TOKEN_CREATED] * 2


def test_where_no_id_is_free_it_says_so(house):
    runtime = house.container()
    runtime._context.entropy = bytes
    create(runtime)
    tried = []

    def entropy(size):
        tried.append(size)
        return b"n" * 8 if size == 8 else bytes(size)

    runtime._context.entropy = entropy
    with pytest.raises(Unavailable):
        create(runtime)
    assert tried.count(5) == ROUNDS
    assert len(listed(house)) == 1


@pytest.mark.parametrize("ahead", [-1000, 0])
def test_one_that_has_expired_is_not_made(house, ahead):
    runtime = house.container()
    wish = Wish(namespace="tenant", role=Role.VIEWER, expires_at=house.clock.now() + ahead)
    with pytest.raises(InvalidRequest, match="expires_at"):
        create(runtime, wish)
    assert listed(house) == []


# Look at


def test_what_proves_nothing_is_nobody(house):
    runtime = house.container()
    made = create(runtime)
    head, secret = made.text[:-32], made.text[-32:]
    for text in (
        "",
        "bt_",
        secret,
        head + secret[::-1],
        head + "a" * 32,
        made.text.replace("tenant", "other"),
        made.text.replace("tenant_", ""),
        made.text + "\n",
    ):
        assert runtime.tokens.authenticate(text) is None, text


def test_a_text_of_another_form_is_not_looked_for(house):
    runtime = house.container()
    with calls_of(runtime) as calls:
        runtime.tokens.authenticate("Bearer " + "x" * 10_000)
    assert calls == []


def test_it_counts_to_the_millisecond_before_it_expires(house):
    runtime = house.container()
    made = create(runtime, Wish(namespace="tenant", role=Role.VIEWER, expires_at=house.clock.now() + 1000))
    house.clock.advance(0.999)
    assert runtime.tokens.authenticate(made.text) is not None
    assert runtime.tokens.still_good(made.token.id)
    house.clock.advance(0.001)
    assert runtime.tokens.authenticate(made.text) is None
    assert not runtime.tokens.still_good(made.token.id)
    assert [each.id for each in listed(house)] == [made.token.id]


def test_that_it_is_used_is_written_at_most_once_an_hour(house):
    runtime = house.container()
    made = create(runtime)
    begun = house.clock.now()
    for wait in (0, 1, USED_EVERY_SECONDS - 2, 1, USED_EVERY_SECONDS):
        house.clock.advance(wait)
        assert house.container().tokens.authenticate(made.text) is not None
    with calls_of(runtime) as calls:
        runtime.tokens.authenticate(made.text)
    assert names_of(calls) == ["GetItem"]
    assert listed(house)[0].used_at == begun + 2 * USED_EVERY_SECONDS * 1000


def test_that_use_can_not_be_noted_keeps_nobody_out(house):
    made = create(house.container())
    runtime = house.container()

    def unwritable(operation, _request):
        if operation == "UpdateItem":
            raise ReadTimeoutError(endpoint_url="dynamodb")

    with before_each_call(runtime, unwritable):
        assert runtime.tokens.authenticate(made.text) == made.token


def test_a_store_that_can_not_answer_says_of_nobody_who_he_is(house):
    made = create(house.container())
    runtime = house.container()
    with before_each_call(runtime, broken):
        with pytest.raises(Unavailable):
            runtime.tokens.authenticate(made.text)
        with pytest.raises(Unavailable):
            runtime.tokens.still_good(made.token.id)


# Revoke


def test_a_revoked_token_counts_nowhere_from_then_on(house):
    runtime, other = house.container(), house.container()
    made = create(runtime)
    assert other.tokens.authenticate(made.text) is not None
    house.clock.advance(0.001)
    revoke(runtime, made.token)
    assert other.tokens.authenticate(made.text) is None
    assert not other.tokens.still_good(made.token.id)
    assert listed(house) == []
    assert audit(house)[0] == (Action.TOKEN_REVOKED, made.token.id, "someone")


def test_what_is_revoked_once_is_not_there_to_be_revoked_again(house):
    runtime = house.container()
    made = create(runtime)
    house.clock.advance(0.001)
    revoke(runtime, made.token)
    with pytest.raises(NotFound):
        revoke(runtime, made.token)
    assert [action for action, *_ in audit(house)] == [Action.TOKEN_REVOKED, Action.TOKEN_CREATED]


def test_who_revokes_at_the_same_moment_is_told_that_it_is_gone(house):
    runtime, rival = house.container(), house.container()
    made = create(runtime)

    def overtake(operation, _request):
        if operation == "TransactWriteItems" and listed(house):
            revoke(rival, made.token)

    with before_each_call(runtime, overtake):
        revoke(runtime, made.token)
    assert listed(house) == []


def test_use_at_the_moment_of_revocation_brings_nothing_back(house):
    made = create(house.container())
    runtime, rival = house.container(), house.container()

    def overtake(operation, _request):
        if operation == "UpdateItem":
            revoke(rival, made.token)

    with before_each_call(runtime, overtake):
        assert runtime.tokens.authenticate(made.text) is not None  # it counted when it was read
    assert listed(house) == []
    assert runtime.tokens.authenticate(made.text) is None


def test_revocation_at_the_moment_of_use_stands(house):
    made = create(house.container())
    runtime, rival = house.container(), house.container()

    def overtake(operation, _request):
        if operation == "TransactWriteItems":
            assert rival.tokens.authenticate(made.text) is not None

    with before_each_call(runtime, overtake):
        revoke(runtime, made.token)
    assert listed(house) == []


@pytest.mark.parametrize("within", [(), ("other",), ("*",), ("tenan",), ("other", "*")])
def test_a_token_of_another_namespace_is_not_there(house, within):
    runtime = house.container()
    made = create(runtime)
    before = house.items(house.settings.catalog_table)
    with pytest.raises(NotFound):
        revoke(runtime, made.token, within)
    assert house.items(house.settings.catalog_table) == before


def test_whose_token_it_is_decides_not_how_its_id_looks(house):
    """A namespace may be called like a token of every namespace."""
    runtime = house.container()
    anywhere = create(runtime, Wish(namespace=EVERY_NAMESPACE, role=Role.ADMIN))
    tenant = anywhere.token.id
    theirs = create(runtime, Wish(namespace=tenant, role=Role.ADMIN))
    with pytest.raises(NotFound):
        revoke(runtime, anywhere.token, within=(tenant,))
    with pytest.raises(NotFound):
        revoke(runtime, theirs.token, within=(EVERY_NAMESPACE,))
    parts = shown(theirs.text)
    assert parts is not None and parts.namespace == tenant
    assert runtime.tokens.authenticate(anywhere.text) == anywhere.token


# List


def test_a_list_goes_on_where_it_left_off_and_holds_no_other_namespace(house):
    runtime = house.container()
    made = sorted(create(runtime).token.id for _ in range(5))
    for namespace in ("tenant-", "tenan", EVERY_NAMESPACE):
        create(runtime, Wish(namespace=namespace, role=Role.VIEWER))
    seen, after = [], None
    for _ in range(5):
        page = house.container().tokens.list("tenant", limit=2, after=after)
        seen += [each.id for each in page.tokens]
        after = page.after
        if after is None:
            break
    assert (seen, after) == (made, None)
