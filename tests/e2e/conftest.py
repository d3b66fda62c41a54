"""A local stack to talk to over HTTP, as a user would start it: in a process of its own."""

import pytest

from infra.local.testing import child_stack


@pytest.fixture(scope="session")
def stack():
    """A stack with DynamoDB in its own process, one per worker: `stack.url`. Tests share it: each brings a
    namespace or run ids of its own."""
    with child_stack("--quiet") as child:
        yield child
