"""What the audit holds, read from its table."""

from __future__ import annotations

from tests.faults.world import World


def audited(world: World) -> list[tuple[str, str, str]]:
    """What was done, to what, by whom; the oldest first."""
    items = [item for item in world.house.scan(world.settings.catalog_table) if "audit#" in item["s"]["S"]]
    items.sort(key=lambda item: item["s"]["S"])
    return [(item["a"]["S"], item["o"]["S"], item["by"]["S"]) for item in items]
