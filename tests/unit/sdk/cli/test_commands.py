"""The command line as its users meet it: options, output, exit codes. No service is reached here."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
import typer

from baton_sdk.cli.exec.command import spoken, workflow_name
from baton_sdk.cli.values import json_value, moment
from tests.unit.sdk.service import problem, run_json

VERBS = [
    "demo", "dev", "exec", "start", "tail", "append", "finish", "doctor",
    "runs list", "runs show", "runs wait", "runs cancel", "runs resume", "runs delete",
    "workflows apply", "workflows list", "workflows show", "workflows delete",
    "graph", "publish", "republish", "worker", "workers",
    "token create", "token list", "token revoke", "audit",
]  # fmt: skip


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_teaches_by_example(verb, run):
    result = run(*verb.split(), "--help")
    assert result.exit_code == 0
    assert re.search(r"Examples?:\s+.*baton ", result.output, re.DOTALL)
    for option in ("--url", "--token", "--namespace", "--json"):
        assert option in result.output


def test_the_program_tells_its_version(run):
    assert re.fullmatch(r"baton \d+\.\d+\.\d+\n", run("--version").output)


LIST = {"runs": [run_json("a"), run_json("b", state="failed", tags=["x", "y"])]}


@pytest.mark.parametrize(
    "args",
    [
        ["--url", "http://svc", "--token", "t", "--namespace", "n", "--json", "runs", "list"],
        ["runs", "--url", "http://svc", "--token", "t", "--namespace", "n", "--json", "list"],
        ["runs", "list", "--url", "http://svc", "--token", "t", "--namespace", "n", "--json"],
        [
            "--url",
            "http://wrong",
            "--json",
            "runs",
            "--token",
            "t",
            "list",
            "--url",
            "http://svc",
            "--namespace",
            "n",
        ],
    ],
)
def test_global_options_work_before_and_after_the_verb(args, run, requests):
    result = run(*args, answer=LIST)
    assert json.loads(result.stdout) == LIST
    (request,) = requests
    assert request.url.host == "svc"
    assert (request.headers["authorization"], request.headers["baton-namespace"]) == ("Bearer t", "n")


def test_an_option_outranks_the_environment(run, monkeypatch, requests):
    monkeypatch.setenv("BATON_URL", "http://from-env")
    monkeypatch.setenv("BATON_TOKEN", "from-env")
    run("--token", "given", "runs", "list", answer=LIST)
    assert requests[0].url.host == "from-env"
    assert requests[0].headers["authorization"] == "Bearer given"


def test_in_a_pipe_a_list_is_tab_separated_without_colour(run):
    lines = run("runs", "list", answer=LIST).stdout.splitlines()
    assert [line.split("\t")[:4] for line in lines] == [
        ["a", "build", "running", "1"],
        ["b", "build", "failed", "1"],
    ]
    assert lines[1].split("\t")[6] == "x,y"
    assert "\x1b" not in "".join(lines)


def test_a_refusal_is_exit_1_with_its_reason_and_its_fields(run):
    refusal = problem(
        400, "invalid-request", "bad", errors=[{"loc": ["body", "tags"], "msg": "17 are too many"}]
    )
    result = run("start", "w", answer=refusal)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "error: bad" in result.stderr and "body.tags: 17 are too many" in result.stderr


def test_a_reason_that_is_the_field_s_own_is_said_once(run):
    said = {"loc": ["body", "priority"], "msg": "Expected `int` <= 9"}
    refusal = problem(400, "invalid-request", "body.priority: Expected `int` <= 9", errors=[said])
    assert run("start", "w", answer=refusal).stderr.count("Expected") == 1


def test_a_refusal_as_json(run):
    result = run("start", "w", "--json", answer=problem(409, "run-exists", run=run_json("r9")))
    assert result.exit_code == 1
    told = json.loads(result.stderr)["error"]
    assert (told["slug"], told["status"], told["run"]["id"], told["request_id"]) == (
        "run-exists",
        409,
        "r9",
        "req-1",
    )


@pytest.mark.parametrize(
    "args",
    [
        ["nothing"],
        ["start"],
        ["start", "w", "--priority", "high"],
        ["append", "r1"],
        ["append", "r1", "note", "--lines"],
        ["exec"],
        ["exec", "--run", "r1", "--key", "k", "--", "true"],
        ["runs", "list", "--since", "yesterday"],
        ["workflows", "apply"],
        ["workflows", "apply", "no-such-file.yaml"],
        ["publish"],
        ["publish", "e", "--payload", "{"],
        ["graph", "--format", "svg"],
        ["runs", "list", "--state", "nope"],
        ["start", "w", "--mode", "manual"],
        ["start", "w", "--available-at", "soon"],
        ["finish", "r1", "--status", "weird"],
        ["republish"],
        ["republish", "r1", "--workflow", "w"],
        ["republish", "r1", "--since", "24h"],
        ["republish", "r1", "--dry-run"],
        ["republish", "--since", "24h"],
        ["republish", "--workflow", "w", "--ending", "dead"],
        ["republish", "--workflow", "w", "--limit", "0"],
        ["republish", "--workflow", "w", "--until", "soon"],
        ["token", "create"],
        ["token", "create", "--role", "boss"],
        ["token", "create", "--role", "viewer", "--workflow", "w"],
        ["token", "create", "--role", "viewer", "--expires-in", "soon"],
        ["token", "create", "--role", "viewer", "--expires-in", "99999999999d"],
        ["token", "create", "--role", "viewer", "--expires-in", "0s"],
        ["token", "create", "--role", "viewer", "--expires-at", "30d"],
        ["token", "create", "--role", "viewer", "--expires-at", "2026-01-31T12:00:00Z"],
        ["token", "create", "--role", "viewer", "--expires-in", "1d", "--expires-at", "2027-01-01"],
        ["token", "revoke"],
    ],
)
def test_wrong_usage_is_exit_2_and_reaches_nobody(args, run, requests):
    assert run(*args).exit_code == 2
    assert requests == []


@pytest.mark.parametrize(("state", "code"), [("completed", 0), ("failed", 1), ("running", 1)])
def test_a_wait_exits_as_the_run_ended(state, code, run):
    answer = {"run": run_json(state=state), "terminal": state != "running"}
    assert run("runs", "wait", "r1", "--timeout", "0", answer=answer).exit_code == code


def attached(**over):
    return {"run": run_json(mode="attached", state="running", **over), "started": True}


def test_dev_hands_the_stack_what_is_for_it(run, monkeypatch):
    def replace(_program, command, _environment):
        commands.append(command[3:])
        raise SystemExit(0)

    commands: list[list[str]] = []
    monkeypatch.setattr("os.execve", replace)
    run("dev", "--port", "0", "--auth", "--token-file", "t", "--", "--quiet")
    run("dev", "--", "--auth")
    assert commands == [
        ["--port", "0", "--auth", "--token-file", "t", "--quiet"],
        ["--port", "4437", "--auth"],
    ]


def test_whoever_starts_a_run_that_nobody_performs_is_told_that_it_is_theirs(run):
    told = run("start", "w", answer=attached())
    assert told.exit_code == 0
    assert told.stderr == (
        "attached: whoever started it drives it (baton exec, finish); `--mode queued` leaves it to a worker\n"
    )
    queued = {"run": run_json(mode="queued", state="pending"), "started": True}
    for args, answer in ((["--mode", "attached"], attached()), (["--json"], attached()), ([], queued)):
        assert run("start", "w", *args, answer=answer).stderr == ""


def leased(until):
    lease = {"worker_id": "me", "expires_at": until}
    return run_json("q-2", mode="queued", state="running", attempt=3, lease=lease)


def test_a_run_that_a_worker_holds_is_not_finished_by_the_way(run, requests):
    held = leased("2999-01-01T00:00:00Z")
    refused = run("finish", "q-2", answer={"run": held})
    assert refused.exit_code == 1
    assert "run q-2 is held by worker me until 29" in refused.stderr
    assert "to finish it all the same, say --attempt 3" in refused.stderr
    assert [request.method for request in requests] == ["GET"]
    done = run(
        "finish", "q-2", "--attempt", "3", answer={"run": {**held, "state": "completed"}, "finished": True}
    )
    assert done.exit_code == 0


def test_a_run_whose_lease_is_over_is_finished_under_its_attempt(run, requests):
    over = leased("2001-01-01T00:00:00Z")
    assert (
        run("finish", "q-2", answer={"run": {**over, "state": "completed"}, "finished": True}).exit_code == 0
    )
    assert requests[-1].headers["baton-attempt"] == "3"


@pytest.mark.parametrize(
    ("finished", "stored", "status", "code"),
    [
        (True, "failed", "failed", 0),
        (False, "failed", "failed", 0),
        (False, "cancelled", "canceled", 0),
        (False, "failed", "completed", 1),
    ],
)
def test_a_finish_exits_1_only_where_another_outcome_stands(finished, stored, status, code, run):
    answer = {"run": run_json(state=stored), "finished": finished}
    assert run("finish", "r1", "--status", status, "--attempt", "1", answer=answer).exit_code == code


def test_a_resume_that_was_not_possible_is_exit_1_and_says_why(run):
    result = run("runs", "resume", "r1", answer={"run": run_json(state="completed"), "resumed": False})
    assert result.exit_code == 1
    assert "not resumed" in result.stderr


def test_a_key_that_has_run_before_runs_nothing_again(run, requests):
    done = run_json(state="failed", code=7)
    result = run("exec", "--key", "k", "--", "false", answer={"run": done, "started": False})
    assert result.exit_code == 7
    assert len(requests) == 1


def test_a_key_whose_run_is_under_way_is_not_run_beside_it(run, requests):
    result = run("exec", "--key", "k", "--", "true", answer={"run": run_json(), "started": False})
    assert result.exit_code == 1
    assert "not started again" in result.stderr
    assert len(requests) == 1


@pytest.mark.parametrize(
    "over", [{"state": "failed"}, {"state": "pending"}, {"lease": {"worker_id": "w", "expires_at": None}}]
)
def test_a_run_that_is_not_ours_to_drive_is_not_driven(over, run, requests):
    result = run("exec", "--run", "r1", "--", "true", answer={"run": run_json(**over)})
    assert result.exit_code == 1
    assert [request.method for request in requests] == ["GET"]


def test_a_command_that_does_not_exist_starts_nothing(run, requests):
    assert run("exec", "--", "no-such-command").exit_code == 127
    assert requests == []


@pytest.mark.parametrize(
    ("cmd", "name"),
    [
        (["/usr/bin/make", "x"], "make"),
        (["./my script.sh"], "my-script.sh"),
        (["_private"], "private"),
        (["…"], "command"),
        (["x" * 200], "x" * 128),
    ],
)
def test_a_workflow_is_named_by_its_command(cmd, name):
    assert workflow_name(cmd) == name


def test_a_command_line_that_is_no_text_can_still_be_told():
    assert spoken(["cat", "caf\udcc3.txt", "ü"]) == ["cat", "caf\\xc3.txt", "ü"]


def test_payloads_inline_from_a_file_and_from_stdin(run, tmp_path, requests):
    file = tmp_path / "input.json"
    file.write_text('{"from": "file"}')
    answer = {"run": run_json(), "started": True}
    for given, stdin in (('{"from": "inline"}', None), (f"@{file}", None), ("-", '{"from": "stdin"}')):
        assert run("start", "w", "--input", given, answer=answer, stdin=stdin).exit_code == 0
    sent = [json.loads(request.content)["input"]["from"] for request in requests]
    assert sent == ["inline", "file", "stdin"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ('{"a": 1,}', "line 1, column 9"),
        ('{"a":\n  nope}', "line 2, column 3"),
        ("hello", "its own quotes"),
        ("", "empty"),
        ("@/nowhere", "can't read /nowhere"),
        ("NaN", "NaN is not a JSON number"),
    ],
)
def test_wrong_json_is_shown_where_it_is_wrong(given, told):
    with pytest.raises(typer.BadParameter, match=re.escape(told)):
        json_value(given, "--input")


def test_the_pointer_stands_under_the_mistake():
    with pytest.raises(typer.BadParameter) as caught:
        json_value('{"a": "' + "x" * 100 + '", b}', "--input")
    shown, pointer = str(caught.value).splitlines()[1:3]
    assert shown[pointer.index("^")] == "b"


def test_times_are_absolute_or_an_age():
    assert moment("2026-01-31T12:00:00+01:00", "--since") == "2026-01-31T11:00:00.000Z"
    ago = datetime.fromisoformat(moment("2h", "--since") or "")
    assert abs(datetime.now(UTC) - timedelta(hours=2) - ago) < timedelta(minutes=1)  # noqa: TID251
