"""``baton graph``: who starts whom, drawn."""

from __future__ import annotations

import json

import pytest

from tests.unit.sdk.answers import link_json

BATCH = {"mode": "debounce", "window_seconds": 5, "key": None, "max_size": 100, "max_wait_seconds": 50}
GRAPH = {
    "workflows": [{"name": name} for name in ("alone", "build", "mail", "page", "report")],
    "edges": [
        link_json("report", "run.completed:build", where="run.output.ok"),
        link_json("page", "run.failed:build", announced=True),
        link_json("mail", "run.completed:report", batch=BATCH),
        link_json("mail", "order.paid"),
        link_json("report", "run.completed:adhoc"),
    ],
}
CIRCLE = {
    "workflows": [{"name": name} for name in "abc"],
    "edges": [
        link_json("b", "run.completed:a"),
        link_json("a", "run.completed:b"),
        link_json("c", "run.failed:c"),
    ],
}


def drawing(run, graph):
    result = run("graph", answer=graph, terminal=True)
    assert result.exit_code == 0
    return [line.rstrip() for line in result.stdout.splitlines()]


def test_each_workflow_stands_over_what_its_endings_start(run):
    assert drawing(run, GRAPH) == [
        "adhoc  not registered",
        "└── completed → report",
        "    └── completed → mail  debounce 5 s",
        "alone",
        "build",
        "├── completed → report  where run.output.ok  … above",
        "└── failed → page  announced",
        "order.paid  event",
        "└── → mail",
    ]


def test_a_circle_is_drawn_once_round(run):
    assert drawing(run, CIRCLE) == [
        "a",
        "└── completed → b",
        "    └── completed → a  … above",
        "c",
        "└── failed → c  … above",
    ]


def test_a_long_chain_is_drawn_to_its_end(run):
    edges = [link_json(f"w{n + 1:04d}", f"run.completed:w{n:04d}") for n in range(2000)]
    lines = drawing(run, {"workflows": [], "edges": edges})
    arrows = [line.split("→ ")[1].split()[0] for line in lines if "→" in line]
    assert sorted(arrows) == [edge["workflow"] for edge in edges]
    assert "… below" in lines[10] and lines[11] == "w0010  not registered"


def test_nothing_is_said_to_a_person(run):
    assert "no workflows" in run("graph", answer={"workflows": [], "edges": []}, terminal=True).output


def test_in_a_pipe_it_is_a_line_for_each_link(run):
    lines = [line.split("\t") for line in run("graph", answer=GRAPH).stdout.splitlines()]
    assert lines[0] == ["build", "run.completed:build", "report"]
    assert lines[3] == ["order.paid", "order.paid", "mail"]
    assert len(lines) == 5


@pytest.mark.parametrize("args", [["--json"], ["--format", "json"]])
def test_as_json_it_is_what_the_service_answers(args, run):
    assert json.loads(run("graph", *args, answer=GRAPH).stdout) == GRAPH


def test_as_mermaid_every_link_joins_two_nodes(run):
    lines = run("graph", "--format", "mermaid", answer=GRAPH).stdout.splitlines()
    assert lines[0] == "flowchart LR"
    assert '    n1["build"]' in lines and '    n6(["order.paid"])' not in lines
    nodes = {line.split("[")[0].split("(")[0].strip(): line for line in lines[1:] if '"' in line}
    links = [line.split() for line in lines[1:] if '"' not in line]
    assert len(links) == 5
    assert all({link[0], link[2]} <= nodes.keys() for link in links)
    assert ["n1", "-->|completed|", "n4"] in links and ["n1", "-.->|failed|", "n3"] in links


def test_a_drawing_may_be_asked_for_in_a_pipe(run):
    assert "completed → report" in run("graph", "--format", "text", answer=GRAPH).stdout
