"""Every minute: settles the silent, forces the cancelled, purges past lives."""

from typing import Any

import msgspec

from baton import bootstrap
from baton.observability import logger, note

runtime = bootstrap.runtime()


@logger.inject_lambda_context
def handler(_event: dict[str, Any], _context: Any) -> dict[str, Any]:
    began = runtime.clock.now()
    swept: dict[str, Any] = msgspec.structs.asdict(runtime.sweep.run())
    note("sweep", runtime.clock.now() - began, **{name: int(count) for name, count in swept.items()})
    return swept
