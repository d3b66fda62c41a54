"""The runs table's stream: publishes endings as they come, tells of runs that begin, purges the removed."""

from functools import partial
from typing import Any

from baton import bootstrap
from baton.api import records
from baton.observability import note

runtime = bootstrap.runtime("changes")


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    began = runtime.clock.now()
    changes = records.changes(event)
    failed = runtime.changes.take(changes, time_left=partial(records.time_left, context))
    note("publish", runtime.clock.now() - began, records=len(changes), failures=len(failed))
    return records.answer(failed)
