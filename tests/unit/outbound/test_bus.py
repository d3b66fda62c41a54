"""Events reach the bus in batches that it takes; what it refuses is sent again, and then said to be lost."""

from types import SimpleNamespace

import pytest
from botocore.exceptions import ClientError

from baton.domain.lifecycle import LifecycleEvent
from baton.outbound.bus import MAX_BYTES, PAUSES, SOURCE, Bus
from tests.unit.manual_clock import ManualClock


class Events:
    """An EventBridge that refuses what a test says, entry by entry, call by call."""

    def __init__(self, *refusals):
        self.calls = []
        self._refusals = list(refusals)

    def put_events(self, Entries):  # noqa: N803 - the service's name
        self.calls.append(Entries)
        refused = self._refusals.pop(0) if self._refusals else ()
        if isinstance(refused, Exception):
            raise refused
        results = [
            {"ErrorCode": "ThrottlingException"} if entry["Detail"] in refused else {"EventId": "1"}
            for entry in Entries
        ]
        return {"FailedEntryCount": len(refused), "Entries": results}

    def details(self):
        return [[entry["Detail"] for entry in entries] for entries in self.calls]


def event(detail="{}", type_="run.started"):
    return LifecycleEvent(
        id=f"id of {detail}", type=type_, namespace="n", subject="r1", detail=detail.encode()
    )


@pytest.fixture
def lost(monkeypatch):
    """What the log says could not be sent."""
    said = []
    logger = SimpleNamespace(warning=lambda _message, **more: said.extend(more.get("events", ())))
    monkeypatch.setattr("baton.outbound.bus.logger", logger)
    return said


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def slept(clock):
    return clock.slept


@pytest.fixture
def put(clock):
    def to(events, *sent, name="bus"):
        bus = Bus(name, region="eu-central-1", clock=clock, jitter=lambda: 1.0, client=lambda: events)
        bus.put(sent)

    return to


def test_an_event_goes_to_the_bus_as_it_is(put):
    events = Events()
    put(events, event('{"a":1}'))
    assert events.calls == [
        [{"EventBusName": "bus", "Source": "baton", "DetailType": "run.started", "Detail": '{"a":1}'}]
    ]


@pytest.mark.parametrize("name", [None, ""])
def test_without_a_bus_nothing_is_sent_and_no_client_is_made(name):
    def no_client():
        raise AssertionError("a client was made")

    bus = Bus(name, region="eu-central-1", clock=ManualClock(), jitter=lambda: 1.0, client=no_client)
    assert not bus.on
    bus.put([event()])


def test_a_call_takes_ten_events_and_no_more(put):
    events = Events()
    put(events, *(event(str(number)) for number in range(21)))
    assert [len(batch) for batch in events.details()] == [10, 10, 1]
    assert [detail for batch in events.details() for detail in batch] == [str(n) for n in range(21)]


def test_a_call_takes_256_kb_and_no_more(put):
    beside = len(SOURCE) + len("run.started")
    half = "x" * (MAX_BYTES // 2 - beside)
    events = Events()
    put(events, event(half), event(half), event(half + "x"), event(half))
    assert [len(batch) for batch in events.details()] == [2, 1, 1]


def test_what_the_bus_refuses_is_sent_again_and_nothing_else(put, slept, lost):
    events = Events({"2", "3"}, {"3"})
    put(events, event("1"), event("2"), event("3"))
    assert events.details() == [["1", "2", "3"], ["2", "3"], ["3"]]
    assert slept == list(PAUSES[:2])
    assert lost == []


def test_what_it_goes_on_refusing_is_said_to_be_lost_and_the_next_batch_is_sent(put, slept, lost):
    events = Events(*[{"0"}] * (len(PAUSES) + 1))
    put(events, *(event(str(number)) for number in range(11)))
    assert slept == list(PAUSES)
    assert lost == ["run.started of n#r1"]
    assert events.details()[-1] == ["10"]


@pytest.mark.parametrize(
    "trouble",
    [ClientError({"Error": {"Code": "AccessDeniedException"}}, "PutEvents"), ValueError("no such endpoint")],
)
def test_a_bus_that_can_not_be_reached_raises_nothing_and_is_not_asked_again(put, slept, lost, trouble):
    events = Events(trouble)
    put(events, event("1"), event("2"))
    assert len(events.calls) == 1
    assert slept == []
    assert len(lost) == 2
