"""The gateway's authoriser: what it says of whoever shows what, and what handlers make of that later on."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError

from baton.api.identity import identify
from baton.domain.roles import Role
from baton.domain.tokens import EVERY_NAMESPACE, Minted, Wish
from baton.errors import Unauthenticated, Unavailable
from infra.local.events import HttpRequest, authorizer_event
from tests.functions.lambdas import ROUTER, Context, Lambdas
from tests.unit.house import House, before_each_call, calls_of, names_of


def made(api: Lambdas, **wish: Any) -> Minted:
    return api.runtime.tokens.create(Wish(**{"namespace": "mine", "role": Role.DRIVER, **wish}), by=None)


def asked(api: Lambdas, shown: str | None, path: str = "/v1/runs", method: str = "GET") -> dict[str, Any]:
    """What the authoriser answers."""
    headers = [] if shown is None else [("authorization", shown)]
    request = HttpRequest(method, path, "", headers, b"", "127.0.0.1")
    event = authorizer_event(request, ROUTER.match(method, path), request_id="id", at=0)
    answer: dict[str, Any] = api.module("authorize").handler(event, Context())
    json.dumps(answer)
    return answer


def told(api: Lambdas, shown: str | None) -> dict[str, str]:
    """The context that handlers get of it."""
    answer = asked(api, shown)
    assert answer.keys() == {"isAuthorized", "context"}
    assert answer["isAuthorized"] is True
    context: dict[str, str] = answer["context"]
    assert all(type(value) is str and value for value in context.values())
    return context


def test_all_that_is_known_of_a_token_is_told_in_strings_and_of_its_secret_nothing(api: Lambdas):
    at = api.runtime.clock.now() + 5
    plain = made(api)
    full = made(api, workflows=("a.b", "c:d/e"), expires_at=at, description="d")
    admin = made(api, namespace=EVERY_NAMESPACE, role=Role.ADMIN)
    assert told(api, f"Bearer {plain.text}") == {
        "namespace": "mine",
        "role": "driver",
        "token_id": plain.token.id,
    }
    assert told(api, f"Bearer {full.text}") == {
        "namespace": "mine",
        "role": "driver",
        "token_id": full.token.id,
        "workflows": "a.b c:d/e",
        "expires_at": str(at),
    }
    assert told(api, f"Bearer {admin.text}")["namespace"] == "*"
    for each in (plain, full, admin):
        assert each.text[-32:] not in json.dumps(asked(api, f"Bearer {each.text}"))


@pytest.mark.parametrize("form", ["Bearer {}", "bearer {}", "BEARER {}", "Bearer   {}", " Bearer {} "])
def test_the_scheme_may_be_written_as_http_lets_it(api: Lambdas, form: str):
    assert told(api, form.format(made(api).text))["role"] == "driver"


@pytest.mark.parametrize(
    "form",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "{}",
        "Basic {}",
        "Bearer{}",
        "Bearer\t{}",
        "Token {}",
        "Bearer {},Bearer {}",
        "Bearer {} x",
        "Bearer Bearer {}",
        'Bearer "{}"',
        "Bearer {}é",
    ],
)
def test_of_all_else_it_says_nothing_and_refuses_nobody(api: Lambdas, form: str | None):
    text = made(api).text
    assert told(api, None if form is None else form.replace("{}", text)) == {}


@pytest.mark.parametrize(
    ("form", "said"),
    [
        (None, "this needs a token"),
        ("{}", "this needs a token"),
        ("Basic {}", "this needs a token"),
        ("Bearer ", "not all of one"),
        ("Bearer {}x", "not all of one"),
        ("Bearer Bearer {}", "not all of one"),
        ("Bearer {}", "unknown here, or has expired, or was revoked"),
    ],
)
def test_who_is_not_known_hears_what_was_wrong_with_what_they_sent(api: Lambdas, form: str | None, said: str):
    text = made(api).text
    headers = {} if form is None else {"authorization": form.replace("{}", text)}
    with pytest.raises(Unauthenticated, match=said) as refused:
        identify({"requestContext": {}, "headers": headers}, api.runtime.settings, 0)
    assert text not in str(refused.value)


def test_what_it_says_is_the_same_whatever_is_asked_for(api: Lambdas):
    """A gateway remembers it by the header alone."""
    shown = f"Bearer {made(api).text}"
    answers = [asked(api, shown, path, method) for path, method in (("/v1/runs", "GET"), ("/v1/x", "PUT"))]
    answers.append(asked(api, shown, "/v1/tokens/x", "DELETE"))
    assert answers[0] == answers[1] == answers[2]


def test_a_store_that_can_not_answer_is_a_failure_and_nobodys_rights(api: Lambdas, house: House):
    runtime = house.container()
    there = Lambdas(runtime)
    shown = f"Bearer {made(api).text}"

    def broken(_operation: str, _request: Any) -> None:
        raise ReadTimeoutError(endpoint_url="dynamodb")

    with before_each_call(runtime, broken), pytest.raises(Unavailable):
        asked(there, shown)
    assert told(there, shown)["role"] == "driver"


def test_it_reads_one_item_and_writes_one_an_hour(api: Lambdas, house: House):
    runtime = house.container()
    shown = f"Bearer {made(api).text}"
    with calls_of(runtime) as calls:
        for _ in range(3):
            asked(Lambdas(runtime), shown)
    assert names_of(calls) == ["GetItem", "UpdateItem", "GetItem", "GetItem"]


@pytest.mark.parametrize("still", [1, 0, -1])
def test_a_remembered_word_counts_to_the_millisecond_before_the_token_expires(api: Lambdas, still: int):
    at = api.runtime.clock.now() + 30_000
    context = told(api, f"Bearer {made(api, expires_at=at).text}")
    event = {"requestContext": {"authorizer": {"lambda": context}}}
    if still > 0:
        caller = identify(event, api.runtime.settings, at - still)
        assert (caller.namespace, caller.role, caller.everywhere) == ("mine", Role.DRIVER, False)
    else:
        with pytest.raises(Unauthenticated):
            identify(event, api.runtime.settings, at - still)


def test_a_request_is_done_by_whom_the_word_names(api: Lambdas):
    full = made(api, workflows=("a", "b"))
    context = told(api, f"Bearer {full.text}")
    caller = identify({"requestContext": {"authorizer": {"lambda": context}}}, api.runtime.settings, 0)
    assert (caller.by, caller.token_id) == (full.token.id, full.token.id)
    assert caller.workflows == frozenset({"a", "b"})
