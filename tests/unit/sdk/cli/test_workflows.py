"""``baton workflows``: what a file may say, and what is registered of it."""

from __future__ import annotations

import json

import httpx
import pytest

from tests.unit.sdk.answers import link_json, workflow_json
from tests.unit.sdk.service import problem


class Catalog:
    """Registers as the service does, and answers with its defaults."""

    def __init__(self):
        self.workflows = {}
        self.refuses = set()

    def __call__(self, request):
        name = request.url.path.removeprefix("/v1/workflows/")
        known = self.workflows.get(name)
        if request.method == "GET":
            return {"workflow": known} if known else problem(404, "not-found")
        if name in self.refuses:
            return problem(400, "invalid-request", "too many subscribers")
        stamp = f"2026-11-29T12:00:00.{len(self.workflows):03d}Z"
        made = workflow_json(name, **json.loads(request.content), updated_at=stamp)
        self.workflows[name] = made
        return httpx.Response(200 if known else 201, json={"workflow": made})


@pytest.fixture
def catalog():
    return Catalog()


@pytest.fixture
def file(tmp_path):
    def file(text, name="flows.yaml"):
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return file


TWO = """\
name: build
---
name: report
description: after each
subscribes:
  - event: run.completed:build
    where: run.output.tests > `0`
    input: "{commit: run.output.commit}"
batch: {mode: debounce, window_seconds: 5}
backoff: {base_seconds: 0, max_seconds: 30}
max_attempts: 2
---
"""


def test_what_a_file_declares_is_registered_in_order(run, requests, catalog, file):
    result = run("workflows", "apply", file(TWO), answer=catalog)
    assert result.exit_code == 0
    assert [line.split("\t") for line in result.stdout.splitlines()] == [
        ["created", "build"],
        ["created", "report"],
    ]
    sent = {r.url.path: json.loads(r.content) for r in requests if r.method == "PUT"}
    assert sent == {
        "/v1/workflows/build": {},
        "/v1/workflows/report": {
            "description": "after each",
            "subscribes": [
                {
                    "event": "run.completed:build",
                    "where": "run.output.tests > `0`",
                    "input": "{commit: run.output.commit}",
                }
            ],
            "batch": {"mode": "debounce", "window_seconds": 5},
            "backoff": {"base_seconds": 0, "max_seconds": 30},
            "max_attempts": 2,
        },
    }


def test_it_says_of_each_whether_it_is_new_changed_or_as_it_was(run, catalog, file):
    run("workflows", "apply", file(TWO), answer=catalog)
    changed = TWO.replace("after each", "before each") + "name: mail"
    told = json.loads(run("workflows", "apply", file(changed), "--json", answer=catalog).stdout)
    assert {each["name"]: each["result"] for each in told["workflows"]} == {
        "build": "unchanged", "report": "updated", "mail": "created",
    }  # fmt: skip
    assert told["workflows"][1]["workflow"]["description"] == "before each"


def test_a_person_sees_them_one_below_the_other(run, catalog, file):
    shown = run("workflows", "apply", file(TWO), answer=catalog, terminal=True).stdout
    assert [line.split() for line in shown.splitlines()] == [["created", "build"], ["created", "report"]]


@pytest.mark.parametrize(
    "text",
    [
        "workflows:\n  - name: build\n  - name: report\n",
        "workflows: [{name: build}]\n---\nname: report\n",
        '{"workflows": [{"name": "build"}, {"name": "report"}]}',
        "---\n---\nname: build\n---\nname: report\n...\n",
        "name: build\nsubscribes: ~\n---\n# only a comment\n---\nname: report\n",
    ],
)
def test_one_document_many_or_a_list(text, run, catalog):
    assert run("workflows", "apply", "-", answer=catalog, stdin=text).exit_code == 0
    assert list(catalog.workflows) == ["build", "report"]


def test_several_files_are_one_application(run, catalog, file):
    assert (
        run("workflows", "apply", file("name: a", "a"), file("name: b", "b"), answer=catalog).exit_code == 0
    )
    assert list(catalog.workflows) == ["a", "b"]


def test_yaml_is_read_as_strictly_as_json(run, catalog):
    text = "name: on\ndescription: 2026-11-29\nmax_attempts: 0x10\nsubscribes: []\n"
    assert run("workflows", "apply", "-", answer=catalog, stdin=text).exit_code == 0
    assert catalog.workflows["on"]["description"] == "2026-11-29"
    assert catalog.workflows["on"]["max_attempts"] == 16
    assert catalog.workflows["on"]["subscribes"] == []


WRONG = {
    "a field that is none": (
        "name: a\nsubscribe: []",
        "2: document 1 (a), subscribe: there is no such field",
    ),
    "and what may be meant": ("name: a\nsubscribe: []", "subscribes is meant?"),
    "a field within": (
        "name: a\nsubscribes:\n  - event: x\n    were: y",
        "4: document 1 (a), subscribes[0].were: there is no such field; where is meant?",
    ),
    "any field of any part": (
        "name: a\nbatch:\n  mode: batch\n  window_seconds: 5\n  max_sise: 3",
        "5: document 1 (a), batch.max_sise: there is no such field; max_size is meant?",
    ),
    "also of its backoff": (
        "name: a\nbackoff: {base_secs: 1}",
        "2: document 1 (a), backoff.base_secs: there is no such field; base_seconds is meant?",
    ),
    "a wait below nothing": (
        "name: a\nbackoff:\n  base_seconds: -1",
        "3: document 1 (a), backoff.base_seconds: Expected `float` >= 0",
    ),
    "a field that is no text": ("name: a\n1: 2", "1: document 1 (a): a field's name is text"),
    "another type": (
        "name: a\nsubscribes:\n  - event: x\n    where: true",
        "4: document 1 (a), subscribes[0].where: Expected `str | null`, got `bool`",
    ),
    "a date for a name": (
        "name: 2026-11-29 x",
        "1: document 1 (2026-11-29 x), name: a name is letters",
    ),
    "a number for a name": ("name: 7", "1: document 1, name: Expected `str`, got `int`"),
    "no name": ("description: a", "1: document 1: Object missing required field `name`"),
    "no name in a list": (
        "workflows:\n- name: a\n- description: b",
        "3: document 1, workflows[1]: Object missing required field `name`",
    ),
    "a tag": ("name: !!python/name:os.system x", "1: document 1, name: Expected `str`, got `TaggedScalar`"),
    "a name that is none": ("name: ok\n---\nname: a b", "3: document 2 (a b), name: a name is letters"),
    "an event that is none": (
        "name: a\nsubscribes: [{event: ''}]",
        "2: document 1 (a), subscribes[0].event: an event is run.completed:<workflow>",
    ),
    "another of Baton's events": (
        "name: a\nsubscribes: [{event: run.started:b}]",
        "2: document 1 (a), subscribes[0].event: an event is run.completed:<workflow>",
    ),
    "an expression": (
        "name: a\nsubscribes:\n- event: x\n  where: run.[output",
        "4: document 1 (a), subscribes[0].where: not JMESPath: unexpected 'end' at column 12 of",
    ),
    "a character in an expression": (
        "name: a\nsubscribes:\n- event: x\n  input: 'a # b'",
        "4: document 1 (a), subscribes[0].input: not JMESPath: Unknown token # at column 3 of 'a # b'",
    ),
    "an unfinished expression": (
        "name: a\nbatch: {mode: batch, window_seconds: 1, key: 'a.'}",
        "2: document 1 (a), batch.key: not JMESPath:",
    ),
    "a bound": (
        "name: a\nbatch:\n  mode: batch\n  window_seconds: 0.5",
        "4: document 1 (a), batch.window_seconds: Expected `float` >= 1.0",
    ),
    "a choice": (
        "name: a\nbatch:\n  mode: both\n  window_seconds: 1",
        "3: document 1 (a), batch.mode: Invalid enum value 'both'",
    ),
    "a moment of silence": (
        "name: a\ninactivity_timeout_seconds: 0.5",
        "1: document 1 (a): inactivity_timeout",
    ),
    "infinity": (
        "name: a\nretention_seconds: .inf",
        "2: document 1 (a), retention_seconds: Expected `float` <=",
    ),
    "an arn that is missing": (
        "name: a\ntarget:\n  kind: sqs",
        "2: document 1 (a), target: sqs needs an arn",
    ),
    "an arn too many": (
        "name: a\ntarget: {kind: worker, arn: x}",
        "2: document 1 (a), target: a worker has no",
    ),
    "no workflow": ("foo: 1", "1: document 1: a workflow is wanted (`name: …`), or a list"),
    "text": ("name", "1: document 1: a workflow is wanted"),
    "a list at the top": ("- name: a", "1: document 1: a workflow is wanted"),
    "a list that is none": (
        "workflows: {name: a}",
        "1: document 1, workflows: a list of workflows is wanted",
    ),
    "a field beside the list": ("workflows: []\nname: a", "1: document 1, workflows: beside `workflows`"),
    "a workflow twice": (
        "name: a\n---\nname: b\n---\nname: a",
        "5: document 3 (a): a is declared before, at ",
    ),
    "a key twice": ("name: a\n---\nname: b\nname: c", '4: document 2: found duplicate key "name"'),
    "not closed": ("name: [", "1: document 1: not YAML: expected the node content"),
    "a tab": ("name: a\n\tb: c", "2: document 1: not YAML: found character '\\t'"),
    "no text": ("name: a\0", "document 1: not YAML: unacceptable character"),
    "itself": ("name: &x [*x]", "1: document 1, name: Expected `str`, got `array`"),
    "nothing": ("# nothing\n", "no workflow in it"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_told_by_file_line_document_and_field(case, run, requests, file):
    text, told = WRONG[case]
    path = file(text)
    result = run("workflows", "apply", path)
    assert result.exit_code == 2
    assert requests == []
    assert told in result.stderr
    assert path in result.stderr
    assert "nothing was sent" in result.stderr


def test_all_mistakes_are_told_at_once_and_nothing_is_sent(run, requests, file):
    wrong = file("name: a\nfoo: 1\n---\nname: good\n---\nname: 7\n")
    result = run("workflows", "apply", wrong, "no-such-file", "--json")
    assert (result.exit_code, requests) == (2, [])
    told = json.loads(result.stderr)["error"]["errors"]
    assert [error["loc"][1:] for error in told] == [
        ["document 1 (a)", "foo"], ["document 3", "name"], [],
    ]  # fmt: skip
    assert told[2]["msg"] == "can't be read: No such file or directory"


def test_what_is_no_text_is_told(run, tmp_path):
    (tmp_path / "x").write_bytes(b"name: \xff")
    assert "not UTF-8" in run("workflows", "apply", str(tmp_path / "x")).stderr


def test_a_refusal_says_which_and_what_was_done_before(run, catalog, file):
    catalog.refuses = {"report"}
    path = file(TWO + "name: mail")
    result = run("workflows", "apply", path, answer=catalog)
    assert (result.exit_code, result.stdout) == (1, "created\tbuild\n")
    assert "flows.yaml:3: document 2 (report) was not registered, 1 after it not sent" in result.stderr
    assert "too many subscribers" in result.stderr
    assert list(catalog.workflows) == ["build"]
    told = run("workflows", "apply", path, "--json", answer=catalog)
    assert [each["name"] for each in json.loads(told.stdout)["workflows"]] == ["build"]
    assert json.loads(told.stderr)["error"]["detail"] == "too many subscribers"


REPORT = workflow_json(
    target={"kind": "sqs", "arn": "arn:q"},
    subscribes=[{"event": "run.completed:build"}, {"event": "order"}, {"event": "order", "where": "x"}],
    batch={"mode": "batch", "window_seconds": 60, "key": "payload.id"},
    backoff={"base_seconds": 0.5, "max_seconds": 30},
    announced=True,
)


def test_a_list_says_what_starts_each(run):
    lines = run("workflows", "list", answer={"workflows": [REPORT]}).stdout.splitlines()
    assert lines[0].split("\t")[:3] == ["report", "run.completed:build, order", "sqs"]


def test_no_workflows_are_said_to_a_person(run):
    assert "no workflows" in run("workflows", "list", answer={"workflows": []}, terminal=True).output


def test_a_workflow_is_shown_with_its_links(run):
    detail = {
        "workflow": REPORT,
        "started_by": [link_json(where="run.output.ok")],
        "starts_on_settle": [link_json("mail", "run.failed:report", announced=True)],
    }
    shown = run("workflows", "show", "report", answer=detail, terminal=True).stdout
    assert ["announced", "by", "a", "worker"] in [line.split() for line in shown.splitlines()]
    for said in (
        "sqs arn:q", "batch by payload.id, window 60 s", "run.completed:build", "run.output.ok", "mail",
        "run.failed:report", "by a worker", "from 0.5 s to 30 s",
    ):  # fmt: skip
        assert said in shown
    assert json.loads(run("workflows", "show", "report", "--json", answer=detail).stdout) == detail


def test_a_workflow_is_deleted(run, requests):
    result = run("workflows", "delete", "a/b", "--json", answer=httpx.Response(204))
    assert json.loads(result.stdout) == {"deleted": "a/b"}
    assert (requests[0].method, requests[0].url.raw_path) == ("DELETE", b"/v1/workflows/a%2Fb")
