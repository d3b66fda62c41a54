"""The log's word on one append: every refusal, their order, and what a batch changes in the header."""

import pytest

from baton.domain.log import (
    Accept,
    Duplicate,
    Header,
    Producer,
    ProducerState,
    WaitOut,
    check_batch,
    decide_append,
    entry,
)
from baton.errors import (
    InvalidRequest,
    LeaseLost,
    PayloadTooLarge,
    ProducerFenced,
    RunTerminal,
    SequenceGap,
    StreamConflict,
)
from tests.unit.domain.runs_at_hand import NOW, tail_at


def decide(tail, *, attempt=None, producer=None, stream_seq=None, now=NOW):
    return decide_append(tail, attempt=attempt, producer=producer, stream_seq=stream_seq, now=now)


def known(id_="p", attempt=1, epoch=3, seq=7):
    return (ProducerState(id_, attempt, epoch, seq),)


def test_a_plain_append_copies_the_header():
    header = Header(attempt=1, cancel=True, producers=known(), stream_seq="s1")
    accepted = decide(tail_at(attempt=1, cancel=True, producers=known(), stream_seq="s1"))
    assert accepted == Accept(header)


# The fence


@pytest.mark.parametrize("tail", [tail_at(fenced=True), tail_at(attempt=2), tail_at(attempt=2, closed=True)])
def test_a_claimed_or_resumed_run_asks_for_the_fence(tail):
    with pytest.raises(InvalidRequest) as refused:
        decide(tail)
    assert refused.value.errors[0]["loc"] == ["header", "Baton-Attempt"]


def test_the_runs_own_attempt_passes():
    assert isinstance(decide(tail_at(attempt=2, fenced=True), attempt=2), Accept)
    assert isinstance(decide(tail_at(), attempt=1), Accept)


@pytest.mark.parametrize("attempt", [1, 3])
def test_another_attempt_has_lost_its_lease(attempt):
    with pytest.raises(LeaseLost):
        decide(tail_at(attempt=2), attempt=attempt)


# The order of the refusals: each of these tails and requests offends in all the later ways as well

EVERYTHING_WRONG = {
    "attempt": 2,
    "closed": True,
    "closing_until": NOW + 1,
    "producers": known(attempt=1),
    "stream_seq": "s9",
}


def test_a_duplicate_of_an_earlier_attempt_is_known_before_the_lease_is_lost():
    tail = tail_at(**EVERYTHING_WRONG)
    assert decide(tail, attempt=1, producer=Producer("p", 3, 7), stream_seq="s1") == Duplicate(3, 7)


def test_a_duplicate_is_known_on_a_closed_log():
    tail = tail_at(closed=True, producers=known())
    assert decide(tail, producer=Producer("p", 3, 7)) == Duplicate(3, 7)


def test_a_lost_lease_comes_before_the_closed_log():
    with pytest.raises(LeaseLost):
        decide(tail_at(**EVERYTHING_WRONG), attempt=1, producer=Producer("p", 3, 9), stream_seq="s1")


def test_a_closed_log_says_where_it_ended_before_anything_else_is_wrong():
    with pytest.raises(RunTerminal) as refused:
        decide(tail_at(5, **EVERYTHING_WRONG), attempt=2, producer=Producer("p", 3, 9), stream_seq="s1")
    assert refused.value.headers == {
        "Stream-Closed": "true",
        "Stream-Next-Offset": "0000000000000005_00000",
    }


def test_a_settle_under_way_is_waited_out_whatever_else_is_wrong():
    tail = tail_at(closing_until=NOW + 1, producers=known(), stream_seq="s9")
    assert decide(tail, producer=Producer("p", 3, 99), stream_seq="s1") == WaitOut(NOW + 1)


def test_a_settle_that_did_not_come_is_forgotten():
    accepted = decide(tail_at(closing_until=NOW))
    assert accepted == Accept(Header(attempt=1))


def test_a_producers_trouble_comes_before_the_stream_seqs():
    with pytest.raises(SequenceGap):
        decide(tail_at(producers=known(), stream_seq="s9"), producer=Producer("p", 3, 9), stream_seq="s1")


# Producers. Source: Durable Streams protocol, 5.2.1


@pytest.mark.parametrize("seq", [0, 6, 7])
def test_what_the_log_has_is_a_duplicate_answered_with_the_newest_it_took(seq):
    assert decide(tail_at(producers=known()), producer=Producer("p", 3, seq)) == Duplicate(3, 7)


def test_the_next_batch_is_taken_and_remembered():
    accepted = decide(tail_at(producers=known()), producer=Producer("p", 3, 8))
    assert accepted.header.producers == known(seq=8)


@pytest.mark.parametrize(("seq", "expected"), [(9, 8), (100, 8)])
def test_a_gap_says_what_is_expected(seq, expected):
    with pytest.raises(SequenceGap) as refused:
        decide(tail_at(producers=known()), producer=Producer("p", 3, seq))
    assert refused.value.headers == {
        "Producer-Expected-Seq": str(expected),
        "Producer-Received-Seq": str(seq),
    }


def test_a_producer_begins_at_0():
    assert decide(tail_at(), producer=Producer("p", 5, 0)).header.producers == known(epoch=5, seq=0)
    with pytest.raises(SequenceGap) as refused:
        decide(tail_at(), producer=Producer("p", 0, 1))
    assert refused.value.headers["Producer-Expected-Seq"] == "0"


@pytest.mark.parametrize("seq", [0, 7, 8])
def test_a_stale_epoch_is_fenced_out(seq):
    with pytest.raises(ProducerFenced) as refused:
        decide(tail_at(producers=known()), producer=Producer("p", 2, seq))
    assert refused.value.headers == {"Producer-Epoch": "3"}


def test_a_new_epoch_begins_at_0():
    assert decide(tail_at(producers=known()), producer=Producer("p", 4, 0)).header.producers == known(
        epoch=4, seq=0
    )
    with pytest.raises(InvalidRequest) as refused:
        decide(tail_at(producers=known()), producer=Producer("p", 4, 1))
    assert refused.value.errors[0]["loc"] == ["header", "Producer-Seq"]


def test_each_attempt_counts_its_producers_anew():
    tail = tail_at(attempt=2, producers=known(attempt=1))
    accepted = decide(tail, attempt=2, producer=Producer("p", 0, 0))
    assert accepted.header.producers == known(attempt=1) + known(attempt=2, epoch=0, seq=0)


def test_without_a_fence_a_producer_belongs_to_the_first_attempt():
    assert decide(tail_at(producers=known(attempt=1)), producer=Producer("p", 3, 7)) == Duplicate(3, 7)


def crowd(number, attempt=1):
    return tuple(ProducerState(f"p{i}", attempt, 0, 0) for i in range(number))


def test_16_producers_are_kept_apart():
    accepted = decide(tail_at(producers=crowd(15)), producer=Producer("new", 0, 0))
    assert len(accepted.header.producers) == 16


def test_a_17th_is_refused_and_the_16_go_on():
    tail = tail_at(producers=crowd(16))
    with pytest.raises(StreamConflict):
        decide(tail, producer=Producer("new", 0, 0))
    assert len(decide(tail, producer=Producer("p0", 0, 1)).header.producers) == 16


def test_a_producer_of_an_earlier_attempt_makes_room_the_longest_silent_first():
    of_both = crowd(3, attempt=1) + crowd(13, attempt=2)
    first = decide(tail_at(attempt=2, producers=of_both), attempt=2, producer=Producer("n1", 0, 0)).header
    assert first.producers == (*of_both[1:], ProducerState("n1", 2, 0, 0))


def test_the_oldest_attempt_makes_room_first():
    states = crowd(1, attempt=2) + crowd(1, attempt=1) + crowd(14, attempt=3)
    header = decide(tail_at(attempt=3, producers=states), attempt=3, producer=Producer("n", 0, 0)).header
    assert ProducerState("p0", 1, 0, 0) not in header.producers
    assert ProducerState("p0", 2, 0, 0) in header.producers


def test_a_duplicate_never_needs_room():
    assert decide(tail_at(producers=crowd(16)), producer=Producer("p3", 0, 0)) == Duplicate(0, 0)


# Stream-Seq


@pytest.mark.parametrize(
    ("last", "given", "taken"),
    [
        (None, "", True),
        ("a", "b", True),
        ("a", "a", False),
        ("b", "a", False),
        ("2", "10", False),  # bytes, not numbers
        ("10", "2", True),
        ("a", "aa", True),
        ("Z", "a", True),
        ("z", "é", True),
        ("\uffff", "\U00010000", True),  # UTF-8 order, where UTF-16's would differ
    ],
)
def test_stream_seq_is_ordered_byte_by_byte(last, given, taken):
    tail = tail_at(stream_seq=last)
    if taken:
        assert decide(tail, stream_seq=given).header.stream_seq == given
    else:
        with pytest.raises(StreamConflict):
            decide(tail, stream_seq=given)


def test_an_append_without_stream_seq_keeps_the_last_one():
    assert decide(tail_at(stream_seq="s1")).header.stream_seq == "s1"


# A batch


def test_an_append_holds_at_least_one_message():
    with pytest.raises(InvalidRequest):
        check_batch([])


def test_an_append_may_take_256_kb_in_sum_to_the_byte():
    half = entry("a", "x" * (128 * 1024 - 2))
    check_batch([half, half])
    with pytest.raises(PayloadTooLarge) as refused:
        check_batch([half, entry("a", "x" * (128 * 1024 - 1))])
    assert refused.value.errors[0]["loc"] == ["body", "data"]


def test_a_batch_is_no_longer_than_an_offset_can_count():
    one = entry("a", 1)
    check_batch([one] * 99_999)
    with pytest.raises(InvalidRequest):
        check_batch([one] * 100_000)
