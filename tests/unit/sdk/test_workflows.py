from __future__ import annotations

import json

import httpx
import pytest

import baton_sdk
from baton_sdk import Backoff, Batch, Subscription, Target, Workflow
from baton_sdk.graph import ended
from tests.unit.sdk.answers import answering, link_json, workflow_json

REPORT = workflow_json(
    description="after each build",
    target={"kind": "lambda", "arn": "arn:aws:lambda:x"},
    subscribes=[{"event": "run.completed:build", "where": "run.output.ok", "input": None}],
    batch={"mode": "batch", "window_seconds": 2.5, "key": None, "max_size": 100, "max_wait_seconds": 25.0},
    backoff={"base_seconds": 0, "max_seconds": 300},
    max_attempts=2,
    announced=True,
    later_field=1,
)


def test_a_workflow_has_every_field_of_the_contract():
    workflow = Workflow.from_json(REPORT)
    assert set(workflow_json()) - {"namespace"} <= set(vars(workflow))
    assert workflow.subscribes == (Subscription(event="run.completed:build", where="run.output.ok"),)
    assert workflow.target == Target(kind="lambda", arn="arn:aws:lambda:x")
    assert workflow.batch == Batch(mode="batch", window_seconds=2.5, max_size=100, max_wait_seconds=25.0)
    assert workflow.backoff == Backoff(base_seconds=0, max_seconds=300)
    assert (workflow.max_attempts, workflow.announced, workflow.raw["later_field"]) == (2, True, 1)


def test_a_registration_sends_what_was_given_and_nothing_else(connect):
    handler, seen = answering(httpx.Response(201, json={"workflow": REPORT}))
    made = connect(handler).put_workflow(
        "team/report",
        target=Target(kind="worker"),
        subscribes=[Subscription(event="a", where="b"), {"event": "c"}],
        batch=Batch(mode="debounce", window_seconds=5),
        backoff=Backoff(base_seconds=0),
    )
    assert made.created and made.workflow.name == "report"
    assert (seen[0].method, seen[0].url.raw_path) == ("PUT", b"/v1/workflows/team%2Freport")
    assert json.loads(seen[0].content) == {
        "target": {"kind": "worker"},
        "subscribes": [{"event": "a", "where": "b"}, {"event": "c"}],
        "batch": {"mode": "debounce", "window_seconds": 5},
        "backoff": {"base_seconds": 0},
    }


@pytest.mark.parametrize(("given", "sent"), [(None, {}), ((), {"subscribes": []})])
def test_no_subscriptions_are_not_the_same_as_none_given(given, sent, connect):
    handler, seen = answering({"workflow": REPORT})
    assert not connect(handler).put_workflow("report", subscribes=given).created
    assert json.loads(seen[0].content) == sent


def test_a_workflow_comes_with_what_it_starts_and_what_starts_it(connect):
    detail = {
        "workflow": REPORT,
        "starts_on_settle": [link_json("mail", "run.failed:report", announced=True)],
        "started_by": [link_json(where="run.output.ok")],
    }
    handler, seen = answering(detail)
    found = connect(handler).get_workflow("report")
    assert [(link.workflow, link.announced) for link in found.starts_on_settle] == [("mail", True)]
    assert [(link.event, link.where) for link in found.started_by] == [
        ("run.completed:build", "run.output.ok")
    ]
    assert (seen[0].url.path, found.raw) == ("/v1/workflows/report", detail)


def test_the_list_of_workflows_goes_over_all_pages_also_empty_ones(connect):
    handler, seen = answering(
        {"workflows": [workflow_json("a")], "next_token": "t1"},
        {"workflows": [], "next_token": "t2"},
        {"workflows": [workflow_json("b")]},
    )
    assert [workflow.name for workflow in connect(handler).workflows(page_size=1)] == ["a", "b"]
    assert [request.url.params.get("next_token") for request in seen] == [None, "t1", "t2"]
    assert {request.url.params["limit"] for request in seen} == {"1"}


def test_the_graph_says_who_starts_whom(connect):
    handler, _ = answering({"workflows": [{"name": "build"}, {"name": "report"}], "edges": [link_json()]})
    graph = connect(handler).graph()
    assert graph.workflows == ("build", "report")
    assert [(ended(edge.event), edge.workflow) for edge in graph.edges] == [
        (("build", "completed"), "report")
    ]


@pytest.mark.parametrize(
    ("event", "meant"),
    [
        ("run.completed:a:b/c", ("a:b/c", "completed")),
        ("run.failed:x", ("x", "failed")),
        ("run.completed", None),
        ("deploy:done", None),
        ("order", None),
    ],
)
def test_an_ending_names_its_workflow_and_other_events_do_not(event, meant):
    assert ended(event) == meant


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_a_name_that_would_name_another_path_is_refused(name, connect):
    client = connect(answering()[0])
    for call in (client.put_workflow, client.get_workflow, client.delete_workflow):
        with pytest.raises(baton_sdk.InvalidRequest):
            call(name)


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"workflow": None},
        {"workflow": {"name": "x", "subscribes": [{}]}},
        {"workflow": {"name": "x", "created_at": "soon"}},
        {"workflow": workflow_json(), "started_by": [{}]},
        {"workflow": workflow_json(), "started_by": ["build"]},
    ],
)
def test_an_answer_of_something_else_is_told(answer, connect):
    handler, _ = answering(answer)
    with pytest.raises(baton_sdk.BadAnswer):
        connect(handler).get_workflow("report")


@pytest.mark.parametrize("answer", [{}, {"workflows": None}, {"workflows": [{}]}, {"workflows": [1]}])
def test_a_graph_of_something_else_is_told(answer, connect):
    handler, _ = answering(answer)
    with pytest.raises(baton_sdk.BadAnswer):
        connect(handler).graph()
