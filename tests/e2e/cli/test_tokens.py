"""A stack that asks for tokens, and the command line against it: from the first token to the last refusal."""

from __future__ import annotations

import itertools
import json
import stat

import pytest

from infra.local.testing import child_stack

_NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def asking(tmp_path_factory):
    """A stack with --auth that remembers no token, and its first one."""
    path = tmp_path_factory.mktemp("tokens") / "admin.token"
    with child_stack("--quiet", "--auth", f"--token-file={path}", authorizer_seconds=0) as child:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        yield child.url, path.read_text().strip()


@pytest.fixture
def admin(asking, baton):
    """A command line by the first token, in a namespace of its own."""
    url, first = asking
    namespace = f"t{next(_NUMBERS)}"
    return lambda *args, **how: baton("--token", first, "--namespace", namespace, *args, url=url, **how)


@pytest.fixture
def bearing(asking, baton, launch):
    """A command line by another token: to its end, or ``live``."""
    url, _ = asking

    def bearing(token, *args, live=False, **how):
        return (launch if live else baton)("--token", token, *args, url=url, **how)

    return bearing


def made(admin, *options):
    """A new driver's id and secret."""
    told = json.loads(admin("token", "create", "--role", "driver", *options, "--json").stdout)
    return told["token"]["id"], told["secret"]


def test_without_a_token_nothing_is_done_and_it_is_said_what_to_do(asking, baton):
    url, first = asking
    for given, told in (([], "none was sent"), (["--token", first[:-1] + "2"], "brings another")):
        refused = baton("runs", "list", *given, url=url, expect=1)
        assert refused.stdout == ""
        assert "error: " in refused.stderr and told in refused.stderr
        assert ("unknown here, or has expired, or was revoked" in refused.stderr) == bool(given)


def test_a_driver_drives_its_own_workflow_alone_until_it_is_revoked(admin, bearing, run_id):
    secret = admin("token", "create", "--role", "driver", "--workflow", run_id).stdout.strip()
    bearing(secret, "exec", "-q", "-w", run_id, "--run-id", run_id, "--", "true")
    bearing(secret, "runs", "show", run_id)
    other = bearing(secret, "start", "other", expect=1)
    assert f"this token drives runs of {run_id}, not of other" in other.stderr
    assert "needs the role admin" in bearing(secret, "token", "list", expect=1).stderr
    (token,) = json.loads(admin("token", "list", "--json").stdout)["tokens"]
    assert (token["role"], token["workflows"]) == ("driver", [run_id])
    who = f"driver of namespace {token['namespace']}, by token {token['id']}, drives {run_id}"
    assert who in bearing(secret, "doctor").stdout.replace("\n", " ")
    admin("token", "revoke", token["id"])
    assert "was revoked" in bearing(secret, "runs", "list", expect=1).stderr
    assert "no such token" in admin("token", "revoke", token["id"], expect=1).stderr
    audited = [line.split("\t")[1:3] for line in admin("audit").stdout.splitlines()]
    assert audited == [["token.revoked", token["id"]], ["token.created", token["id"]]]


def test_a_token_of_every_namespace_is_made_and_seen_by_its_like_alone(admin, bearing):
    secret = admin("token", "create", "--role", "admin", "--everywhere").stdout.strip()
    listed = json.loads(admin("token", "list", "--everywhere", "--json").stdout)["tokens"]
    assert len(listed) >= 2 and {token["namespace"] for token in listed} == {"*"}
    bearing(secret, "--namespace", "elsewhere", "runs", "list")
    id_, narrow = made(admin)
    refused = bearing(narrow, "--namespace", "elsewhere", "runs", "list", expect=1).stderr
    assert f"is of namespace {id_.partition('_')[0]} alone" in refused


def test_a_command_whose_token_is_revoked_under_it_is_stopped_and_its_run_left(admin, bearing, run_id):
    id_, secret = made(admin)
    loud = "read go; while true; do echo on; sleep 0.1; done"
    driving = bearing(secret, "exec", "--run-id", run_id, "--", "sh", "-c", f"echo up; {loud}", live=True)
    driving.hear("up")
    admin("token", "revoke", id_)
    driving.say("go\n")
    assert driving.wait() == 143
    (lost,) = [line for line in driving.err if "the log takes no more" in line]
    assert "was revoked; stopping the command" in lost
    (left,) = [line for line in driving.err if "is not settled" in line]
    assert left.endswith("; with another token `baton finish` does that")
    assert json.loads(admin("runs", "show", run_id, "--json").stdout)["run"]["state"] == "running"


WORK = """\
from baton_sdk import Worker
worker = Worker()

@worker.workflow("{name}")
def work(ctx):
    while True:
        ctx.emit("note", "on")
        ctx.step("look", lambda: open("go").close())
"""


def test_a_worker_whose_token_is_revoked_under_it_ends_with_one_error(
    admin, bearing, run_id, tmp_path, monkeypatch
):
    (tmp_path / "app.py").write_text(WORK.format(name=run_id))
    (tmp_path / "go").touch()
    monkeypatch.chdir(tmp_path)
    id_, secret = made(admin, "--workflow", run_id)
    working = bearing(secret, "worker", "app", live=True)
    admin("start", run_id, "--run-id", run_id, "--mode", "queued")
    working.hear(f"claimed\t{run_id}\t{run_id}\t1")
    admin("token", "revoke", id_)
    working.hear(f"ended\t{run_id}\t{run_id}\t1\tlost")
    assert working.wait() == 1
    assert len([line for line in working.err if line.startswith("error: ")]) == 1
    assert "was revoked" in "".join(line for line in working.err if line.startswith("error: "))
    assert json.loads(admin("runs", "show", run_id, "--json").stdout)["run"]["state"] == "running"
