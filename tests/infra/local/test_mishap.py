"""The publisher that dies once: where it dies, and what that leaves."""

import threading

import httpx
import pytest

from baton.services.runs import Filter
from infra.local.mishap import DyingPublisher
from infra.local.testing import running_stack
from infra.manifest import function

GUARD_SECONDS = 30


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


class Witness:
    """Looks at the run when its publisher has just died, before anybody else comes by."""

    def __init__(self, inner, runtime):
        self._inner = inner
        self._runtime = runtime
        self.seen = []
        self.published_again = threading.Event()

    def call(self, function, event, request_id):
        try:
            answer = self._inner.call(function, event, request_id)
        except RuntimeError:
            self.seen.append(self.look())
            raise
        # Not by any call: what else there is to publish may have its turn before the run has it again.
        if function.name == "publish" and self.seen and "owed" not in self.look()[0]:
            self.published_again.set()
        return answer

    def look(self):
        """What became of the run's deliveries, and how many reports there are."""
        around = self._runtime.views.load("default", "doomed")
        reports = self._runtime.runs.list("default", Filter(workflow="report"), limit=10, after=None)
        return [each.state for each in around.deliveries], len(reports.runs)

    def stream(self, *arguments):
        return self._inner.stream(*arguments)


def test_dead_between_its_writes_the_subscriber_has_started_and_is_still_owed():
    witnesses = []

    def around(functions, runtime):
        witnesses.append(Witness(DyingPublisher(functions, runtime, "doomed"), runtime))
        return witnesses[0]

    with running_stack(schedules=False, around=around) as stack, httpx.Client(base_url=stack.url) as http:
        http.put("/v1/workflows/report", json={"subscribes": [{"event": "run.completed:build"}]})
        http.post("/v1/runs", json={"workflow": "build", "run_id": "doomed"})
        http.post("/v1/runs/doomed/finish", json={"status": "completed"})
        [witness] = witnesses
        assert witness.published_again.wait(GUARD_SECONDS)
        assert witness.seen == [(["owed"], 1)]
        assert witness.look() == (["started"], 1)
