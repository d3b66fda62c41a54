"""The operator's page names what there is: alarms, make targets, settings, stacks."""

import re
from dataclasses import fields
from fnmatch import fnmatch
from pathlib import Path

from baton.store.schema import TABLES
from infra.alarms import ALARMS
from infra.aws.stage import STAGES, Stage
from infra.outputs import API_URL, DEFAULT_STACK

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "infra/README.md").read_text()


def part(title):
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def test_each_alarm_is_explained_and_each_explained_is_one():
    rows = re.findall(r"^\| (`.+?`) \|", part("Alarms"), re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`(.+?)`", row)]
    for alarm in ALARMS:
        assert any(fnmatch(alarm.name, name) for name in named), alarm.name
    for name in named:
        assert any(fnmatch(alarm.name, name) for alarm in ALARMS), name


def test_it_says_how_many_alarms_are_paid_for():
    assert f"{len(ALARMS)} alarms (${len(ALARMS) * 0.10:.2f})" in part("What it costs")


def test_make_has_each_target_that_it_names():
    made = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z-]+)", PAGE)) <= made


def test_each_setting_of_a_stage_that_it_explains_is_one():
    explained = set(re.findall(r"^- `(\w+)`", part("Settings"), re.MULTILINE))
    assert explained <= {field.name for field in fields(Stage)}
    assert {"snap_start", "provisioned", "reserved", "requests_per_second"} <= explained


def test_stages_stacks_and_outputs_are_called_as_it_says():
    assert {"dev", "prod"} == set(STAGES)
    assert f"{STAGES['dev'].prefix}-service" == DEFAULT_STACK
    assert f"`{API_URL}`" in PAGE
    assert f"{STAGES['prod'].reserved['sweep']} containers aside for the sweep" in part("Deploy")


def test_what_a_restore_leaves_out_is_what_the_tables_have():
    restore = part("Restore")
    assert {spec.ttl_attribute for spec in TABLES} == {None, "ttl"} and "AttributeName=ttl" in restore
    assert [spec.name for spec in TABLES if spec.ttl_attribute] == ["runs", "catalog"]
    assert [spec.name for spec in TABLES if spec.stream_view] == ["runs"]
    assert all(f"`{spec.name}`" in restore for spec in TABLES)
