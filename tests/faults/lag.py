"""Replicas that are behind: what is read eventually is as it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy

from tests.faults.seam import Answer, Call, Send
from tests.faults.world import Container, moto_tables


@contextmanager
def behind(container: Container, *, indexes: bool = False) -> Iterator[None]:
    """What the container reads eventually is as of now; with `indexes`, reads of indexes too."""
    then = {name: deepcopy(table.items) for name, table in moto_tables().items()}

    def look_back(call: Call, send: Send) -> Answer:
        if not (call.eventual or (indexes and "IndexName" in call.request)):
            return send()
        tables = moto_tables()
        now = {name: table.items for name, table in tables.items()}
        for name, items in then.items():
            tables[name].items = items
        try:
            return send()
        finally:
            for name, items in now.items():
                tables[name].items = items

    container.seam.watch = look_back
    try:
        yield
    finally:
        container.seam.watch = None
