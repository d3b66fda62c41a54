"""Tokens and the audit, as an admin's program has them; and that nothing says a secret but who is asked."""

from __future__ import annotations

import json
import logging
import traceback
from datetime import UTC, datetime

import httpx
import pytest

import baton_sdk
from baton_sdk.tokens import id_of, namespace_of
from tests.unit.sdk import service as faults
from tests.unit.sdk.answers import answering, audited_json, token_json, whoami_json
from tests.unit.sdk.service import NOW, problem

OURS = f"bt_k7q2m4xz_{'a' * 32}"
NEW = f"bt_team-1_abcdefgh_{'b' * 32}"
MADE = httpx.Response(201, json={"token": token_json(later_field=1), "secret": NEW})


def test_a_wish_sends_what_was_given_and_nothing_else(connect):
    handler, seen = answering(MADE, MADE)
    client = connect(handler)
    made = client.tokens.create(
        "driver",
        namespace="*",
        workflows=("build",),
        description="the nightly",
        expires_at=datetime(2027, 1, 1, tzinfo=UTC),
    )
    client.tokens.create("viewer")
    assert (made.secret, made.token.id, made.token.raw["later_field"]) == (NEW, "default_k7q2m4xz", 1)
    assert [(request.method, request.url.path) for request in seen] == [("POST", "/v1/tokens")] * 2
    assert json.loads(seen[0].content) == {
        "role": "driver",
        "namespace": "*",
        "workflows": ["build"],
        "description": "the nightly",
        "expires_at": "2027-01-01T00:00:00+00:00",
    }
    assert json.loads(seen[1].content) == {"role": "viewer"}


def test_a_token_has_every_field_of_the_contract():
    known = token_json(workflows=["a", "b"], expires_at=NOW, used_at=NOW)
    token = baton_sdk.Token.from_json(known)
    assert set(known) <= set(vars(token))
    assert (token.workflows, token.used_at) == (("a", "b"), datetime.fromisoformat(NOW))
    assert baton_sdk.Token.from_json(token_json()).workflows is None


@pytest.mark.parametrize(
    ("listed", "items", "what"),
    [
        (lambda client: client.tokens.list, "tokens", token_json),
        (lambda client: client.audit.list, "audit", audited_json),
    ],
)
def test_a_list_goes_over_all_pages_also_empty_ones(listed, items, what, connect):
    pages = ({items: [what()], "next_token": "t1"}, {items: [], "next_token": "t2"}, {items: [what()]})
    handler, seen = answering(*pages)
    found = list(listed(connect(handler))(namespace="*", page_size=1))
    assert [each.raw for each in found] == [what(), what()]
    assert {request.url.path for request in seen} == {f"/v1/{items}"}
    assert [request.url.params.get("next_token") for request in seen] == [None, "t1", "t2"]
    assert {(request.url.params["namespace"], request.url.params["limit"]) for request in seen} == {
        ("*", "1")
    }


def test_what_was_done_says_when_to_what_and_by_whom():
    done = baton_sdk.Audited.from_json(audited_json())
    assert (done.at, done.action) == (datetime.fromisoformat(NOW), "token.created")
    assert (done.subject, done.by) == ("default_k7q2m4xz", "k7q2m4xz")


def test_a_token_is_revoked_by_its_id_and_no_other_path(connect):
    handler, seen = answering(httpx.Response(204))
    client = connect(handler)
    client.tokens.revoke("a/../b")
    assert (seen[0].method, seen[0].url.raw_path) == ("DELETE", b"/v1/tokens/a%2F..%2Fb")
    with pytest.raises(baton_sdk.InvalidRequest):
        client.tokens.revoke("..")


def test_who_would_revoke_a_token_by_its_secret_is_told_its_id_and_nothing_is_sent(connect):
    handler, seen = answering(httpx.Response(204))
    with pytest.raises(baton_sdk.InvalidRequest, match="its id is default_k7q2m4xz") as refused:
        connect(handler).tokens.revoke(f"bt_default_k7q2m4xz_{'s' * 32}")
    assert "sss" not in str(refused.value)
    assert seen == []


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        (lambda client: client.tokens.create("viewer"), {}),
        (lambda client: client.tokens.create("viewer"), {"token": token_json()}),
        (lambda client: client.tokens.create("viewer"), {"token": {"id": "t"}, "secret": NEW}),
        (lambda client: client.tokens.create("viewer"), {"token": token_json(used_at=1), "secret": NEW}),
        (lambda client: next(client.tokens.list()), {"tokens": [1]}),
        (lambda client: next(client.audit.list()), {"audit": [audited_json(at="soon")]}),
    ],
)
def test_an_answer_of_something_else_is_told(call, answer, connect):
    with pytest.raises(baton_sdk.BadAnswer):
        call(connect(answering(answer)[0]))


@pytest.mark.parametrize(
    ("secret", "id_", "namespace"),
    [(NEW, "team-1_abcdefgh", "team-1"), (OURS, "k7q2m4xz", "*"), ("t", None, None), (NEW + "b", None, None)],
)
def test_a_token_s_text_says_which_it_is_and_whose(secret, id_, namespace):
    assert id_of(secret) == id_
    assert id_ is None or namespace_of(id_) == namespace


def test_no_repr_no_error_and_no_log_line_has_a_secret(connect, service, caplog):
    caplog.set_level(logging.DEBUG)
    client = connect(service, token=OURS)
    made = baton_sdk.NewToken.from_json({"token": token_json(), "secret": NEW})
    said = [repr(each) for each in (client, vars(client), client.address, client.tokens, made, made.token)]
    for fault in (
        faults.refused,
        faults.lost_reply,
        faults.bad_gateway,
        lambda *_: problem(401, "unauthenticated"),
        lambda *_: problem(403, "forbidden"),
        lambda *_: httpx.Response(200, json={"token": {}, "secret": NEW}),
        lambda *_: httpx.Response(200, text=f"<html>{NEW}"),
    ):
        service.faults.extend([fault] * 6)
        with pytest.raises(baton_sdk.BatonError) as failed:
            client.tokens.create("driver")
        service.faults.clear()
        error = failed.value
        said += [
            repr(error),
            json.dumps(error.as_json()),
            repr(vars(error)),
            *traceback.format_exception(error),
        ]
    assert service.requests[0].headers["authorization"] == f"Bearer {OURS}"
    text = "\n".join([*said, caplog.text])
    assert "aaaa" not in text and "bbbb" not in text


def test_who_asks_is_told_as_the_service_has_it(connect):
    known = whoami_json(namespace="team", role="driver", by="team_k7q2m4xz", token=token_json())
    handler, _ = answering(known, whoami_json(), {"role": "driver"})
    client = connect(handler)
    who = client.whoami()
    assert (who.namespace, who.role, who.by, who.raw) == ("team", "driver", "team_k7q2m4xz", known)
    assert who.token == baton_sdk.Token.from_json(token_json())
    assert client.whoami().token is None
    with pytest.raises(baton_sdk.BadAnswer):
        client.whoami()
