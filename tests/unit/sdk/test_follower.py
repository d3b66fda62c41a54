"""A follower gives every event once and in order, whatever happens to its connections."""

from __future__ import annotations

import itertools

import httpx
import pytest

import baton_sdk
from baton_sdk import FOREVER, NOW
from tests.unit.sdk import service as faults
from tests.unit.sdk.service import Chunks, message, offset


def fill(service, count, closed=True):
    service.log = [message(seq, data={"line": f"line {seq} — ü"}) for seq in range(count)]
    service.closed = closed


def seqs(events):
    return [event.seq for event in events]


def test_a_settled_log_is_read_once_and_ends(client, service):
    fill(service, 8)
    follower = client.follow("r1")
    assert [event.raw for event in follower] == service.log
    assert follower.closed and follower.offset == offset(8)
    assert len(service.requests) == 1


@pytest.mark.parametrize("ids", [True, False])
def test_a_connection_cut_at_any_byte_loses_and_repeats_nothing(ids, connect, service):
    fill(service, 3)
    service.frame_size = 2
    service.ids_in_frames = ids
    length = len(service._frames(0))
    client = connect(service)
    for cut in range(length):
        service.cuts.append(cut)
        assert seqs(client.follow("r1")) == [0, 1, 2], f"cut after {cut} of {length} bytes"


def test_every_connection_may_be_cut_as_long_as_some_event_gets_through(client, service):
    fill(service, 30)
    service.cuts.extend([400, 300, 300, 900, 10, 10, 500])
    assert seqs(client.follow("r1")) == list(range(30))


def test_a_reconnect_names_where_it_left_off(client, service):
    fill(service, 6)
    service.cuts.append(len(service._frames(0)) - 1 - len(service._control(6)) * 2)
    list(client.follow("r1"))
    again = service.requests[1]
    assert again.headers["last-event-id"] == again.url.params["offset"] == offset(3)
    assert again.url.params["cursor"] == "7"


def test_events_that_come_while_it_follows_are_seen_live(client, service, clock):
    fill(service, 0, closed=False)
    grown = itertools.count(1)

    def grow():
        fill(service, count := next(grown) * 2, closed=count >= 8)

    service.before_read = grow
    assert seqs(client.follow("r1")) == list(range(8))
    assert clock.slept == []  # a window that ends is no failure


def test_an_idle_service_that_ends_its_windows_at_once_is_not_hammered(client, service, clock):
    fill(service, 0, closed=False)
    reads = itertools.count()

    def close_at_last():
        if next(reads) == 3:
            fill(service, 1)

    service.before_read = close_at_last
    assert seqs(client.follow("r1")) == [0]
    assert clock.slept == [1.0, 1.0, 1.0]


def test_an_outage_is_outlasted(client, service, clock):
    fill(service, 4)
    service.faults.extend(
        [faults.refused, faults.unavailable, faults.throttled, faults.bad_gateway, faults.lost_reply]
    )
    assert seqs(client.follow("r1")) == [0, 1, 2, 3]
    assert len(clock.slept) == 5


def test_patience_begins_anew_with_every_page(client, service, connect, clock):
    fill(service, 12)
    client = connect(service, patient=clock.policy(attempts=3))
    for _ in range(3):
        service.cuts.append(len(service._frames(0)) // 3)
        service.faults.extend([faults.fine, faults.lost_before])
    assert seqs(client.follow("r1")) == list(range(12))


def test_an_outage_longer_than_the_patience_ends_the_following_with_its_cause(connect, service, clock):
    service.faults.extend([faults.refused] * 100)
    client = connect(service, patient=clock.policy(attempts=None, patience=60))
    with pytest.raises(baton_sdk.Unreachable):
        list(client.follow("r1"))
    assert sum(clock.slept) <= 60


def test_an_idle_hour_uses_up_no_patience(connect, service, clock):
    fill(service, 2)

    def idle_then_cut(request, handler):
        clock.time += 3600
        raise httpx.ReadError("connection reset")

    service.faults.extend([idle_then_cut, faults.refused])
    client = connect(service, patient=clock.policy(attempts=None, patience=60))
    assert seqs(client.follow("r1")) == [0, 1]


def test_without_a_bound_it_never_gives_up(client, service, clock):
    fill(service, 1)
    service.faults.extend([faults.refused] * 500)
    forever = clock.policy(attempts=None, patience=None)
    assert forever.attempts == FOREVER.attempts and forever.patience_seconds == FOREVER.patience_seconds
    assert seqs(client.follow("r1", retry=forever)) == [0]


def test_a_refusal_is_raised_at_once(client, service):
    service.faults.append(lambda request, handler: faults.problem(404, "not-found"))
    with pytest.raises(baton_sdk.NotFound):
        list(client.follow("r1"))
    assert len(service.requests) == 1


def test_a_missing_event_is_an_error_not_a_silence(client, service):
    fill(service, 6)
    del service.log[3]
    seen: list[int] = []
    with pytest.raises(baton_sdk.LogGap, match="from event 2 to 4"):
        seen.extend(event.seq for event in client.follow("r1"))
    assert seen == [] or seen == [0, 1, 2]


def test_a_log_that_does_not_begin_at_its_beginning_has_a_gap(client, service):
    fill(service, 3)
    del service.log[0]
    with pytest.raises(baton_sdk.LogGap):
        list(client.follow("r1"))


def test_from_an_offset_the_first_event_is_whatever_comes(client, service):
    fill(service, 6)
    assert seqs(client.follow("r1", offset(4))) == [4, 5]


def test_now_is_one_place_also_when_the_first_connection_drops(client, service):
    fill(service, 3, closed=False)

    def grow():
        fill(service, 5)

    service.before_read = grow
    service.cuts.append(5)
    assert seqs(client.follow("r1", NOW)) == [3, 4]
    assert [request.method for request in service.requests] == ["HEAD", "GET", "GET"]


@pytest.mark.parametrize("live", ["auto", "long-poll"])
def test_where_no_event_stream_comes_it_reads_by_long_poll(live, client, service):
    service.offers_sse = False
    fill(service, 7)
    assert seqs(client.follow("r1", live=live)) == list(range(7))
    polls = [request.url.params["live"] for request in service.requests]
    assert polls[-3:] == ["long-poll"] * 3


def test_a_page_instead_of_an_event_stream_is_read_by_long_poll(client, service):
    fill(service, 2)
    service.faults.append(lambda request, handler: httpx.Response(200, json=[]))
    assert seqs(client.follow("r1")) == [0, 1]


def test_something_that_holds_the_event_stream_back_is_gone_around(client, service):
    fill(service, 2)
    service.faults.extend([faults.timed_out, faults.timed_out])
    assert seqs(client.follow("r1")) == [0, 1]
    assert service.requests[-1].url.params["live"] == "long-poll"


def test_sse_alone_is_not_replaced(client, service):
    service.offers_sse = False
    with pytest.raises(baton_sdk.InvalidRequest, match="server-sent"):
        list(client.follow("r1", live="sse"))


def test_an_unknown_way_to_follow_is_refused(client):
    with pytest.raises(baton_sdk.InvalidRequest):
        client.follow("r1", live="websocket")


def test_long_polls_that_come_back_empty_are_asked_again_politely(client, service, clock):
    fill(service, 0, closed=False)
    reads = itertools.count()

    def grow():
        if next(reads) == 2:
            fill(service, 2)

    service.before_read = grow
    assert seqs(client.follow("r1", live="long-poll")) == [0, 1]
    assert clock.slept == [1.0, 1.0]


def test_stopping_and_going_on_from_its_offset_sees_the_rest(client, service):
    fill(service, 9)
    first = client.follow("r1")
    seen = []
    for event in first:
        seen.append(event.seq)
        if event.seq == 4:
            break
    rest = [seq for seq in seqs(client.follow("r1", first.offset)) if seq > seen[-1]]
    assert seen + rest == list(range(9))


def test_a_broken_frame_is_told_not_skipped(client, service):
    body = b"event: data\nid: x\ndata: [{]\n\n"
    service.faults.append(
        lambda r, h: httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Chunks(body))
    )
    with pytest.raises(baton_sdk.BadAnswer):
        list(client.follow("r1"))


def test_a_replay_reads_page_after_page_to_the_tail_and_does_not_wait(client, service):
    fill(service, 7, closed=False)
    assert seqs(client.stream("r1")) == list(range(7))
    assert [request.url.params.get("live") for request in service.requests] == [None] * 3


def test_an_answer_that_is_not_the_logs_is_no_end_of_it(client, service):
    fill(service, 7, closed=False)
    service.faults += [faults.fine, lambda r, h: httpx.Response(200)]
    with pytest.raises(baton_sdk.BadAnswer, match="where the log goes on"):
        list(client.stream("r1"))
