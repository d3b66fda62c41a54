"""Every minute, when another sweep leaves a shard to it, and at hints of timers: what nobody did in time."""

from typing import Any

import msgspec

from baton import bootstrap
from baton.observability import logger, note
from baton.services.sweep import Hint, Part

runtime = bootstrap.runtime("sweep")


@logger.inject_lambda_context
def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    if "Records" in event:
        return hinted(event["Records"])
    began, sweep = runtime.clock.now(), runtime.sweep
    done = sweep.part(msgspec.convert(event, Part)) if "shard" in event else sweep.run()
    swept: dict[str, Any] = msgspec.structs.asdict(done)
    note("sweep", runtime.clock.now() - began, **{name: int(count) for name, count in swept.items()})
    return swept


def hinted(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Which of a batch of hints the queue is to show again."""
    failed = [record["messageId"] for record in records if not looked_at(record["body"])]
    return {"batchItemFailures": [{"itemIdentifier": id_} for id_ in failed]}


def looked_at(body: str) -> bool:
    try:
        return runtime.sweep.look(msgspec.json.decode(body, type=Hint))
    except msgspec.MsgspecError:
        logger.exception("a hint can't be read")
        return False
