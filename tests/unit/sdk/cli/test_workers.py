"""``baton workers``: who is alive to claim runs."""

from __future__ import annotations

import json

from tests.unit.sdk.answers import worker_json

TWO = {
    "workers": [
        worker_json("host-1-x", runtime="python 3.12", workflows=["build", "report"]),
        worker_json("host-2-y"),
    ]
}


def test_in_a_pipe_each_worker_is_a_line(run):
    lines = run("workers", answer=TWO).stdout.splitlines()
    assert [line.split("\t")[:3] for line in lines] == [
        ["host-1-x", "build, report", "python 3.12"],
        ["host-2-y", "build", ""],
    ]


def test_a_person_sees_a_table(run):
    head, first, _ = run("workers", answer=TWO, terminal=True).stdout.splitlines()
    assert head.split() == ["WORKER", "WORKFLOWS", "RUNTIME", "SEEN"]
    assert first.split()[:3] == ["host-1-x", "build,", "report"]


def test_a_program_gets_all_that_is_known(run):
    assert json.loads(run("workers", "--json", answer=TWO).stdout) == TWO


def test_where_there_is_none_a_person_is_told_how_to_have_one(run):
    assert run("workers", answer={"workers": []}).output == ""
    told = run("workers", answer={"workers": []}, terminal=True)
    assert told.exit_code == 0
    assert "no workers: `baton worker MODULE` starts one" in told.stderr
