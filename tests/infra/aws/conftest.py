"""Synthesizes stages, each once. The CDK is in an environment of its own (`make synth`): the other tests
collect these modules without it, so it is imported by who uses it only."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from infra.manifest import FUNCTIONS
from infra.packages.layout import LAYERS, function_dir, layer_dir
from tests.infra.aws.synthesized import Synthesized


@pytest.fixture(scope="session")
def dist(tmp_path_factory):
    """What a build leaves, in small: it does not matter here what the code of assets is."""
    root = tmp_path_factory.mktemp("dist")
    for each in FUNCTIONS:
        write(function_dir(each.name, root) / "handler.py", f"# {each.name}\n")
    for layer in LAYERS:
        write(layer_dir(layer, root) / "python" / f"{layer}.py", f"# {layer}\n")
    return root


@pytest.fixture(scope="session")
def synthesize(tmp_path_factory):
    """Makes a stage's templates from what is built in a folder, with cdk-nag on: a finding raises."""
    import aws_cdk as cdk

    from infra.aws.stacks import deployment

    def made(stage, dist):
        app = cdk.App(outdir=str(tmp_path_factory.mktemp(stage.name)))
        stacks = deployment(app, stage, dist)
        assembly = app.synth()
        templates = [assembly.get_stack_by_name(each.stack_name).template for each in stacks]
        return Synthesized(stage.prefix, *templates)

    return made


@pytest.fixture(scope="session")
def stages(synthesize, dist):
    """The templates of each stage that there is, by its name."""
    from infra.aws.stage import STAGES

    return {name: synthesize(stage, dist) for name, stage in STAGES.items()}


@pytest.fixture(scope="session")
def dev(stages):
    return stages["dev"]


@pytest.fixture(scope="session")
def prod(stages):
    return stages["prod"]


@pytest.fixture(scope="session")
def tuned(synthesize, dist):
    """A stage that uses every setting that the others leave alone."""
    from infra.aws.stage import Stage

    stage = Stage(
        name="tuned",
        protected=False,
        log_days=30,
        requests_per_second=7,
        burst=9,
        targets_allowed=(
            "arn:aws:sqs:*:000000000000:jobs-*",
            "arn:aws:lambda:eu-west-1:000000000000:function:f",
        ),
        settings={"iam_role": "driver", "sweep_seconds": "30"},
        keys_generation=2,
        snap_start=frozenset({"start", "publish"}),
        provisioned={"append": 3},
        reserved={"sweep": 5},
    )
    return synthesize(stage, dist)


@pytest.fixture(scope="session")
def by_iam(synthesize, dist):
    """The stage `dev`, if it left it to IAM who comes."""
    return synthesize(replace(_dev(), auth="iam"), dist)


@pytest.fixture(scope="session")
def wary(synthesize, dist):
    """A stage that has the authoriser asked of every request, in containers that are kept warm."""
    return synthesize(replace(_dev(), authorizer_seconds=0, provisioned={"authorize": 1}), dist)


@pytest.fixture(scope="session")
def with_another_append(synthesize, dist, tmp_path_factory):
    """The stage `dev` after a change of one handler."""
    changed = tmp_path_factory.mktemp("changed")
    shutil.copytree(dist, changed, dirs_exist_ok=True)
    write(function_dir("append", changed) / "handler.py", "# append, otherwise\n")
    return synthesize(_dev(), changed)


def _dev():
    from infra.aws.stage import STAGES

    return STAGES["dev"]


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
