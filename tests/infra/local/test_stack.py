"""The stack in a test's own process."""

import httpx
import pytest
from moto import mock_aws

from infra.local.settings import Unknown, local_settings
from infra.local.testing import running_stack


def start(stack, run_id):
    return httpx.post(
        f"{stack.url}/v1/runs", json={"workflow": "w", "run_id": run_id}, timeout=20
    ).status_code


def test_two_stacks_share_nothing_and_other_users_of_moto_disturb_neither():
    with running_stack(schedules=False) as one, running_stack(schedules=False) as other:
        assert start(one, "r") == 201
        with mock_aws():
            assert start(other, "r") == 201
        assert start(one, "r") == 409


def test_once_stopped_it_answers_no_more():
    with running_stack(schedules=False) as stack:
        assert httpx.get(f"{stack.url}/v1/health", timeout=20).json() == {"status": "ok"}
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{stack.url}/v1/health")


def test_targets_are_told_where_it_serves_unless_a_setting_says_otherwise():
    with running_stack(schedules=False, signals=False) as stack:
        assert stack.runtime.settings.public_url == stack.url
    with running_stack(schedules=False, signals=False, public_url="https://baton.example") as stack:
        assert stack.runtime.settings.public_url == "https://baton.example"


def test_settings_are_the_laptops_then_the_environments_then_those_given(monkeypatch):
    monkeypatch.delenv("BATON_POLL_SECONDS", raising=False)
    assert local_settings().poll_seconds == 0.05
    monkeypatch.setenv("BATON_POLL_SECONDS", "0.2")
    assert local_settings().poll_seconds == 0.2
    assert local_settings({"poll_seconds": 0.3}).poll_seconds == 0.3


def test_signing_keys_are_new_each_time_unless_the_environment_has_some(monkeypatch):
    assert local_settings().signing_keys != local_settings().signing_keys
    monkeypatch.setenv("BATON_SIGNING_KEYS", "a2V5")
    assert local_settings().signing_keys == (b"key",)


@pytest.mark.parametrize(
    ("given", "named"), [({"nothing": 1}, "nothing"), ({"due_shards": "x"}, "due_shards")]
)
def test_a_setting_that_is_none_is_refused_by_name(given, named):
    with pytest.raises(Unknown, match=named):
        local_settings(given)
