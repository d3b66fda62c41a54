from __future__ import annotations

import httpx
import pytest

import baton_sdk
from baton_sdk.problems import error_from, retry_after
from tests.unit.sdk.service import problem, run_json

SLUGS = [
    (400, "invalid-request", baton_sdk.InvalidRequest),
    (401, "unauthenticated", baton_sdk.Unauthenticated),
    (403, "forbidden", baton_sdk.Forbidden),
    (404, "not-found", baton_sdk.NotFound),
    (409, "run-exists", baton_sdk.RunExists),
    (409, "run-terminal", baton_sdk.RunTerminal),
    (409, "lease-lost", baton_sdk.LeaseLost),
    (409, "in-flight", baton_sdk.InFlight),
    (409, "busy", baton_sdk.Busy),
    (409, "still-owed", baton_sdk.StillOwed),
    (409, "stream-conflict", baton_sdk.StreamConflict),
    (413, "payload-too-large", baton_sdk.PayloadTooLarge),
    (415, "unsupported-media-type", baton_sdk.UnsupportedMediaType),
    (422, "idempotency-mismatch", baton_sdk.IdempotencyMismatch),
    (429, "too-many-requests", baton_sdk.TooManyRequests),
    (500, "internal", baton_sdk.Internal),
    (503, "unavailable", baton_sdk.Unavailable),
]


@pytest.mark.parametrize(("status", "slug", "kind"), SLUGS)
def test_each_problem_of_the_contract_has_its_error(status, slug, kind):
    error = error_from(problem(status, slug, "because"))
    assert type(error) is kind
    assert (error.slug, error.status, str(error), error.request_id) == (slug, status, "because", "req-1")


def test_fields_and_the_present_truth_are_kept():
    errors = [{"loc": ["body", "tags", 3], "msg": "too long"}]
    error = error_from(
        problem(409, "run-exists", errors=errors, run=run_json("r7", state="failed"), retryable=True)
    )
    assert [str(field) for field in error.errors] == ["body.tags.3: too long"]
    assert error.run is not None and (error.run.id, error.run.state) == ("r7", "failed")
    assert error.retryable
    assert error.as_json()["run"]["id"] == "r7"


@pytest.mark.parametrize("sent", [True, False])
def test_whoever_is_not_known_learns_whether_they_sent_a_token(sent):
    for response in (problem(401, "unauthenticated"), httpx.Response(401, json={"message": "Unauthorized"})):
        error = error_from(response, token_sent=sent)
        assert isinstance(error, baton_sdk.Unauthenticated) and error.token_sent is sent


def test_a_stale_producer_is_told_from_a_missing_right():
    error = error_from(problem(403, "forbidden", headers={"producer-epoch": "5"}))
    assert type(error) is baton_sdk.ProducerFenced
    assert error.headers["producer-epoch"] == "5"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, baton_sdk.InvalidRequest),
        (403, baton_sdk.Forbidden),
        (404, baton_sdk.NotFound),
        (413, baton_sdk.PayloadTooLarge),
        (418, baton_sdk.InvalidRequest),
        (429, baton_sdk.TooManyRequests),
        (500, baton_sdk.Unavailable),
        (501, baton_sdk.Internal),
        (502, baton_sdk.Unavailable),
        (504, baton_sdk.Unavailable),
    ],
)
def test_an_answer_that_is_no_problem_document_is_told_by_its_status(status, kind):
    for response in (
        httpx.Response(status, text="<html>"),
        httpx.Response(status, content=b"{", headers={"content-type": "application/json"}),
        httpx.Response(status, json=[1]),
        httpx.Response(status, json={"type": "about:blank", "errors": "x", "run": {"id": 1}}),
    ):
        assert type(error_from(response)) is kind


def test_a_gateways_message_is_passed_on():
    assert str(error_from(httpx.Response(429, json={"message": "Too Many Requests"}))) == "Too Many Requests"


@pytest.mark.parametrize(("value", "seconds"), [("3", 3.0), (None, None), ("soon", None), ("-1", None)])
def test_retry_after_in_seconds(value, seconds):
    assert retry_after(value) == seconds


def test_retry_after_as_a_date():
    date = "Wed, 21 Oct 2015 07:28:00 GMT"
    moment = 1445412480.0
    assert retry_after(date, clock=lambda: moment - 100) == 100
    assert retry_after(date, clock=lambda: moment + 100) == 0
