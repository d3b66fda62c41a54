"""The limits on units and round trips: they depend on no machine, so the gate holds them."""

import pytest

from tests.bench import sweeping, units
from tests.bench.house import StandingClock, Tables
from tests.bench.stage import Stage
from tests.bench.whole import LIMITS, whole_run


@pytest.fixture(scope="module")
def tables(dynamodb_local_url):
    return Tables(dynamodb_local_url)


@pytest.fixture(scope="module")
def strangers(tables):
    return Stage(tables, StandingClock(), 1)


@pytest.fixture(scope="module", params=units.TURNS, ids=lambda turns: f"{turns}-in-turn")
def stage(request, tables):
    return Stage(tables, StandingClock(), request.param)


def test_the_correction_of_transactions_is_what_dynamodb_local_makes_of_them(tables):
    assert units.transaction_factors(tables) == units.Factors(table=2, index=4, equal_items=1)


@pytest.mark.parametrize("operation", units.SCRIPTS)
def test_an_operation_takes_no_more_than_its_limit(stage, strangers, operation):
    assert not units.play(operation, stage, strangers).broken


def test_settled_runs_make_no_sweep_dearer(dynamodb_local_url):
    assert not sweeping.measure(dynamodb_local_url, settled=500).among.broken


@pytest.mark.parametrize("turns", units.TURNS)
@pytest.mark.parametrize("kind", LIMITS)
def test_a_whole_run_takes_no_more_than_its_limit(dynamodb_local_url, kind, turns):
    assert not whole_run(Tables(dynamodb_local_url), turns, kind).row.broken
