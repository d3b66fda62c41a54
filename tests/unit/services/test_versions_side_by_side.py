"""While a deployment rolls, two versions work on the same rows: the older loses nothing of the newer."""

import pytest

from baton.domain.states import Mode, State
from tests.unit.house import NS, start
from tests.unit.services.acts import append, claim, fail, finish

WORD = {"S": "of a newer version"}


@pytest.fixture
def newer(house, runtime):
    """Have a newer version write an attribute of its own into a run's row."""

    def write(run_id):
        key = {"k": {"S": f"{NS}#{run_id}"}, "s": {"S": "run"}}
        house.client.update_item(
            TableName=house.settings.runs_table,
            Key=key,
            UpdateExpression="SET #new = :word",
            ExpressionAttributeNames={"#new": "zz"},
            ExpressionAttributeValues={":word": WORD},
        )
        return lambda: house.client.get_item(TableName=house.settings.runs_table, Key=key)["Item"]["zz"]

    return write


def test_what_a_newer_version_wrote_into_a_row_outlives_an_ending_and_a_resume(runtime, newer):
    start(runtime, run_id="a")
    stands = newer("a")
    append(runtime, "a", "said")
    fail(runtime, "a")
    assert stands() == WORD
    runtime.control.resume(NS, "a", force=False, key=None)
    assert stands() == WORD
    finish(runtime, "a", attempt=2)
    assert runtime.runs.get(NS, "a").run.state is State.COMPLETED
    assert stands() == WORD


def test_what_a_newer_version_wrote_into_a_row_outlives_a_claim(runtime, newer):
    start(runtime, run_id="a", mode=Mode.QUEUED)
    stands = newer("a")
    assert [each.run.id for each in claim(runtime)] == ["a"]
    assert stands() == WORD
