"""What signs is given, or read from a secret, once, by whoever signs."""

from __future__ import annotations

import base64
from typing import Any

import botocore.session
import pytest
from botocore.stub import Stubber
from msgspec.structs import replace

from baton.api.signing import Signatures
from baton.bootstrap import Runtime
from baton.errors import Unavailable
from tests.unit.house import House

ARN = "arn:aws:secretsmanager:eu-central-1:000000000000:secret:keys"
GIVEN: dict[str, Any] = {
    "region_name": "eu-central-1",
    "aws_access_key_id": "a",
    "aws_secret_access_key": "b",
}


@pytest.fixture(scope="module")
def client() -> Any:
    return botocore.session.Session().create_client("secretsmanager", **GIVEN)


def container(house: House, client: Any) -> Runtime:
    house.settings = replace(house.settings, signing_keys=(), signing_keys_secret=ARN)
    runtime = house.container()
    runtime.dynamo.client = lambda service, region: client  # type: ignore[method-assign]
    return runtime


def test_a_secret_is_read_once_and_its_last_key_is_the_newest(house: House, client: Any):
    runtime = container(house, client)
    text = ",".join(base64.b64encode(key).decode() for key in (b"older", b"newer"))
    with Stubber(client) as stubbed:
        stubbed.add_response("get_secret_value", {"SecretString": text}, {"SecretId": ARN})
        assert runtime.signing_keys == runtime.signing_keys == (b"older", b"newer")


def test_what_is_generated_at_deploy_is_a_key():
    text = "aB3" * 14 + "xY"  # 44 letters and digits
    assert len(base64.b64decode(text)) == 33


def test_keys_that_are_given_are_not_asked_for(house: House):
    assert house.container().signing_keys == (b"key",)


def test_a_container_that_can_not_read_its_keys_says_that_it_may_pass(house: House, client: Any):
    runtime = container(house, client)
    with Stubber(client) as stubbed:
        stubbed.add_client_error("get_secret_value", "InternalServiceError")
        with pytest.raises(Unavailable):
            _ = runtime.signing_keys


@pytest.mark.parametrize("keys", [(), (b"",), (b"key", b"")])
def test_nothing_is_signed_without_a_key(keys: tuple[bytes, ...]):
    with pytest.raises(ValueError, match="signing keys"):
        Signatures(keys)


def test_the_session_of_the_store_makes_the_client(house: House):
    dynamo = house.dynamo()
    dynamo.connection.session.set_credentials("a", "b")
    made = dynamo.client("secretsmanager", "eu-central-1")
    assert made.meta.endpoint_url == "https://secretsmanager.eu-central-1.amazonaws.com"
