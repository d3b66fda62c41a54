"""The names of workflows ever started: kept once, for good."""

import pytest

from baton.store.catalog import CatalogStore


@pytest.fixture
def catalog(house):
    return CatalogStore(house.dynamo(), house.settings.catalog_table)


def test_names_are_kept_once_and_sorted(catalog):
    for name in ("b", "a/b", "a", "b"):
        catalog.note("default", name, 1)
    assert catalog.workflow_names("default") == ["a", "a/b", "b"]


def test_names_of_another_namespace_do_not_show(catalog):
    catalog.note("default", "a", 1)
    assert catalog.workflow_names("other") == []
    assert not catalog.noted("other", "a")


def test_a_name_noted_here_is_remembered_and_elsewhere_found(catalog, house):
    assert not catalog.noted("default", "a")
    catalog.note("default", "a", 1)
    assert catalog.noted("default", "a")
    cold = CatalogStore(house.dynamo(), house.settings.catalog_table)
    assert not cold.noted("default", "a")
    cold.note("default", "a", 2)
    (item,) = house.items(house.settings.catalog_table)
    assert item["t"]["N"] == "1"


def test_memory_of_names_is_bounded(catalog):
    catalog._noted.most = 2
    for name in ("a", "b", "c"):
        catalog.note("default", name, 1)
    assert catalog.noted("default", "c")
    assert not catalog.noted("default", "a")
