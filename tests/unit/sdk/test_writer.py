"""A writer puts every event into the log once and in order, or says why not."""

from __future__ import annotations

import json
import random
import threading

import httpx
import pytest

import baton_sdk
from baton_sdk import Limits
from tests.unit.sdk import service as faults

GUARD_SECONDS = 20
AT_ONCE = Limits(linger_seconds=0)
NEVER_BY_ITSELF = Limits(linger_seconds=3600)


class Gate:
    """Holds appends back until opened, and tells when one is waiting."""

    def __init__(self, handler):
        self._handler = handler
        self.waiting = threading.Event()
        self.open = threading.Event()

    def __call__(self, request):
        self.waiting.set()
        assert self.open.wait(GUARD_SECONDS)
        return self._handler(request)


def batches(service):
    return [len(json.loads(request.content)) for request in service.requests]


def test_events_arrive_in_order_with_their_data(client, service):
    with client.writer("r1", attempt=3) as writer:
        for number in range(5):
            writer.emit("note", {"n": number})
        writer.emit("bare")
    assert service.lines() == [{"n": number} for number in range(5)] + [None]
    assert {request.headers["baton-attempt"] for request in service.requests} == {"3"}
    assert "data" not in json.loads(service.requests[-1].content)[-1]


@pytest.mark.parametrize(
    "fault", [faults.lost_reply, faults.timed_out, faults.lost_before, faults.refused, faults.unavailable]
)
def test_no_failure_doubles_or_drops_a_line(fault, client, service):
    with client.writer("r1", limits=AT_ONCE) as writer:
        for number in range(6):
            service.faults.extend([fault, fault])
            writer.emit("note", number)
            writer.flush()
    assert service.lines() == list(range(6))


def test_a_storm_of_failures_doubles_and_drops_nothing(client, service):
    fates = [
        faults.fine,
        faults.lost_reply,
        faults.lost_before,
        faults.refused,
        faults.unavailable,
        faults.throttled,
    ]
    service.faults.extend(random.Random(7).choices(fates, k=400))
    with client.writer("r1", limits=Limits(linger_seconds=0, max_batch_events=3)) as writer:
        for number in range(300):
            writer.emit("note", number)
    assert service.lines() == list(range(300))


def test_each_append_has_the_next_number_of_one_producer_and_echoes_the_tail(client, service):
    with client.writer("r1", producer_id="me", limits=AT_ONCE) as writer:
        for _ in range(3):
            writer.emit("note")
            writer.flush()
    sent = [request.headers for request in service.requests]
    assert [headers["producer-seq"] for headers in sent] == ["0", "1", "2"]
    assert {(headers["producer-id"], headers["producer-epoch"]) for headers in sent} == {("me", "0")}
    assert [headers.get("baton-tail") for headers in sent] == [None, "tail-0", "tail-1"]


def test_two_writers_are_two_producers(client, service):
    for _ in range(2):
        with client.writer("r1") as writer:
            writer.emit("note")
    assert len({request.headers["producer-id"] for request in service.requests}) == 2


def test_what_comes_while_an_append_is_under_way_goes_together(connect, service):
    gate = Gate(service)
    with connect(gate).writer("r1", limits=AT_ONCE) as writer:
        writer.emit("note", 0)
        assert gate.waiting.wait(GUARD_SECONDS)
        for number in range(1, 8):
            writer.emit("note", number)
        gate.open.set()
    assert batches(service) == [1, 7]


def test_a_batch_is_bounded_by_its_number_of_events(client, service):
    limits = Limits(linger_seconds=3600, max_batch_events=4)
    with client.writer("r1", limits=limits) as writer:
        for number in range(10):
            writer.emit("note", number)
    assert batches(service) == [4, 4, 2]


def test_a_batch_is_bounded_by_the_canonical_bytes_of_its_data(client, service):
    with client.writer("r1", limits=Limits(linger_seconds=3600, max_batch_bytes=100)) as writer:
        for size in (40, 40, 40, 98, 1):
            writer.emit("note", "x" * size)  # and two quotes
    assert batches(service) == [2, 1, 1, 1]


def test_nothing_goes_out_before_its_time_but_a_flush_sends_it(client, service):
    writer = client.writer("r1", limits=NEVER_BY_ITSELF)
    writer.emit("note")
    assert service.requests == []
    writer.flush()
    assert service.lines() == [None]
    writer.close()


def test_an_event_of_exactly_the_limit_passes_and_one_byte_more_fails_where_it_was_emitted(client, service):
    with client.writer("r1") as writer:
        writer.emit("note", "x" * (256 * 1024 - 2))
        with pytest.raises(baton_sdk.PayloadTooLarge, match=r"262144 bytes.*262145"):
            writer.emit("note", "x" * (256 * 1024 - 1))
        writer.emit("note", "after")
    assert len(service.log) == 2


@pytest.mark.parametrize("data", [float("nan"), float("inf"), "\ud800", {1, 2}, {"a": object()}])
def test_what_json_can_not_say_fails_where_it_was_emitted(data, client, service):
    with client.writer("r1") as writer:
        with pytest.raises(baton_sdk.InvalidRequest):
            writer.emit("note", data)
        writer.emit("note", "after")
    assert service.lines() == ["after"]


@pytest.mark.parametrize("type_", ["", "Note", "1a", "a b", "x" * 65, "start", "end", "cancel", "closing"])
def test_a_type_that_is_not_a_drivers_fails_where_it_was_emitted(type_, client, service):
    with client.writer("r1") as writer, pytest.raises(baton_sdk.InvalidRequest):
        writer.emit(type_)
    assert service.requests == []


@pytest.mark.parametrize(
    ("status", "slug", "kind"),
    [
        (409, "run-terminal", baton_sdk.RunTerminal),
        (409, "lease-lost", baton_sdk.LeaseLost),
        (409, "stream-conflict", baton_sdk.StreamConflict),
        (413, "payload-too-large", baton_sdk.PayloadTooLarge),
        (404, "not-found", baton_sdk.NotFound),
    ],
)
def test_a_refusal_stops_the_writer_and_is_told_to_everyone_who_comes_later(
    status, slug, kind, client, service
):
    service.closed_error = faults.problem(status, slug)
    writer = client.writer("r1", limits=AT_ONCE)
    writer.emit("note")
    for call in (writer.flush, lambda: writer.emit("note"), writer.close):
        with pytest.raises(kind):
            call()
    assert type(writer.failure) is kind
    assert len(service.requests) == 1


def test_a_newer_epoch_of_the_producer_stops_the_writer(client, service):
    service.closed_error = faults.problem(403, "forbidden", headers={"producer-epoch": "1"})
    writer = client.writer("r1", producer_id="shared")
    writer.emit("note")
    with pytest.raises(baton_sdk.ProducerFenced):
        writer.close()


def test_an_outage_longer_than_the_patience_is_told(connect, service, clock):
    service.faults.extend([faults.refused] * 1000)
    writer = connect(service).writer("r1", retry=clock.policy(attempts=None, patience=600))
    writer.emit("note")
    with pytest.raises(baton_sdk.Unreachable):
        writer.close()
    assert 500 < sum(clock.slept) <= 600


@pytest.mark.parametrize("limits", [Limits(max_buffer_events=5), Limits(max_buffer_bytes=20)])
def test_a_full_buffer_makes_the_emitter_wait_and_loses_nothing(limits, connect, service):
    gate = Gate(service)
    writer = connect(gate).writer("r1", limits=limits)
    emitted = []

    def emit_all():
        for number in range(12):
            writer.emit("note", f"{number:02d}")
            emitted.append(number)

    emitter = threading.Thread(target=emit_all)
    emitter.start()
    assert gate.waiting.wait(GUARD_SECONDS)
    # The sender is held in its first append: no more than the buffer can have been taken.
    assert len(emitted) <= 5
    assert emitter.is_alive()
    gate.open.set()
    emitter.join(GUARD_SECONDS)
    writer.close()
    assert service.lines() == [f"{number:02d}" for number in range(12)]


def test_an_emitter_that_waits_for_room_learns_of_the_failure(connect, service):
    service.closed_error = faults.problem(409, "run-terminal")
    gate = Gate(service)
    writer = connect(gate).writer("r1", limits=Limits(max_buffer_events=1))
    writer.emit("note")
    caught = []

    def emit():
        with pytest.raises(baton_sdk.RunTerminal):
            writer.emit("note")
        caught.append(True)

    emitter = threading.Thread(target=emit)
    emitter.start()
    gate.open.set()
    emitter.join(GUARD_SECONDS)
    assert caught == [True]


def test_many_threads_may_emit_and_each_keeps_its_own_order(client, service):
    with client.writer(
        "r1", limits=Limits(linger_seconds=0, max_batch_events=7, max_buffer_events=20)
    ) as writer:

        def emit(name):
            for number in range(50):
                writer.emit("note", [name, number])

        threads = [threading.Thread(target=emit, args=(name,)) for name in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(GUARD_SECONDS)
    assert len(service.log) == 300
    for name in range(6):
        assert [number for who, number in service.lines() if who == name] == list(range(50))


def test_an_aborted_writer_leaves_at_once_and_says_so(connect, service):
    service.faults.extend([faults.refused] * 100)
    # Real waits of the machine's clock: only an abort that interrupts them gets out in time.
    writer = connect(service).writer("r1", retry=baton_sdk.FOREVER, limits=AT_ONCE)
    writer.emit("note")
    writer.abort()
    with pytest.raises(baton_sdk.BatonError, match="aborted"):
        writer.close()


def test_a_closed_writer_takes_nothing(client):
    writer = client.writer("r1")
    writer.close()
    with pytest.raises(baton_sdk.InvalidRequest, match="closed"):
        writer.emit("note")
    writer.close()


def test_an_error_of_the_body_is_not_hidden_by_one_of_the_close(client, service):
    service.closed_error = faults.problem(409, "run-terminal")
    writer = client.writer("r1", limits=NEVER_BY_ITSELF)
    writer.emit("note")
    writer.__exit__(KeyError, KeyError(), None)  # swallows RunTerminal: the KeyError goes on by itself
    with pytest.raises(baton_sdk.RunTerminal):
        writer.__exit__(None, None, None)


def test_a_broken_answer_does_not_leave_anyone_waiting(client, service):
    def broken(request, handler):
        raise ZeroDivisionError

    service.faults.append(broken)
    caught = []
    hook, threading.excepthook = threading.excepthook, lambda args: caught.append(args.exc_type)
    try:
        writer = client.writer("r1", limits=AT_ONCE)
        writer.emit("note")
        with pytest.raises(baton_sdk.Fault, match="ZeroDivisionError"):
            writer.close()
    finally:
        threading.excepthook = hook
    assert caught == [ZeroDivisionError]


def test_an_answer_that_is_not_the_logs_acknowledges_nothing(client, service):
    service.faults.append(lambda r, h: httpx.Response(200, html="<p>please log in</p>"))
    writer = client.writer("r1", limits=AT_ONCE)
    writer.emit("note")
    with pytest.raises(baton_sdk.BadAnswer, match="where the log goes on"):
        writer.flush()
    assert writer.next_offset is None and service.log == []


def test_append_without_a_writer_is_one_batch_and_one_answer(client, service):
    answer = client.append("r1", [{"type": "a"}, {"type": "b", "data": 1}], attempt=2, tail="t")
    assert (answer.duplicate, answer.tail, len(service.log)) == (False, "tail-0", 2)
    (request,) = service.requests
    assert (request.headers["baton-attempt"], request.headers["baton-tail"]) == ("2", "t")
    assert isinstance(answer, baton_sdk.Appended) and isinstance(request, httpx.Request)


def test_a_failure_is_told_as_soon_as_it_is_known(client, service):
    service.closed_error = faults.problem(409, "lease-lost")
    told, known = [], threading.Event()

    def on_failure(error):
        told.append(error.slug)
        known.set()

    writer = client.writer("r1", limits=AT_ONCE, on_failure=on_failure)
    writer.emit("note")
    assert known.wait(GUARD_SECONDS)
    assert told == ["lease-lost"]
