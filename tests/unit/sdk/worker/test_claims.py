"""A claim whose answer did not come is asked again as it was: what it may have taken is found."""

from __future__ import annotations

import pytest

from baton_sdk import Forbidden, TryAgain
from tests.unit.sdk import service as faults
from tests.unit.sdk.service import problem


@pytest.fixture
def claims(hire):
    worker = hire(tries=1)
    worker.workflow("report")(lambda ctx: 1)
    return worker.claims()


def test_an_unanswered_claim_is_asked_again_as_it_was(claims, baton, hand):
    baton.start("r1")
    baton.fate["claims"].append(faults.lost_reply)
    with pytest.raises(TryAgain):
        claims.ask(3, 5)
    hand.advance(7)
    claimed = claims.ask(1, 0)
    assert [run.id for run in claimed.runs] == ["r1"]
    assert claimed.since == hand.monotonic() - 7  # its lease may be as old as that
    first, again = baton.bodies["claims"]
    assert first == again
    claims.ask(1, 0)
    keys = [headers["idempotency-key"] for headers in baton.headers["claims"]]
    assert keys[0] == keys[1] != keys[2]


def test_a_refused_claim_is_not_asked_again(claims, baton):
    baton.fate["claims"].append(lambda *_: problem(403, "forbidden"))
    with pytest.raises(Forbidden):
        claims.ask(3, 5)
    claims.ask(1, 0)
    assert baton.bodies["claims"][0] != baton.bodies["claims"][1]


@pytest.mark.parametrize(("lease", "waits"), [(60, 5), (12, 4)])
def test_a_claim_waits_for_no_longer_than_leaves_its_lease_time(lease, waits, hire, baton, monkeypatch):
    monkeypatch.setattr(baton.queued, "wait", lambda seconds: None)
    worker = hire(lease_seconds=lease)
    worker.workflow("report")(lambda ctx: 1)
    worker.claims().ask(40, 5)
    assert baton.bodies["claims"] == [
        {
            "worker_id": "w1", "workflows": ["report"], "max": 25, "lease_seconds": lease,
            "wait_seconds": waits,
        }
    ]  # fmt: skip


def test_more_workflows_than_a_claim_may_name_take_turns(hire, baton):
    worker = hire()
    names = [f"w{number}" for number in range(40)]
    for name in names:
        worker.workflow(name)(lambda ctx: 1)
    claims = worker.claims()
    for _ in range(5):
        claims.ask(1, 0)
    asked = [body["workflows"] for body in baton.bodies["claims"]]
    assert {len(each) for each in asked} == {32}
    assert sorted(name for each in asked for name in each) == sorted(names * 4)
