"""What an invocation leaves is handed to another of the same function."""

import json
from types import SimpleNamespace

import pytest
from botocore.exceptions import ClientError

from baton.errors import Unavailable
from baton.outbound.invoke import SelfInvocation


def test_it_is_an_asynchronous_invocation_of_the_function_itself():
    calls = []
    client = SimpleNamespace(invoke=lambda **call: calls.append(call))
    SelfInvocation("baton-sweep", region="eu-central-1", client=lambda: client).later({"shard": 3})
    [call] = calls
    assert (call["FunctionName"], call["InvocationType"]) == ("baton-sweep", "Event")
    assert json.loads(call["Payload"]) == {"shard": 3}


def test_whoever_hands_on_learns_that_it_could_not_be():
    def refused(**_call):
        raise ClientError({"Error": {"Code": "TooManyRequestsException"}}, "Invoke")

    onward = SelfInvocation("f", region="eu-central-1", client=lambda: SimpleNamespace(invoke=refused))
    with pytest.raises(Unavailable):
        onward.later({})
