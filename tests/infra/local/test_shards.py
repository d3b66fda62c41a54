"""A stream is read shard by shard, a parent before its children, from where it began, whatever is lost."""

import datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError

from infra.local import shards
from infra.local.shards import Start, StreamReader

ARN = "arn:aws:dynamodb:eu-central-1:000000000000:table/runs/stream/2026-01-01T00:00:00.000"
WRITTEN = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


class Stream:
    """DynamoDB Streams, of which a test moves the shards by hand. An iterator is `<shard>@<position>`."""

    def __init__(self, *names):
        self.records = {}
        self.parents = {}
        self.closed = set()
        self.trimmed = {}
        self.expired = set()
        self.hidden = set()
        self.described = 0
        self.page = 100
        for name in names:
            self.open(name)

    def open(self, name, parent=None):
        self.records[name] = []
        self.parents[name] = parent

    def split(self, name, *children):
        self.closed.add(name)
        for child in children:
            self.open(child, name)

    def write(self, name, *numbers):
        self.records[name] += numbers

    def describe_stream(self, StreamArn, ExclusiveStartShardId=None):  # noqa: N803 - the service's names
        assert StreamArn == ARN
        self.described += 1
        names = [name for name in self.records if name not in self.hidden]
        after = 0 if ExclusiveStartShardId is None else names.index(ExclusiveStartShardId) + 1
        page = names[after : after + 2]
        listed = [self._listed(name) for name in page]
        more = {"LastEvaluatedShardId": page[-1]} if names[after + 2 :] else {}
        return {"StreamDescription": {"Shards": listed, **more}}

    def _listed(self, name):
        ending = {"EndingSequenceNumber": "9"} if name in self.closed else {}
        parent = {} if self.parents[name] is None else {"ParentShardId": self.parents[name]}
        return {"ShardId": name, "SequenceNumberRange": {"StartingSequenceNumber": "0", **ending}, **parent}

    def get_shard_iterator(self, StreamArn, ShardId, ShardIteratorType, SequenceNumber=None):  # noqa: N803
        assert StreamArn == ARN
        oldest = self.trimmed.get(ShardId, 0)
        if ShardIteratorType == "AFTER_SEQUENCE_NUMBER":
            at = self.records[ShardId].index(int(SequenceNumber)) + 1
            if at < oldest:
                raise refusal("TrimmedDataAccessException")
            return {"ShardIterator": f"{ShardId}@{at}"}
        at = {"TRIM_HORIZON": oldest, "LATEST": len(self.records[ShardId])}[ShardIteratorType]
        return {"ShardIterator": f"{ShardId}@{at}"}

    def get_records(self, ShardIterator):  # noqa: N803
        name, _, at = ShardIterator.partition("@")
        if ShardIterator in self.expired:
            raise refusal("ExpiredIteratorException")
        if name not in self.records:
            raise refusal("ResourceNotFoundException")
        if int(at) < self.trimmed.get(name, 0):
            raise refusal("TrimmedDataAccessException")
        records = self.records[name][int(at) : int(at) + self.page]
        end = int(at) + len(records)
        over = name in self.closed and end == len(self.records[name])
        following = {} if over else {"NextShardIterator": f"{name}@{end}"}
        return {"Records": [record(number) for number in records], **following}


def refusal(code):
    return ClientError({"Error": {"Code": code, "Message": code}}, "GetRecords")


def record(number):
    return {
        "eventID": f"e{number}",
        "eventName": "INSERT",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "eu-central-1",
        "dynamodb": {
            "ApproximateCreationDateTime": WRITTEN,
            "Keys": {"k": {"S": str(number)}},
            "SequenceNumber": str(number),
            "SizeBytes": 1,
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        },
    }


def round_of(reader):
    """The numbers of one round's records."""
    return [int(each.sequence) for records in reader.read() for each in records]


def rounds_of(reader, count):
    return [round_of(reader) for _ in range(count)]


def test_each_record_is_read_once_in_its_shards_order():
    stream = Stream("a", "b")
    stream.page = 2
    reader = StreamReader(stream, ARN, Start.OLDEST)
    stream.write("a", 1, 2, 3)
    stream.write("b", 11)
    assert rounds_of(reader, 3) == [[1, 2, 11], [3], []]


def test_begun_at_the_oldest_what_stands_there_is_read():
    stream = Stream("a")
    stream.write("a", 1)
    assert round_of(StreamReader(stream, ARN, Start.OLDEST)) == [1]


def test_begun_at_the_next_only_what_comes_after_the_making_is_read():
    stream = Stream("a")
    stream.write("a", 1)
    stream.split("a", "b")
    stream.write("b", 2)
    reader = StreamReader(stream, ARN, Start.NEXT)
    stream.write("b", 3)
    assert rounds_of(reader, 2) == [[3], []]


def test_children_are_read_from_their_beginning_once_their_parent_is_read_to_its_end():
    stream = Stream("a")
    stream.page = 1
    reader = StreamReader(stream, ARN, Start.NEXT)
    stream.write("a", 1, 2)
    stream.split("a", "b", "c")
    stream.write("b", 3)
    stream.write("c", 4)
    assert rounds_of(reader, 4) == [[1], [2], [3, 4], []]


def test_generations_that_came_and_went_unseen_are_read_in_order():
    stream = Stream("a")
    reader = StreamReader(stream, ARN, Start.NEXT)
    stream.write("a", 1)
    stream.split("a", "b")
    stream.write("b", 2)
    stream.split("b", "c")
    stream.write("c", 3)
    assert rounds_of(reader, 4) == [[1], [2], [3], []]


def test_more_shards_than_one_page_of_the_description_are_read():
    stream = Stream(*"abcde")
    reader = StreamReader(stream, ARN, Start.OLDEST)
    for number, name in enumerate("abcde"):
        stream.write(name, number)
    assert round_of(reader) == [0, 1, 2, 3, 4]


def test_children_that_are_listed_late_are_found_soon():
    stream = Stream("a")
    reader = StreamReader(stream, ARN, Start.NEXT)
    stream.split("a", "b")
    stream.write("b", 1)
    stream.hidden.add("b")
    assert round_of(reader) == []
    stream.hidden.clear()
    assert [1] in rounds_of(reader, shards.ROUNDS_TO_LOOK_AGAIN + 1)


def test_a_shard_that_appears_on_its_own_is_found():
    stream = Stream("a")
    reader = StreamReader(stream, ARN, Start.NEXT)
    stream.open("b")
    stream.write("b", 1)
    assert [1] in rounds_of(reader, shards.ROUNDS_TO_LOOK + 1)


def test_a_stream_that_has_no_shard_yet_is_read_soon_after_it_has():
    stream = Stream()
    reader = StreamReader(stream, ARN, Start.NEXT)
    assert round_of(reader) == []
    stream.open("a")
    stream.write("a", 1)
    assert [1] in rounds_of(reader, shards.ROUNDS_TO_LOOK_AGAIN + 1)


def test_as_long_as_no_shard_ends_the_stream_is_not_described_each_round():
    stream = Stream("a")
    reader = StreamReader(stream, ARN, Start.NEXT)
    rounds_of(reader, shards.ROUNDS_TO_LOOK)
    assert stream.described == 1


@pytest.mark.parametrize(("read", "expected"), [(0, [1, 2, 3]), (2, [3])])
def test_after_an_iterator_expired_it_goes_on_where_it_was(read, expected):
    stream = Stream("a")
    reader = StreamReader(stream, ARN, Start.NEXT)
    stream.write("a", *range(1, read + 1))
    assert round_of(reader) == list(range(1, read + 1))
    stream.write("a", *range(read + 1, 4))
    stream.expired.add(f"a@{read}")
    assert round_of(reader) == []
    stream.expired.clear()
    assert round_of(reader) == expected


def test_what_was_trimmed_is_passed_over(caplog):
    stream = Stream("a")
    reader = StreamReader(stream, ARN, Start.NEXT)
    stream.write("a", 1, 2, 3)
    stream.trimmed["a"] = 2
    assert rounds_of(reader, 2) == [[], [3]]
    assert "passed over" in caplog.text


def test_what_expired_and_was_trimmed_is_passed_over():
    stream = Stream("a")
    reader = StreamReader(stream, ARN, Start.NEXT)
    stream.write("a", 1)
    assert round_of(reader) == [1]
    stream.write("a", 2, 3)
    stream.trimmed["a"] = 2
    stream.expired.add("a@1")
    assert rounds_of(reader, 2) == [[], [3]]


def test_a_shard_that_is_no_more_gives_way_to_its_children():
    stream = Stream("a")
    reader = StreamReader(stream, ARN, Start.NEXT)
    stream.split("a", "b")
    stream.write("b", 1)
    del stream.records["a"]
    assert rounds_of(reader, 2) == [[], [1]]


def test_trouble_is_raised_and_loses_nothing():
    stream: Any = Stream("a", "b")
    reader = StreamReader(stream, ARN, Start.NEXT)
    stream.write("a", 1)
    stream.write("b", 2)
    whole = stream.get_records

    def half(ShardIterator):  # noqa: N803
        if ShardIterator.startswith("b"):
            raise refusal("ProvisionedThroughputExceededException")
        return whole(ShardIterator)

    stream.get_records = half
    pages = reader.read()
    assert [each.sequence for each in next(pages)] == ["1"]
    with pytest.raises(ClientError):
        next(pages)
    stream.get_records = whole
    assert round_of(reader) == [2]


def test_a_round_given_up_half_way_goes_on_in_the_next():
    stream = Stream("a", "b")
    reader = StreamReader(stream, ARN, Start.NEXT)
    stream.write("a", 1)
    stream.split("a", "c")
    stream.write("c", 3)
    stream.write("b", 2)
    half = reader.read()
    assert [each.sequence for each in next(half)] == ["1"]
    del half
    assert rounds_of(reader, 2) == [[2], [3]]
