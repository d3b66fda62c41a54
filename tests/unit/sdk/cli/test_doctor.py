"""``baton doctor``: what it makes of what the service tells. The way to a service is tried end to end."""

from __future__ import annotations

import importlib.util
import json

import httpx
import pytest

from baton_sdk.checkout import checkout
from baton_sdk.cli import deployment
from baton_sdk.cli.doctor import age, owing_rows
from baton_sdk.cli.views import when
from baton_sdk.handoff import Stats
from baton_sdk.run import moment
from tests.unit.sdk.answers import owing_json, stats_json, token_json, whoami_json
from tests.unit.sdk.service import NOW, problem

LATE = stats_json(owed=2, oldest_owed_seconds=700.0, owing=[owing_json(), owing_json("r2", subscribers=[])])


def healthy(stats):
    answers = {
        "/v1/health": {"status": "ok"},
        "/v1/whoami": whoami_json(),
        "/v1/openapi.json": {"info": {"version": "1.0"}},
    }
    return lambda request: answers.get(request.url.path) or stats


def hand_off(result):
    told = json.loads(result.stdout)
    (check,) = (check for check in told["checks"] if check["check"] == "hand-off")
    return check, told


def test_nothing_owed_is_well(run):
    result = run("doctor", "--json", answer=healthy(stats_json(due=7)))
    check, told = hand_off(result)
    assert (result.exit_code, told["ok"]) == (0, True)
    assert (check["ok"], check["found"], told["owing"]) == (True, "nothing is owed", [])


def test_what_is_owed_for_a_moment_is_named_and_no_failure(run):
    owing = owing_json()
    result = run("doctor", "--json", answer=healthy(stats_json(owed=1, oldest_owed_seconds=4, owing=[owing])))
    check, told = hand_off(result)
    assert result.exit_code == 0
    assert check["found"] == "1 owed, the oldest for 4 s"
    assert told["owing"] == [owing]


def test_what_is_owed_too_long_fails(run):
    result = run("doctor", "--json", answer=healthy(LATE | {"complete": False}))
    check, told = hand_off(result)
    assert (result.exit_code, told["ok"], check["ok"]) == (1, False, False)
    assert check["found"].startswith("2 owed, the oldest for 11 min, and there may be more: no publisher")


def test_a_person_sees_to_whom_since_when_and_why(run):
    shown = run("doctor", answer=healthy(LATE), terminal=True).stdout
    for said in ("FAILED  hand-off", "r1", "build", "run.completed:build", "report", "r2",
                 "its publisher has not come by"):  # fmt: skip
        assert said in shown


@pytest.mark.parametrize("answer", [problem(403, "forbidden"), httpx.Response(200, json={"owed": "much"})])
def test_a_service_that_does_not_tell_fails(answer, run):
    assert not hand_off(run("doctor", "--json", answer=healthy(answer)))[0]["ok"]


SECRET = f"bt_team_k7q2m4xz_{'s' * 32}"


def authorisation(result):
    (check,) = (check for check in json.loads(result.stdout)["checks"] if check["check"] == "authorisation")
    return check["ok"], check["found"]


@pytest.mark.parametrize(
    ("who", "found"),
    [
        (whoami_json(), "admin of namespace default, without a token"),
        (whoami_json(by="AIDAEXAMPLE", namespace="team"), "admin of namespace team, as AIDAEXAMPLE"),
        (
            whoami_json(
                namespace="team",
                role="driver",
                token=token_json(id="team_k7q2m4xz", namespace="team", workflows=["a", "b"], expires_at=NOW),
            ),
            f"driver of namespace team, by token team_k7q2m4xz, drives a, b, expires {when(moment(NOW))}",
        ),
        (
            whoami_json(namespace="team", token=token_json(id="k7q2m4xz", namespace="*")),
            "admin of namespace team, by token k7q2m4xz, good in every namespace",
        ),
    ],
)
def test_it_says_who_the_service_takes_the_caller_for(who, found, run):
    well = healthy(stats_json())
    result = run(
        "--token",
        SECRET,
        "doctor",
        "--json",
        answer=lambda req: who if req.url.path == "/v1/whoami" else well(req),
    )
    assert authorisation(result) == (True, found)
    assert SECRET not in result.output


def test_what_is_no_word_on_who_asks_fails(run):
    well = healthy(stats_json())
    result = run(
        "doctor", "--json", answer=lambda req: {"role": 1} if req.url.path == "/v1/whoami" else well(req)
    )
    assert not authorisation(result)[0]


@pytest.mark.parametrize(
    ("status", "slug", "remedy"),
    [(401, "unauthenticated", "BATON_TOKEN brings one, none was sent"), (403, "forbidden", "the tenant")],
)
def test_whoever_may_not_is_told_once_what_would_help(status, slug, remedy, run):
    well = healthy(stats_json())
    result = run(
        "doctor",
        answer=lambda req: well(req) if req.url.path == "/v1/health" else problem(status, slug, "not you"),
    )
    assert result.exit_code == 1
    assert result.stdout.count("not you") == 1 and remedy in result.stdout


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(-3, "0 s"), (0.4, "0 s"), (119, "119 s"), (120, "2 min"), (7200, "2 h"), (1e6, "11 d")],
)
def test_an_age_in_two_of_its_unit(seconds, said):
    assert age(seconds) == said


def test_the_age_of_what_is_owed_counts_from_its_settling():
    stats = Stats.from_json(stats_json(owing=[owing_json(since=NOW), owing_json(since=None)]))
    then = stats.owing[0].since
    assert then is not None
    now = then.timestamp() + 90
    rows = list(owing_rows(stats.owing, clock=lambda: now))
    assert [row[5] for row in rows] == ["90 s", None]


@pytest.fixture
def replaced(monkeypatch):
    """What this process was replaced by: command and environment."""
    found = []

    def replace(_program, command, environment):
        found.append((command, environment))
        raise SystemExit(0)

    monkeypatch.setattr("os.execve", replace)
    return found


def test_a_deployed_stack_is_examined_by_the_checkout(run, replaced):
    run("--namespace", "acme", "doctor", "--aws", "--stack", "s", "--region", "r", "--profile", "p", "--json")
    ((command, environment),) = replaced
    assert command[1:] == [
        "-m", "infra.aws.doctor", "--stack=s", "--region=r", "--profile=p", "--namespace=acme", "--json",
    ]  # fmt: skip
    assert importlib.util.find_spec(deployment.MODULE) is not None
    assert str(checkout("it", ())) in environment["PYTHONPATH"]


def test_what_is_not_named_is_as_aws_is_configured(run, replaced):
    run("doctor", "--aws")
    ((command, _),) = replaced
    assert command[1:] == ["-m", "infra.aws.doctor"]


@pytest.mark.parametrize("options", [("--stack", "s"), ("--region", "r"), ("--aws", "--write")])
def test_options_of_the_one_examination_are_refused_by_the_other(run, replaced, options):
    result = run("doctor", *options)
    assert (result.exit_code, replaced) == (2, [])


def test_without_boto3_it_says_what_to_install(run, replaced, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    result = run("doctor", "--aws")
    assert (result.exit_code, replaced) == (1, [])
    assert "needs boto3" in result.stderr
    assert "pip install -r infra/local/requirements.txt" in result.stderr
