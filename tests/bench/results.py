"""All that one run of the bench found, and under which versions: what `--json` prints."""

import platform
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Any

from baton.bootstrap import SystemClock
from baton.domain.clock import rfc3339
from tests.bench import prices
from tests.bench.coldstarts import ColdStarts
from tests.bench.cpu import Cpu
from tests.bench.imports import Imports
from tests.bench.latency import Latency
from tests.bench.sweeping import Sweeping
from tests.bench.throughput import Throughput
from tests.bench.units import Units
from tests.dynamodb_local.install import DYNAMODB_LOCAL

LIBRARIES = ("aws-lambda-powertools", "boto3", "botocore", "itsdangerous", "msgspec", "pynamodb")


def _versions() -> dict[str, str]:
    found = {name: version(name) for name in LIBRARIES}
    return found | {"python": platform.python_version(), "dynamodb-local (npm)": DYNAMODB_LOCAL.version}


@dataclass
class Results:
    """Each part is None until it was measured."""

    at: str = field(default_factory=lambda: rfc3339(SystemClock().now()))
    machine: str = field(default_factory=platform.platform)
    versions: dict[str, str] = field(default_factory=_versions)
    units: Units | None = None
    cpu: list[Cpu] | None = None
    sweeping: Sweeping | None = None
    imports: Imports | None = None
    cold_starts: ColdStarts | None = None
    throughput: list[Throughput] | None = None
    latency: list[Latency] | None = None

    @property
    def held(self) -> bool:
        """Whether every limit that does not depend on the machine's speed is kept."""
        rows = self.sweeping.rows if self.sweeping else []
        return not any(row.broken for row in rows) and (self.units is None or not self.units.broken)

    def as_json(self) -> dict[str, Any]:
        """Plain values, prices and assumptions included."""
        stated = {name.lower(): value for name, value in vars(prices).items() if name.isupper()}
        return asdict(self) | {"held": self.held, "prices": stated}
