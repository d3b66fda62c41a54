"""``baton token …`` and ``baton audit``: where a secret goes, and what whoever may not is told."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from baton_sdk.cli.session import GlobalOptions
from baton_sdk.cli.values import until
from baton_sdk.cli.views import when
from baton_sdk.run import moment
from tests.unit.sdk.answers import audited_json, token_json
from tests.unit.sdk.service import NOW, message, offset, problem, run_json

SECRET = f"bt_default_k7q2m4xz_{'s' * 32}"
EVERYWHERE = token_json("abcdefgh", namespace="*", role="admin", expires_at="2027-01-01T00:00:00Z")
TWO = {"tokens": [token_json(workflows=["build", "ship"], description="the nightly"), EVERYWHERE]}


def made(**over):
    return {"token": token_json(**over), "secret": SECRET}


def sent(request):
    return json.loads(request.content)


def test_for_a_program_the_secret_is_all_of_stdout(run, requests):
    result = run("token", "create", "--role", "driver", "-w", "build", "-w", "ship", "-d", "x", answer=made())
    assert (result.exit_code, result.stdout) == (0, f"{SECRET}\n")
    assert result.stderr == "made default_k7q2m4xz, driver of default; not shown again\n"
    answer = made(workflows=["build", "ship"], expires_at=NOW)
    narrowed = run("token", "create", "--role", "driver", answer=answer).stderr
    assert f"driver of default, for build, ship alone, until {when(moment(NOW))}; " in narrowed
    assert sent(requests[0]) == {"role": "driver", "workflows": ["build", "ship"], "description": "x"}


def test_a_person_sees_the_secret_once_with_what_it_is(run):
    answer = made(workflows=["build"], expires_at=NOW)
    result = run("token", "create", "--role", "driver", answer=answer, terminal=True)
    assert result.output.count(SECRET) == 1 and f"\n{SECRET}\n" in result.stdout
    for said in ("default_k7q2m4xz", "driver", "default", "build", "2026-11-29"):
        assert said in result.stdout
    assert "shown once, and never again" in result.stderr


def test_as_json_it_is_as_the_service_says_it(run, requests):
    result = run("token", "create", "--role", "admin", "--everywhere", "--json", answer=made())
    assert json.loads(result.stdout) == made() and result.stderr == ""
    assert sent(requests[0]) == {"role": "admin", "namespace": "*"}


def test_an_end_is_a_while_from_now_or_a_time(run, requests):
    for option in (("--expires-in", "30d"), ("--expires-at", "2099-01-01T02:00:00+02:00")):
        run("token", "create", "--role", "viewer", *option, answer=made())
    assert sent(requests[1])["expires_at"] == "2099-01-01T00:00:00.000Z"
    ahead = datetime.fromisoformat(sent(requests[0])["expires_at"]) - datetime.now(UTC)  # noqa: TID251
    assert abs(ahead - timedelta(days=30)) < timedelta(minutes=1)


def test_without_an_end_it_is_good_for_good():
    assert until(None, None, ("--in", "--at")) is None


def died(request):
    return httpx.Response(502, text="<html>")


def cut(request):
    raise httpx.ReadError("connection reset")


def never_sent(request):
    raise httpx.ConnectError("connection refused")


def broke(request):
    return problem(500, "internal")


def crowded(request):
    return problem(429, "too-many-requests")


@pytest.mark.parametrize(
    ("fate", "maybe"), [(died, True), (broke, True), (cut, True), (never_sent, False), (crowded, False)]
)
def test_a_creation_of_unknown_outcome_is_not_repeated_and_says_so(fate, maybe, run, requests, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    result = run("token", "create", "--role", "viewer", answer=fate)
    assert (result.exit_code, result.stdout) == (1, "")
    assert ("it may have been made all the same" in result.stderr) is maybe
    assert len(requests) == (1 if maybe else 6)


def test_a_list_has_everything_but_secrets(run, requests):
    lines = run("token", "list", answer=TWO).stdout.splitlines()
    first, second = (line.split("\t") for line in lines)
    assert first == ["default_k7q2m4xz", "driver", "default", "build, ship", "", "", "the nightly"]
    assert second[:3] == ["abcdefgh", "admin", "*"]
    head, _, every = run("token", "list", answer=TWO, terminal=True).stdout.splitlines()
    assert when(moment(EVERYWHERE["expires_at"])) in every
    assert head.split() == ["TOKEN", "ROLE", "NAMESPACE", "WORKFLOWS", "EXPIRES", "USED", "DESCRIPTION"]
    assert json.loads(run("token", "list", "--everywhere", "--json", answer=TWO).stdout) == TWO
    assert [request.url.params.get("namespace") for request in requests] == [None, None, "*"]


def test_a_person_sees_which_has_expired(run):
    long_ago = "2020-01-31T12:00:00Z"
    listed = run("token", "list", answer={"tokens": [token_json(expires_at=long_ago)]}, terminal=True)
    assert f"{when(moment(long_ago))}, over" in listed.stdout


def test_where_there_is_none_a_person_is_told_how_to_have_one(run):
    assert run("token", "list", answer={"tokens": []}).output == ""
    told = run("token", "list", answer={"tokens": []}, terminal=True)
    assert "no tokens: `baton token create --role driver` makes one" in told.stderr


def test_a_revoked_token_is_named(run, requests):
    gone = httpx.Response(204)
    assert run("token", "revoke", "k7q2m4xz", answer=gone).stderr == "revoked k7q2m4xz\n"
    assert json.loads(run("token", "revoke", "k7q2m4xz", "--json", answer=gone).stdout) == {
        "revoked": "k7q2m4xz"
    }
    assert {(request.method, request.url.path) for request in requests} == {("DELETE", "/v1/tokens/k7q2m4xz")}


def test_the_audit_is_the_newest_so_many_or_all(run, requests):
    def pages(request):
        page = {"audit": [audited_json(subject=f"s{len(requests)}")] * 2}
        return page | ({"next_token": "t"} if "next_token" not in request.url.params else {})

    lines = run("audit", "--limit", "1", answer=pages).stdout.splitlines()
    assert [line.split("\t")[1:] for line in lines] == [["token.created", "s1", "k7q2m4xz"]]
    requests.clear()
    everything = run("audit", "--all", "--everywhere", "--json", answer=pages)
    assert [done["subject"] for done in json.loads(everything.stdout)["audit"]] == ["s1", "s1", "s2", "s2"]
    assert requests[0].url.params["namespace"] == "*"
    assert run("audit", answer={"audit": []}, terminal=True).stderr == "nothing\n"


@pytest.mark.parametrize(
    ("id_", "listed"),
    [
        ("team-a_k7q2m4xz", "it is of team-a: `baton --namespace team-a token list`"),
        ("k7q2m4xz", "without a namespace is of every namespace: `baton token list --everywhere`"),
    ],
)
def test_who_looks_for_a_token_in_another_namespace_than_its_own_is_told_of_that(id_, listed, run):
    missing = problem(404, "not-found", "no such token here")
    told = run("token", "revoke", id_, answer=missing)
    assert told.exit_code == 1
    assert listed in told.stderr and "error: no such token here" in told.stderr
    assert "it is of" not in run("token", "revoke", id_, "--json", answer=missing).output


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (SECRET, "token given is default_k7q2m4xz"),
        (SECRET[:-1], "token list` has"),
        ("My_id", "token list` has"),
    ],
)
def test_what_is_no_token_s_id_is_not_sent_a_secret_least_of_all(given, said, run, requests):
    result = run("token", "revoke", given)
    assert (result.exit_code, requests) == (2, [])
    assert said in " ".join(result.stderr.split()) and given not in result.output


@pytest.mark.parametrize("verb", ["runs list", "token list", "audit", "start w", "tail r1", "workers"])
def test_whoever_is_not_known_is_told_how_to_bring_a_token(verb, run):
    unknown = problem(401, "unauthenticated", "not known")
    without = run(*verb.split(), answer=unknown)
    assert without.exit_code == 1
    assert "error: not known\n" in without.stderr
    assert "--token or BATON_TOKEN brings one, none was sent; an admin makes one" in without.stderr
    with_one = run("--token", SECRET, *verb.split(), answer=unknown)
    assert "--token or BATON_TOKEN brings another; an admin makes one" in with_one.stderr
    assert SECRET not in with_one.output


def test_whoever_may_not_is_told_what_would_help(run):
    refusal = problem(403, "forbidden", "this needs the role admin; this token has driver")
    result = run("token", "list", answer=refusal)
    assert result.exit_code == 1
    assert "this needs the role admin; this token has driver" in result.stderr
    assert "--namespace or BATON_NAMESPACE the tenant; an admin makes one" in result.stderr


def test_options_as_a_debugger_shows_them_have_no_token():
    assert SECRET not in repr(GlobalOptions(token=SECRET))


def test_a_tail_tells_whose_token_started_the_run(run):
    started = {"workflow": "w", "input": None, "context_ref": None, "agent_id": None, "by": "k7q2m4xz"}
    frame = f"event: data\nid: {offset(1)}\ndata: {json.dumps([message(0, 'start', started)])}\n\n"
    closed = frame + f'event: control\ndata: {{"streamNextOffset":"{offset(1)}","streamClosed":true}}\n\n'

    def answer(request):
        if request.url.path == "/v1/runs/r1":
            return {"run": run_json("r1")}
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, text=closed)

    assert run("tail", "r1", answer=answer).stdout == f"{NOW}\tstart\tw, by k7q2m4xz\n"


def test_a_tail_whose_token_is_revoked_ends_with_one_error(run):
    def answer(request):
        if request.url.path == "/v1/runs/r1":
            return {"run": run_json("r1")}
        if request.url.params["offset"] == "-1":
            head, data = "event: data\nid: " + offset(1), json.dumps([message(0, "note", "x")])
            frames = f"{head}\ndata: {data}\n\nevent: control\ndata: {{}}\n\n"
            return httpx.Response(200, headers={"content-type": "text/event-stream"}, text=frames)
        return problem(401, "unauthenticated", "it was revoked")

    result = run("--token", SECRET, "tail", "r1", answer=answer)
    assert result.exit_code == 1
    assert "note" in result.stdout
    assert result.stderr.count("error: it was revoked") == 1
    assert "brings another" in result.stderr
