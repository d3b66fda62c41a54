"""Records are handed over in order, again where they fail, and aside where they keep failing: one never keeps
another from its turn."""

from types import SimpleNamespace

import pytest

from infra.local.delivery import FIRST_PAUSE, LONGEST_PAUSE, Delivery, Parked
from infra.local.records import Record
from infra.manifest import Function
from infra.signals import PARKED, StreamSource

WRITTEN = 1_000.0
FUNCTION = Function(name="publish", memory_mb=128, timeout_seconds=10)


def records(*numbers):
    return [
        Record(
            "shard", {"dynamodb": {"SequenceNumber": n, "Keys": {}, "ApproximateCreationDateTime": WRITTEN}}
        )
        for n in numbers
    ]


def says(*failed):
    return {"batchItemFailures": [{"itemIdentifier": number} for number in failed]}


class Mapping:
    """A delivery to a function that answers what a test says; what was handed over, parked and waited for."""

    def __init__(self, answer, *, now=WRITTEN, stop_after=None, park=None, **source):
        self.batches = []
        self.parked: list[Parked] = []
        self.waits = []
        self._answer = answer
        self._stop_after = stop_after
        self.delivery = Delivery(
            FUNCTION,
            StreamSource(table="runs", filters=(), **source),
            call=self._call,
            park=park or self.parked.append,
            wait=self._wait,
            clock=SimpleNamespace(now=lambda: now * 1000),
        )

    def hand_over(self, *numbers):
        self.delivery.hand_over(records(*numbers))

    def _call(self, function, event, request_id):
        assert function is FUNCTION
        numbers = [record["dynamodb"]["SequenceNumber"] for record in event["Records"]]
        self.batches.append("".join(numbers))
        answer = self._answer(numbers, len(self.batches))
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _wait(self, seconds):
        self.waits.append(seconds)
        return len(self.waits) == self._stop_after

    def given_up(self):
        return [(parked.record.sequence, parked.calls, parked.condition) for parked in self.parked]


@pytest.mark.parametrize("answer", [None, {}, says(), {"batchItemFailures": None}, {"swept": 1}])
def test_a_batch_that_did_not_fail_is_done_in_one_call(answer):
    mapping = Mapping(lambda numbers, call: answer)
    mapping.hand_over("1", "2", "3")
    assert (mapping.batches, mapping.waits, mapping.parked) == (["123"], [], [])


def test_after_a_failure_in_part_all_from_the_first_that_failed_on_comes_again():
    mapping = Mapping(lambda numbers, call: says("4", "2") if call == 1 else None)
    mapping.hand_over("1", "2", "3", "4", "5")
    assert mapping.batches == ["12345", "2345"]
    assert mapping.waits == [FIRST_PAUSE]
    assert mapping.parked == []


def test_a_record_that_keeps_failing_is_parked_alone_and_the_others_go_on():
    mapping = Mapping(lambda numbers, call: says("2") if "2" in numbers else None, retries=2)
    mapping.hand_over("1", "2", "3")
    assert mapping.batches == ["123", "23", "23", "3"]
    assert mapping.given_up() == [("2", 3, "RetryAttemptsExhausted")]


def test_of_several_that_keep_failing_each_has_its_own_tries():
    bad = {"1", "3"}
    mapping = Mapping(lambda numbers, call: says(*bad & set(numbers)), retries=1)
    mapping.hand_over("1", "2", "3")
    assert mapping.batches == ["123", "123", "23", "3"]
    assert mapping.given_up() == [
        ("1", 2, "RetryAttemptsExhausted"),
        ("3", 2, "RetryAttemptsExhausted"),
    ]


def test_tries_of_the_same_record_are_further_and_further_apart():
    mapping = Mapping(lambda numbers, call: says("1"), retries=8)
    mapping.hand_over("1")
    assert mapping.waits[:3] == [FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE]
    assert mapping.waits[-1] == LONGEST_PAUSE
    assert len(mapping.waits) == 8


def test_progress_begins_the_count_anew():
    failing = {1: ("1",), 2: ("2",), 3: ("3",)}
    mapping = Mapping(lambda numbers, call: says(*failing.get(call, ())), retries=1)
    mapping.hand_over("1", "2", "3")
    assert mapping.batches == ["123", "123", "23", "3"]
    assert mapping.waits == [FIRST_PAUSE] * 3
    assert mapping.parked == []


def poison(number):
    def answer(numbers, call):
        return LookupError("broken on purpose") if number in numbers else None

    return answer


def test_a_batch_that_fails_as_a_whole_is_split_until_the_one_at_fault_stands_alone():
    mapping = Mapping(poison("3"), retries=0)
    mapping.hand_over("1", "2", "3", "4")
    assert mapping.batches == ["1234", "12", "34", "3", "4"]
    assert mapping.given_up() == [("3", 1, "RetryAttemptsExhausted")]


def test_splitting_counts_as_no_try():
    mapping = Mapping(poison("1"), retries=1)
    mapping.hand_over("1", "2")
    assert mapping.batches == ["12", "1", "1", "2"]


@pytest.mark.parametrize(
    "nonsense",
    [says("9"), says(""), says(None), {"batchItemFailures": [{"id": "1"}]}, {"batchItemFailures": 3}, "text"],
)
def test_an_answer_that_makes_no_sense_fails_the_whole_batch(nonsense):
    mapping = Mapping(lambda numbers, call: nonsense if len(numbers) > 1 else None)
    mapping.hand_over("1", "2")
    assert mapping.batches == ["12", "1", "2"]


def test_without_bisection_a_batch_that_fails_comes_again_whole():
    mapping = Mapping(lambda numbers, call: RuntimeError("down") if call == 1 else None, bisect=False)
    mapping.hand_over("1", "2")
    assert mapping.batches == ["12", "12"]


def test_a_record_that_is_too_old_is_tried_no_more():
    mapping = Mapping(lambda numbers, call: says("1"), now=WRITTEN + 61, max_age_seconds=60)
    mapping.hand_over("1")
    assert mapping.given_up() == [("1", 1, "RecordAgeExceeded")]


def test_told_to_stop_it_tries_no_more_and_parks_nothing():
    mapping = Mapping(lambda numbers, call: says("1"), stop_after=2)
    mapping.hand_over("1", "2")
    assert mapping.batches == ["12", "12"]
    assert mapping.parked == []


def test_what_can_not_even_be_parked_keeps_nobody_from_their_turn(caplog):
    def park(_parked):
        raise LookupError("no queue")

    mapping = Mapping(lambda numbers, call: says("1") if "1" in numbers else None, retries=0, park=park)
    mapping.hand_over("1", "2")
    assert mapping.batches == ["12", "2"]
    assert "could not be parked" in caplog.text


def test_what_is_parked_goes_where_the_manifest_says():
    assert StreamSource(table="runs", filters=()).on_failure is PARKED
