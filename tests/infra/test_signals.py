"""What carries signals is declared as AWS takes it, and belongs together."""

import json

import pytest
from moto.events.models import EventPattern

from baton.config import Settings
from infra.manifest import FUNCTIONS, TABLES
from infra.signals import PARKED, QUEUES, TOLD_BY

STREAMED = [(each, source) for each in FUNCTIONS for source in each.streams_from]
QUEUED = [each for each in FUNCTIONS if each.queue is not None]


def leaves(pattern, path=()):
    """(path, what is asked there) of each leaf of a filter pattern."""
    for name, asked in pattern.items():
        if isinstance(asked, dict):
            yield from leaves(asked, (*path, name))
        else:
            yield (*path, name), asked


@pytest.mark.parametrize(("function", "source"), STREAMED, ids=lambda each: getattr(each, "name", ""))
def test_filters_are_such_as_lambda_takes(function, source):
    # Source: "Control which events Lambda sends to your function", Lambda developer guide.
    assert 1 <= len(source.filters) <= 5
    for pattern in source.filters:
        text = json.dumps(pattern)
        assert len(text) <= 4096
        EventPattern.load(text)
        for path, asked in leaves(pattern):
            assert isinstance(asked, list) and asked
            if path[0] == "eventName":
                assert set(asked) <= {"INSERT", "MODIFY", "REMOVE"}
            else:
                assert path[0] == "dynamodb"
                assert path[-1] in {"S", "N", "B", "BOOL"}, "exists works at leaves only"


@pytest.mark.parametrize(("function", "source"), STREAMED, ids=lambda each: getattr(each, "name", ""))
def test_a_stream_is_read_within_lambdas_bounds_from_a_table_that_has_one(function, source):
    # Source: CreateEventSourceMapping, Lambda API reference.
    spec = next(spec for spec in TABLES if spec.name == source.table)
    assert spec.stream_view == "NEW_AND_OLD_IMAGES"
    assert 1 <= source.batch_size <= 10_000
    assert 1 <= source.parallel <= 10
    assert 0 <= source.retries <= 10_000
    assert 60 <= source.max_age_seconds <= 86_400
    assert source.on_failure in QUEUES


@pytest.mark.parametrize("function", QUEUED, ids=lambda each: each.name)
def test_a_queue_hides_a_message_as_long_as_its_function_may_need(function):
    # Source: "Using Lambda with Amazon SQS": six times the function's timeout.
    assert function.queue.queue in QUEUES
    assert function.queue.queue.visibility_seconds >= 6 * function.timeout_seconds
    assert 1 <= function.queue.batch_size <= 10


def test_what_is_received_too_often_is_parked_and_what_is_parked_stays_longest():
    assert QUEUES[0] is PARKED, "the others name it when they are made"
    assert PARKED.receives is None
    assert all(PARKED.retention_seconds >= queue.retention_seconds for queue in QUEUES)
    assert len({queue.name for queue in QUEUES}) == len(QUEUES)


def test_a_container_is_told_where_to_send_what_it_may_send():
    for each in FUNCTIONS:
        told = {TOLD_BY[right] for right in each.signals if right in TOLD_BY}
        assert told == set(each.environment) & set(TOLD_BY.values())
    fields = {f"BATON_{name.upper()}" for name in Settings.__struct_fields__}
    assert {name for each in FUNCTIONS for name in each.environment} <= fields
