"""What is deployed, booted as Lambda boots it: recorded events get the answers that the laptop gives."""

from __future__ import annotations

import json
import re
import subprocess
from typing import Any

import pytest

from baton.api.signing import Signatures
from baton.domain.roles import Role
from baton.domain.tokens import Wish
from infra.manifest import AUTHORIZER, FUNCTIONS, function
from infra.packages import cuts
from infra.packages.build import build
from infra.packages.layout import function_dir
from tests.bench import coldstarts
from tests.functions.lambdas import Context
from tests.infra.packages.container import booted
from tests.infra.packages.deployment import KEY, Deployment, Recorded, lambdas_own, recorded
from tests.infra.packages.image import Image, unpack
from tests.infra.packages.secrets_manager import ADDRESS, keeping

pytestmark = pytest.mark.slow

SECRET = "arn:aws:secretsmanager:us-east-1:000000000000:secret:baton-test/signing-keys-AbCdEf"

VARYING = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "<time>"),
    (re.compile(r'("Baton-Tail": )"[^"]+"'), r'\1"<signed>"'),
)
"""What two runs of the same never have in common."""

UNCOMPILED = """
import importlib.util, sys
from importlib.machinery import SourceFileLoader

def refuse(self, data, path, **_):
    raise AssertionError(f"{path} is compiled at a cold start")

SourceFileLoader.source_to_code = refuse
"""
IMPORTS = (
    "import baton.bootstrap, baton.api.edge, baton.api.routing, baton.services.changes, baton.services.sweep"
)
CLIENTS = """
import botocore.session
session = botocore.session.get_session()
for name in sys.argv[1:]:
    session.create_client(name, region_name="us-east-1")
print(*sorted(session.get_available_services()))
"""


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    assert not build().broken
    return unpack(tmp_path_factory.mktemp("image"))


def comparable(answer: Any) -> Any:
    """An answer as JSON carries it, without what varies."""
    text = json.dumps(answer)
    for pattern, replacement in VARYING:
        text = pattern.sub(replacement, text)
    return json.loads(text)


def run(image: Image, code: str, *arguments: str) -> str:
    """What a program prints that has the layers and nothing else."""
    done = subprocess.run(
        [image.interpreter.path, "-S", "-c", code, *arguments],
        env=lambdas_own() | {"PYTHONPATH": str(image.opt / "python"), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_function_has_a_recorded_event():
    assert {each.function for each in recorded()} == {each.name for each in FUNCTIONS}


@pytest.mark.parametrize("given", recorded(), ids=lambda given: given.name)
def test_a_container_answers_what_the_laptop_answers(image: Image, dynamodb_local_url: str, given: Recorded):
    laptop = Deployment(dynamodb_local_url, given.before)
    expected = laptop.api.module(given.function).handler(given.event, Context())

    cloud, spec = Deployment(dynamodb_local_url, given.before), function(given.function)
    with booted(
        image,
        function_dir(spec.name),
        environment=cloud.environment,
        memory_mb=spec.memory_mb,
        timeout_seconds=spec.timeout_seconds,
    ) as container:
        answer = container.answer(given.event)
    assert comparable(answer.result) == comparable(expected)


def test_a_container_of_the_authoriser_knows_who_shows_a_token(image: Image, dynamodb_local_url: str):
    [given] = [each for each in recorded() if each.function == AUTHORIZER]
    cloud = Deployment(dynamodb_local_url, given.before)
    made = cloud.api.runtime.tokens.create(Wish(namespace="team-a", role=Role.DRIVER), by=None)
    shown = {"authorization": f"Bearer {made.text}"}
    event = {**given.event, "headers": {**given.event["headers"], **shown}, "identitySource": None}
    with booted(image, function_dir(AUTHORIZER), environment=cloud.environment) as container:
        answer = container.answer(event).result
    context = {"namespace": "team-a", "role": "driver", "token_id": made.token.id}
    assert answer == {"isAuthorized": True, "context": context}


def test_a_container_that_signs_reads_its_keys_from_the_secret(image: Image, dynamodb_local_url: str):
    [given] = [each for each in recorded() if each.name == "start"]
    cloud = Deployment(dynamodb_local_url, given.before)
    told = cloud.environment
    with keeping(SECRET, told.pop("BATON_SIGNING_KEYS")) as url:
        told |= {"BATON_SIGNING_KEYS_SECRET": SECRET, ADDRESS: url}
        with booted(image, function_dir("start"), environment=told) as container:
            answer = container.answer(given.event).result
    tail, run = answer["headers"]["Baton-Tail"], json.loads(answer["body"])["run"]
    assert Signatures((KEY,)).echoed(run["namespace"], run["id"], tail) is not None
    assert Signatures((b"another",)).echoed(run["namespace"], run["id"], tail) is None


def test_nothing_of_the_layers_is_compiled_at_a_cold_start(image: Image):
    run(image, UNCOMPILED + IMPORTS + CLIENTS, "dynamodb")


def test_the_layers_describe_the_services_that_functions_may_call_and_no_others(image: Image):
    services = sorted(cuts.services())
    assert run(image, "import sys\n" + CLIENTS, *services).split() == services


@pytest.mark.parametrize("name", coldstarts.HOT)
def test_a_cold_start_takes_little_more_than_that_of_a_bare_client(
    image: Image, dynamodb_local_url: str, name: str
):
    measured = coldstarts.measure(dynamodb_local_url, image, rounds=3, functions=[name])
    assert measured.functions[0].ratio <= coldstarts.HOT_LIMIT
