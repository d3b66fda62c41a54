"""Whom the gateway let in by IAM is what the deployment's settings say; a token's word counts for more."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from baton.api.identity import Caller, identify
from baton.config import Settings
from baton.domain.roles import Role
from baton.errors import Forbidden, Unauthenticated

NOW = 1_767_225_600_000
SETTINGS = Settings(runs_table="r", log_table="l", catalog_table="c")

# Source: "Create AWS Lambda proxy integrations for HTTP APIs": what format 2.0 says of an IAM caller.
IAM: dict[str, Any] = {
    "accessKey": "AKIAIOSFODNN7EXAMPLE",
    "accountId": "000000000000",
    "callerId": "AIDACKCEVSQ6C2EXAMPLE",
    "cognitoIdentity": None,
    "principalOrgId": None,
    "userArn": "arn:aws:iam::000000000000:user/ann",
    "userId": "AIDACKCEVSQ6C2EXAMPLE",
}

USER = "AIDACKCEVSQ6C2EXAMPLE"


def event(authorizer: Any) -> dict[str, Any]:
    return {"requestContext": {"authorizer": authorizer}, "headers": {}}


def test_an_iam_caller_may_all_in_any_namespace_unless_settings_say_less():
    anywhere = Caller("default", Role.ADMIN, by=USER, everywhere=True)
    assert identify(event({"iam": IAM}), SETTINGS, NOW) == anywhere
    assert identify(event({"iam": IAM}), SETTINGS, NOW).acting_in("team") == anywhere._replace(
        namespace="team"
    )


def test_settings_bind_iam_callers_to_a_role_and_a_namespace():
    bound = replace(SETTINGS, iam_role="driver", iam_namespace="team")
    assert identify(event({"iam": IAM}), bound, NOW) == Caller("team", Role.DRIVER, by=USER)
    with pytest.raises(Forbidden):
        identify(event({"iam": IAM}), bound, NOW).acting_in("another")


@pytest.mark.parametrize("nobody", [None, {}, {"iam": None}, {"iam": {}}, {"iam": {**IAM, "userArn": None}}])
def test_who_is_not_named_by_iam_is_nobody(nobody: Any):
    with pytest.raises(Unauthenticated):
        identify(event(nobody), SETTINGS, NOW)


def test_what_an_authoriser_of_ours_says_outranks_iam():
    said = {"namespace": "team", "role": "viewer", "token_id": "t"}
    assert identify(event({"iam": IAM, "lambda": said}), SETTINGS, NOW) == Caller(
        "team", Role.VIEWER, by="t", token_id="t"
    )
    with pytest.raises(Unauthenticated):
        identify(event({"iam": IAM, "lambda": {}}), SETTINGS, NOW)
