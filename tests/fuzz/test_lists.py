"""Any filter, paged in any steps, lists exactly the runs that a look at each of them would find."""

from __future__ import annotations

import random
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

NAMESPACE = {"Baton-Namespace": "lists"}
WORKFLOWS = ("a", "a/b", "A", "b:c", "zz")
CONTEXTS = (None, "c", "c#1", "ö 👩")
TAGS = ("t", "u", "t u")
STATES = ("running", "pending", "failed", "completed", "cancelled")


@pytest.fixture(scope="module")
def runs(http: httpx.Client) -> list[dict[str, Any]]:
    """Sixty runs of all kinds, and some that are gone."""
    chance = random.Random(1)
    for number in range(66):
        state = chance.choice(STATES)
        wish = {
            "workflow": chance.choice(WORKFLOWS),
            "run_id": f"r{number}",
            "context_ref": chance.choice(CONTEXTS),
            "tags": chance.sample(TAGS, chance.randrange(3)),
            "mode": "queued" if state == "pending" else "attached",
        }
        assert http.post("/v1/runs", json=wish, headers=NAMESPACE).status_code == 201
        if state not in ("running", "pending"):
            http.post(f"/v1/runs/r{number}/finish", json={"status": state}, headers=NAMESPACE)
            if number % 11 == 0:
                assert http.delete(f"/v1/runs/r{number}", headers=NAMESPACE).status_code == 204
    answers = (http.get(f"/v1/runs/r{number}", headers=NAMESPACE) for number in range(66))
    found = [answer.json()["run"] for answer in answers if answer.status_code == 200]
    assert len(found) < 66
    return sorted(found, key=lambda run: (run["created_at"], run["id"]), reverse=True)


def _takes(wanted: dict[str, Any], run: dict[str, Any]) -> bool:
    return (
        wanted.get("workflow", run["workflow"]) == run["workflow"]
        and (not wanted.get("state") or run["state"] in wanted["state"])
        and wanted.get("context_ref", run["context_ref"]) == run["context_ref"]
        and ("tag" not in wanted or wanted["tag"] in run["tags"])
        and wanted.get("since", "") <= run["created_at"] <= wanted.get("until", "9")
    )


@pytest.mark.slow
@settings(max_examples=30)
@given(data=st.data())
def test_a_filter_finds_what_it_says(http: httpx.Client, runs: list[dict[str, Any]], data: st.DataObject):
    moments = st.sampled_from([run["created_at"] for run in runs])
    wanted = data.draw(
        st.fixed_dictionaries(
            {},
            optional={
                "workflow": st.sampled_from((*WORKFLOWS, "none")),
                "state": st.lists(st.sampled_from((*STATES, "dead", "suspended")), unique=True, max_size=3),
                "context_ref": st.sampled_from([each for each in CONTEXTS if each] + ["none"]),
                "tag": st.sampled_from((*TAGS, "none")),
                "since": moments,
                "until": moments,
            },
        )
    )
    listed: list[dict[str, Any]] = []
    query = {**wanted, "limit": data.draw(st.sampled_from([2, 7, 50, 100]))}
    for _ in range(200):
        page = http.get("/v1/runs", params=query, headers=NAMESPACE).json()
        assert len(page["runs"]) <= query["limit"]
        listed += page["runs"]
        if "next_token" not in page:
            break
        query["next_token"] = page["next_token"]
    unlisted = {"input": None, "output": None, "error": None, "next_offset": None}
    assert listed == [run | unlisted for run in runs if _takes(wanted, run)]
