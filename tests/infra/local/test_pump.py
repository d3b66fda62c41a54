"""A table's own stream, on moto and on DynamoDB Local, reaches the functions that asked for it: each record
once while all is well, in order for each key, whatever becomes of another."""

import secrets
import threading
from collections import defaultdict

import pytest

from baton.bootstrap import SystemClock
from infra.local.delivery import Delivery
from infra.local.memory import in_process
from infra.local.messaging import client_of
from infra.local.moto_streams import TrimmingReader
from infra.local.pump import Pace, Pump
from infra.local.shards import Start, StreamReader
from infra.manifest import Function
from infra.signals import StreamSource

SECONDS = 20
REGION = "eu-central-1"
FUNCTION = Function(name="publish", memory_mb=128, timeout_seconds=10)
CALLED_FOR = {"dynamodb": {"NewImage": {"an": {"N": [{"exists": True}]}}}}


class House:
    """One table with a stream, at moto or elsewhere."""

    def __init__(self, endpoint_url=None):
        self.parked = []
        self._endpoint_url = endpoint_url
        self.client = client_of("dynamodb", REGION, endpoint_url)
        self.table = f"pumped-{secrets.token_hex(4)}"
        made = self.client.create_table(
            TableName=self.table,
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[
                {"AttributeName": "k", "KeyType": "HASH"},
                {"AttributeName": "s", "KeyType": "RANGE"},
            ],
            AttributeDefinitions=[
                {"AttributeName": "k", "AttributeType": "S"},
                {"AttributeName": "s", "AttributeType": "S"},
            ],
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        )
        self.arn = made["TableDescription"]["LatestStreamArn"]

    def put(self, key, number, **more):
        item = {"k": {"S": key}, "s": {"S": "run"}, "an": {"N": str(number)}, **more}
        self.client.put_item(TableName=self.table, Item=item)

    def reader(self):
        streams = client_of(
            "dynamodbstreams", REGION, self._endpoint_url, account_id_endpoint_mode="disabled"
        )
        if self._endpoint_url is None:
            return TrimmingReader(streams, self.arn)
        return StreamReader(streams, self.arn, Start.NEXT)

    def pump(self, function, *more, filters=(CALLED_FOR,), **source):
        """A pump whose rounds a test carries out, to functions `call(function, event, request_id)`."""
        self.stopping = threading.Event()
        deliveries = [
            Delivery(
                FUNCTION,
                StreamSource(table="runs", filters=filters, **source),
                call=call,
                park=self.parked.append,
                wait=lambda _seconds: False,
                clock=SystemClock(),
            )
            for call in (function, *more)
        ]
        self.made = Pump(
            self.reader(),
            deliveries,
            hash_key="k",
            pace=Pace(0.001, 0.001),
            name="test",
            stopping=self.stopping,
        )
        return self.made

    def carry(self):
        """All that was written by now is read and handed over."""
        while self.made.round():
            pass
        assert self.made.settled(SECONDS)

    def close(self):
        """Nothing was parked that a test did not expect."""
        assert self.made.stop(SECONDS)
        assert self.parked == []


class Seen:
    """A function that keeps, by key, the numbers it was handed, and answers what a test says."""

    def __init__(self, answer=lambda records: None):
        self.numbers = defaultdict(list)
        self.events = []
        self._answer = answer
        self._lock = threading.Lock()

    def __call__(self, function, event, request_id):
        with self._lock:
            self.events.append(event)
            for record in event["Records"]:
                told = record["dynamodb"]
                self.numbers[told["Keys"]["k"]["S"]].append(int(told["NewImage"]["an"]["N"]))
        return self._answer(event["Records"])


@pytest.fixture
def moto():
    with in_process():
        house = House()
        yield house
        house.close()


@pytest.fixture
def dynamodb_local(dynamodb_local_url):
    house = House(dynamodb_local_url)
    yield house
    house.close()


@pytest.fixture(params=["moto", pytest.param("dynamodb_local", marks=pytest.mark.dynamodb_local)])
def house(request):
    return request.getfixturevalue(request.param)


def test_what_is_written_is_handed_over_once_and_in_order_for_each_key(house):
    seen = Seen()
    house.pump(seen)
    for number in range(30):
        house.put(f"key {number % 3}", number)
        if number % 10 == 0:
            house.carry()
    house.carry()
    assert seen.numbers == {f"key {key}": list(range(key, 30, 3)) for key in range(3)}


def test_what_was_written_between_the_making_and_the_first_round_is_not_missed(house):
    seen = Seen()
    house.pump(seen)
    house.put("a", 1)
    house.carry()
    assert seen.numbers == {"a": [1]}


@pytest.mark.dynamodb_local
def test_elsewhere_what_was_written_before_the_making_is_the_sweeps(dynamodb_local):
    house, seen = dynamodb_local, Seen()
    house.put("a", 1)
    house.pump(seen)
    house.put("a", 2)
    house.carry()
    assert seen.numbers == {"a": [2]}


def test_a_function_gets_what_its_filters_let_through_and_images_whole(house):
    seen = Seen()
    house.pump(seen)
    house.client.put_item(TableName=house.table, Item={"k": {"S": "plain"}, "s": {"S": "run"}})
    house.put("called", 1, body={"B": b"\x00"}, many={"L": [{"N": "1"}]})
    house.put("called", 2)
    house.carry()
    [first, second] = [record for event in seen.events for record in event["Records"]]
    assert (first["eventName"], second["eventName"]) == ("INSERT", "MODIFY")
    assert first["eventSourceARN"] == house.arn
    assert "OldImage" not in first["dynamodb"]
    assert first["dynamodb"]["NewImage"] == {
        "k": {"S": "called"},
        "s": {"S": "run"},
        "an": {"N": "1"},
        "body": {"B": "AA=="},
        "many": {"L": [{"N": "1"}]},
    }
    assert second["dynamodb"]["OldImage"] == first["dynamodb"]["NewImage"]


def test_each_function_has_the_whole_stream(house):
    one, other = Seen(), Seen()
    house.pump(one, other)
    house.put("a", 1)
    house.carry()
    assert one.numbers == other.numbers == {"a": [1]}


def test_a_record_that_keeps_failing_is_parked_and_all_others_arrive(house):
    def answer(records):
        bad = [
            record["dynamodb"]["SequenceNumber"]
            for record in records
            if record["dynamodb"]["NewImage"]["an"]["N"] == "13"
        ]
        return {"batchItemFailures": [{"itemIdentifier": number} for number in bad]}

    seen = Seen(answer)
    house.pump(seen, retries=1)
    for number in range(20):
        house.put(f"key {number % 4}", number)
    house.carry()
    assert {number for numbers in seen.numbers.values() for number in numbers} == set(range(20))
    [record] = [each.record for each in house.parked]
    house.parked.clear()
    assert record.body["dynamodb"]["NewImage"]["an"] == {"N": "13"}


def test_a_batch_is_no_larger_than_the_manifest_says(house):
    seen = Seen()
    house.pump(seen, parallel=1, batch_size=3)
    for number in range(8):
        house.put("a", number)
    house.carry()
    assert max(len(event["Records"]) for event in seen.events) <= 3
    assert seen.numbers == {"a": list(range(8))}


def test_batches_without_a_common_key_are_handed_over_at_once(house):
    both = threading.Barrier(2)

    def meet(function, event, request_id):
        both.wait(SECONDS)

    house.pump(meet, parallel=2, batch_size=1)
    house.put("a", 1)
    house.put("b", 2)  # which goes by the other lane
    house.carry()


def test_running_on_its_own_it_hands_over_and_stops_with_all_done(house):
    arrived = threading.Semaphore(0)
    pump = house.pump(lambda function, event, request_id: arrived.release())
    pump.start()
    for number in range(5):
        house.put("a", number)
    assert arrived.acquire(timeout=SECONDS)
    house.put("b", 1)
    house.stopping.set()
    assert pump.stop(SECONDS)


def test_a_stream_that_can_not_be_read_for_a_while_is_read_on(moto, monkeypatch):
    seen, troubles = Seen(), iter([LookupError("broken on purpose")])
    pump = moto.pump(seen)
    whole = TrimmingReader.read

    def read(reader):
        for trouble in troubles:
            raise trouble
        return whole(reader)

    monkeypatch.setattr(TrimmingReader, "read", read)
    moto.put("a", 1)
    assert pump._turn() > pump._pace.idle
    moto.carry()
    assert seen.numbers == {"a": [1]}


def test_moto_keeps_no_record_and_no_iterator_that_was_read(moto):
    seen = Seen()
    pump = moto.pump(seen)
    for number in range(50):
        moto.put("a", number)
        if number % 7 == 0:
            moto.carry()
    moto.carry()
    reader = pump._reader
    assert isinstance(reader, TrimmingReader)
    assert reader._shard.items == []
    table = reader._stream_arn.split("/stream/")[0]
    assert len([kept for kept in reader._backend.shard_iterators if kept.startswith(table)]) <= 2
    assert seen.numbers == {"a": list(range(50))}


def test_where_moto_has_nothing_new_it_is_not_asked(moto, monkeypatch):
    pump = moto.pump(Seen())
    moto.put("a", 1)
    moto.carry()

    def asked(*_args, **_more):
        raise AssertionError("moto was asked")

    monkeypatch.setattr(pump._reader._client, "get_records", asked)
    assert pump.round() == 0
