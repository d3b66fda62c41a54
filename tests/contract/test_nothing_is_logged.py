"""Logs hold neither payloads nor secrets: that each test here and beside it looks for them proves little if
it could not find them."""

from __future__ import annotations

import logging
from typing import Any
from unittest.mock import patch

import pytest
from botocore.exceptions import ClientError, ParamValidationError

from baton.domain.tokens import PREFIX
from baton.errors import InvalidRequest, Unavailable
from baton.observability import logger, told
from tests.functions.lambdas import Lambdas
from tests.functions.logged import watching


@pytest.fixture
def nothing_sent_is_logged() -> None:
    """Here something is, so that it is found."""


PAYLOAD = "the customer's own words"
TOKEN = f"{PREFIX}team_{'a' * 8}_{'b' * 32}"


@pytest.mark.parametrize(
    "line",
    [PAYLOAD, f"x {PAYLOAD} x", TOKEN, "Authorization: Basic x", f"Bearer {TOKEN}", "the deployment's key"],
)
@pytest.mark.parametrize("log", [logger, logging.getLogger("botocore"), logging.getLogger("any.other")])
def test_what_must_not_be_logged_is_found_where_it_is(api: Lambdas, log: Any, line: str):
    with watching() as watch:
        api.start(input={"said": [PAYLOAD]})
        watch.keys.add(b"the deployment's key")
        assert watch.leaks() == []
        log.warning("a line", extra={"said": line}) if log is logger else log.warning(line)
    assert watch.leaks()


def test_a_payload_with_quotes_is_found_too(api: Lambdas):
    with watching() as watch:
        api.append(api.start()["id"], {"type": "note", "data": {'"what" was said\n': 1}})
        logger.warning("a line", said='"what" was said\n')
    assert watch.leaks()


def a_failure(kind: str) -> Exception:
    """As a library of ours or of others would raise it, quoting what it met."""
    refusal: Any = {
        "Error": {"Code": "ValidationException", "Message": f"Value '{PAYLOAD}' at 'detail' failed"}
    }
    try:
        raise ValueError(PAYLOAD)
    except ValueError as cause:
        failures = {
            "any": KeyError(PAYLOAD),
            "of AWS": ClientError(refusal, "PutItem"),
            "of botocore": ParamValidationError(report=PAYLOAD),
            "ours": Unavailable("the store is busy"),
        }
        failure = failures[kind]
        failure.__cause__ = cause
        return failure


@pytest.mark.parametrize("kind", ["any", "of AWS", "of botocore", "ours"])
def test_what_an_exception_quotes_is_not_logged_where_it_came_from_is(api: Lambdas, kind: str):
    run = api.start(input=PAYLOAD)
    with watching() as watch, patch.object(api.runtime.dynamo, "call", side_effect=a_failure(kind)):
        watch.note({"input": PAYLOAD})
        answer = api.call("POST", f"/v1/runs/{run['id']}/cancel", {"reason": PAYLOAD})
    assert answer.status >= 500
    [line] = watch.lines
    assert watch.leaks() == []
    assert "control.py" in line
    assert "ValueError" in line
    assert ("ValidationException" in line) == (kind == "of AWS")
    assert ("the store is busy" in line) == (kind == "ours")


def test_a_refusal_of_a_request_may_quote_it_and_is_not_repeated():
    assert told(InvalidRequest(PAYLOAD)) == "InvalidRequest"
    assert told(Unavailable("not now")) == "Unavailable: not now"


def test_at_the_most_talkative_no_library_tells_what_it_sends(
    api: Lambdas, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Neither they nor the metrics, which go to where logs go."""
    monkeypatch.delenv("POWERTOOLS_METRICS_DISABLED")
    with watching(logging.DEBUG) as watch:
        api.call("PUT", "/v1/workflows/next", {"description": PAYLOAD, "subscribes": [{"event": "news"}]})
        run = api.start(input=PAYLOAD, tags=["t"])
        api.append(run["id"], {"type": "note", "data": PAYLOAD})
        api.call("POST", "/v1/events/news", {"payload": PAYLOAD})
        api.finish(run["id"], output=PAYLOAD)
        logging.getLogger("any.library").debug("talks")
        made = api.call("POST", "/v1/tokens", {"role": "viewer", "description": PAYLOAD}).json
        api.call("GET", "/v1/runs", authorization=f"Bearer {made['secret']}")
    printed = capsys.readouterr().out
    assert '"operation":"finishRun"' in printed.replace(" ", "")
    watch.lines += printed.splitlines()
    assert "any.library talks" in watch.lines
    assert watch.leaks() == []
