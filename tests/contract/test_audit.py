"""Who started, cancelled, resumed, deleted, republished, registered: in the run's log, or in the audit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from baton.api.identity import vouched
from baton.domain.payload import INLINE_INPUT
from infra.local.vouching import EVERYONE
from tests.functions.lambdas import Answer, Lambdas
from tests.unit.house import House

ROOT = {"namespace": "*", "role": "admin", "token_id": "rootroot"}
LARGE = "x" * (INLINE_INPUT + 1)
BUILT = {"subscribes": [{"event": "run.completed:build"}]}


class Someone:
    """Who shows a token, as the authoriser vouches for them."""

    def __init__(self, api: Lambdas, text: str) -> None:
        token = api.runtime.tokens.authenticate(text)
        assert token is not None
        self.id, self.text, self.secret = token.id, text, text.rpartition("_")[2]
        self._api, self._said = api, vouched(token)

    def ask(self, method: str, path: str, body: Any = None, **headers: Any) -> Answer:
        self._api.runtime.clock.sleep(0.001)
        bearer = f"Bearer {self.text}"
        return self._api.call(method, path, body, authorizer=self._said, authorization=bearer, **headers)

    def start(self, run_id: str, **body: Any) -> None:
        wish = {"workflow": "build", "run_id": run_id, **body}
        assert self.ask("POST", "/v1/runs", wish, idempotency_key=run_id).status in (200, 201)


def someone(api: Lambdas, namespace: str = "default") -> Someone:
    wish = {"role": "admin", "namespace": namespace}
    made = api.call("POST", "/v1/tokens", wish, authorizer=ROOT)
    assert made.status == 201, made
    return Someone(api, made.json["secret"])


@pytest.fixture
def ann(api: Lambdas) -> Someone:
    return someone(api)


@pytest.fixture
def bob(api: Lambdas) -> Someone:
    """His token is good in every namespace."""
    return someone(api, "*")


def said_by(api: Lambdas, run_id: str) -> list[tuple[str, str | None]]:
    """What Baton said in a run's log, and at whose word."""
    return [(message["type"], message["data"].get("by")) for message in api.read(run_id).json]


def audited(api: Lambdas, authorizer: Mapping[str, Any] = ROOT) -> list[tuple[str, str, str]]:
    """What was done, to what, by whom; the oldest first."""
    told = api.call("GET", "/v1/audit", authorizer=authorizer).json["audit"]
    return [(done["action"], done["subject"], done["by"]) for done in reversed(told)]


@pytest.mark.parametrize("input_", [None, LARGE], ids=["in its row", "in its log"])
def test_a_runs_log_tells_who_started_cancelled_and_resumed_it(
    api: Lambdas, ann: Someone, bob: Someone, input_: Any
):
    ann.start("r1", input=input_)
    bob.ask("POST", "/v1/runs/r1/cancel", {"reason": "enough"})
    api.finish("r1", "cancelled", resumable=True)
    ann.ask("POST", "/v1/runs/r1/resume")
    ann.ask("POST", "/v1/runs/r1/cancel")
    bob.ask("POST", "/v1/runs/r1/cancel", {"force": True})
    ann.ask("POST", "/v1/runs/r1/resume", {"force": True})
    assert said_by(api, "r1") == [
        ("start", ann.id),
        ("cancel", bob.id),
        ("end", None),
        ("resumed", ann.id),
        ("cancel", ann.id),
        ("end", bob.id),
        ("resumed", ann.id),
    ]


def test_a_run_that_nobody_drives_ends_at_the_word_of_who_cancels_it(
    api: Lambdas, ann: Someone, bob: Someone
):
    bob.start("r1", mode="queued")
    ann.ask("POST", "/v1/runs/r1/cancel")
    assert said_by(api, "r1") == [("start", bob.id), ("end", ann.id)]


def test_who_repeats_what_was_done_has_not_done_it(api: Lambdas, ann: Someone, bob: Someone):
    ann.start("r1")
    bob.start("r1")
    for each in (ann, bob):
        each.ask("POST", "/v1/runs/r1/cancel")
    assert said_by(api, "r1") == [("start", ann.id), ("cancel", ann.id)]


def test_a_run_that_a_run_starts_or_goes_on_as_is_nobodys_start(api: Lambdas, ann: Someone, house: House):
    ann.ask("PUT", "/v1/workflows/report", BUILT)
    for run_id in ("r1", "r2"):
        ann.start(run_id)
    go_on = {"status": "completed", "continue_as_new": {"run_id": "r3"}}
    ann.ask("POST", "/v1/runs/r1/finish", go_on)
    ann.ask("POST", "/v1/runs/r2/finish", {"status": "completed"})
    ann.ask("POST", "/v1/runs/r2/republish", {})
    [delivery] = api.call("GET", "/v1/runs/r2").json["deliveries"]
    for run_id in ("r3", delivery["run_id"]):
        assert said_by(api, run_id) == [("start", None)]


def test_the_audit_tells_who_deleted_republished_registered_and_gave_tokens_out(
    api: Lambdas, ann: Someone, bob: Someone
):
    ann.start("r1")
    api.finish("r1")
    bob.ask("PUT", "/v1/workflows/w", {"description": "d"})
    ann.ask("POST", "/v1/runs/r1/republish", {})
    bob.ask("POST", "/v1/republish", {"workflow": "build"})
    ann.ask("DELETE", "/v1/runs/r1")
    bob.ask("DELETE", "/v1/workflows/w")
    made = ann.ask("POST", "/v1/tokens", {"role": "viewer"}).json["token"]["id"]
    bob.ask("DELETE", f"/v1/tokens/{made}")
    assert audited(api) == [
        ("token.created", ann.id, "rootroot"),
        ("workflow.put", "w", bob.id),
        ("run.republished", "r1", ann.id),
        ("runs.republished", "build", bob.id),
        ("run.deleted", "r1", ann.id),
        ("workflow.deleted", "w", bob.id),
        ("token.created", made, ann.id),
        ("token.revoked", made, bob.id),
    ]


def test_what_changed_nothing_is_not_told(api: Lambdas, ann: Someone, bob: Someone):
    ann.start("r1")
    ann.ask("PUT", "/v1/workflows/w", {"description": "d"})
    before = audited(api)
    assert bob.ask("PUT", "/v1/workflows/w", {"description": "d"}).status == 200
    assert bob.ask("POST", "/v1/republish", {"workflow": "build", "dry_run": True}).status == 200
    assert bob.ask("DELETE", "/v1/runs/r1").slug == "in-flight"
    for method, path in (
        ("DELETE", "/v1/runs/absent"),
        ("DELETE", "/v1/workflows/absent"),
        ("POST", "/v1/runs/absent/republish"),
    ):
        assert bob.ask(method, path).slug == "not-found"
    assert audited(api) == before


def everything(ask: Any) -> None:
    """All that is told of somebody, done."""
    ask("PUT", "/v1/workflows/report", BUILT)
    for run_id, input_ in (("r1", None), ("r2", LARGE)):
        ask("POST", "/v1/runs", {"workflow": "build", "run_id": run_id, "input": input_})
        ask("POST", f"/v1/runs/{run_id}/cancel", {"reason": "enough"})
        ask("POST", f"/v1/runs/{run_id}/cancel", {"force": True})
        ask("POST", f"/v1/runs/{run_id}/resume", {"force": True})
        ask("POST", f"/v1/runs/{run_id}/finish", {"status": "completed"}, baton_attempt="2")
        ask("POST", f"/v1/runs/{run_id}/republish", {})
    ask("POST", "/v1/republish", {"workflow": "build"})
    ask("POST", "/v1/runs", {"workflow": "build", "run_id": "r3"})
    ask("POST", "/v1/runs/r3/finish", {"status": "failed"})
    ask("DELETE", "/v1/workflows/report")
    assert ask("DELETE", "/v1/runs/r3").status == 204


def kept(house: House) -> str:
    """All that stands in all tables."""
    settings = house.settings
    tables = (settings.runs_table, settings.log_table, settings.catalog_table)
    return repr([house.items(table) for table in tables])


def test_of_nobody_nothing_is_told_and_nothing_more_is_kept(api: Lambdas, house: House):
    everything(lambda *request, **headers: api.call(*request, authorizer=EVERYONE, **headers))
    for run_id in ("r1", "r2"):
        read = api.read(run_id)
        assert [message["type"] for message in read.json] == ["start", "cancel", "end", "resumed", "end"]
        assert b'"by"' not in read.body
    assert audited(api) == []
    assert not any("by" in row for row in house.rows())


def test_a_tokens_secret_is_kept_nowhere(api: Lambdas, ann: Someone, house: House):
    everything(ann.ask)
    assert ann.id in kept(house)
    assert ann.secret not in kept(house)
