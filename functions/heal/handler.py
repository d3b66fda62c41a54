"""Every minute: delivers what no marker named, as its subscription came a moment late."""

from typing import Any

import msgspec

from baton import bootstrap
from baton.observability import logger, note

runtime = bootstrap.runtime("heal")


@logger.inject_lambda_context
def handler(_event: dict[str, Any], _context: Any) -> dict[str, Any]:
    began = runtime.clock.now()
    healed: dict[str, Any] = msgspec.structs.asdict(runtime.heal.run())
    note("heal", runtime.clock.now() - began, **{name: int(count) for name, count in healed.items()})
    return healed
