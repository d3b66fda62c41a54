"""Log items: one per slot, bytes in and bytes out, found without reading what they hold."""

import random
import zlib

import msgspec
import pytest
from msgspec.structs import replace

from baton.domain.log import Header, ProducerState
from baton.errors import PayloadTooLarge
from baton.store.log import MAX_ITEM, LogItem
from tests.unit.store.item_size import item_size

FULL_HEADER = Header(
    attempt=3,
    closed=True,
    cancel=True,
    closing_until=5,
    producers=(ProducerState("p", 3, 1, 2),),
    stream_seq="s",
)


def item(slot, count=1, birth="birth1", nonce=None, body=b"x", header=None):
    return LogItem(
        birth=birth,
        slot=slot,
        count=count,
        header=header or Header(),
        ts=1_767_225_600_000 + slot,
        nonce=nonce or f"n{slot}",
        body=body,
    )


def append(logs, *items, log="r1"):
    return [logs.append(logs.put("default", log, each)) for each in items]


def test_an_item_comes_back_whole(logs):
    put = item(3, count=7, body=b"\x00\xff not text", header=FULL_HEADER)
    append(logs, put)
    assert logs.get("default", "r1", "birth1", 3) == put
    assert logs.newest("default", "r1", consistent=True) == put


def test_a_slot_is_taken_once(logs):
    assert append(logs, item(1, nonce="first"), item(1, nonce="second")) == [True, False]
    assert logs.get("default", "r1", "birth1", 1).nonce == "first"


def test_ones_own_item_found_standing_is_success(logs):
    assert append(logs, item(1), item(1)) == [True, True]


def test_the_newest_is_that_of_the_highest_slot_and_the_latest_birth(logs):
    append(logs, item(9, birth="birth1"), item(10, birth="birth1"), item(2, birth="birth2"))
    assert logs.newest("default", "r1", consistent=True) == item(2, birth="birth2")
    assert logs.newest_of("default", "r1", "birth1", consistent=True) == item(10, birth="birth1")


def test_a_life_without_items_has_no_newest(logs):
    append(logs, item(1, birth="birth1"), item(1, birth="birth3"))
    assert logs.newest_of("default", "r1", "birth2", consistent=True) is None
    assert logs.newest("default", "r2", consistent=True) is None


def test_a_log_of_one_name_does_not_show_in_another(logs):
    append(logs, item(1))
    append(logs, item(2), log="r10")
    assert logs.newest("default", "r1", consistent=True).slot == 1
    assert logs.newest("other", "r1", consistent=True) is None


def test_items_are_read_in_order_from_a_slot_on(logs):
    append(logs, *(item(slot) for slot in (100, 2, 10, 1)))
    append(logs, item(3, birth="birth2"))
    page = logs.read("default", "r1", "birth1", 2, consistent=True)
    assert [each.slot for each in page.items] == [2, 10, 100]
    assert not page.more


def test_a_read_ends_at_a_megabyte_and_says_that_there_is_more(logs):
    noise = random.Random(1)
    append(logs, *(item(slot, body=noise.randbytes(300_000)) for slot in range(5)))
    slots, start = [], 0
    for _ in range(5):
        page = logs.read("default", "r1", "birth1", start, consistent=True)
        slots += [each.slot for each in page.items]
        if not page.more:
            break
        start = slots[-1] + 1
    assert slots == [0, 1, 2, 3, 4]
    assert start > 0


@pytest.mark.parametrize(
    ("body", "compressed"),
    [
        (b"", False),
        (b"a" * 199, False),  # too little to gain
        (b"a" * 200, True),
        (b"a" * 300_000, True),
        (random.Random(1).randbytes(300), False),  # grows by it
    ],
)
def test_a_body_is_compressed_where_that_is_smaller_and_comes_back_to_the_byte(logs, house, body, compressed):
    append(logs, item(1, body=body))
    (raw,) = house.log()
    assert ("z" in raw) == compressed
    assert len(raw["b"]["B"]) <= len(body)
    if compressed:
        assert zlib.decompress(raw["b"]["B"]) == body
    assert logs.get("default", "r1", "birth1", 1).body == body


def test_a_repetitive_kilobyte_takes_one_write_unit(logs, house):
    append(logs, item(1, body=b'["stdout",{"line":"compiling module"}],' * 26, header=FULL_HEADER))
    (raw,) = house.log()
    assert item_size(raw) <= 1024


def test_a_body_that_fits_no_item_is_refused_before_any_write(logs):
    noise = random.Random(1).randbytes(MAX_ITEM + 1)
    with pytest.raises(PayloadTooLarge):
        logs.put("default", "r1", item(1, body=noise))
    logs.put("default", "r1", item(1, body=noise[: MAX_ITEM - 1000]))
    logs.put("default", "r1", item(1, body=b"x" * (MAX_ITEM * 2)))


def test_the_largest_item_stays_within_dynamodbs_400_kb(logs, house):
    producers = tuple(ProducerState("\U0001f600" * 256, 1, 2**53, 2**53) for _ in range(16))
    header = replace(FULL_HEADER, producers=producers, stream_seq="s" * 256)
    noise = random.Random(1).randbytes(MAX_ITEM)
    with pytest.raises(PayloadTooLarge):
        logs.put("default", "r1", item(1, body=noise[: MAX_ITEM - 10_000], header=header))
    room = MAX_ITEM - len(msgspec.json.encode(header))
    append(logs, item(1, body=noise[:room], header=header), log="r" * 128)
    (raw,) = house.log()
    assert 390 * 1024 < item_size(raw) < 400 * 1024


def test_a_purge_removes_one_life_bit_by_bit_and_no_other(logs):
    append(logs, *(item(slot) for slot in range(60)))
    append(logs, item(1, birth="birth0"), item(1, birth="birth2"))
    rounds = 0
    while logs.purge("default", "r1", "birth1"):
        rounds += 1
    assert rounds == 3  # 25 + 25 + 10
    assert logs.newest_of("default", "r1", "birth1", consistent=True) is None
    assert logs.newest("default", "r1", consistent=True).birth == "birth2"
    assert logs.get("default", "r1", "birth0", 1) is not None


def test_a_purge_of_nothing_is_done_at_once(logs):
    assert not logs.purge("default", "r1", "birth1")


def test_a_tail_names_the_next_free_slot(logs):
    tail = item(5, count=3, header=FULL_HEADER).tail(fenced=True, seen_at=9)
    assert (tail.next, tail.birth, tail.header, tail.fenced) == (8, "birth1", FULL_HEADER, True)
    assert (tail.newest_ts, tail.seen_at) == (1_767_225_600_005, 9)
