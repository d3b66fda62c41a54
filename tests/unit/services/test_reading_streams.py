"""Reading a log: from any offset to its end, with no gap, no repeat, and no more than an answer holds."""

import random

import msgspec
import pytest

from baton.domain.log import Message, entry
from baton.domain.offset import Offset
from baton.domain.states import Mode, State
from baton.errors import InvalidRequest, NotFound
from baton.services.streams import MAX_ANSWER
from baton.store.log import LogStore
from tests.unit.house import NS, calls_of, names_of, start
from tests.unit.services.acts import append, fail, finish, read, replay, types_of

LARGE = b'"' + b"x" * 600 + b'"'


@pytest.fixture
def run_id(runtime):
    return start(runtime, run_id="r1").detail.run.id


def seqs(chunk):
    return [message.seq for message in chunk.messages]


def test_a_message_says_whose_it_is_which_and_when(house, runtime, run_id):
    house.clock.advance(1.5)
    append(runtime, run_id, entry("stdout", {"line": "é 😀"}))
    (message,) = read(house.container(), run_id, str(Offset(1))).messages
    assert message == Message("r1", 1, 1, "stdout", "2026-01-01T00:00:01.500Z", message.data)
    assert bytes(message.data) == '{"line":"é 😀"}'.encode()


@pytest.mark.parametrize("payload", [b'{"n":0.10}', LARGE], ids=["in the row", "in the log"])
def test_entry_0_is_the_start_wherever_the_input_stands(house, payload):
    start(house.container(), run_id="r1", input=payload, context_ref="c", agent_id="a")
    append(house.container(), "r1", 1)
    first, _ = replay(house.container(), "r1")
    assert (first.seq, first.type, first.ts) == (0, "start", "2026-01-01T00:00:00.000Z")
    assert bytes(first.data) == (
        b'{"agent_id":"a","context_ref":"c","input":' + payload + b',"workflow":"build"}'
    )


@pytest.mark.parametrize("payload", [b"null", LARGE], ids=["small input", "large input"])
def test_from_every_offset_the_rest_is_read(house, runtime, payload):
    start(runtime, run_id="r1", input=payload)
    append(runtime, "r1", "a", "b", "c")
    append(runtime, "r1", "d")
    append(runtime, "r1", "e", "f")
    positions = [
        Offset(0), Offset(1), Offset(1, 1), Offset(1, 2), Offset(4), Offset(5), Offset(5, 1), Offset(7),
    ]  # fmt: skip
    for position in positions:
        chunk = read(house.container(), "r1", str(position))
        assert seqs(chunk) == list(range(position.seq, 7))
        assert (chunk.start, chunk.next) == (position, Offset(7))
        assert chunk.up_to_date
        assert not chunk.closed


@pytest.mark.parametrize(
    "offset",
    [
        Offset(0, 1),  # entry 0 stands alone
        Offset(1, 3),  # at a batch's end the next slot has its name
        Offset(1, 4),
        Offset(2),  # within a batch that is not the newest
        Offset(2, 1),
        Offset(6),  # within the newest
        Offset(6, 0),
        Offset(7, 1),
        Offset(8),
        Offset(5, 2),
        Offset(9_920_000_920_000_999),
    ],
    ids=str,
)
def test_an_offset_that_no_answer_gave_is_refused(house, runtime, run_id, offset):
    append(runtime, run_id, "a", "b", "c")
    append(runtime, run_id, "d")
    append(runtime, run_id, "e", "f")
    with pytest.raises(InvalidRequest) as refused:
        read(house.container(), run_id, str(offset))
    assert refused.value.errors[0]["loc"] == ["query", "offset"]


def test_now_is_the_tail(house, runtime, run_id):
    append(runtime, run_id, "a", "b")
    chunk = read(house.container(), run_id, "now")
    assert (chunk.messages, chunk.next, chunk.up_to_date, chunk.closed) == ([], Offset(3), True, False)


def test_a_log_without_items_has_its_start(house, runtime, run_id):
    assert seqs(read(house.container(), run_id)) == [0]
    chunk = read(house.container(), run_id, str(Offset(1)))
    assert (chunk.messages, chunk.up_to_date) == ([], True)


def test_closed_is_said_when_the_end_was_read_and_at_the_tail_after_it(house, runtime, run_id):
    append(runtime, run_id, "a")
    finish(runtime, run_id)
    for offset, expected in (("-1", [0, 1, 2]), (str(Offset(2)), [2]), (str(Offset(3)), []), ("now", [])):
        chunk = read(house.container(), run_id, offset)
        assert (seqs(chunk), chunk.closed, chunk.up_to_date) == (expected, True, True)


def test_a_resumed_log_is_read_on_from_where_it_was_closed(house, runtime, run_id):
    fail(runtime, run_id)
    end = read(runtime, run_id).next
    runtime.control.resume(NS, run_id, force=False, key=None)
    append(runtime, run_id, "again", attempt=2)
    chunk = read(house.container(), run_id, str(end))
    assert [(m.type, m.attempt) for m in chunk.messages] == [("resumed", 2), ("note", 2)]
    assert not chunk.closed


def test_the_tail_is_where_the_next_append_goes(house, runtime, run_id):
    run, tail = house.container().streams.tail(NS, run_id)
    assert (run.id, tail.offset, tail.header.closed) == (run_id, Offset(1), False)
    assert append(runtime, run_id, 1, 2).tail.offset == house.container().streams.tail(NS, run_id)[1].offset


def test_what_is_not_there_cannot_be_read(runtime, run_id):
    for namespace, id_ in ((NS, "nobody"), ("other", run_id)):
        with pytest.raises(NotFound):
            runtime.streams.open(namespace, id_, "-1")
    with pytest.raises(InvalidRequest):
        runtime.streams.open(NS, run_id, "nonsense")


def test_a_malformed_offset_is_refused_before_any_call(runtime, run_id):
    with calls_of(runtime) as calls, pytest.raises(InvalidRequest):
        runtime.streams.open(NS, run_id, "nonsense")
    assert calls == []


def test_a_pending_runs_log_can_be_read(runtime):
    start(runtime, run_id="q", mode=Mode.QUEUED)
    chunk = read(runtime, "q")
    assert (seqs(chunk), chunk.closed) == ([0], False)


def test_another_life_of_the_id_does_not_show(house, runtime, run_id):
    append(runtime, run_id, "past", "past")
    finish(runtime, run_id, State.FAILED)
    runtime.runs.delete(NS, run_id)
    start(runtime, run_id=run_id, input=LARGE)
    append(runtime, run_id, "present")
    messages = replay(house.container(), run_id)
    assert types_of(messages) == ["start", "note"]
    assert bytes(messages[1].data) == b'"present"'


def test_an_item_that_does_not_follow_is_read_again_consistently(house, runtime, run_id):
    for said in ("a", "b", "c"):
        append(runtime, run_id, said)
    true_read, asked = LogStore.read, list[bool]()

    def lagging(self, namespace, log, birth, slot, *, consistent):
        asked.append(consistent)
        page = true_read(self, namespace, log, birth, slot, consistent=consistent)
        missing = page.items if consistent else [item for item in page.items if item.slot != 2]
        return page._replace(items=missing)

    reading = runtime.streams.open(NS, run_id, str(Offset(1)))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(LogStore, "read", lagging)
        chunk = runtime.streams.read(reading, consistent=False)
    assert seqs(chunk) == [1, 2, 3]
    assert asked == [False, True]


# Round trips and sizes


def test_catching_up_is_a_look_and_a_query(house, runtime, run_id):
    append(runtime, run_id, *range(50))
    cold = house.container()
    with calls_of(cold) as calls:
        assert len(read(cold, run_id).messages) == 51
    assert sorted(names_of(calls)) == ["GetItem", "Query", "Query"]
    assert all(request["ConsistentRead"] for _, request in calls)


@pytest.fixture
def megabytes(runtime, run_id):
    """6 MB in batches of 250 KB, each of two entries, that don't compress."""
    noise = random.Random(1)
    for _ in range(24):
        append(runtime, run_id, *(noise.randbytes(62_500).hex() for _ in range(2)))
    return run_id


def sent_size(chunk):
    return len(msgspec.json.encode(chunk.messages))


def test_an_answer_ends_at_4_mb_and_the_next_goes_on_without_a_gap(house, megabytes):
    found, offset, answers = list[int](), "-1", 0
    while True:
        chunk = read(house.container(), megabytes, offset)
        assert sent_size(chunk) <= MAX_ANSWER
        found += seqs(chunk)
        answers += 1
        offset = str(chunk.next)
        if chunk.up_to_date:
            break
        assert not chunk.closed
    assert found == list(range(49))
    assert answers == 2


def test_an_answer_may_end_inside_a_batch(house, megabytes, monkeypatch):
    monkeypatch.setattr("baton.services.streams.MAX_ANSWER", 400_000)
    chunk = read(house.container(), megabytes)
    assert (seqs(chunk), chunk.next) == ([0, 1, 2, 3], Offset(3, 1))
    assert seqs(read(house.container(), megabytes, str(chunk.next)))[0] == 4


def test_an_answer_holds_at_least_one_message_whatever_it_weighs(house, megabytes, monkeypatch):
    monkeypatch.setattr("baton.services.streams.MAX_ANSWER", 10)
    assert seqs(read(house.container(), megabytes, str(Offset(1)))) == [1]


def test_the_smallest_messages_under_the_longest_names_stay_within_an_answer(house, monkeypatch):
    monkeypatch.setattr("baton.services.streams.MAX_ANSWER", 20_000)
    long_id, long_type = "r" * 128, "t" * 64
    runtime = house.container()
    start(runtime, run_id=long_id)
    append(runtime, long_id, *(entry(long_type, 1) for _ in range(200)))
    chunk = read(runtime, long_id)
    assert not chunk.up_to_date
    assert 15_000 < sent_size(chunk) <= 20_000
    assert types_of(replay(runtime, long_id)) == ["start"] + [long_type] * 200


def test_256_kb_in_one_message_and_many_messages_in_one_item_come_back(house, runtime, run_id):
    append(runtime, run_id, "x" * (256 * 1024 - 2))
    append(runtime, run_id, *([1] * 20_000))
    messages = replay(house.container(), run_id)
    assert len(messages) == 20_002
    assert types_of(messages)[-1] == "note"
