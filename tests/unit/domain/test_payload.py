"""Payloads: one canonical spelling, numbers as they were sent, and what is refused before any write."""

import json
import random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.domain.log import entry, pack, unpack
from baton.domain.payload import MAX_DEPTH, MAX_PAYLOAD, canonical, check_size, digest, fits_row, parse
from baton.errors import InvalidRequest, PayloadTooLarge

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**40), 10**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(json_values)
def test_a_payload_comes_back_as_it_was_sent(value):
    sent = json.dumps(value, ensure_ascii=False).encode()
    assert json.loads(canonical(parse(sent))) == value


@given(json_values)
def test_canonical_is_one_spelling(value):
    spelled = canonical(parse(json.dumps(value, indent=3).encode()))
    assert canonical(parse(spelled)) == spelled


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (b"0.1", b"0.1"), (b"0.10", b"0.10"), (b"-0.0", b"-0.0"), (b"1.0", b"1.0"), (b"1", b"1"),
        (b"9007199254740993", b"9007199254740993"),  # 2^53 + 1
        (b"18446744073709551616", b"18446744073709551616"),  # 2^64
        (b"0.1000000000000000055511151231257827", b"0.1000000000000000055511151231257827"),
        (b'""', b'""'), (b"[]", b"[]"), (b"{}", b"{}"), (b"null", b"null"), (b'[""]', b'[""]'),
        (b'"\\ud83d\\ude00"', '"😀"'.encode()), ('"😀é"'.encode(), '"😀é"'.encode()),
        (b'"\\u0000"', b'"\\u0000"'), (b'"\\/"', b'"/"'),
        (b' { "b" : 1 , "a" : { "d" : "" , "c" : [ ] } } ', b'{"a":{"c":[],"d":""},"b":1}'),
    ],
)  # fmt: skip
def test_each_value_has_its_canonical_spelling(sent, kept):
    assert canonical(parse(sent)) == kept


@pytest.mark.parametrize(
    "sent",
    [
        b"1e2", b"1E400", b"1e-400", b"-2.5e-7", b"0.00000000001", b"1.0e5", b"1.10", b"-0", b"-0.0", b"0e0",
        b"1e99999999999999999999", b"9" * 4000, b"0." + b"1" * 5000, b"[-0,1e5,0.0000001]",
    ],
)  # fmt: skip
def test_a_number_keeps_its_characters_whatever_its_size(sent):
    assert canonical(parse(sent)) == sent


@pytest.mark.parametrize(
    "sent",
    [
        b"", b" ", b"NaN", b"Infinity", b"-Infinity", b"[NaN]", b"01", b"+1", b".5", b"1.", b"[1,]", b"{} x",
        b"'a'", b'{"a":}', b"\xef\xbb\xbf1", b'"\xff"', b'"\xed\xa0\x80"', b'"\n"',
        b'"\\ud800"', b'"\\udc00"', b'"\\ud800x"', b'"\\udc00\\ud800"', b'{"\\ud800":1}',
        b"9" * 5000,
    ],
)  # fmt: skip
def test_what_is_not_json_or_cannot_be_kept_is_refused_by_the_field(sent):
    with pytest.raises(InvalidRequest) as refused:
        parse(sent, where="input")
    assert refused.value.errors[0]["loc"] == ["input"]


def nested(depth, opening=b"[", closing=b"]", core=b""):
    return opening * depth + core + closing * depth


@pytest.mark.parametrize("form", [{}, {"opening": b'{"a":', "closing": b"}", "core": b"0"}])
def test_deep_nesting_is_kept_and_deeper_refused(form):
    deep = nested(MAX_DEPTH, **form)
    assert canonical(parse(deep)) == deep
    for depth in (MAX_DEPTH + 1, 900, 100_000):
        with pytest.raises(InvalidRequest):
            parse(nested(depth, **form))


def test_what_was_taken_can_be_read_again_from_a_deep_stack():
    kept = parse(nested(MAX_DEPTH))

    def further_down(frames):
        if frames:
            return further_down(frames - 1)
        return bytes(unpack(pack([entry("deep", kept)]))[0].data)

    assert further_down(300) == nested(MAX_DEPTH)


def test_many_brackets_are_not_depth():
    wide = b"[" + b",".join([b"[]"] * 10_000) + b',"' + b"[" * 10_000 + b'"]'
    assert canonical(parse(wide)) == wide


def test_the_digest_tells_bodies_apart_and_nothing_else():
    one = canonical(parse(b'{"a":1,"b":2}'))
    assert digest(one) == digest(canonical(parse(b'{ "b": 2, "a": 1 }')))
    assert digest(one) != digest(canonical(parse(b'{"a":1,"b":2.0}')))
    assert len(digest(one)) == 22


def test_sizes_count_to_the_byte():
    check_size("input", MAX_PAYLOAD)
    with pytest.raises(PayloadTooLarge) as refused:
        check_size("input", MAX_PAYLOAD + 1)
    assert MAX_PAYLOAD == 256 * 1024
    assert refused.value.errors[0]["loc"] == ["body", "input"]


@pytest.mark.parametrize(
    ("input_", "fits"),
    [
        (random.Random(7).randbytes(512), True),
        (random.Random(7).randbytes(513), False),
        (b"7" * 4096, True),
        (b"7" * 4097, False),  # not even looked at: compressing takes time
    ],
)
def test_what_a_row_has_room_for_counts_as_compressed(input_, fits):
    assert fits_row(input_) is fits


def test_raw_json_within_a_value_is_taken_as_it_stands():
    assert canonical({"b": msgspec.Raw(b"0.10"), "a": 1}) == b'{"a":1,"b":0.10}'
