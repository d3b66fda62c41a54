"""Where a list goes on is signed with the deployment's key, over its namespace, the list and its filter. Any
other text is refused there, as a tail that was touched is no tail."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import quote_from_bytes

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from baton.api import openapi
from baton.api.signing import Signatures
from baton.domain.log import Header, Tail
from baton.errors import InvalidRequest
from tests.functions.lambdas import Answer, Lambdas
from tests.unit.house import House, house_of
from tests.unit.moto_tables import empty_tables

BITS = range(8)


class Listed(NamedTuple):
    """A way to ask for a list, page by page. ``others``: the same list, of other things."""

    method: str
    path: str
    asked: dict[str, Any]
    others: tuple[dict[str, Any], ...] = ()

    @property
    def where(self) -> str:
        return "query" if self.method == "GET" else "body"


TIMES = ({"since": "2020-01-01T00:00:00Z"}, {"until": "2030-01-01T00:00:00Z"})
LISTS = {
    "listRuns": Listed(
        "GET",
        "/v1/runs",
        {},
        ({"workflow": "build"}, {"state": "completed"}, {"tag": "t"}, {"context_ref": "c"}, *TIMES),
    ),
    "listWorkflows": Listed("GET", "/v1/workflows", {}),
    "listWorkers": Listed("GET", "/v1/workers", {}),
    "listTokens": Listed("GET", "/v1/tokens", {}, ({"namespace": "*"}, {"namespace": "other"})),
    "listAudit": Listed("GET", "/v1/audit", {}, ({"namespace": "*"}, {"namespace": "other"})),
    "republish": Listed(
        "POST",
        "/v1/republish",
        {"workflow": "build"},
        ({"workflow": "w0"}, {"ending": "completed"}, {"subscriber": "w0"}, {"dry_run": True}, *TIMES),
    ),
}
every_list = pytest.mark.parametrize("name", LISTS)


def ask(api: Lambdas, name: str, token: Any = None, *, within: str = "", **asked: Any) -> Answer:
    """A page of one; ``token`` as bytes: whatever they are, as one may send them in a query."""
    listed = LISTS[name]
    given = {"limit": 1, **listed.asked, **asked}
    how: dict[str, Any] = {"baton_namespace": within}
    if listed.where == "body":
        text = token.decode("latin-1") if isinstance(token, bytes) else token
        body = given if token is None else {**given, "next_token": text}
        return api.call(listed.method, listed.path, body, **how)
    pairs = "&".join(f"{key}={quote_from_bytes(str(value).encode())}" for key, value in given.items())
    if token is not None:
        said = token if isinstance(token, bytes) else token.encode()
        pairs += f"&next_token={quote_from_bytes(said)}"
    return api.call(listed.method, listed.path, query=pairs, **how)


def populate(api: Lambdas, namespace: str) -> None:
    """Three of everything that is listed."""
    who: dict[str, Any] = {
        "authorizer": {"namespace": "*", "role": "admin", "token_id": "aaaaaaaa"},
        "baton_namespace": namespace,
    }
    for number in range(3):
        run = {"workflow": "build", "run_id": f"r{number}", "mode": "attached"}
        for method, path, body in (
            ("POST", "/v1/runs", {**run, "tags": ["t"], "context_ref": "c"}),
            ("POST", f"/v1/runs/r{number}/finish", {"status": "completed"}),
            ("PUT", f"/v1/workflows/w{number}", {}),
            ("PUT", f"/v1/workers/w{number}", {"workflows": [{"name": "build"}]}),
            ("POST", "/v1/tokens", {"role": "viewer"}),
        ):
            answer = api.call(method, path, body, **who)
            assert answer.status < 300, answer


@pytest.fixture(scope="module")
def rooms(dynamodb: Any) -> House:
    """A deployment with two full namespaces, which nothing here changes."""
    empty_tables()
    rooms = house_of(dynamodb)
    for namespace in ("default", "other"):
        populate(Lambdas(rooms.container()), namespace)
    return rooms


@pytest.fixture(scope="module")
def full(rooms: House) -> Lambdas:
    return Lambdas(rooms.container())


def cursor(api: Lambdas, name: str, **how: Any) -> str:
    answer = ask(api, name, **how)
    assert answer.status == 200, answer
    token: str = answer.json["next_token"]
    assert ask(api, name, token, **how).status == 200
    return token


def refused(api: Lambdas, name: str, token: Any, **how: Any) -> bool:
    """Whether it is, and by the field that is wrong."""
    answer = ask(api, name, token, **how)
    return (answer.status, answer.slug, answer.loc) == (
        400,
        "invalid-request",
        [LISTS[name].where, "next_token"],
    )


def flipped(text: bytes) -> Iterator[bytes]:
    """It, with any one bit another."""
    for place in range(len(text)):
        for bit in BITS:
            yield text[:place] + bytes([text[place] ^ 1 << bit]) + text[place + 1 :]


def cut(text: bytes) -> Iterator[bytes]:
    """It, with something missing: its end, its beginning, one character."""
    for place in range(len(text)):
        yield from {text[:place], text[place + 1 :], text[:place] + text[place + 1 :]}


def test_each_list_that_goes_on_is_asked_here():
    document = openapi.document()
    found = set()
    for methods in document["paths"].values():
        for row in methods.values():
            body = row.get("requestBody", {"content": {"application/json": {"schema": {}}}})
            named = body["content"]["application/json"]["schema"].get("$ref", "").rpartition("/")[2]
            fields = document["components"]["schemas"].get(named, {}).get("properties", {})
            if "next_token" in fields or any(each["name"] == "next_token" for each in row["parameters"]):
                found.add(row["operationId"])
    assert found == set(LISTS)


@every_list
def test_the_true_one_goes_on_to_the_end(full: Lambdas, name: str):
    token, pages = cursor(full, name), 1
    while token:
        answer = ask(full, name, token)
        assert answer.status == 200
        token, pages = answer.json.get("next_token"), pages + 1
        assert pages < 20
    assert pages >= 3


@every_list
def test_a_bit_or_a_cut_anywhere_makes_another_of_it(full: Lambdas, name: str):
    """One bit of each character, each of the last one's: it has some to spare. All: see below."""
    token = cursor(full, name).encode()
    every_bit = list(flipped(token))
    forged = [*every_bit[::9], *every_bit[-8:], *list(cut(token))[::7]]
    assert [each for each in forged if not refused(full, name, each)] == []


@every_list
def test_what_is_put_together_of_true_ones_is_none(full: Lambdas, name: str):
    first = cursor(full, name)
    second = ask(full, name, first).json.get("next_token", first)
    (text, signature), (other_text, other_signature) = first.split("."), second.split(".")
    forged = {
        first * 2,
        f"{first}.{first}",
        f"{first},{second}",
        f"{first} ",
        f" {first}",
        f"{first}\n",
        f"{first}\0",
        f"{first}=",
        f"{first}!",
        f"{first[:-1]}!{first[-1]}",
        f"{text}=.{signature}",
        f"{text}.{signature}.",
        f".{signature}",
        f"{text}.",
        f"{signature}.{text}",
        f"{text}{other_text}.{signature}",
        "",
        ".",
        "é",
        "\U0001f511.\U0001f511",
        "\0",
        "null",
        "-1",
        "0",
    }
    if first != second:
        forged |= {f"{text}.{other_signature}", f"{other_text}.{signature}"}
    assert [each for each in forged if not refused(full, name, each)] == []


@every_list
def test_it_is_of_this_list_alone(full: Lambdas, name: str):
    token = cursor(full, name)
    assert [other for other in LISTS if other != name and not refused(full, other, token)] == []
    for others in LISTS[name].others:
        assert refused(full, name, token, **others), others
        theirs = ask(full, name, **others).json.get("next_token")
        assert theirs is None or refused(full, name, theirs), others


@every_list
def test_it_is_of_this_namespace_alone(full: Lambdas, name: str):
    token, theirs = cursor(full, name), cursor(full, name, within="other")
    assert refused(full, name, token, within="other")
    assert refused(full, name, theirs)
    assert refused(full, name, token, within="empty")
    one_of_them = {"namespace": "other", "role": "admin"}
    api = Asking(full, one_of_them)
    assert ask(api, name, theirs).status == 200
    assert refused(api, name, token)


@every_list
def test_it_outlives_a_change_of_keys_for_as_long_as_its_key_is_known(rooms: House, name: str):
    def signed_with(*keys: bytes) -> Lambdas:
        return Lambdas(replaced(rooms, signing_keys=keys).container())

    old, both, new = signed_with(b"old"), signed_with(b"old", b"new"), signed_with(b"new")
    token = cursor(old, name)
    assert ask(both, name, token).status == 200
    assert refused(new, name, token)
    younger = cursor(both, name)
    assert ask(new, name, younger).status == 200
    assert refused(old, name, younger)


def replaced(rooms: House, **settings: Any) -> House:
    return House(rooms.client, replace(rooms.settings, **settings), rooms.clock)


class Asking(Lambdas):
    """The same functions, asked by somebody else."""

    def __init__(self, api: Lambdas, who: Any) -> None:
        super().__init__(api.runtime)
        self._who = who

    def call(self, method: str, path: str, body: Any = None, **how: Any) -> Answer:
        return super().call(method, path, body, **how, authorizer=self._who)


# Every bit and every cut, without the way there

SIGNATURES = Signatures((b"older", b"key"))
ABOUT = ("mine", "listRuns", "digest")
HEADER = Header(attempt=1, closed=False)


def after(token: bytes, about: tuple[str, ...] = ABOUT) -> str | None:
    try:
        return SIGNATURES.pages(*about).after(token.decode("latin-1"))
    except InvalidRequest:
        return None


@given(st.text(max_size=20), st.lists(st.text(max_size=8), min_size=1, max_size=4))
@settings(max_examples=5)
def test_of_all_its_neighbours_only_it_is_ours(place: str, about: list[str]):
    token = SIGNATURES.pages(*about).token(place).encode()
    assert after(token, tuple(about)) == place
    assert [each for each in (*flipped(token), *cut(token)) if after(each, tuple(about)) is not None] == []
    assert after(token, (*about, "")) is None
    assert len(about) == 1 or after(token, (about[0] + about[1], *about[2:])) is None


@given(noise=st.binary(max_size=64), at=st.integers(0, 100), gone=st.integers(0, 100))
@settings(max_examples=100)
def test_noise_in_it_makes_another_of_it(noise: bytes, at: int, gone: int):
    token = SIGNATURES.pages(*ABOUT).token("the place").encode()
    forged = token[:at] + noise + token[at + gone :]
    assert (after(forged) is not None) == (forged == token)


def test_of_all_neighbours_of_a_tail_only_it_is_ours():
    tail = Tail(birth="b", next=3, header=HEADER, fenced=False, newest_ts=1, seen_at=1)
    token = SIGNATURES.tail("mine", "r", tail)["Baton-Tail"].encode()

    def echoed(text: bytes) -> Tail | None:
        return SIGNATURES.echoed("mine", "r", text.decode("latin-1"))

    assert echoed(token) == tail
    assert [each for each in (*flipped(token), *cut(token)) if echoed(each) is not None] == []
    for padded in (token + b"=", token + b"!", token[:-1] + b"!" + token[-1:], b"!" + token):
        assert echoed(padded) is None
    assert after(token, ("mine", "r")) is None
    assert SIGNATURES.echoed("mine", "r", SIGNATURES.pages("mine", "r").token("place")) is None
