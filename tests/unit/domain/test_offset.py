"""Offsets: one spelling per position, and the order of the text is the order of the log."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.domain.offset import BEGINNING, MAX_ENTRIES, MAX_SLOT, Offset, parse
from baton.errors import InvalidRequest

offsets = st.builds(Offset, st.integers(0, MAX_SLOT), st.integers(0, MAX_ENTRIES))


@given(offsets)
def test_what_is_written_is_read_back(offset):
    assert parse(str(offset)) == offset


@given(offsets, offsets)
def test_offsets_sort_as_text(one, other):
    assert (str(one) < str(other)) == (one < other)


@given(offsets)
def test_every_spelling_has_one_length(offset):
    assert len(str(offset)) == 22


@given(offsets)
def test_the_sequence_number_counts_from_the_slot(offset):
    assert offset.seq == offset.slot + offset.index


def test_the_start_has_a_name():
    assert parse("-1") == BEGINNING == Offset(0, 0)


@pytest.mark.parametrize(
    "text",
    [
        "", "0", "1", "-2", "now", "-1 ", " -1", "0000000000000000", "0000000000000000_0", "0_0",
        "0000000000000000_00000\n", "0000000000000000_00000_00000", "00000000000000000_00000",
        "0000000000000000-00000", "000000000000000a_00000", "-000000000000001_00000",
        "\u0660" * 16 + "_" + "\u0660" * 5, "0000000000000000_000000",
    ],
)  # fmt: skip
def test_what_no_answer_gave_is_refused(text):
    with pytest.raises(InvalidRequest) as refused:
        parse(text)
    assert refused.value.errors[0]["loc"] == ["query", "offset"]


@given(st.text())
def test_any_text_is_an_offset_or_refused(text):
    try:
        offset = parse(text)
    except InvalidRequest:
        return
    assert text in ("-1", str(offset))
