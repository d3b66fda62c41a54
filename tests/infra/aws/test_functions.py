"""Each of the manifest's functions is one in the template, as the manifest says it is to be."""

import base64

import pytest

from baton.config import Settings
from infra import manifest
from infra.manifest import FUNCTIONS
from infra.signals import TARGETS

pytestmark = pytest.mark.aws

EACH = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.name)


def environment(stage, function):
    return stage.function(function.name)["Environment"]["Variables"]


def test_each_function_is_deployed_and_no_other(dev):
    deployed = [dev.name(each) for each in dev.properties("AWS::Lambda::Function")]
    assert sorted(deployed) == sorted(each.name for each in FUNCTIONS)


@EACH
def test_a_function_is_what_the_manifest_says(dev, function):
    made = dev.function(function.name)
    assert (made["Runtime"], made["Architectures"], made["Handler"]) == (
        "python3.13",
        ["arm64"],
        "handler.handler",
    )
    assert (made["MemorySize"], made["Timeout"]) == (function.memory_mb, function.timeout_seconds)
    assert made["TracingConfig"] == {"Mode": "Active"}
    layers = [dev.service["Resources"][each["Ref"]]["Properties"] for each in made["Layers"]]
    assert [each["LayerName"] for each in layers] == ["baton-dev-deps", "baton-dev-core"]


@EACH
def test_a_container_is_told_all_that_it_must_know_and_no_setting_that_there_is_not(prod, function):
    told = environment(prod, function)
    assert set(function.environment) <= set(told)
    known = {f"BATON_{name.upper()}" for name in Settings.__struct_fields__}
    assert {name for name in told if name.startswith("BATON_")} <= known | {"BATON_KEYS_GENERATION"}
    Settings.from_env({name: value if isinstance(value, str) else "x" for name, value in told.items()})
    assert told["POWERTOOLS_SERVICE_NAME"] == "baton-prod"


@EACH
def test_who_pushes_is_told_where_baton_serves_and_no_one_else(tuned, function):
    pushes = any(right.resource == TARGETS for right in function.signals)
    told = environment(tuned, function)
    assert ("BATON_PUBLIC_URL" in told) == ("BATON_TARGETS_ALLOWED" in told) == pushes


@EACH
def test_no_secret_stands_in_a_template(prod, function):
    told = environment(prod, function)
    assert "BATON_SIGNING_KEYS" not in told
    assert "resolve:" not in str(told)


def test_the_secret_that_is_made_is_a_key_as_settings_spell_it(prod):
    [secret] = prod.properties("AWS::SecretsManager::Secret")
    made = secret["GenerateSecretString"]
    assert made["ExcludePunctuation"] and made["IncludeSpace"] is False
    assert len(base64.b64decode("a" * made["PasswordLength"], validate=True)) >= 32


@EACH
def test_a_functions_log_is_kept_for_as_long_as_its_stage_keeps_logs(prod, function):
    group = prod.function(function.name)["LoggingConfig"]["LogGroup"]["Ref"]
    resource = prod.service["Resources"][group]
    assert resource["Properties"]["RetentionInDays"] == 90
    assert resource["DeletionPolicy"] == "Retain"


def test_lambdas_guard_against_loops_is_off_for_who_calls_itself_by_design_alone(prod):
    guards = {prod.name(each): each["RecursiveLoop"] for each in prod.properties("AWS::Lambda::Function")}
    assert {name for name, guard in guards.items() if guard == "Allow"} == {"sweep"}
    assert {guard for name, guard in guards.items() if name != "sweep"} == {"Terminate"}


def test_what_fails_where_nobody_waits_for_an_answer_is_put_aside(prod):
    configured = {
        prod.text(each["FunctionName"]): each for each in prod.properties("AWS::Lambda::EventInvokeConfig")
    }
    assert set(configured) == {f"function/{each.name}" for each in FUNCTIONS if each.asynchronous}
    for each in configured.values():
        assert prod.text(each["DestinationConfig"]["OnFailure"]["Destination"]) == "queue/parked"
        assert (each["MaximumRetryAttempts"], each["MaximumEventAgeInSeconds"]) == (0, 60)


# What a stage may ask for


def test_by_default_nothing_is_kept_warm_and_only_the_sweep_is_held_back(stages):
    for name, reserved in (("dev", {}), ("prod", {"sweep": 20})):
        made = stages[name].properties("AWS::Lambda::Function")
        assert {
            stages[name].name(each): each["ReservedConcurrentExecutions"]
            for each in made
            if "ReservedConcurrentExecutions" in each
        } == reserved
        assert not any("SnapStart" in each for each in made)
        assert stages[name].of("AWS::Lambda::Alias") == {}


def test_a_stage_may_ask_for_snapshots_warm_containers_and_reserves(tuned):
    snapshots = {
        tuned.name(each) for each in tuned.properties("AWS::Lambda::Function") if "SnapStart" in each
    }
    assert snapshots == {"start", "publish"}
    aliases = {tuned.text(each["FunctionName"]): each for each in tuned.properties("AWS::Lambda::Alias")}
    assert set(aliases) == {"function/start", "function/publish", "function/append"}
    kept = aliases["function/append"]["ProvisionedConcurrencyConfig"]
    assert kept == {"ProvisionedConcurrentExecutions": 3}
    assert tuned.function("sweep")["ReservedConcurrentExecutions"] == 5


def test_who_has_an_alias_is_called_by_it(tuned):
    called = {tuned.text(each["FunctionName"]) for each in tuned.properties("AWS::Lambda::Permission")}
    assert {"function/start:live", "function/append:live"} <= called
    assert "function/start" not in called
    sources = [
        tuned.text(each["FunctionName"]) for each in tuned.properties("AWS::Lambda::EventSourceMapping")
    ]
    assert "function/publish:live" in sources


def test_a_stages_settings_reach_every_container(tuned):
    for each in FUNCTIONS:
        told = environment(tuned, each)
        assert (told["BATON_IAM_ROLE"], told["BATON_SWEEP_SECONDS"]) == ("driver", "30")
    assert environment(tuned, manifest.function("start"))["BATON_KEYS_GENERATION"] == "2"


# Changes


def test_a_change_in_one_handler_changes_that_functions_code_and_nothing_else(dev, with_another_append):
    before, after = dev.service["Resources"], with_another_append.service["Resources"]
    assert set(before) == set(after)
    changed = [name for name in before if before[name] != after[name]]
    assert [dev.name(before[name]["Properties"]) for name in changed] == ["append"]
    [name] = changed
    old, new = before[name], after[name]
    parts = {part for part in old["Properties"] if old["Properties"][part] != new["Properties"][part]}
    assert parts == {"Code"}
    assert dev.storage == with_another_append.storage
