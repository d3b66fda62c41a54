"""The manifest names everything that runs, no more, and gives each function the rights it uses, no more."""

from pathlib import Path

import pytest

from baton.api.contract import DEFAULT_FUNCTION, OPERATIONS
from infra.manifest import AUTHORIZER, FUNCTIONS, TABLES, function
from tests.infra.rights import used_rights

FOLDER = Path(__file__).parents[2] / "functions"
BY_NAME = {spec.name: spec for spec in TABLES}


def test_each_folder_of_functions_is_in_the_manifest_and_each_function_has_one():
    assert {path.parent.name for path in FOLDER.glob("*/handler.py")} == {each.name for each in FUNCTIONS}


def test_no_function_and_no_table_is_named_twice():
    assert len({each.name for each in FUNCTIONS}) == len(FUNCTIONS)
    assert len(BY_NAME) == len(TABLES)


def test_each_operation_of_the_contract_is_one_route_of_the_function_it_names():
    routed = [(route.key, each.name) for each in FUNCTIONS for route in each.routes]
    assert sorted(routed) == sorted((f"{row.method} {row.path}", row.function) for row in OPERATIONS)


def test_one_function_answers_what_no_route_matches():
    assert [each.name for each in FUNCTIONS if each.default] == [DEFAULT_FUNCTION]


def test_each_function_is_called_by_something():
    called = [each for each in FUNCTIONS if each.routes or each.schedule or each.default or each.streams_from]
    assert [function(AUTHORIZER), *called] == list(FUNCTIONS)


def test_what_streams_is_what_the_contract_says_streams():
    assert {each.name for each in FUNCTIONS if each.streams} == {
        row.function for row in OPERATIONS if row.streams
    }


@pytest.mark.parametrize("each", FUNCTIONS, ids=lambda each: each.name)
def test_rights_name_tables_and_indexes_that_exist(each):
    for right in each.rights:
        indexes = {index.name for index in BY_NAME[right.table].indexes}
        assert right.index is None or right.index in indexes
        assert right.actions == tuple(sorted(set(right.actions)))
    named = [(right.table, right.index) for right in each.rights]
    assert len(named) == len(set(named))


def test_an_http_function_answers_before_its_gateway_gives_up():
    # Source: API Gateway's quotas for HTTP APIs, 30 s. What streams goes through a gateway without it.
    waiting = [each for each in FUNCTIONS if each.routes and not each.streams]
    assert [each.name for each in waiting if each.timeout_seconds >= 30] == []


@pytest.mark.parametrize("each", FUNCTIONS, ids=lambda each: each.name)
def test_a_function_may_do_what_it_does_and_nothing_it_never_does(each, recorded_rights):
    granted = {(right.table, right.index, action) for right in each.rights for action in right.actions}
    assert granted == recorded_rights[0].get(each.name, set())


@pytest.mark.parametrize("each", FUNCTIONS, ids=lambda each: each.name)
def test_a_function_may_say_to_others_what_it_says_and_nothing_it_never_says(each, recorded_rights):
    assert len(each.signals) == len(set(each.signals))
    assert set(each.signals) == recorded_rights[1].get(each.name, set())


@pytest.fixture(scope="module")
def recorded_rights():
    return used_rights()


def test_asking_for_a_function_that_is_not_there_is_an_error():
    with pytest.raises(KeyError):
        function("nothing")
