"""What each item carries forward, and how a tail moves on."""

import msgspec
import pytest

from baton.domain.log import Entry, Header, ProducerState, entry, pack, unpack
from baton.domain.offset import Offset
from tests.unit.domain.runs_at_hand import NOW, tail_at

FULL = Header(
    attempt=2,
    closed=False,
    cancel=True,
    closing_until=NOW,
    producers=(ProducerState("p", 2, 0, 4),),
    stream_seq="s7",
)


@pytest.mark.parametrize(
    ("said", "attempt", "changed"),
    [
        ("end", 2, {"closed": True, "suspended": False}),
        ("cancel", 2, {"cancel": True}),
        ("resumed", 3, {"closed": False, "cancel": False, "attempt": 3}),
        ("claimed", 3, {"attempt": 3}),
        ("suspended", 2, {"suspended": True}),
        ("woken", 2, {}),
    ],
)
def test_what_baton_says_changes_what_it_means_and_carries_the_rest(said, attempt, changed):
    expected = msgspec.structs.replace(FULL, closing_until=0, **changed)
    assert FULL.following(said, attempt) == expected


def test_a_resumed_log_is_open_again():
    ended = FULL.following("end", 2)
    assert ended.closed
    assert not ended.following("resumed", 3).closed


def test_a_closing_asks_to_wait_and_changes_nothing_else():
    assert FULL.closing(NOW + 5) == msgspec.structs.replace(FULL, closing_until=NOW + 5)


def test_a_header_survives_storage():
    stored = msgspec.json.encode(FULL)
    assert msgspec.json.decode(stored, type=Header) == FULL


def test_a_header_of_an_older_version_reads_with_defaults():
    assert msgspec.json.decode(b"[2,true]", type=Header) == Header(attempt=2, closed=True)


def test_a_header_of_a_newer_version_is_read_for_what_is_known():
    assert msgspec.json.decode(b'[2,true,false,0,[],null,false,"more"]', type=Header) == Header(
        attempt=2, closed=True
    )


def test_a_tail_moves_on_by_what_was_written():
    tail = tail_at(5, fenced=True).after(3, FULL, NOW)
    assert (tail.next, tail.header, tail.fenced, tail.newest_ts, tail.seen_at) == (8, FULL, True, NOW, NOW)
    assert tail.offset == Offset(8)
    assert not tail.after(1, FULL, NOW, fenced=False).fenced


def test_a_body_gives_its_entries_back_to_the_byte():
    entries = [Entry("stdout", msgspec.Raw(b'{"n":0.10}')), entry("note", ""), entry("note", None)]
    again = unpack(pack(entries))
    assert [(said.type, bytes(said.data)) for said in again] == [
        ("stdout", b'{"n":0.10}'),
        ("note", b'""'),
        ("note", b"null"),
    ]
