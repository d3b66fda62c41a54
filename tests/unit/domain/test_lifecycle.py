"""Lifecycle events are CloudEvents whose ids do not depend on when, or how often, they are told."""

import json

import pytest

from baton.domain import lifecycle
from baton.domain.lifecycle import MAX_DATA
from baton.domain.payload import canonical
from baton.domain.states import State
from tests.unit.domain.runs_at_hand import NOW, T0, TERMINAL_STATES, run_in

ENDED = run_in(State.FAILED, attempt=2)
PAYLOAD = b'{"event":"run.failed:build","run":{"id":"r1","output":0.10}}'


def ended(run=ENDED, payload=PAYLOAD, **change):
    return lifecycle.ended(run, payload, **{"attempt": 2, "state": State.FAILED, "at": NOW, **change})


def triggered(run=ENDED, **change):
    given = {"attempt": 2, "event": "run.failed:build", "subscriber": "report", "at": NOW, **change}
    return lifecycle.triggered(run, **{"started_run_id": "h~1", **given})


def trigger_failed(run=ENDED, **change):
    given = {"attempt": 2, "event": "run.failed:build", "subscriber": "report", "at": NOW, **change}
    return lifecycle.trigger_failed(run, **{"error": "no", **given})


def test_an_event_is_a_cloud_event_about_its_run():
    event = lifecycle.started(run_in(State.RUNNING, tags=("a",), context_ref="pr/1"))
    assert json.loads(event.detail) == {
        "specversion": "1.0",
        "id": event.id,
        "source": "urn:baton:default",
        "type": "run.started",
        "subject": "r1",
        "time": "1970-01-01T00:16:40.000Z",
        "datacontenttype": "application/json",
        "data": {
            "run": {
                "id": "r1",
                "workflow": "build",
                "namespace": "default",
                "attempt": 1,
                "state": "running",
                "context_ref": "pr/1",
                "tags": ["a"],
                "traceparent": None,
            }
        },
    }
    assert T0 == 1_000_000


def test_an_ending_carries_what_its_subscribers_get_number_by_number():
    event = ended()
    assert (event.type, event.subject) == ("run.failed", "r1")
    assert PAYLOAD in event.detail


@pytest.mark.parametrize("state", TERMINAL_STATES)
def test_whatever_is_not_completed_is_told_as_failed_and_its_state_says_which(state):
    event = ended(state=state, payload=canonical("x" * MAX_DATA))
    assert event.type == ("run.completed" if state is State.COMPLETED else "run.failed")
    assert json.loads(event.detail)["data"]["run"]["state"] == state.value


@pytest.mark.parametrize(("over", "carried"), [(0, True), (1, False)])
def test_a_payload_over_the_limit_is_left_out_and_the_runs_id_leads_to_it(over, carried):
    payload = canonical("x" * (MAX_DATA - 2 + over))
    data = json.loads(ended(payload=payload).detail)["data"]
    assert (data == json.loads(payload)) is carried
    if not carried:
        assert (data["run"]["id"], data["run"]["attempt"]) == ("r1", 2)


def test_a_delivery_names_the_ending_the_subscriber_and_what_came_of_it():
    about = {"id": "r1", "workflow": "build", "namespace": "default", "attempt": 2}
    common = {"run": about, "event": "run.failed:build", "subscriber": "report"}
    assert json.loads(triggered().detail)["data"] == {**common, "started_run_id": "h~1"}
    assert json.loads(trigger_failed().detail)["data"] == {**common, "error": "no"}


def test_told_again_later_an_event_has_the_same_id():
    assert ended().id == ended(at=NOW + 1).id
    assert triggered().id == triggered(at=NOW + 1).id
    assert trigger_failed().id == trigger_failed(at=NOW + 1, error="still no").id


def test_lives_attempts_kinds_and_subscribers_have_ids_of_their_own():
    events = [
        lifecycle.started(ENDED),
        ended(),
        ended(attempt=1),
        ended(state=State.COMPLETED),
        ended(run=run_in(State.FAILED, birth="birth2")),
        triggered(),
        triggered(subscriber="other"),
        trigger_failed(),
    ]
    assert len({event.id for event in events}) == len(events)
