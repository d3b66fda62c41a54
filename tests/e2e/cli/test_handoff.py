"""The hand-off as its users meet it: the command line against a real stack, whose publishers do the rest."""

from __future__ import annotations

import json
import re
import threading

import pytest

from baton_sdk import Client, ContinueAsNew, InvalidRequest, Subscription

GUARD_SECONDS = 30
LOOK_SECONDS = 0.05

REPORT = """\
name: report
description: what a build came to
subscribes:
  - event: run.completed:build
    where: run.output.tests > `0`
    input: "{build: run.id, tests: run.output.tests}"
---
name: page
subscribes: [{event: run.failed:build}]
"""


def document(done):
    return json.loads(done.stdout)


@pytest.fixture
def namespace(run_id):
    return run_id


@pytest.fixture
def client(stack, namespace):
    with Client(stack.url, namespace=namespace) as client:
        yield client


@pytest.fixture
def ours(baton, namespace):
    """A command line in the test's own namespace."""
    return lambda *args, **options: baton("--namespace", namespace, *args, **options)


@pytest.fixture
def apply(ours):
    return lambda text, **options: document(ours("workflows", "apply", "-", "--json", stdin=text, **options))


def results(applied):
    return {each["name"]: each["result"] for each in applied["workflows"]}


def until(look):
    """What ``look`` finds, as soon as it does: what happens meanwhile is the stack's doing."""
    passing = threading.Event()
    for _ in range(round(GUARD_SECONDS / LOOK_SECONDS)):
        if (found := look()) is not None:
            return found
        passing.wait(LOOK_SECONDS)
    raise AssertionError("it did not come")


def settle(client, run_id, status="completed", workflow="build", **more):
    client.start(workflow, run_id=run_id)
    client.finish(run_id, status, attempt=1, **more)


def delivered(client, run_id, subscriber):
    """The delivery to a subscriber, once nothing is owed to it."""

    def look():
        found = [d for d in client.get(run_id).deliveries if d.subscriber == subscriber and d.state != "owed"]
        return found[0] if found else None

    return until(look)


def test_workflows_are_registered_from_a_file_and_seen_as_a_graph(ours, apply):
    assert results(apply(REPORT)) == {"report": "created", "page": "created"}
    assert results(apply(REPORT)) == {"report": "unchanged", "page": "unchanged"}
    assert results(apply(REPORT.replace("came to", "is")))["report"] == "updated"
    names = [each["name"] for each in document(ours("workflows", "list", "--json"))["workflows"]]
    assert names == ["page", "report"]
    shown = document(ours("workflows", "show", "report", "--json"))
    assert [link["event"] for link in shown["started_by"]] == ["run.completed:build"]
    lines = [line.split("\t") for line in ours("graph").stdout.splitlines()]
    assert sorted(lines) == [
        ["build", "run.completed:build", "report"],
        ["build", "run.failed:build", "page"],
    ]
    assert '"report"' in ours("graph", "--format", "mermaid").stdout
    ours("workflows", "delete", "page")
    assert "error" in ours("workflows", "show", "page", expect=1).stderr


def test_what_only_the_service_can_refuse_names_the_field(ours):
    text = "name: report\nsubscribes: [{event: x, where: 'nope(@)'}]"
    refused = ours("workflows", "apply", "-", "--json", stdin=text, expect=1)
    error = json.loads(refused.stderr)["error"]
    assert error["slug"] == "invalid-request"
    assert error["errors"][0]["loc"][-3:] == ["subscribes", 0, "where"]


def test_an_ending_starts_its_subscriber_and_the_chain_is_shown(ours, apply, client):
    apply(REPORT)
    settle(client, "b1", output={"tests": 42})
    report = delivered(client, "b1", "report").run_id
    run = client.get(report).run
    assert (run.state, run.mode, run.input) == ("pending", "queued", {"build": "b1", "tests": 42})
    assert run.triggered_by and (run.triggered_by.run_id, run.triggered_by.event) == (
        "b1",
        "run.completed:build",
    )
    client.finish(report, "completed", attempt=1)
    (line,) = [line for line in ours("runs", "show", "b1").stdout.splitlines() if report in line]
    assert line.split("\t")[3:6] == ["started", report, "completed"]


def test_what_a_subscriber_does_not_want_is_declined(apply, client):
    apply(REPORT)
    settle(client, "b1", output={"tests": 0})
    assert delivered(client, "b1", "report").state == "declined"


def test_a_run_is_republished_and_finds_what_was_started(ours, apply, client):
    apply(REPORT)
    settle(client, "b1", output={"tests": 1})
    first = delivered(client, "b1", "report")
    told = document(ours("republish", "b1", "--json"))
    assert (told["runs"], told["created"], told["existing"]) == (1, 0, 1)
    assert client.get("b1").deliveries[0].run_id == first.run_id
    refused = document(ours("republish", "b1", "--subscriber", "stranger", "--json", expect=1))
    assert [each["subscriber"] for each in refused["refused"]] == ["stranger"]


def test_a_day_is_republished_to_a_new_subscriber_once(ours, apply, client):
    for number in range(7):
        settle(client, f"b{number}", output={"tests": number})
    apply("name: audit\nsubscribes: [{event: 'run.completed:build'}]")
    args = ("republish", "--workflow", "build", "--since", "1h", "--subscriber", "audit", "--json")
    assert document(ours(*args, "--dry-run"))["runs"] == 7
    first, again = document(ours(*args)), document(ours(*args))
    # The heal may have been at some of them first: together they start each once.
    assert first["created"] + first["existing"] == 7
    assert (again["created"], again["existing"]) == (0, 7)
    assert len(list(client.list(workflow="audit"))) == 7


def test_an_event_starts_its_subscribers_once_for_each_id(ours, apply, client):
    apply("name: invoice\nsubscribes: [{event: order.paid, input: payload.order}]")
    args = ("publish", "order.paid", "--payload", '{"order": 7}', "--id", "order-7", "--json")
    first, again = document(ours(*args)), document(ours(*args))
    assert first == again
    (started,) = first["started"]
    assert client.get(started["run_id"]).run.input == 7
    assert len(list(client.list(workflow="invoice"))) == 1


def test_an_event_wakes_the_run_that_waits_for_it(ours, client):
    client.start("approval", run_id="a1")
    assert client.suspend("a1", event="approved", attempt=1).state == "suspended"
    shown = document(ours("runs", "show", "a1", "--json"))
    assert [(wait["kind"], wait["event"]) for wait in shown["waits_for"]] == [("event", "approved")]
    assert document(ours("publish", "approved", "--json"))["woken"] == 1
    until(lambda: client.get("a1").run.state == "running" or None)


def test_an_event_that_reached_nobody_is_kept_for_the_next(ours, client):
    assert "kept" in ours("publish", "approved").stderr
    client.start("approval", run_id="a1")
    client.suspend("a1", event="approved", attempt=1)
    until(lambda: client.get("a1").run.state == "running" or None)


def test_a_run_waits_for_another_s_end(client):
    client.start("build", run_id="b1")
    client.start("deploy", run_id="d1")
    client.suspend("d1", run="b1", attempt=1)
    (waiter,) = client.get("b1").awaited_by
    assert (waiter.run_id, waiter.run_state) == ("d1", "suspended")
    (wait,) = client.get("d1").waits_for
    assert (wait.kind, wait.run_id, wait.run_state) == ("run", "b1", "running")
    client.finish("b1", "failed", attempt=1)
    until(lambda: client.get("d1").run.state == "running" or None)


def test_a_run_goes_on_as_a_new_one(ours, client):
    client.start("loop", run_id="l1", input={"page": 1})
    run = client.finish("l1", "completed", continue_as_new=ContinueAsNew(input={"page": 2}), attempt=1).run
    assert run.continued_as is not None
    successor = client.get(run.continued_as).run
    assert (successor.input, successor.continued_from, successor.state) == ({"page": 2}, "l1", "running")
    assert re.search(rf"continued as\s+{re.escape(successor.id)}", ours("runs", "show", "l1").stdout)


def test_a_registration_in_python_reads_back_what_it_said(client):
    wishes = [Subscription(event="run.failed:build", where="run.code != `0`")]
    made = client.put_workflow("page", subscribes=wishes, max_attempts=2)
    assert made.created and made.workflow.subscribes == tuple(wishes)
    assert not client.put_workflow("page", subscribes=wishes).created
    assert [link.workflow for link in client.graph().edges] == ["page"]
    with pytest.raises(InvalidRequest, match=r"subscribes.*where"):
        client.put_workflow("page", subscribes=[Subscription(event="x", where="a ||")])


def test_the_doctor_says_what_is_owed(ours):
    checks = document(ours("doctor", "--json"))["checks"]
    assert any(check["check"] == "hand-off" and check["ok"] for check in checks)
