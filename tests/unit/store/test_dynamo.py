"""The one door to DynamoDB: what its refusals mean, and what is tried again."""

from __future__ import annotations

import random
from typing import Any
from unittest.mock import Mock

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from baton.errors import Unavailable
from baton.store.dynamo import CONFLICT_PAUSES, Dynamo, Table, Write
from baton.store.schema import LOG

ONE = Write("Put", {"TableName": "log", "Item": {}})
TWO = (ONE, Write("Update", {"TableName": "runs", "Key": {}}))
ITEM = {"k": {"S": "there"}}


def refused(code: str, *reasons: str, item: Any = None) -> ClientError:
    """The error that DynamoDB answers, with why each item of a transaction was refused."""
    answer: dict[str, Any] = {"Error": {"Code": code, "Message": "no"}}
    if item is not None:
        answer["Item"] = item
    if reasons:
        answer["CancellationReasons"] = [
            {"Code": reason, **({"Item": ITEM} if reason == "ConditionalCheckFailed" else {})}
            for reason in reasons
        ]
    return ClientError(answer, "TransactWriteItems")  # type: ignore[arg-type]


def cancelled(*reasons: str) -> ClientError:
    return refused("TransactionCanceledException", *reasons)


UNREACHABLE = EndpointConnectionError(endpoint_url="http://nowhere")


class Wire:
    """Answers calls from a list: an exception is raised, anything else given back."""

    def __init__(self, *answers: Any) -> None:
        self._request_signer = Mock()
        self._answers = list(answers)
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def _make_api_call(self, operation: str, request: dict[str, Any]) -> Any:
        self.calls.append((operation, request))
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def slept() -> list[float]:
    return []


@pytest.fixture
def dynamo_over(slept):
    def connect(*answers: Any) -> tuple[Dynamo, Wire]:
        dynamo = Dynamo(region="eu-central-1", endpoint_url=None, sleep=slept.append, rng=random.Random(1))
        wire = Wire(*answers)
        dynamo.connection._client = wire  # type: ignore[assignment]
        return dynamo, wire

    return connect


def test_a_write_alone_is_sent_alone_and_several_as_one_transaction(dynamo_over):
    dynamo, wire = dynamo_over({}, {})
    assert dynamo.write(ONE) is None
    assert dynamo.write(*TWO) is None
    assert wire.calls[0][0] == "PutItem"
    operation, request = wire.calls[1]
    assert operation == "TransactWriteItems"
    assert request["TransactItems"] == [{"Put": ONE.request}, {"Update": TWO[1].request}]


def test_a_failed_condition_is_a_result_with_what_stood_there(dynamo_over):
    dynamo, _ = dynamo_over(refused("ConditionalCheckFailedException", item=ITEM))
    assert dynamo.write(ONE) == ((True,), (ITEM,))
    dynamo, _ = dynamo_over(refused("ConditionalCheckFailedException"))
    assert dynamo.write(ONE) == ((True,), (None,))


def test_of_a_transaction_each_condition_is_told_apart(dynamo_over):
    dynamo, _ = dynamo_over(cancelled("None", "ConditionalCheckFailed"))
    assert dynamo.write(*TWO) == ((False, True), (None, ITEM))


def test_a_failed_condition_counts_also_beside_a_conflict(dynamo_over):
    dynamo, _ = dynamo_over(cancelled("TransactionConflict", "ConditionalCheckFailed"))
    assert dynamo.write(*TWO).failed == (False, True)


@pytest.mark.parametrize(
    "conflict",
    [
        refused("TransactionConflictException"),
        refused("TransactionInProgressException"),
        cancelled("None", "TransactionConflict"),
    ],
)
def test_a_conflict_is_tried_again_on_the_same_items(dynamo_over, slept, conflict):
    dynamo, wire = dynamo_over(conflict, conflict, {})
    assert dynamo.write(*TWO) is None
    assert wire.calls[0] == wire.calls[1] == wire.calls[2]
    assert len(slept) == 2
    assert all(0 <= pause < longest for pause, longest in zip(slept, CONFLICT_PAUSES, strict=False))


def test_a_conflict_that_lasts_is_unavailable(dynamo_over, slept):
    conflicts = [cancelled("TransactionConflict", "None")] * 6
    dynamo, wire = dynamo_over(*conflicts)
    with pytest.raises(Unavailable):
        dynamo.write(*TWO)
    assert (len(wire.calls), len(slept)) == (6, 5)


def test_a_condition_that_failed_behind_a_conflict_is_found(dynamo_over):
    dynamo, _ = dynamo_over(
        cancelled("TransactionConflict", "None"), cancelled("ConditionalCheckFailed", "None")
    )
    assert dynamo.write(*TWO).failed == (True, False)


BUSY = [
    refused("ThrottlingException"),
    refused("ProvisionedThroughputExceededException"),
    refused("RequestLimitExceeded"),
    refused("InternalServerError"),
    UNREACHABLE,
]
FAULT = refused("ValidationException")


@pytest.mark.parametrize("trouble", [*BUSY, cancelled("None", "ThrottlingError")])
def test_a_write_into_a_busy_store_is_unavailable_and_left_to_the_caller(dynamo_over, slept, trouble):
    dynamo, wire = dynamo_over(trouble)
    with pytest.raises(Unavailable) as refusal:
        dynamo.write(*TWO)
    assert refusal.value.headers["Retry-After"]
    assert (len(wire.calls), slept) == (1, [])


@pytest.mark.parametrize("trouble", [*BUSY, refused("TransactionConflictException")])
def test_a_read_from_a_busy_store_is_unavailable(dynamo_over, trouble):
    dynamo, _ = dynamo_over(trouble, trouble)
    table = Table(dynamo, LOG, "log")
    with pytest.raises(Unavailable):
        table.get("k", "s", consistent=True)


@pytest.mark.parametrize("trouble", BUSY)
def test_a_query_of_a_busy_store_is_unavailable(dynamo_over, trouble):
    dynamo, _ = dynamo_over(trouble)
    with pytest.raises(Unavailable):
        Table(dynamo, LOG, "log").query("k")


def test_a_fault_of_ours_is_no_reason_to_try_again(dynamo_over):
    dynamo, _ = dynamo_over(FAULT, FAULT, FAULT, cancelled("ValidationError", "None"))
    table = Table(dynamo, LOG, "log")
    for call in (
        lambda: dynamo.write(ONE),
        lambda: table.get("k", "s", consistent=True),
        lambda: table.query("k"),
        lambda: dynamo.write(*TWO),
    ):
        with pytest.raises(ClientError):
            call()


def test_what_a_batch_read_left_over_is_asked_for_again(dynamo_over, slept):
    left = {"UnprocessedKeys": {"log": {"Keys": [{"k": {"S": "b"}, "s": {"S": "1"}}]}}}
    dynamo, wire = dynamo_over(
        {"Responses": {"log": [{"k": {"S": "a"}}]}, **left}, {"Responses": {"log": [{"k": {"S": "b"}}]}}
    )
    found = Table(dynamo, LOG, "log").get_many([("a", "1"), ("b", "1")])
    assert [raw["k"]["S"] for raw in found] == ["a", "b"]
    assert wire.calls[1][1]["RequestItems"]["log"]["Keys"] == left["UnprocessedKeys"]["log"]["Keys"]
    assert len(slept) == 1


def test_what_a_batch_delete_left_over_is_asked_for_again(dynamo_over, slept):
    rest = [{"DeleteRequest": {"Key": {"k": {"S": "b"}, "s": {"S": "1"}}}}]
    dynamo, wire = dynamo_over({"UnprocessedItems": {"log": rest}}, {})
    Table(dynamo, LOG, "log").delete_many([("a", "1"), ("b", "1")])
    assert wire.calls[1][1]["RequestItems"] == {"log": rest}
    assert len(slept) == 1


def test_a_batch_of_nothing_calls_nobody(dynamo_over):
    dynamo, wire = dynamo_over()
    table = Table(dynamo, LOG, "log")
    assert table.get_many([]) == []
    table.delete_many([])
    assert wire.calls == []


def test_a_query_goes_on_page_by_page(dynamo_over):
    mark = {"k": {"S": "k"}, "s": {"S": "1"}}
    dynamo, wire = dynamo_over(
        {"Items": [{"n": 1}, {"n": 2}], "LastEvaluatedKey": mark}, {"Items": [{"n": 3}]}
    )
    assert list(Table(dynamo, LOG, "log").query_all("k")) == [{"n": 1}, {"n": 2}, {"n": 3}]
    assert wire.calls[1][1]["ExclusiveStartKey"] == mark


# Two calls at once


def fail(error: Exception) -> Any:
    raise error


def test_two_calls_at_once_answer_in_their_order(dynamo_over):
    dynamo, _ = dynamo_over()
    assert dynamo.together(lambda: 1, lambda: "two") == (1, "two")


def test_of_two_calls_at_once_either_failure_is_raised(dynamo_over):
    dynamo, _ = dynamo_over()
    with pytest.raises(KeyError):
        dynamo.together(lambda: 1, lambda: fail(KeyError()))
    with pytest.raises(ValueError):  # noqa: PT011 - made here
        dynamo.together(lambda: fail(ValueError()), lambda: 1)
    with pytest.raises(ValueError):  # noqa: PT011 - made here
        dynamo.together(lambda: fail(ValueError()), lambda: fail(KeyError()))
