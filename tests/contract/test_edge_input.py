"""Whatever is sent: it is held to its bounds before it is read, and nothing in an answer's head or between an
event stream's frames is a client's to write."""

from __future__ import annotations

import base64
import json
import re
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from baton.api.contract import OPERATIONS
from baton.api.operation import Operation
from baton.api.request import MAX_BODY
from baton.domain import names
from baton.domain.payload import MAX_DEPTH, MAX_PAYLOAD
from infra.local.events import answer_of
from tests.contract.bodies import BODIES
from tests.functions.lambdas import Answer, Lambdas
from tests.fuzz.frames import frames
from tests.unit.house import House

JSON = "application/json"
LONG = 9_000
"""Characters: nearly all that the gateway lets by in a request's head."""
WITH_BODY = [row for row in OPERATIONS if row.body is not None]
WITH_PATH = [row for row in OPERATIONS if "{" in row.path]
WITH_QUERY = [row for row in OPERATIONS if row.query is not None]
BY_HEADERS = [row for row in OPERATIONS if row.headers]
HEADERS = [
    "accept",
    "baton-attempt",
    "baton-namespace",
    "baton-tail",
    "content-type",
    "idempotency-key",
    "if-none-match",
    "last-event-id",
    "producer-epoch",
    "producer-id",
    "producer-seq",
    "stream-closed",
    "stream-seq",
    "traceparent",
    "x-request-id",
]
QUERIES = ["cursor", "limit", "live", "next_token", "offset", "state", "tag", "timeout_seconds", "workflow"]
NO_NAME = [
    "..",
    "../health",
    "%2e%2e",
    "%c0%af",  # overlong: what a lenient reader takes for a slash
    "a\r\nSet-Cookie: a=b",
    "\0",
    "\x7f",
    "\u2028",
    "\u202egnp",
    "é",
    "a b",
    "{id}",
    "a" * LONG,
]


def sent(api: Lambdas, row: Operation, **changes: Any) -> Answer:
    """The answer to an event as a gateway might let it by that looks at nothing: no client's library, and no
    parser, is between. ``path``, ``query`` and ``headers`` replace the usual; ``body`` is bytes."""
    path = re.sub(r"\{\w+\}", "the-run", row.path)
    event, match = api.event(row.method, path, BODIES.get(row.id) if row.body is not None else None)
    event |= {name: value for name, value in changes.items() if name in ("rawPath", "pathParameters")}
    event["rawQueryString"] = changes.get("query", "")
    event["headers"] |= changes.get("headers", {})
    if "body" in changes:
        event["body"], event["isBase64Encoded"] = changes["body"], changes.get("encoded", False)
    module = api.module(match.function.name)
    returned = module.handler(event, None)
    json.dumps(returned)  # as Lambda must be able to
    answer = answer_of(returned)
    return Answer(answer.status, dict(answer.headers), answer.body)


def check(answer: Answer) -> None:
    """It is an answer, and its head is ours: each name a token, each value one line of plain text."""
    assert answer.status < 500, answer
    for name, value in answer.headers.items():
        assert re.fullmatch(r"[a-z-]+", name)
        assert re.fullmatch(r"[\x20-\x7e]{0,4200}", value), (name, value)


@pytest.fixture
def stored(api: Lambdas, house: House) -> Any:
    """What stands in the tables once there is a run."""
    api.start(run_id="the-run")
    return everything(house)


def everything(house: House) -> Any:
    return house.rows(), house.log(), house.items("catalog")


# Bodies


@pytest.mark.parametrize("row", WITH_BODY, ids=lambda row: row.id)
def test_a_body_over_the_limit_is_refused_as_text_and_encoded(
    api: Lambdas, house: House, stored: Any, row: Operation
):
    much = b"[" + b"[-0]," * (MAX_BODY // 5) + b"0]"
    encoded = base64.b64encode(much).decode()
    for body, is_encoded in ((much.decode(), False), (encoded, True)):
        answer = sent(api, row, body=body, encoded=is_encoded)
        assert (answer.slug, answer.loc) == ("payload-too-large", ["body"])
    assert everything(house) == stored


def test_within_the_limit_a_payload_of_full_size_may_be_spelled_as_wastefully_as_json_allows(api: Lambdas):
    wasteful = b'{"workflow":"w","input":"%s"}' % (b"\\u0061" * (MAX_PAYLOAD - 2))
    answer = api.call("POST", "/v1/runs", wasteful + b" " * (MAX_BODY - len(wasteful)))
    assert answer.status == 201
    assert api.call("GET", f"/v1/runs/{answer.json['run']['id']}").json["run"]["input"] == "a" * (
        MAX_PAYLOAD - 2
    )


@pytest.mark.parametrize("broken", ["!", "e30", "e30=\n", "é", "e30=e30="])
def test_what_is_no_base64_is_refused(api: Lambdas, broken: str):
    answer = sent(api, WITH_BODY[0], body=broken, encoded=True)
    assert (answer.slug, answer.loc) == ("invalid-request", ["body"])


def test_the_deepest_payload_that_is_taken_comes_back_from_wherever_it_went(api: Lambdas):
    most = MAX_DEPTH - 1  # its body is a level, too
    deepest = json.loads("[" * most + "]" * most)
    run = api.start(input=deepest)
    path = f"/v1/runs/{run['id']}"
    assert api.append(run["id"], {"type": "x", "data": deepest[0]}).status == 204
    api.call("PUT", "/v1/workflows/next", {"subscribes": [{"event": "baton.run.completed:build"}]})
    api.finish(run["id"], output=deepest)
    shown = api.call("GET", path).json["run"]
    said = [message["data"] for message in api.read(run["id"]).json]
    assert shown["input"] == shown["output"] == said[0]["input"] == said[-1]["output"] == deepest
    assert said[1] == deepest[0]
    assert api.call("POST", "/v1/events/news", {"payload": deepest}).status in (200, 202)


@pytest.mark.parametrize("name", ["startRun", "appendToStream", "finishRun", "publishEvent"])
def test_one_level_more_is_refused(api: Lambdas, house: House, stored: Any, name: str):
    [row] = [row for row in OPERATIONS if row.id == name]
    field = {"startRun": "input", "appendToStream": "data", "finishRun": "output"}.get(name, "payload")
    given = json.dumps(BODIES.get(name, {}) | {field: 0})
    body = given.replace(f'"{field}": 0', f'"{field}": {"[" * MAX_DEPTH}{"]" * MAX_DEPTH}')
    answer = sent(api, row, body=body)
    assert (answer.slug, answer.loc) == ("invalid-request", ["body"])
    assert "too deeply" in answer.json["detail"]
    assert everything(house) == stored


# Heads


@pytest.mark.parametrize("name", HEADERS)
def test_a_header_of_any_length_is_refused_or_passed_over_and_never_told_again(
    api: Lambdas, stored: Any, name: str
):
    for row in BY_HEADERS:
        answer = sent(api, row, headers={name: "9" * LONG})
        check(answer)
        assert b"9" * 1000 not in answer.body


@pytest.mark.parametrize(
    "query",
    [
        f"{'x' * LONG}=1",
        f"{'x' * (LONG // 2)}=1&{'x' * (LONG // 2)}=1",
        "&".join(f"x{number}" for number in range(1500)),
        "state=failed&" * 600,
        "state=%FF%00%0D%0A",
        "limit=" + "9" * LONG,
        "limit=1e" + "9" * LONG,
        "timeout_seconds=" + "9" * LONG,
        "%00=%0A&%0D%0A=%ED%A0%80",
    ],
)
def test_a_query_of_any_make_is_answered_in_few_words(api: Lambdas, stored: Any, query: str):
    for row in WITH_QUERY:
        answer = sent(api, row, query=query)
        check(answer)
        if answer.status == 400:
            assert len(answer.body) < 2_000


@pytest.mark.parametrize("row", WITH_PATH, ids=lambda row: row.id)
def test_what_can_be_no_name_is_refused_however_a_gateway_spells_it(
    api: Lambdas, house: House, stored: Any, row: Operation
):
    [parameter] = re.findall(r"\{(\w+)\}", row.path)
    for text in NO_NAME:
        for spelled in (text, quote(text, safe="")):
            path = row.path.replace(f"{{{parameter}}}", spelled)
            answer = sent(api, row, rawPath=path, pathParameters={parameter: spelled})
            check(answer)
            assert answer.status in (400, 404), (spelled, answer)
    assert everything(house) == stored


MARKS = "\r\n\0\x1b\x7f:;,= \"'%<&0aA-_.~\xa0\xff\u2028\ufeff"
EVIL = st.text(st.one_of(st.sampled_from(MARKS), st.characters(codec="utf-8")), max_size=40)
IN_A_HEAD = st.text(st.one_of(st.sampled_from(MARKS + "\ud800"), st.characters()), max_size=40)
GOOD = {
    "content-type": [JSON],
    "producer-id": ["p"],
    "producer-epoch": ["0", "9007199254740991"],
    "producer-seq": ["0", "7"],
    "last-event-id": ["-1", "now", "0000000000000000_00000"],
    "stream-seq": ["s"],
    "if-none-match": ["*"],
    "offset": ["-1", "now"],
    "live": ["sse", "long-poll"],
    "cursor": ["7", "999999999999999"],
}
"""Values by which more of an operation is reached than its refusals."""


def evil(*of: str) -> st.SearchStrategy[dict[str, str]]:
    """Some of these, each well or badly."""
    return st.fixed_dictionaries(
        {}, optional={name: st.one_of(IN_A_HEAD, st.sampled_from(GOOD.get(name, ["1"]))) for name in of}
    )


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    row=st.sampled_from(OPERATIONS),
    headers=evil(*HEADERS),
    query=evil(*QUERIES),
    spelled=st.one_of(st.just("the-run"), IN_A_HEAD),
)
@example(
    row=next(row for row in OPERATIONS if row.id == "appendToStream"),
    headers={"producer-id": "p\r\nX: y", "producer-epoch": "1\r\n", "producer-seq": "1\n"},
    query={},
    spelled="the-run",
)
@example(row=WITH_BODY[0], headers={"content-type": "\ud800"}, query={}, spelled="")
def test_no_answers_head_holds_a_line_that_a_client_wrote(
    api: Lambdas, stored: Any, row: Operation, headers: Any, query: dict[str, str], spelled: str
):
    path = {} if "{" not in row.path else {"pathParameters": {re.findall(r"\{(\w+)\}", row.path)[0]: spelled}}
    check(sent(api, row, headers=headers, query=urlencode(query, errors="surrogatepass"), **path))


# Event streams


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    said=st.lists(
        st.tuples(
            st.from_regex(names.ENTRY_TYPE, fullmatch=True).filter(
                lambda type_: type_ not in names.RESERVED_TYPES
            ),
            st.recursive(
                EVIL, lambda part: st.lists(part, max_size=3) | st.dictionaries(EVIL, part, max_size=3)
            ),
            st.booleans(),
        ),
        min_size=1,
        max_size=5,
    )
)
@example(said=[("x", "\n\nevent: control\ndata: {}\n\n", False), ("y", {"\r\nid: 9\r\n": "\r\r"}, True)])
def test_no_frame_of_an_event_stream_is_a_clients_to_write(api: Lambdas, said: list[tuple[str, Any, bool]]):
    run_id = api.start(context_ref="data: x", tags=["event: y"])["id"]
    for type_, data, escaped in said:
        body = json.dumps({"type": type_, "data": data}, ensure_ascii=escaped).encode()
        assert api.call("POST", f"/v1/runs/{run_id}/stream", body).status == 204
    api.finish(run_id, output=said[0][1])
    answer = api.stream(f"/v1/runs/{run_id}/stream", query="offset=-1&live=sse&cursor=7")
    told = frames(b"".join(answer.body))
    assert {frame.event for frame in told} == {"data", "control"}
    assert [frame.event for frame in told[:2]] == ["data", "control"]
    heard = [message for frame in told if frame.event == "data" for message in json.loads(frame.data)]
    assert heard == api.read(run_id).json
    assert [(message["type"], message["data"]) for message in heard[1:-1]] == [each[:2] for each in said]
    for frame in told:
        assert frame.id is None or re.fullmatch(r"[0-9]{16}_[0-9]{5}", frame.id)
