"""``baton runs show``: a run, what hangs on it, and the chain it stands in."""

from __future__ import annotations

import json

import pytest

from tests.unit.sdk.service import NOW, problem, run_json


def triggered(by, event="run.completed:build"):
    return {"run_id": by, "workflow": "build", "event": event, "attempt": 1}


def delivery(subscriber="mail", **over):
    found = {
        "subscriber": subscriber, "event": "run.completed:report", "attempt": 2, "state": "started",
        "run_id": "h~9", "run_state": "running", "error": None, "at": NOW,
    }  # fmt: skip
    return found | over


class House:
    """Runs by their id, each with what hangs on it."""

    def __init__(self):
        self.details = {}

    def add(self, run_id, hanging=None, **over):
        empty = dict.fromkeys(("deliveries", "subscribers", "waits_for", "awaited_by"), ())
        self.details[run_id] = {"run": run_json(run_id, **over), **empty, **(hanging or {})}

    def __call__(self, request):
        run_id = request.url.path.removeprefix("/v1/runs/")
        return self.details.get(run_id) or problem(404, "not-found")


@pytest.fixture
def house():
    return House()


@pytest.fixture
def shown(run, house):
    def shown(run_id, terminal=True):
        result = run("runs", "show", run_id, answer=house, terminal=terminal)
        assert result.exit_code == 0
        return [line.rstrip() for line in result.stdout.splitlines()]

    return shown


def last(lines, count):
    return lines[-count:]


@pytest.mark.parametrize(
    ("over", "says"),
    [
        ({"mode": "attached", "state": "running"}, True),
        ({"mode": "attached", "state": "completed"}, False),
        ({"mode": "queued", "state": "pending"}, False),
    ],
)
def test_of_an_attached_run_at_work_it_is_said_who_drives_it(over, says, house, shown):
    house.add("r1", **over)
    assert ("driven by\twhoever started it" in shown("r1", terminal=False)) is says


def test_the_chain_is_drawn_from_its_first_run_to_what_came_of_this_one(house, shown):
    house.add("r0", workflow="build", state="completed", continued_from=None)
    house.add("r1", workflow="build", state="failed", continued_from="r0")
    failed = delivery("page", state="failed", run_id=None, run_state=None, error={"message": "no input"})
    declined = delivery("audit", state="declined", run_id=None, run_state=None)
    house.add(
        "h~2",
        {"deliveries": [delivery(), failed, declined], "subscribers": ["audit", "mail", "page"]},
        workflow="report",
        state="completed",
        triggered_by=triggered("r1", "run.failed:build"),
        continued_as="r4",
    )
    house.add("r4", workflow="report", state="running", continued_from="h~2")
    assert last(shown("h~2"), 7) == [
        "build  r0  completed",
        "└── goes on as → build  r1  failed",
        "    └── failed → report  h~2  completed",
        "        ├── completed → mail  h~9  running",
        "        ├── completed → page  failed: no input",
        "        ├── completed → audit  declined",
        "        └── goes on as → report  r4  running",
    ]


def test_who_is_gone_is_said_to_be(house, shown):
    house.add("h~2", workflow="report", triggered_by=triggered("r1"), continued_as="r4")
    assert last(shown("h~2"), 3) == [
        "r1  gone",
        "└── completed → report  h~2  running",
        "    └── goes on as → r4  gone",
    ]


def test_what_an_event_of_one_s_own_started_says_so(house, shown):
    house.add("h~2", workflow="report", triggered_by=triggered(None, "order.paid"))
    assert last(shown("h~2"), 2) == ["order.paid", "└── → report  h~2  running"]


def test_a_long_chain_is_drawn_as_far_as_a_screen_goes(house, shown, requests):
    for number in range(100):
        house.add(f"r{number}", continued_from=f"r{number - 1}" if number else None)
    lines = shown("r99")
    assert any(line == "…" for line in lines) and lines[-1].endswith("build  r99  running")
    assert len(requests) == 21


def test_a_run_that_stands_alone_has_no_chain(house, shown, requests):
    house.add("r1")
    assert not any("──" in line for line in shown("r1"))
    assert len(requests) == 1


def test_deliveries_waits_and_waiters_are_told(house, shown):
    waits = [{"kind": "run", "run_id": "r0", "run_state": "running"}, {"kind": "event", "event": "approved"}]
    house.add(
        "r1",
        {
            "deliveries": [delivery(state="failed", run_id=None, run_state=None, error="no input")],
            "subscribers": ["mail", "page"],
            "waits_for": [*waits, {"kind": "time", "until": NOW}],
            "awaited_by": [{"run_id": "r9", "run_state": "suspended"}],
        },
    )
    told = [line.split() for line in shown("r1")]
    assert ["subscribers", "mail,", "page"] in told
    assert ["run", "r0", "running"] in told
    assert ["event", "approved"] in told
    assert ["r9", "suspended"] in told
    (delivered,) = (line for line in told if line[:1] == ["mail"])
    assert delivered[:4] == ["mail", "run.completed:report", "2", "failed"] and delivered[-2:] == [
        "no",
        "input",
    ]


def test_in_a_pipe_nothing_else_is_asked_for(house, shown, requests):
    house.add("h~2", {"deliveries": [delivery()]}, triggered_by=triggered("r1"))
    lines = [line.split("\t") for line in shown("h~2", terminal=False)]
    assert ["triggered by", "r1"] in lines
    assert lines[-1][:6] == ["mail", "run.completed:report", "2", "started", "h~9", "running"]
    assert len(requests) == 1


def test_as_json_it_is_what_the_service_answers(house, run):
    house.add("r1", {"subscribers": ["mail"]})
    assert json.loads(run("runs", "show", "r1", "--json", answer=house).stdout)["subscribers"] == ["mail"]


@pytest.mark.parametrize(
    ("error", "why"),
    [(None, "given back"), ({"message": "the lease of worker w1 ran out"}, "the lease of worker w1 ran out")],
)
def test_a_run_that_nobody_drives_any_more_says_why_and_from_when_on(error, why, house, shown):
    released = {"released": {"worker_id": "w1", "attempt": 2, "error": error}}
    house.add("r1", released, state="pending", available_at=NOW)
    lines = {line.split("\t")[0]: line.split("\t")[1] for line in shown("r1", terminal=False) if line}
    assert lines["came back"] == f"from w1, attempt 2: {why}"
    assert "available" in lines
    house.add("r1", released, state="running", available_at=NOW, lease={"worker_id": "w2", "expires_at": NOW})
    lines = {line.split("\t")[0]: line.split("\t")[1] for line in shown("r1", terminal=False) if line}
    assert lines["lease"].startswith("w2 until ")
    assert not {"came back", "available"} & lines.keys()
