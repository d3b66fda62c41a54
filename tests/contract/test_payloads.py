"""Payloads come back as they were sent, to the byte of their canonical form, wherever they pass through."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from tests.functions.lambdas import Lambdas

KB = 1024

AS_SENT = [
    b'""',
    b"[]",
    b"{}",
    b"null",
    b"0",
    b"false",
    b'{"":{"":""}}',
    b"0.1",
    b"-0.0",
    b"-0",
    b"0.10",
    b"1.0",
    b"9007199254740993",
    b"-9007199254740993",
    b"123456789012345678901234567890123456789012345678901234567890",
    b"0.1000000000000000055511151231257827021181583404541015625",
    b"1e400",
    b"1E-400",
    b"[1,1.0,1.00]",
    '"\U0001f600 \u00e9 \u2028 \u2029 \ufeff"'.encode(),
    b'"\\u0000\\u001f\\"\\\\ \\u007f"',
    b'"\\ud83d\\ude00"',
    b"[" * 400 + b'""' + b"]" * 400,
    b'{"a":' * 400 + b"-0.0" + b"}" * 400,
    b'{"z":1,"a":{"y":[],"b":{}}}',
]


def _exact(text: bytes) -> Any:
    """JSON with its numbers' digits: 1.0 is not 1, and 0.10 not 0.1."""
    return json.loads(
        text,
        parse_float=lambda digits: ("float", Decimal(digits).as_tuple()),
        parse_int=lambda digits: ("int", digits),
    )


def _field(body: bytes, *path: Any) -> Any:
    value = _exact(body)
    for step in path:
        value = value[step]
    return value


@pytest.mark.parametrize("sent", AS_SENT, ids=lambda sent: sent[:40].decode())
def test_input_output_and_data_come_back_as_sent(api: Lambdas, sent: bytes):
    started = api.call("POST", "/v1/runs", b'{"workflow":"w","input":%b}' % sent)
    assert started.status == 201, started
    run_id = started.json["run"]["id"]
    appended = api.call("POST", f"/v1/runs/{run_id}/stream", b'[{"type":"x","data":%b}]' % sent)
    assert appended.status == 204
    finished = api.call("POST", f"/v1/runs/{run_id}/finish", b'{"status":"failed","output":%b}' % sent)
    read = api.call("GET", f"/v1/runs/{run_id}")
    log = api.read(run_id)
    expected = _exact(sent)
    for answer in (started, finished, read):
        assert _field(answer.body, "run", "input") == expected
    for answer in (finished, read):
        assert _field(answer.body, "run", "output") == expected
    assert _field(log.body, 0, "data", "input") == expected
    assert _field(log.body, 1, "data") == expected
    assert _field(log.body, 2, "data", "output") == expected


def test_an_error_comes_back_as_sent(api: Lambdas):
    run = api.start()
    error = {"message": "", "type": "E\U0001f600", "stack": "a\nb\u0000"}
    assert api.finish(run["id"], "failed", error=error)["error"] == error
    assert api.call("GET", f"/v1/runs/{run['id']}").json["run"]["error"] == error


def _string_of(size: int) -> str:
    """A string whose canonical JSON is ``size`` bytes."""
    return "x" * (size - 2)


@pytest.mark.parametrize("wide", ["x", "\u00e9", "\U0001f600"])
def test_256_kb_are_taken_to_the_byte_whatever_way_they_were_spelt(api: Lambdas, wide: str):
    size = len(wide.encode())
    text = "x" * ((256 * KB - 2) % size) + wide * ((256 * KB - 2) // size)
    spelt = json.dumps({"workflow": "w", "input": text}, ensure_ascii=True, indent=4).encode()
    answer = api.call("POST", "/v1/runs", spelt)
    assert answer.status == 201
    assert answer.json["run"]["input"] == text


def test_one_byte_over_256_kb_is_too_large_before_any_write(api: Lambdas):
    run = api.start(run_id="the-run")
    over = _string_of(256 * KB + 1)
    log = f"/v1/runs/{run['id']}/stream"
    finish = f"/v1/runs/{run['id']}/finish"
    for path, body, loc in (
        ("/v1/runs", {"workflow": "w", "run_id": "big", "input": over}, ["body", "input"]),
        (log, {"type": "x", "data": over}, ["body", "data"]),
        (log, [{"type": "x", "data": _string_of(256 * KB)}, {"type": "x", "data": 1}], ["body", "data"]),
        (finish, {"status": "failed", "output": over}, ["body", "output"]),
        (
            finish,
            {"status": "failed", "output": _string_of(256 * KB), "error": {"message": ""}},
            ["body", "output"],
        ),
    ):
        answer = api.call("POST", path, body)
        assert (answer.slug, answer.loc) == ("payload-too-large", loc)
    assert api.call("GET", "/v1/runs/big").status == 404
    assert api.call("GET", "/v1/runs/the-run").json["run"] == run


def test_exactly_256_kb_go_through_every_door(api: Lambdas):
    full = _string_of(256 * KB)
    run = api.start(input=full)
    assert api.append(run["id"], {"type": "x", "data": full}).status == 204
    halves = [{"type": "x", "data": _string_of(128 * KB)}] * 2
    assert api.append(run["id"], *halves).status == 204
    finished = api.finish(run["id"], output=full)
    assert finished["input"] == finished["output"] == full
    assert [len(str(message["data"])) > 100_000 for message in api.read(run["id"]).json] == [True] * 5


def test_a_reason_holds_one_kb(api: Lambdas):
    run = api.start()
    path = f"/v1/runs/{run['id']}/cancel"
    answer = api.call("POST", path, {"reason": _string_of(KB + 1)})
    assert (answer.slug, answer.loc) == ("payload-too-large", ["body", "reason"])
    answer = api.call("POST", path, {"reason": _string_of(KB)})
    assert answer.json["run"]["cancel_requested"]["reason"] == _string_of(KB)


def test_nesting_ends_where_it_could_not_be_read_again(api: Lambdas):
    for depth, status in ((499, 201), (500, 400), (100_000, 400)):
        body = b'{"workflow":"w","input":' + b"[" * depth + b"]" * depth + b"}"
        assert api.call("POST", "/v1/runs", body).status == status
