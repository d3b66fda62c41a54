"""What can't be right is refused with 400, 413 or 415 naming the field, before any write."""

from __future__ import annotations

from typing import Any

import pytest

from tests.functions.lambdas import Lambdas
from tests.unit.house import House

START = "/v1/runs"
LOG = "/v1/runs/the-run/stream"
FINISH = "/v1/runs/the-run/finish"
CANCEL = "/v1/runs/the-run/cancel"
RESUME = "/v1/runs/the-run/resume"

BODIES: list[tuple[str, Any, list[Any]]] = [
    (START, {}, ["body", "workflow"]),
    (START, {"workflow": None}, ["body", "workflow"]),
    (START, {"workflow": 5}, ["body", "workflow"]),
    (START, {"workflow": ""}, ["body", "workflow"]),
    (START, {"workflow": "-w"}, ["body", "workflow"]),
    (START, {"workflow": "w\n"}, ["body", "workflow"]),
    (START, {"workflow": "__w"}, ["body", "workflow"]),
    (START, {"workflow": "w" * 129}, ["body", "workflow"]),
    (START, {"workflow": "w", "inputs": 1}, ["body", "inputs"]),
    (START, {"workflow": "w", "run_id": ""}, ["body", "run_id"]),
    (START, {"workflow": "w", "run_id": "a/b"}, ["body", "run_id"]),
    (START, {"workflow": "w", "run_id": "a\n"}, ["body", "run_id"]),
    (START, {"workflow": "w", "run_id": "r" * 129}, ["body", "run_id"]),
    (START, {"workflow": "w", "run_id": "k~abc"}, ["body", "run_id"]),
    (START, {"workflow": "w", "run_id": "h~abc"}, ["body", "run_id"]),
    (START, {"workflow": "w", "run_id": "b~abc"}, ["body", "run_id"]),
    (START, {"workflow": "w", "context_ref": ""}, ["body", "context_ref"]),
    (START, {"workflow": "w", "context_ref": "c" * 257}, ["body", "context_ref"]),
    (START, {"workflow": "w", "context_ref": "a\tb"}, ["body", "context_ref"]),
    (START, {"workflow": "w", "agent_id": 1}, ["body", "agent_id"]),
    (START, {"workflow": "w", "agent_id": "a" * 257}, ["body", "agent_id"]),
    (START, {"workflow": "w", "tags": "t"}, ["body", "tags"]),
    (START, {"workflow": "w", "tags": ["t"] * 17}, ["body", "tags"]),
    (START, {"workflow": "w", "tags": ["t", ""]}, ["body", "tags", 1]),
    (START, {"workflow": "w", "tags": ["t" * 65]}, ["body", "tags", 0]),
    (START, {"workflow": "w", "tags": ["a\nb"]}, ["body", "tags", 0]),
    (START, {"workflow": "w", "tags": ["a\n"]}, ["body", "tags", 0]),
    (START, {"workflow": "w", "mode": "pushed"}, ["body", "mode"]),
    (START, {"workflow": "w", "inactivity_timeout_seconds": -1}, ["body", "inactivity_timeout_seconds"]),
    (START, {"workflow": "w", "inactivity_timeout_seconds": 0.5}, ["body", "inactivity_timeout_seconds"]),
    (START, {"workflow": "w", "inactivity_timeout_seconds": 2592001}, ["body", "inactivity_timeout_seconds"]),
    (START, {"workflow": "w", "inactivity_timeout_seconds": True}, ["body", "inactivity_timeout_seconds"]),
    (START, {"workflow": "w", "inactivity_timeout_seconds": "60"}, ["body", "inactivity_timeout_seconds"]),
    (START, {"workflow": "w", "max_attempts": 0}, ["body", "max_attempts"]),
    (START, {"workflow": "w", "max_attempts": 101}, ["body", "max_attempts"]),
    (START, {"workflow": "w", "max_attempts": 1.5}, ["body", "max_attempts"]),
    (START, {"workflow": "w", "max_attempts": True}, ["body", "max_attempts"]),
    (START, b'{"workflow":"w","max_attempts":1e400}', ["body", "max_attempts"]),
    (START, b'{"workflow":"w","max_attempts":1e999999999}', ["body", "max_attempts"]),
    (START, {"workflow": "w", "priority": 10}, ["body", "priority"]),
    (START, {"workflow": "w", "priority": -1}, ["body", "priority"]),
    (START, {"workflow": "w", "priority": 2**70}, ["body", "priority"]),
    (START, {"workflow": "w", "available_at": "tomorrow"}, ["body", "available_at"]),
    (START, {"workflow": "w", "available_at": "2026-01-01T00:00:00"}, ["body", "available_at"]),
    (START, {"workflow": "w", "available_at": 5}, ["body", "available_at"]),
    (START, {"workflow": "w", "available_at": "2030-01-01T00:00:00Z"}, ["body", "available_at"]),
    (FINISH, {}, ["body", "status"]),
    (FINISH, {"status": "dead"}, ["body", "status"]),
    (FINISH, {"status": "done"}, ["body", "status"]),
    (FINISH, {"status": "completed", "resumable": True}, ["body", "resumable"]),
    (FINISH, {"status": "succeeded", "resumable": True}, ["body", "resumable"]),
    (FINISH, {"status": "failed", "resumable": 1}, ["body", "resumable"]),
    (FINISH, {"status": "failed", "error": "x"}, ["body", "error"]),
    (FINISH, {"status": "failed", "error": {}}, ["body", "error", "message"]),
    (FINISH, {"status": "failed", "error": {"message": 1}}, ["body", "error", "message"]),
    (FINISH, {"status": "failed", "error": {"message": "m", "why": 1}}, ["body", "error", "why"]),
    (FINISH, {"status": "failed", "code": "1"}, ["body", "code"]),
    (FINISH, {"status": "failed", "code": 2**53}, ["body", "code"]),
    (FINISH, {"status": "failed", "signal": 9}, ["body", "signal"]),
    (FINISH, {"status": "failed", "session_ref": "s" * 257}, ["body", "session_ref"]),
    (FINISH, {"status": "failed", "outputs": 1}, ["body", "outputs"]),
    (CANCEL, {"reason": 1}, ["body", "reason"]),
    (CANCEL, {"force": "yes"}, ["body", "force"]),
    (CANCEL, {"why": "x"}, ["body", "why"]),
    (RESUME, {"force": 1}, ["body", "force"]),
    (RESUME, {"reason": "x"}, ["body", "reason"]),
    (LOG, {}, ["body", "type"]),
    (LOG, {"type": "X"}, ["body", "type"]),
    (LOG, {"type": ""}, ["body", "type"]),
    (LOG, {"type": "t\n"}, ["body", "type"]),
    (LOG, {"type": "t" * 65}, ["body", "type"]),
    (LOG, {"type": "note", "payload": 1}, ["body", "payload"]),
    (LOG, [{"type": "note"}, {"type": "note", "more": 1}], ["body", 1, "more"]),
    (LOG, [{"type": "note"}, {"type": "note"}, {"type": 7}], ["body", 2, "type"]),
    (LOG, [{"type": "note"}, 5], ["body", 1]),
    (LOG, [[{"type": "note"}]], ["body", 0]),
    (LOG, [], ["body"]),
    (LOG, b"", ["body"]),
    (LOG, b"5", ["body"]),
    (LOG, b'"x"', ["body"]),
    (LOG, b"null", ["body"]),
    *[
        (LOG, [{"type": type_}], ["body", 0, "type"])
        for type_ in ("start", "claimed", "cancel", "suspended", "woken", "resumed", "closing", "end")
    ],
]

NOT_JSON = [
    b"{",
    b"nope",
    b'{"workflow":"w"} x',
    b'{"workflow":"w","input":NaN}',
    b'{"workflow":"w","input":Infinity}',
    b'{"workflow":"w","input":-Infinity}',
    b'{"workflow":"w","input":"\\ud800"}',
    b'{"workflow":"w","input":"\\udc00x"}',
    b'{"workflow":"w","input":{"\\ud800":1}}',
    b'{"workflow":"w","input":"\xff"}',
    b'{"workflow":"w","input":"\xed\xa0\x80"}',
    b'{"workflow":"w","input":01}',
    b'{"workflow":"w","input":"a\nb"}',
    b"\xef\xbb\xbf{}",
    b" ",
]

HEADERS: list[tuple[str, dict[str, str], str]] = [
    (START, {"idempotency_key": "k" * 256}, "Idempotency-Key"),
    (START, {"idempotency_key": "schl\u00fcssel"}, "Idempotency-Key"),
    (FINISH, {"idempotency_key": "a\tb"}, "Idempotency-Key"),
    (RESUME, {"idempotency_key": "k" * 256}, "Idempotency-Key"),
    *[
        (path, {"baton_attempt": value}, "Baton-Attempt")
        for path in (LOG, FINISH)
        for value in ("0", "-1", "1.0", "one", "1e3", " 1", "1 ", "\u0661", str(2**53))
    ],
    (LOG, {"producer_id": "p"}, "Producer-Epoch"),
    (LOG, {"producer_id": "p", "producer_epoch": "0"}, "Producer-Seq"),
    (LOG, {"producer_epoch": "0", "producer_seq": "0"}, "Producer-Id"),
    (LOG, {"producer_id": "p" * 257, "producer_epoch": "0", "producer_seq": "0"}, "Producer-Id"),
    *[
        (LOG, {"producer_id": "p", "producer_epoch": value, "producer_seq": "0"}, "Producer-Epoch")
        for value in ("x", "-1", "1.5", str(2**53))
    ],
    (LOG, {"producer_id": "p", "producer_epoch": "0", "producer_seq": "1a"}, "Producer-Seq"),
    (LOG, {"stream_seq": "s" * 257}, "Stream-Seq"),
    (LOG, {"stream_closed": "true"}, "Stream-Closed"),
]

QUERIES: list[tuple[str, str, list[Any]]] = [
    ("/v1/runs", "workflow=", ["query", "workflow"]),
    ("/v1/runs", "workflow=-x", ["query", "workflow"]),
    ("/v1/runs", "workflow=a&workflow=b", ["query", "workflow"]),
    ("/v1/runs", "state=done", ["query", "state", 0]),
    ("/v1/runs", "state=failed&state=", ["query", "state", 1]),
    ("/v1/runs", "context_ref=", ["query", "context_ref"]),
    ("/v1/runs", "tag=", ["query", "tag"]),
    ("/v1/runs", "since=now", ["query", "since"]),
    ("/v1/runs", "until=2026-01-01", ["query", "until"]),
    ("/v1/runs", "limit=0", ["query", "limit"]),
    ("/v1/runs", "limit=101", ["query", "limit"]),
    ("/v1/runs", "limit=ten", ["query", "limit"]),
    ("/v1/runs", "limit=1.5", ["query", "limit"]),
    ("/v1/runs", "limit=1_0", ["query", "limit"]),
    ("/v1/runs", "next_token=", ["query", "next_token"]),
    ("/v1/runs", "next_token=abc.def", ["query", "next_token"]),
    ("/v1/runs", "worflow=x", ["query", "worflow"]),
    ("/v1/runs/the-run/wait", "timeout_seconds=26", ["query", "timeout_seconds"]),
    ("/v1/runs/the-run/wait", "timeout_seconds=-1", ["query", "timeout_seconds"]),
    ("/v1/runs/the-run/wait", "timeout_seconds=nan", ["query", "timeout_seconds"]),
    ("/v1/runs/the-run/wait", "timeout=5", ["query", "timeout"]),
    (LOG, "offset=", ["query", "offset"]),
    (LOG, "offset=5", ["query", "offset"]),
    (LOG, "offset=-2", ["query", "offset"]),
    (LOG, "offset=a&offset=b", ["query", "offset"]),
    (LOG, "offset=0000000000000009_00000", ["query", "offset"]),
    (LOG, "offset=0000000000000000_00001", ["query", "offset"]),
    (LOG, "offset=-1&live=yes", ["query", "live"]),
    (LOG, "live=long-poll", ["query", "offset"]),
    (LOG, "live=sse", ["query", "offset"]),
    (LOG, "offset=now&live=long-poll&cursor=x", ["query", "cursor"]),
]


@pytest.fixture
def stored(api: Lambdas, house: House) -> Any:
    """What stands in the tables once there is a run; it must be the same afterwards."""
    api.start(run_id="the-run")
    return house.rows(), house.log()


@pytest.mark.parametrize(("path", "body", "loc"), BODIES)
def test_a_bad_field_is_named(api: Lambdas, house: House, stored: Any, path: str, body: Any, loc: list[Any]):
    answer = api.call("POST", path, body)
    assert answer.slug == "invalid-request"
    assert answer.loc == loc
    assert (house.rows(), house.log()) == stored


@pytest.mark.parametrize("path", [START, FINISH, CANCEL, RESUME, LOG])
@pytest.mark.parametrize("body", NOT_JSON)
def test_what_is_no_json_is_refused(api: Lambdas, path: str, body: bytes):
    answer = api.call("POST", path, body)
    assert (answer.slug, answer.loc) == ("invalid-request", ["body"])


@pytest.mark.parametrize("path", [START, FINISH, CANCEL, RESUME])
@pytest.mark.parametrize("body", [b"[]", b"5", b'"x"', b"null", b"true"])
def test_a_body_is_an_object(api: Lambdas, path: str, body: bytes):
    answer = api.call("POST", path, body)
    assert (answer.slug, answer.loc) == ("invalid-request", ["body"])


@pytest.mark.parametrize(("path", "headers", "name"), HEADERS)
def test_a_bad_header_is_named(
    api: Lambdas, house: House, stored: Any, path: str, headers: dict[str, Any], name: str
):
    body = {START: {"workflow": "w"}, LOG: {"type": "x"}, FINISH: {"status": "failed"}}.get(path)
    answer = api.call("POST", path, body, **headers)
    assert (answer.slug, answer.loc) == ("invalid-request", ["header", name])
    assert (house.rows(), house.log()) == stored


@pytest.mark.parametrize("name", ["idempotency-key", "baton-attempt", "producer-id", "stream-seq"])
def test_an_empty_header_is_not_an_absent_one(api: Lambdas, stored: Any, name: str):
    event, match = api.event("POST", LOG if name != "idempotency-key" else START, {"type": "x"})
    if name == "idempotency-key":
        event["body"] = '{"workflow": "w"}'
    if name == "producer-id":
        event["headers"] |= {"producer-epoch": "0", "producer-seq": "0"}
    event["headers"][name] = ""
    assert api.module(match.function.name).handler(event, None)["statusCode"] == 400


@pytest.mark.parametrize(("path", "query", "loc"), QUERIES)
def test_a_bad_parameter_is_named(api: Lambdas, stored: Any, path: str, query: str, loc: list[Any]):
    answer = api.call("GET", path, query=query)
    assert (answer.slug, answer.loc) == ("invalid-request", loc)


@pytest.mark.parametrize("path", [START, FINISH, CANCEL, RESUME])
@pytest.mark.parametrize("media", ["text/plain", "application/x-www-form-urlencoded", "application/jsonx"])
def test_another_media_type_is_unsupported(api: Lambdas, path: str, media: str):
    assert api.call("POST", path, b'{"workflow":"w"}', content_type=media).slug == "unsupported-media-type"


@pytest.mark.parametrize(
    "media", ["application/json; charset=utf-8", "Application/JSON", "application/json ;x=y"]
)
def test_json_by_any_spelling_is_taken(api: Lambdas, media: str):
    assert api.call("POST", START, b'{"workflow":"w"}', content_type=media).status == 201


def test_a_body_without_a_media_type_is_taken_as_json(api: Lambdas):
    event, match = api.event("POST", START, {"workflow": "w"})
    del event["headers"]["content-type"]
    assert api.module(match.function.name).handler(event, None)["statusCode"] == 201


def test_an_empty_body_reads_as_an_empty_object_whatever_its_type(api: Lambdas):
    run = api.start()
    assert api.call("POST", f"/v1/runs/{run['id']}/cancel", content_type="text/plain").status == 200


def test_a_long_unknown_name_is_cut_in_the_problem(api: Lambdas):
    answer = api.call("POST", START, {"workflow": "w", "x" * 100_000: 1})
    assert answer.slug == "invalid-request"
    assert len(answer.body) < 2_000


def test_integers_may_be_written_as_json_writes_them(api: Lambdas):
    answer = api.call("POST", START, b'{"workflow":"w","max_attempts":4.0,"priority":1e0}')
    assert (answer.json["run"]["max_attempts"], answer.json["run"]["priority"]) == (4, 1)


def test_null_is_as_good_as_absent(api: Lambdas):
    names = ("run_id", "context_ref", "agent_id", "tags", "mode", "max_attempts", "available_at", "priority")
    answer = api.call("POST", START, {"workflow": "w", **dict.fromkeys(names)})
    assert answer.status == 201
