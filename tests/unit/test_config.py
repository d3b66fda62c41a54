"""Settings come from the environment, typed, or not at all."""

import base64

import msgspec
import pytest

from baton.config import Settings

NEEDED = {
    "BATON_RUNS_TABLE": "r",
    "BATON_LOG_TABLE": "l",
    "BATON_CATALOG_TABLE": "c",
    "BATON_SIGNING_KEYS": base64.b64encode(b"one").decode() + "," + base64.b64encode(b"two").decode(),
}


def test_what_is_needed_is_enough():
    settings = Settings.from_env(NEEDED)
    assert (settings.runs_table, settings.log_table, settings.catalog_table) == ("r", "l", "c")
    assert settings.signing_keys == (b"one", b"two")
    assert settings.endpoint_url is None


def test_numbers_are_read_as_numbers():
    settings = Settings.from_env({**NEEDED, "BATON_DUE_SHARDS": "3", "BATON_POLL_SECONDS": "0.05"})
    assert (settings.due_shards, settings.poll_seconds) == (3, 0.05)


def test_the_region_is_ours_else_the_machines():
    assert Settings.from_env({**NEEDED, "AWS_REGION": "eu-west-1"}).region == "eu-west-1"
    assert Settings.from_env({**NEEDED, "AWS_DEFAULT_REGION": "eu-west-2"}).region == "eu-west-2"
    both = {**NEEDED, "AWS_REGION": "eu-west-1", "BATON_REGION": "eu-north-1"}
    assert Settings.from_env(both).region == "eu-north-1"


def test_what_every_namespace_may_push_to_is_a_list_with_commas():
    assert Settings.from_env(NEEDED).targets_allowed == ()
    given = {"BATON_TARGETS_ALLOWED": "arn:aws:sqs:*:jobs,arn:aws:lambda:*", "BATON_OWN_PREFIX": "b-"}
    settings = Settings.from_env({**NEEDED, **given})
    assert settings.targets_allowed == ("arn:aws:sqs:*:jobs", "arn:aws:lambda:*")
    assert settings.own_prefix == "b-"
    assert Settings.from_env({**NEEDED, "BATON_TARGETS_ALLOWED": ""}).targets_allowed == ()


def test_keys_may_be_in_a_secret_or_with_nobody():
    without = {name: value for name, value in NEEDED.items() if name != "BATON_SIGNING_KEYS"}
    assert Settings.from_env(without).signing_keys == ()
    settings = Settings.from_env({**without, "BATON_SIGNING_KEYS_SECRET": "arn"})
    assert (settings.signing_keys, settings.signing_keys_secret) == ((), "arn")


@pytest.mark.parametrize("name", [name for name in NEEDED if name.endswith("_TABLE")])
def test_a_missing_setting_is_refused(name):
    with pytest.raises(msgspec.ValidationError):
        Settings.from_env({key: value for key, value in NEEDED.items() if key != name})


def test_a_malformed_setting_is_refused():
    with pytest.raises(msgspec.ValidationError):
        Settings.from_env({**NEEDED, "BATON_DUE_SHARDS": "many"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("BATON_SIGNING_KEYS", ","),
        ("BATON_IAM_ROLE", "king"),
        ("BATON_IAM_NAMESPACE", "team#"),
        ("BATON_IAM_NAMESPACE", ""),
        ("BATON_DUE_SHARDS", "0"),
        ("BATON_PURGE_DELAY_SECONDS", "119"),
    ],
)
def test_settings_that_would_break_a_promise_are_refused_by_name(name: str, value: str):
    with pytest.raises(msgspec.ValidationError, match=name.removeprefix("BATON_").lower()):
        Settings.from_env({**NEEDED, name: value})
