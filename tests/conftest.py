"""What every test gets: fixtures of the rooms, no way to a real AWS account, the same examples each time."""

import os
import signal

import pytest
from hypothesis import settings

pytest_plugins = ["tests.dynamodb_local.plugin"]

# botocore looks at these when a client is made; nothing a developer has set up may be reached from a test.
for name in [name for name in os.environ if name.startswith("AWS_")]:
    del os.environ[name]
os.environ.update(
    AWS_ACCESS_KEY_ID="testing",
    AWS_SECRET_ACCESS_KEY="testing",
    AWS_DEFAULT_REGION="eu-central-1",
    AWS_EC2_METADATA_DISABLED="true",
)

# A gate started in the background, or by nohup, is deaf to some signals, and so would be every program that a
# test sends one to.
_HEARD = {signal.SIGINT: signal.default_int_handler} | dict.fromkeys(
    (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT), signal.SIG_DFL
)
for number, handler in _HEARD.items():
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)

# A failure must come back when it is looked for, on two busy cores too.
settings.register_profile("gate", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("gate")


def pytest_addoption(parser):
    parser.addoption(
        "--all-points", action="store_true", help="faults: a process dies in every way around every call"
    )


@pytest.fixture(scope="session")
def all_points(request):
    """Whether no point is left out."""
    return request.config.getoption("--all-points")
