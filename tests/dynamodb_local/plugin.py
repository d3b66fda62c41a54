"""The fixture `dynamodb_local_url`; a test that takes it is marked `dynamodb_local` by that alone."""

import os
from collections.abc import Iterator

import pytest

from tests.dynamodb_local.install import Unavailable, installed, java
from tests.dynamodb_local.launch import serving

REQUIRED = "BATON_REQUIRE_DYNAMODB_LOCAL"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark before `-m` selects, so that no test can forget to say what it needs."""
    for item in items:
        if "dynamodb_local_url" in getattr(item, "fixturenames", ()):
            item.add_marker("dynamodb_local")


@pytest.fixture(scope="session")
def dynamodb_local_url() -> Iterator[str]:
    """The endpoint of a DynamoDB Local, one per worker process; any credentials do.

    The gate sets BATON_REQUIRE_DYNAMODB_LOCAL: where it cannot run there, its tests fail. Elsewhere they are
    skipped, saying why, until `make dynamodb-local` has fetched it.
    """
    if not os.environ.get(REQUIRED):
        _skip_unless_ready()
    with serving() as url:
        yield url


def _skip_unless_ready() -> None:
    try:
        java()
    except Unavailable as reason:
        pytest.skip(str(reason))
    if not installed():
        pytest.skip("DynamoDB Local has not been fetched: `make dynamodb-local`")
