"""Tokens and what is audited, by many at one moment: what is done is told once, and what was told is so."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import pytest

from baton.errors import InFlight, NotFound
from baton.services.workflows import Registered
from tests.faults import asking, invariants
from tests.faults.audited import audited
from tests.faults.races.together import at_once, outcome
from tests.faults.scenarios.registering import BUILT, NAME, kept, wish
from tests.faults.scenarios.tokens import WISH
from tests.faults.world import NAMESPACE

CONTAINERS = 4


def test_sixteen_tokens_are_made_and_each_is_told_once(world: Any, container: Any) -> None:
    containers = [container() for _ in range(CONTAINERS)]
    made = at_once(
        [
            partial(containers[turn % CONTAINERS].runtime.tokens.create, WISH, by=f"admin{turn:02}")
            for turn in range(16)
        ]
    )
    told = sorted(("token.created", each.token.id, each.token.created_by) for each in made)
    assert sorted(audited(world)) == told
    assert len({each.token.id for each in made}) == 16
    assert all(containers[0].runtime.tokens.authenticate(each.text) == each.token for each in made)


@pytest.mark.parametrize("turn", range(20))
def test_of_many_who_revoke_what_is_in_use_one_did_and_use_brings_nothing_back(
    world: Any, container: Any, turn: int
) -> None:
    containers = [container() for _ in range(CONTAINERS)]
    made = containers[0].runtime.tokens.create(WISH, by=None)
    revoke = [
        partial(each.runtime.tokens.revoke, made.token.id, within=(NAMESPACE,), by=f"admin{number}")
        for number, each in enumerate(containers)
    ]
    use = [partial(each.runtime.tokens.authenticate, made.text) for each in containers]
    answers = at_once([partial(outcome, act) for act in [*revoke, *use]])
    assert all(answer is None or isinstance(answer, NotFound) for answer in answers[:CONTAINERS]), answers
    assert not any(isinstance(answer, Exception) for answer in answers[CONTAINERS:]), answers
    [(action, subject, by)] = audited(world)
    assert (action, subject) == ("token.revoked", made.token.id)
    assert answers[int(by.removeprefix("admin"))] is None
    assert containers[0].runtime.tokens.list(NAMESPACE, limit=100, after=None).tokens == []


@pytest.mark.parametrize("turn", range(20))
def test_of_two_who_delete_what_a_third_resumes_at_most_one_did(
    world: Any, container: Any, turn: int
) -> None:
    containers = [container() for _ in range(3)]
    run_id = asking.running(containers[0])
    asking.cancel(containers[0], run_id, force=True)
    answers = at_once(
        [
            partial(outcome, partial(asking.delete, containers[0], run_id, by="one")),
            partial(outcome, partial(asking.delete, containers[1], run_id, by="two")),
            partial(outcome, partial(asking.resume, containers[2], run_id, force=True)),
        ]
    )
    told = audited(world)
    if invariants.gone(container(), asking.NAMESPACE, run_id):
        [(action, subject, by)] = told
        assert (action, subject) == ("run.deleted", run_id)
        assert answers[["one", "two"].index(by)] is None
    else:
        assert told == []
        assert all(isinstance(answer, InFlight) for answer in answers[:2]), answers


def test_each_put_that_changed_the_catalog_is_told_and_no_other(world: Any, container: Any) -> None:
    containers = [container() for _ in range(CONTAINERS)]
    answers = at_once(
        [
            partial(
                outcome,
                partial(
                    containers[turn % CONTAINERS].runtime.workflows.put,
                    wish(BUILT, description=str(turn % 8)),
                    by=f"admin{turn:02}",
                ),
            )
            for turn in range(16)
        ]
    )
    assert [type(answer) for answer in answers] == [Registered] * 16, answers
    told = Counter(audited(world))
    assert set(told.values()) == {1}
    assert {(action, subject) for action, subject, _ in told} == {("workflow.put", NAME)}
    assert len(told) == kept(world).revision


@pytest.mark.parametrize("per_second", [0.1, 4.8])
def test_a_limit_below_ten_a_second_is_exact_for_threads_of_one_container_and_of_many(
    container: Any, monkeypatch: Any, per_second: float
) -> None:
    containers = [container(token_requests_per_second=per_second) for _ in range(CONTAINERS)]
    for each in containers:
        monkeypatch.setattr(each.runtime._context.clock, "now", lambda: 1_800_000_000_000)

    def ask(turn: int) -> int:
        let_in = partial(containers[turn % CONTAINERS].runtime.limiter.let_in, "tenant_aaaaaaaa")
        return [outcome(let_in) for _ in range(10)].count(None)

    assert sum(at_once([partial(ask, turn) for turn in range(16)])) == round(per_second * 10)
