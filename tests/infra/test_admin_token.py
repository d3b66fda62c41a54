"""``make admin-token``: the first token of a deployment is made by who deploys it, and lies in no log."""

from __future__ import annotations

import os
import stat
import sys
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber
from typer.testing import CliRunner

from baton import bootstrap
from baton.config import Settings
from baton.domain.audit import Action
from baton.domain.roles import Role
from baton.domain.tokens import TEXT
from infra.aws import admin_token
from tests.unit.moto_tables import NAMES, REGION, empty_tables, moto_dynamodb

STACK = "baton-test-service"
FUNCTION = {
    "LogicalResourceId": "f", "PhysicalResourceId": "start", "ResourceType": "AWS::Lambda::Function",
    "LastUpdatedTimestamp": 0, "ResourceStatus": "CREATE_COMPLETE",
}  # fmt: skip


def told(tables):
    """What a function's environment says of its tables."""
    return {f"BATON_{table.upper()}_TABLE": name for table, name in tables.items()}


class Session:
    """A stack as AWS would tell of it; a test changes what it is about."""

    region_name = REGION

    def __init__(self, runtime):
        self.runtime = runtime
        self.refusal: str | None = None
        self.tables = dict(NAMES)
        self.identity = boto3.client("sts", region_name=REGION)

    def get_credentials(self):
        return "some"

    def client(self, name):
        if name == "sts":
            return self.identity
        made: Any = boto3.client(name, region_name=REGION)
        stubber = Stubber(made)
        if name == "lambda":
            environment: Any = {"Environment": {"Variables": told(self.tables)}}
            stubber.add_response("get_function_configuration", environment)
        elif self.refusal is not None:
            stubber.add_client_error("describe_stacks", self.refusal, "so it is refused")
        else:
            stack: Any = {"StackName": STACK, "CreationTime": 0, "StackStatus": "CREATE_COMPLETE"}
            stubber.add_response("describe_stacks", {"Stacks": [stack]}, {"StackName": STACK})
            stubber.add_response("list_stack_resources", {"StackResourceSummaries": [FUNCTION]})
        stubber.activate()
        return made

    def tokens(self, namespace="*"):
        return self.runtime.tokens.list(namespace, limit=10, after=None).tokens


@pytest.fixture(scope="module")
def tables():
    with moto_dynamodb():
        yield


@pytest.fixture
def session(tables, monkeypatch):
    empty_tables()
    made = Session(bootstrap.build(Settings.from_env({**told(NAMES), "AWS_REGION": REGION})))
    monkeypatch.setattr(boto3, "Session", lambda region_name: made)
    return made


@pytest.fixture
def file(tmp_path):
    return tmp_path / "token"


def ask(*options):
    return CliRunner().invoke(admin_token.app, ["--stack", STACK, *map(str, options)])


def test_an_admin_of_every_namespace_is_written_to_a_file_of_ones_own_and_nowhere_else(session, file, capfd):
    result = ask("--to", file)
    assert result.exit_code == 0, result.output
    text = file.read_text().strip()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    token = session.runtime.tokens.authenticate(text)
    assert (token.role, token.namespace, token.workflows, token.expires_at) == (Role.ADMIN, "*", None, None)
    assert token.id in result.stderr
    assert not TEXT.search(result.output + "".join(capfd.readouterr()))


def test_the_audit_says_which_identity_of_iams_made_it(session, file):
    ask("--to", file)
    (token,) = session.tokens()
    (done,) = session.runtime.audit.list("*", limit=10, after=None).done
    assert (done.action, done.subject) == (Action.TOKEN_CREATED, token.id)
    assert done.by == token.created_by == session.identity.get_caller_identity()["UserId"]


def test_it_may_be_less_and_of_one_namespace(session, file):
    ask("--to", file, "--role", "viewer", "--namespace", "team-a")
    assert session.tokens() == []
    (token,) = session.tokens("team-a")
    assert (token.role, token.namespace) == (Role.VIEWER, "team-a")


def test_on_a_terminal_it_is_shown(session, monkeypatch):
    ours, theirs = os.openpty()
    with os.fdopen(theirs, "w") as terminal:
        monkeypatch.setattr(sys, "stdout", terminal)
        admin_token.app(["--stack", STACK], standalone_mode=False)
    shown = os.read(ours, 1000).decode().strip()
    os.close(ours)
    assert session.runtime.tokens.authenticate(shown) is not None


def test_where_it_would_lie_in_a_log_none_is_made(session):
    result = ask()
    assert result.exit_code == 2
    assert "ends up in a log" in " ".join(result.stderr.split())
    assert session.tokens() == []


def test_no_file_that_is_there_is_written_to_and_none_is_made(session, file):
    file.write_text("something else")
    result = ask("--to", file)
    assert result.exit_code == 2
    assert file.read_text() == "something else"
    assert session.tokens() == []


def test_a_namespace_that_none_can_have_is_a_slip(session, file):
    assert ask("--to", file, "--namespace", "Team A").exit_code == 2
    assert not file.exists()


@pytest.mark.parametrize("refusal", ["ValidationError", "AccessDenied"])
def test_where_there_is_no_such_stack_or_one_may_not_look_it_says_so_and_leaves_no_file(
    session, file, refusal
):
    session.refusal = refusal
    result = ask("--to", file)
    assert result.exit_code == 1
    assert f"{STACK} in {REGION}" in result.stderr and "so it is refused" in result.stderr
    assert not file.exists()


def test_where_the_tables_cannot_be_written_it_says_so_and_leaves_no_file(session, file):
    session.tables["catalog"] = "another"
    result = ask("--to", file)
    assert (result.exit_code, type(result.exception)) == (1, SystemExit)
    assert "ResourceNotFound" in result.stderr
    assert not file.exists()


def test_without_credentials_it_says_so(session, file):
    session.get_credentials = lambda: None
    result = ask("--to", file)
    assert result.exit_code == 1
    assert "no credentials" in result.stderr
