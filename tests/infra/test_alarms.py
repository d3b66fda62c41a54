"""Alarms look at what functions really say, and are set as CloudWatch takes them."""

import pytest

from baton.services.heal import Healed
from baton.services.sweep import Swept
from infra.alarms import ALARMS, OfFunction, OfOperation, OfQueue
from infra.manifest import FUNCTIONS
from infra.signals import QUEUES

SAID = {"sweep": {*Swept.__struct_fields__, "took"}, "heal": {*Healed.__struct_fields__, "took"}}


def test_no_two_alarms_have_one_name():
    assert len({each.name for each in ALARMS}) == len(ALARMS)


@pytest.mark.parametrize("alarm", ALARMS, ids=lambda each: each.name)
def test_an_alarm_looks_at_something_that_there_is(alarm):
    match alarm.metric:
        case OfFunction(function, _):
            assert function in {each.name for each in FUNCTIONS}
        case OfQueue(queue, _):
            assert queue in {each.name for each in QUEUES}
        case OfOperation(operation, name):
            assert name in SAID[operation]


@pytest.mark.parametrize("alarm", ALARMS, ids=lambda each: each.name)
def test_an_alarm_can_be_raised_and_says_what_to_do(alarm):
    # Source: PutMetricAlarm: what is looked at spans a day at most where a period is shorter than an hour.
    assert 1 <= alarm.of <= alarm.among
    assert alarm.period_seconds % 60 == 0
    assert alarm.among * alarm.period_seconds <= 86_400
    assert alarm.means and alarm.do


def test_each_function_is_watched_for_errors_and_throttles_and_each_clock_for_silence():
    watched = {
        (each.metric.function, each.metric.name) for each in ALARMS if isinstance(each.metric, OfFunction)
    }
    for function in FUNCTIONS:
        assert {(function.name, "Errors"), (function.name, "Throttles")} <= watched
        assert ((function.name, "Invocations") in watched) == (function.schedule is not None)
        assert ((function.name, "IteratorAge") in watched) == bool(function.streams_from)
