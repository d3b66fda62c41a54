"""Any JSON value goes through start, append, finish and comes back by every way out: number by number."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import httpx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from baton.domain.payload import MAX_DEPTH
from tests.fuzz.frames import Frame, frames

COUNT = itertools.count()
EXAMPLES = 40

BODY_LEVELS = 1
"""Levels that a start's body adds around its input."""


class Number(str):
    """A JSON number by its text: what must survive is what was written."""

    __slots__ = ()


def _text(number: str) -> Any:
    return st.just(Number(number))


NUMBERS = st.one_of(
    st.integers(-(2**70), 2**70).map(lambda n: Number(str(n))),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda n: Number(repr(n))),
    st.from_regex(
        re.compile(r"-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,4})?", re.A), fullmatch=True
    ).map(Number),
    *map(
        _text,
        ("-0", "-0.0", "0.1", "9007199254740993", "1e400", "1E-400", "0.10", "1e+5", "5e-324", "1" * 300),
    ),
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    [
        "",
        "\x00",
        "\x1f\x7f\x85",
        "\u2028\u2029\ufeff",
        "👩‍👩‍👧‍👦",
        "\r\n\r\ndata: x\n\n",
        "\U0010ffff",
        "\ufffe",
        "é",
        "e\u0301",
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


def spelled(value: Any) -> str:
    """``value`` as JSON, each number as it is written."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(name)}:{spelled(part)}" for name, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(spelled, value)) + "]"
    return json.dumps(value)


def same(sent: Any, came: Any) -> bool:
    """Whether ``came``, parsed with its numbers as text, is what was sent: shape, strings, and each number
    character by character."""
    if isinstance(sent, Number):
        return isinstance(came, Number) and str(sent) == str(came)
    if type(sent) is not type(came):
        return False
    if isinstance(sent, dict):
        return sent.keys() == came.keys() and all(same(sent[name], came[name]) for name in sent)
    if isinstance(sent, list):
        return len(sent) == len(came) and all(map(same, sent, came))
    return bool(sent == came)


def read(answer: httpx.Response | bytes) -> Any:
    """JSON with every number as its text."""
    content = answer if isinstance(answer, bytes) else answer.content
    return json.loads(content, parse_float=Number, parse_int=Number, parse_constant=_never)


def _never(constant: str) -> Any:
    raise AssertionError(f"{constant} is no JSON")


def post(http: httpx.Client, path: str, body: str) -> httpx.Response:
    return http.post(path, content=body.encode(), headers={"Content-Type": "application/json"})


def messages(frames_: list[Frame]) -> list[Any]:
    return [message for frame in frames_ if frame.event == "data" for message in read(frame.data)]


@given(given_=VALUES, said=st.lists(VALUES, min_size=1, max_size=3), output=VALUES)
@example(given_=Number("-0.0"), said=[Number("9007199254740993")], output=Number("0.1"))
@example(given_={"": ""}, said=[[], {}, ""], output={"": {"": []}})
@example(given_=["x" * 600], said=["y" * 900, "\u2028"], output=["z" * 600])
@settings(max_examples=EXAMPLES)
def test_a_payload_comes_back_as_it_was_sent(http: httpx.Client, given_: Any, said: list[Any], output: Any):
    id_ = f"survivor-{next(COUNT)}"
    run = f"/v1/runs/{id_}"
    made = post(http, "/v1/runs", f'{{"workflow":"w","run_id":"{id_}","input":{spelled(given_)}}}')
    assert made.status_code == 201, made.text
    assert same(given_, read(made)["run"]["input"])
    assert same(given_, read(http.get(run))["run"]["input"])

    batch = ",".join(f'{{"type":"x","data":{spelled(each)}}}' for each in said)
    assert post(http, f"{run}/stream", f"[{batch}]").status_code == 204
    log = read(http.get(f"{run}/stream"))
    assert same(given_, log[0]["data"]["input"])
    assert all(map(same, said, (message["data"] for message in log[1:])))
    polled = read(http.get(f"{run}/stream", params={"offset": "-1", "live": "long-poll"}))
    assert polled == log

    ended = post(http, f"{run}/finish", f'{{"status":"completed","output":{spelled(output)}}}')
    assert same(output, read(ended)["run"]["output"])
    assert same(output, read(http.get(run))["run"]["output"])
    assert same(output, read(http.get(f"{run}/stream"))[-1]["data"]["output"])
    live = http.get(f"{run}/stream", params={"offset": "-1", "live": "sse"})
    assert messages(frames(live.content)) == read(http.get(f"{run}/stream"))


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_nesting_survives_up_to_the_limit_and_is_refused_beyond(
    http: httpx.Client, opening: str, closing: str
):
    inner = "0" if closing == "}" else ""
    for levels, taken in ((MAX_DEPTH - BODY_LEVELS, True), (MAX_DEPTH, False), (100_000, False)):
        deep = opening * levels + inner + closing * levels
        made = post(http, "/v1/runs", f'{{"workflow":"w","input":{deep}}}')
        assert made.status_code == (201 if taken else 400), levels
        if taken:
            run = f"/v1/runs/{made.json()['run']['id']}"
            assert f'"input":{deep}' in http.get(run).text
            assert f'"input":{deep}' in http.get(f"{run}/stream").text
            assert post(http, f"{run}/finish", f'{{"status":"failed","output":{deep}}}').status_code == 200
            assert f'"output":{deep}' in http.get(run).text
            assert f'"output":{deep}' in http.get(f"{run}/stream", params={"offset": -1, "live": "sse"}).text
        else:
            assert made.json()["errors"][0]["loc"] == ["body"]


def test_a_log_message_nests_to_the_limit_in_a_batch_too(http: httpx.Client):
    run = http.post("/v1/runs", json={"workflow": "w"}).json()["run"]["id"]
    deep = "[" * (MAX_DEPTH - 2) + "]" * (MAX_DEPTH - 2)
    assert post(http, f"/v1/runs/{run}/stream", f'[{{"type":"x","data":{deep}}}]').status_code == 204
    assert f'"data":{deep}' in http.get(f"/v1/runs/{run}/stream").text
    assert post(http, f"/v1/runs/{run}/stream", f'[{{"type":"x","data":[[{deep}]]}}]').status_code == 400
