"""The publisher that dies once: where it dies, and what that leaves."""

import pytest

from infra.local.mishap import DyingPublisher
from infra.local.testing import running_stack
from infra.manifest import function


class Writing:
    """Functions that each write twice."""

    def __init__(self, runtime):
        self.client = runtime.dynamo.connection.client
        self.table = runtime.settings.runs_table
        self.writes = 0

    def call(self, _function, _event, _request_id):
        for number in range(2):
            self.client.put_item(TableName=self.table, Item={"k": {"S": "x"}, "s": {"S": str(number)}})
            self.writes += 1

    def stream(self, *_):
        raise NotImplementedError


class Publish:
    name = "publish"


def event(run_id):
    return {"Records": [{"dynamodb": {"Keys": {"k": {"S": f"ns#{run_id}"}, "s": {"S": "run"}}}}]}


@pytest.fixture(scope="module")
def runtime():
    with running_stack(schedules=False, signals=False) as stack:
        yield stack.runtime


@pytest.fixture
def writing(runtime):
    return Writing(runtime)


@pytest.fixture
def dying(writing, runtime):
    return DyingPublisher(writing, runtime, "doomed")


def test_it_dies_after_its_first_write_once(dying, writing, runtime, capsys):
    with pytest.raises(RuntimeError, match="died"):
        dying.call(Publish, event("doomed"), "1")
    assert writing.writes == 0  # it never learnt that it had written
    written = runtime.dynamo.connection.client.scan(TableName=runtime.settings.runs_table)["Items"]
    assert [item["s"]["S"] for item in written] == ["0"]
    assert "the publisher of doomed died" in capsys.readouterr().err
    dying.call(Publish, event("doomed"), "2")
    assert writing.writes == 2


@pytest.mark.parametrize(
    ("whose", "said"),
    [
        (Publish, event("other")),
        (Publish, event("not-doomed-at-all")),
        (Publish, {}),
        (function("sweep"), event("doomed")),
    ],
)
def test_nobody_else_dies(whose, said, dying, writing):
    dying.call(whose, said, "1")
    assert writing.writes == 2
