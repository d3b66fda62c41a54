"""What a log has recorded at each position, and that nothing else is answered for it."""

from __future__ import annotations

import pytest

from baton_sdk import CodeChanged, Event
from baton_sdk.worker.journal import NOW, SLEEP, STEP, UUID, WAIT_FOR_EVENT, Journal
from tests.unit.sdk.service import message


def journal(*entries):
    return Journal.read(
        Event.from_json(message(seq, type_, data)) for seq, (type_, data) in enumerate(entries)
    )


def checkpoint(position, kind=STEP, name=None, **own):
    return "checkpoint", {"position": position, "kind": kind, "name": name, **own}


def test_of_an_empty_log_nothing_is_recorded():
    assert journal(("start", {"input": None})).at(0, STEP, "a") is None


def test_what_is_recorded_is_answered_to_the_same_call_and_to_no_other():
    found = journal(("start", {}), checkpoint(0, name="a", result=7), ("stdout", {"position": 1}))
    assert found.at(0, STEP, "a").data["result"] == 7
    assert found.at(1, STEP, "b") is None
    for kind, name, spoken in ((STEP, "b", "step 'b'"), (NOW, None, "now"), (UUID, None, "uuid")):
        with pytest.raises(CodeChanged, match=rf"position 0 the log has step 'a', .* asks for {spoken}"):
            found.at(0, kind, name)


def test_a_position_that_recorded_nothing_took_a_uuid():
    found = journal(checkpoint(0), checkpoint(2))
    assert found.at(1, UUID, None) is None
    with pytest.raises(CodeChanged, match="position 1 the log has uuid, and the function asks for step 'a'"):
        found.at(1, STEP, "a")


def test_a_function_that_returns_before_it_asked_for_everything_has_changed():
    found = journal(checkpoint(0, name="a"), checkpoint(2, name="c"))
    found.check_ended(3)
    with pytest.raises(CodeChanged, match=r"position 2 the log has step 'c', .*without asking"):
        found.check_ended(1)


@pytest.mark.parametrize(
    "data", [None, 7, [], {}, {"position": "0", "kind": STEP}, {"position": 0}, {"position": 0, "kind": 1}]
)
def test_a_checkpoint_that_is_none_of_ours_is_passed_over(data):
    assert journal(("checkpoint", data)).end == 0


def test_a_wait_is_ended_by_the_first_waking_of_its_kind_after_it():
    found = journal(
        ("woken", {"kind": "event", "payload": 0}),
        checkpoint(0, WAIT_FOR_EVENT, "go"),
        ("woken", {"kind": "time"}),
        ("woken", {"kind": "event", "payload": 1}),
        ("woken", {"kind": "event", "payload": 2}),
        checkpoint(1, SLEEP),
        ("claimed", {"attempt": 2}),
    )
    assert found.at(0, WAIT_FOR_EVENT, "go").woken["payload"] == 1
    assert found.at(1, SLEEP, None).woken is None


def test_a_wait_may_be_recorded_again_with_what_it_came_to():
    woken = ("woken", {"kind": "event", "payload": 1})
    found = journal(checkpoint(0, WAIT_FOR_EVENT, "go", a=1), woken, checkpoint(0, WAIT_FOR_EVENT, "go", b=2))
    record = found.at(0, WAIT_FOR_EVENT, "go")
    assert (record.data["a"], record.data["b"], record.woken["payload"]) == (1, 2, 1)


def test_what_was_done_because_of_a_cancel_is_forgotten_when_the_run_is_resumed():
    told = [
        checkpoint(0, name="a"),
        ("cancel", {}),
        checkpoint(1, name="tidy", cancelled=True),
    ]
    assert journal(*told).end == 2
    assert journal(*told, ("end", {}), ("resumed", {"attempt": 2})).end == 1
