"""What things may be called, the ids Baton derives, and how times are spelled."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.domain import names
from baton.domain.clock import millis, rfc3339
from baton.domain.names import birth_mark, id_from_key, matches

CASES = {
    names.NAMESPACE: (["a", "0", "team-1", "a" * 63], ["", "-a", "A", "a_b", "a" * 64, "a#b", "*"]),
    names.WORKFLOW: (["a", "A9", "ci/build:x._-", "a" * 128], ["", "/a", "_a", "a b", "a#b", "é", "a" * 129]),
    names.RUN_ID: (["a", "9._:~-", "a" * 128], ["", "~a", "a/b", "a#b", "a b", "a" * 129]),
    names.ENTRY_TYPE: (["a", "stdout", "a9._-", "a" * 64], ["", "A", "9a", "a b", "a" * 65]),
    names.IDEMPOTENCY_KEY: (["!", "~", "a b", "x" * 255], ["", " a", "a ", "x" * 256, "é", "a\tb", "a\x7fb"]),
    names.PRINTABLE: (["a", "é 😀", " "], ["", "a\n", "\x00", "\x7f", "\x85", "\u2028", "a\tb"]),
}


@pytest.mark.parametrize(
    ("pattern", "name"), [(pattern, name) for pattern, (good, _) in CASES.items() for name in good]
)
def test_a_name_of_the_form_is_taken(pattern, name):
    assert matches(pattern, name)


@pytest.mark.parametrize(
    ("pattern", "name"), [(pattern, name) for pattern, (_, bad) in CASES.items() for name in bad]
)
def test_any_other_is_not(pattern, name):
    assert not matches(pattern, name)


@pytest.mark.parametrize(("pattern", "good"), [(pattern, good) for pattern, (good, _) in CASES.items()])
def test_a_final_newline_is_part_of_the_name(pattern, good):
    assert not any(matches(pattern, name + "\n") for name in good)


@pytest.mark.parametrize("pattern", [names.NAMESPACE, names.WORKFLOW, names.RUN_ID])
def test_no_name_holds_what_keys_are_put_together_with(pattern):
    assert not any(matches(pattern, name) for name in ("a#", "#a", "a#b"))


@given(st.text(), st.text(), st.text())
def test_a_key_stands_for_a_legal_id_of_constant_length(namespace, route, key):
    id_ = id_from_key(namespace, route, key)
    assert matches(names.RUN_ID, id_)
    assert id_.startswith(names.DERIVED_PREFIXES)
    assert len(id_) == 34


def test_an_id_from_a_key_is_the_same_wherever_it_is_derived():
    id_ = id_from_key("left", "POST /v1/runs", "k1")
    assert id_ == id_from_key("left", "POST /v1/runs", "k1")
    assert id_ != id_from_key("left", "POST /v1/runs", "k2")
    assert id_ != id_from_key("left", "POST /v1/events", "k1")
    assert id_ != id_from_key("right", "POST /v1/runs", "k1")


@given(st.integers(0, 2**47), st.integers(0, 2**47), st.binary(min_size=8, max_size=8))
def test_births_sort_by_time_and_make_legal_ids(one, other, entropy):
    first, second = birth_mark(one, entropy), birth_mark(other, entropy)
    assert (first < second) == (one < other)
    assert matches(names.RUN_ID, first)
    assert not first.startswith(names.DERIVED_PREFIXES)


@pytest.mark.parametrize(
    ("at", "spelled"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_767_225_600_007, "2026-01-01T00:00:00.007Z"),
        (1_767_225_599_999, "2025-12-31T23:59:59.999Z"),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_times_are_utc_with_milliseconds(at, spelled):
    assert rfc3339(at) == spelled


@given(st.integers(0, 253_402_300_799_999))
def test_every_time_has_the_form_of_rfc_3339(at):
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", rfc3339(at))


@pytest.mark.parametrize(
    ("seconds", "expected"), [(0, 0), (1, 1000), (0.0005, 0), (0.001, 1), (2592000, 2592000000)]
)
def test_durations_are_whole_milliseconds(seconds, expected):
    assert millis(seconds) == expected
