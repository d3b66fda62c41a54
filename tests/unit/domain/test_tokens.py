"""What a token looks like, whose it is by its look alone, and that its secret is nowhere but in its text."""

import hmac
import re
from itertools import count

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from baton.domain import names, tokens
from baton.domain.roles import Role
from baton.domain.tokens import EVERY_NAMESPACE, Wish, mint, namespace_of, shown

NAMESPACES = st.from_regex(names.NAMESPACE, fullmatch=True)
BYTES = st.binary(min_size=20, max_size=20)
SECRET = "a" * 32


def minted(namespace="tenant", chance=bytes(20), **wish):
    asked = Wish(namespace=namespace, role=Role.DRIVER, **wish)
    return mint(asked, entropy=lambda size: chance[:size], by="x", rev="r", now=5)


def parts_of(text):
    parts = shown(text)
    assert parts is not None
    return parts


@given(NAMESPACES, BYTES)
@example("aaaaaaaa", bytes(20))
@example("bt", bytes(20))
@example("a-", bytes(20))
@example("2", bytes(range(20)))
@example("a" * 63, b"\xff" * 20)
def test_whose_a_token_is_is_read_from_it_whatever_the_namespace_looks_like(namespace, chance):
    token, text = minted(namespace, chance)
    parts = parts_of(text)
    assert (parts.namespace, parts.id, namespace_of(token.id)) == (namespace, token.id, namespace)
    assert parts.proves(token)
    assert text == f"bt_{namespace}_{token.id[-8:]}_{parts.secret}"
    assert names.matches(tokens.ID, token.id)


def test_one_of_every_namespace_names_none():
    token, text = minted(EVERY_NAMESPACE)
    parts = parts_of(text)
    assert (parts.namespace, token.id, parts.id) == (EVERY_NAMESPACE, "aaaaaaaa", "aaaaaaaa")
    assert text == f"bt_aaaaaaaa_{SECRET}"
    assert parts.proves(token)


def test_a_namespace_that_looks_like_a_mark_is_not_every_namespace():
    assert parts_of(f"bt_aaaaaaaa_{SECRET}").namespace == EVERY_NAMESPACE
    assert parts_of(f"bt_aaaaaaaa_aaaaaaaa_{SECRET}").namespace == "aaaaaaaa"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "bt_",
        f"aaaaaaaa_{SECRET}",
        f"BT_aaaaaaaa_{SECRET}",
        f"bt_aaaaaaaa_{SECRET.upper()}",
        f"bt_aaaaaaaa_{SECRET[1:]}",
        f"bt_aaaaaaaa_{SECRET}a",
        f"bt_aaaaaaaa_{SECRET}\n",
        f" bt_aaaaaaaa_{SECRET}",
        f"bt_aaaaaaaa_{SECRET}=",
        f"bt_aaaaaaaa_{SECRET[1:]}1",
        f"bt_aaaaaaa_{SECRET}",
        f"bt_aaaaaaa0_{SECRET}",
        f"bt_*_aaaaaaaa_{SECRET}",
        f"bt__aaaaaaaa_{SECRET}",
        f"bt_-a_aaaaaaaa_{SECRET}",
        f"bt_A_aaaaaaaa_{SECRET}",
        f"bt_a_b_aaaaaaaa_{SECRET}",
        f"bt_{'a' * 64}_aaaaaaaa_{SECRET}",
        f"bt_a\n_aaaaaaaa_{SECRET}",
        f"bt_aaaaaaaa_{SECRET} bt_aaaaaaaa_{SECRET}",
        f"bt_٢aaaaaaa_{SECRET}",
    ],
)
def test_what_has_another_form_is_no_token(text):
    assert shown(text) is None


@given(BYTES, BYTES)
def test_only_its_own_secret_proves_a_token(chance, other):
    token, _ = minted(chance=chance)
    parts = parts_of(minted(chance=other).text)
    assert parts.proves(token) == (chance == other)


@given(BYTES, st.integers(0, 159))
def test_a_secret_with_one_bit_changed_proves_nothing(chance, bit):
    changed = (int.from_bytes(chance) ^ 1 << bit).to_bytes(20)
    parts = parts_of(minted(chance=changed).text)
    assert not parts.proves(minted(chance=chance).token)


def test_secrets_are_compared_in_constant_time(monkeypatch):
    compared = []

    def differ(*both):
        compared.append(both)
        return False

    monkeypatch.setattr(hmac, "compare_digest", differ)
    token, text = minted()
    assert not parts_of(text).proves(token)
    assert compared == [(token.secret_digest, token.secret_digest)]


@given(NAMESPACES, BYTES)
def test_what_is_kept_does_not_hold_the_secret(namespace, chance):
    token, text = minted(namespace, chance, description="d", workflows=("w",), expires_at=9)
    assert parts_of(text).secret not in msgspec.json.encode(token).decode()


def test_the_secret_is_160_bits_of_chance_and_the_mark_40_of_others():
    asked, fresh = [], count()

    def entropy(size):
        asked.append(size)
        return next(fresh).to_bytes(size)

    made = mint(Wish(namespace="a", role=Role.VIEWER), entropy=entropy, by=None, rev="r", now=0)
    assert sorted(asked) == [5, 20]
    assert re.fullmatch(r"bt_a_aaaaaaaa_a{31}b", made.text)


@given(NAMESPACES, BYTES, st.text(), st.text())
def test_a_scanner_finds_a_token_in_any_text(namespace, chance, before, after):
    text = minted(namespace, chance).text
    assert text in "".join(tokens.TEXT.findall(f"{before} {text} {after}"))


def test_a_token_is_good_to_the_millisecond_before_it_expires():
    token = minted(expires_at=1000).token
    assert [token.good(now) for now in (0, 999, 1000, 1001)] == [True, True, False, False]
    assert minted().token.good(10**15)


@pytest.mark.parametrize("name", ["viewer", "Viewer", "ADMIN"])
def test_roles_have_names(name):
    assert Role.named(name) is Role[name.upper()]


@pytest.mark.parametrize("said", ["", "king", "viewer ", "ßdmin", None, 4, ["admin"], Role.ADMIN])
def test_what_is_no_roles_name_is_none(said):
    assert Role.named(said) is None
