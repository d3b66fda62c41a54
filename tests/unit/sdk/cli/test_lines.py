"""The log of a command's output holds every byte of it."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton_sdk import payload
from baton_sdk.cli.exec.lines import MAX_PIECE_BYTES, LineCutter, Piece


def cut(*chunks, max_bytes=MAX_PIECE_BYTES):
    cutter = LineCutter(max_bytes)
    pieces = [piece for chunk in chunks for piece in cutter.feed(chunk)]
    return pieces + list(cutter.flush(final=True))


def joined(pieces):
    return "".join(piece.text + ("\n" if piece.eol else "") for piece in pieces)


@pytest.mark.parametrize(
    ("chunks", "pieces"),
    [
        ([b"one\ntwo\n"], [Piece("one", True), Piece("two", True)]),
        ([b"on", b"e\nt", b"wo\n"], [Piece("one", True), Piece("two", True)]),
        ([b"\n\n"], [Piece("", True), Piece("", True)]),
        ([b"no newline at the end"], [Piece("no newline at the end", False)]),
        ([b"dos\r\n"], [Piece("dos\r", True)]),
        ([], []),
        ([b"caf\xc3", b"\xa9\n"], [Piece("café", True)]),
        ([b"\xff\xfe raw\n"], [Piece("\\xff\\xfe raw", True)]),
        ([b"\x00\x1b[31m\n"], [Piece("\x00\x1b[31m", True)]),
    ],
)
def test_lines_are_found_wherever_the_chunks_break(chunks, pieces):
    assert cut(*chunks) == pieces


def test_a_long_line_is_cut_into_pieces_that_say_so():
    assert cut(b"abcdefgh\nx", max_bytes=3) == [
        Piece("abc", False), Piece("def", False), Piece("gh", True), Piece("x", False),
    ]  # fmt: skip


def test_a_line_of_exactly_the_limit_is_one_piece():
    assert cut(b"abc\n", max_bytes=3) == [Piece("abc", True)]


@given(st.text(), st.integers(4, 9), st.lists(st.integers(0, 40), max_size=6))
def test_text_survives_any_cutting(text, max_bytes, breaks):
    raw = text.encode(errors="replace")
    edges = [0, *sorted(edge for edge in breaks if edge <= len(raw)), len(raw)]
    chunks = [raw[begin:end] for begin, end in itertools.pairwise(edges)]
    pieces = cut(*chunks, max_bytes=max_bytes)
    assert joined(pieces) == raw.decode()
    assert all(len(piece.text.encode()) <= max_bytes for piece in pieces)


@given(st.binary(), st.integers(4, 9))
def test_any_bytes_come_through_without_an_error(raw, max_bytes):
    assert joined(cut(raw, max_bytes=max_bytes)).count("\n") == raw.count(b"\n")


def test_a_prompt_is_flushed_but_half_a_character_stays():
    cutter = LineCutter()
    assert list(cutter.feed("name: é".encode()[:-1])) == []
    assert list(cutter.flush(final=False)) == [Piece("name: ", False)]
    assert list(cutter.flush(final=False)) == []
    assert list(cutter.feed("é".encode()[-1:] + b"\n")) == [Piece("é", True)]


@pytest.mark.parametrize("byte", [b"\xff", b"\x01", b'"', b"x", b"\xf0"])
def test_the_worst_piece_still_fits_an_event(byte):
    for piece in cut(byte * (2 * MAX_PIECE_BYTES)):
        assert len(payload.encode(piece.data())) <= payload.MAX_BYTES


def test_only_an_unfinished_line_is_marked():
    assert Piece("a", True).data() == {"line": "a"}
    assert Piece("a", False).data() == {"line": "a", "eol": False}
