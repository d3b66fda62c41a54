"""What is repeated and what is not: a request is sent again only where a second one can do no harm."""

from __future__ import annotations

import json

import pytest

from baton_sdk import BatonError, Producer, Unavailable
from tests.unit.sdk import service as faults

EVENT = [{"type": "note"}]

OPERATIONS = {
    "get": (True, lambda c: c.get("r1")),
    "list": (True, lambda c: next(c.list(), None)),
    "wait": (True, lambda c: c.wait("r1", 0)),
    "tail": (True, lambda c: c.tail("r1")),
    "start without key or id": (True, lambda c: c.start("w")),
    "start with a key": (True, lambda c: c.start("w", idempotency_key="k")),
    "start with an id alone": (False, lambda c: c.start("w", run_id="r1")),
    "start with both": (True, lambda c: c.start("w", run_id="r1", idempotency_key="k")),
    "finish": (True, lambda c: c.finish("r1", "completed")),
    "cancel": (True, lambda c: c.cancel("r1")),
    "resume": (True, lambda c: c.resume("r1")),
    "delete": (False, lambda c: c.delete("r1")),
    "suspend": (True, lambda c: c.suspend("r1", event="e")),
    "put_workflow": (True, lambda c: c.put_workflow("w")),
    "get_workflow": (True, lambda c: c.get_workflow("w")),
    "workflows": (True, lambda c: next(c.workflows(), None)),
    "delete_workflow": (False, lambda c: c.delete_workflow("w")),
    "graph": (True, lambda c: c.graph()),
    "republish_run": (True, lambda c: c.republish_run("r1")),
    "republish_all": (True, lambda c: list(c.republish_all("w"))),
    "publish_event": (True, lambda c: c.publish_event("e", 1)),
    "stats": (True, lambda c: c.stats()),
    "claim": (True, lambda c: c.claim("w1", ["w"])),
    "claim_run": (True, lambda c: c.claim_run("r1", "w1")),
    "renew": (True, lambda c: c.renew("r1", "w1", 1)),
    "release": (True, lambda c: c.release("r1", "w1", 1, error="no")),
    "announce": (True, lambda c: c.announce("w1", {"w": None})),
    "workers": (True, lambda c: next(c.workers(), None)),
    # A second one would be a second token.
    "tokens.create": (False, lambda c: c.tokens.create("driver")),
    "tokens.list": (True, lambda c: next(c.tokens.list(), None)),
    "tokens.revoke": (False, lambda c: c.tokens.revoke("t")),
    "audit.list": (True, lambda c: next(c.audit.list(), None)),
    "append without a producer": (False, lambda c: c.append("r1", EVENT)),
    "append with a producer": (True, lambda c: c.append("r1", EVENT, producer=Producer(id="p"))),
}
# Does the failure leave open whether the request was carried out?
FAILURES = {
    "connection refused": (False, faults.refused),
    "connection reset": (True, faults.lost_before),
    "reply lost": (True, faults.lost_reply),
    "timeout": (True, faults.timed_out),
    "503": (True, faults.unavailable),
    "429": (False, faults.throttled),
    "a function died": (True, faults.died),
    "502": (True, faults.bad_gateway),
}


def settle(call, client):
    try:
        call(client)
    except BatonError as error:
        return error
    return None


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_request_is_repeated_exactly_when_that_is_safe(operation, failure, client, service):
    repeatable, call = OPERATIONS[operation]
    unknown_outcome, fault = FAILURES[failure]
    service.faults.append(fault)
    error = settle(call, client)
    repeated = repeatable or not unknown_outcome
    assert len(service.requests) == (2 if repeated else 1)
    assert repeated or error is not None


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_fault_of_the_service_is_not_repeated(operation, client, service):
    service.faults.append(faults.broken)
    error = settle(OPERATIONS[operation][1], client)
    assert error is not None and error.slug == "internal"
    assert len(service.requests) == 1


@pytest.mark.parametrize("operation", [name for name, (repeatable, _) in OPERATIONS.items() if repeatable])
def test_a_repeat_is_the_same_request_to_the_byte(operation, client, service):
    service.faults.append(faults.lost_reply)
    settle(OPERATIONS[operation][1], client)
    first, second = service.requests
    assert (first.method, first.url, first.content) == (second.method, second.url, second.content)
    assert first.headers == second.headers


@pytest.mark.parametrize(
    "call",
    [
        lambda c: c.finish("r1", "failed"),
        lambda c: c.resume("r1"),
        lambda c: c.start("w"),
        lambda c: c.suspend("r1", event="e"),
        lambda c: c.claim_run("r1", "w1"),
    ],
)
def test_each_call_makes_an_idempotency_key_of_its_own(call, client, service):
    call(client)
    call(client)
    keys = {request.headers["idempotency-key"] for request in service.requests}
    assert len(keys) == 2


def test_each_event_has_an_id_of_its_own(client, service):
    client.publish_event("e")
    client.publish_event("e")
    assert len({json.loads(request.content)["id"] for request in service.requests}) == 2


def test_a_start_whose_reply_was_lost_under_a_made_up_key_counts_as_ours(client, service):
    service.faults.append(faults.lost_reply)
    assert client.start("w").started


def test_a_start_under_the_callers_own_key_is_told_as_the_service_tells_it(client):
    assert not client.start("w", idempotency_key="k").started


@pytest.mark.parametrize(("fault", "seconds"), [(faults.unavailable, 7), (faults.throttled, 2)])
def test_retry_after_is_waited_for(fault, seconds, client, service, clock):
    service.faults.append(fault)
    client.health()
    assert len(clock.slept) == 1 and clock.slept[0] >= seconds


def test_waits_grow_and_end_with_the_last_error(connect, service, clock):
    service.faults.extend([faults.refused] * 50)
    client = connect(service, retry=clock.policy(attempts=4))
    with pytest.raises(BatonError, match=r"no answer from http://baton\.test"):
        client.health()
    assert len(service.requests) == 4
    assert len(clock.slept) == 3
    assert all(wait <= 0.2 * 2**n for n, wait in enumerate(clock.slept, 1))


def test_patience_is_a_bound_in_time(connect, service, clock):
    service.faults.extend([faults.unavailable] * 100)
    client = connect(service, retry=clock.policy(attempts=None, patience=30.0))
    with pytest.raises(Unavailable):
        client.health()
    assert sum(clock.slept) <= 30
    assert len(service.requests) == 5  # 7 s by Retry-After each: 4 waits fit


def test_an_absurd_retry_after_does_not_park_the_client(client, service, clock):
    service.faults.append(
        lambda request, handler: faults.problem(503, "unavailable", headers={"retry-after": "86400"})
    )
    client.health()
    assert clock.slept[0] <= 60
