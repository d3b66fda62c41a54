"""A deployment on DynamoDB Local: tables, the laptop's functions over them, and what containers are told."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any, NamedTuple

from baton.bootstrap import build as runtime
from baton.config import Settings
from tests.bench.house import Tables, unheard
from tests.functions.lambdas import Lambdas

EVENTS = Path(__file__).parents[2] / "functions" / "events"
REGION = "us-east-1"
KEY = b"all containers of a deployment share it"


class Recorded(NamedTuple):
    """An event of a function, as AWS sends it, and the requests that came before."""

    name: str
    function: str
    before: list[dict[str, Any]]
    event: dict[str, Any]


def recorded() -> list[Recorded]:
    """All of them."""
    found = [(path.stem, json.loads(path.read_text())) for path in sorted(EVENTS.glob("*.json"))]
    return [Recorded(name, each["function"], each["before"], each["event"]) for name, each in found]


class Deployment:
    """Tables of its own, with what happened before an event; ``api`` has the laptop's functions over them."""

    def __init__(self, endpoint: str, before: list[dict[str, Any]]) -> None:
        names = Tables(endpoint).names
        self._settings = Settings(
            runs_table=names["runs"],
            log_table=names["log"],
            catalog_table=names["catalog"],
            signing_keys=(KEY,),
            region=REGION,
            endpoint_url=endpoint,
        )
        self.api = Lambdas(runtime(self._settings))
        with unheard():
            for step in before:
                assert self.api.call(step["method"], step["path"], step.get("body")).status < 300, step

    @property
    def environment(self) -> dict[str, str]:
        """What its containers are told: by the deployment, and by Lambda itself."""
        return {
            "BATON_RUNS_TABLE": self._settings.runs_table,
            "BATON_LOG_TABLE": self._settings.log_table,
            "BATON_CATALOG_TABLE": self._settings.catalog_table,
            "BATON_SIGNING_KEYS": base64.b64encode(KEY).decode(),
            "BATON_ENDPOINT_URL": str(self._settings.endpoint_url),
            **lambdas_own(),
        }


def lambdas_own() -> dict[str, str]:
    """What Lambda tells every container."""
    return {
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_SESSION_TOKEN": "testing",
    }
