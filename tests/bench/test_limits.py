"""The limits on units and round trips: they depend on no machine, so the gate holds them."""

import pytest

from tests.bench import units
from tests.bench.house import SkippingClock, Tables
from tests.bench.limits import row_of
from tests.bench.stage import Stage
from tests.bench.whole import whole_run


@pytest.fixture(scope="module")
def tables(dynamodb_local_url):
    return Tables(dynamodb_local_url)


@pytest.fixture(scope="module")
def strangers(tables):
    return Stage(tables, SkippingClock(), 1)


@pytest.fixture(scope="module", params=units.TURNS, ids=lambda turns: f"{turns}-in-turn")
def stage(request, tables):
    return Stage(tables, SkippingClock(), request.param)


def test_the_correction_of_transactions_is_the_factor_that_dynamodb_local_has(tables):
    assert units.transaction_factor(tables) == 2


@pytest.mark.parametrize("operation", units.SCRIPTS)
def test_an_operation_takes_no_more_than_its_limit(stage, strangers, operation):
    row = row_of(operation, stage.turns, units.SCRIPTS[operation](stage, strangers))
    assert not row.broken


@pytest.mark.parametrize("kind", ["repetitive", "prose"])
def test_a_whole_run_takes_no_more_than_its_limit(stage, kind):
    assert not whole_run(stage, kind).row.broken
