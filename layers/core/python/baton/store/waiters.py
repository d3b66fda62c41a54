"""Waiters in DynamoDB: items beside what is waited for, so that whoever can wake a run finds it there.

<namespace>#<run id>          waiter#<waiting run>#<wait id>    it waits for that run
<namespace>##event#<name>     waiter#<waiting run>#<wait id>    it waits for an event
"""

from __future__ import annotations

from collections.abc import Iterator

from baton.domain.waiting import Waiter
from baton.store.dynamo import Dynamo, Raw, Table
from baton.store.rows import RunsItem, run_key
from baton.store.schema import RUNS

WAITER = "waiter#"
_EVENT = "#event#"


class WaiterStore:
    """The waiters in the runs table."""

    def __init__(self, dynamo: Dynamo, table_name: str) -> None:
        self._dynamo = dynamo
        self._table = Table(dynamo, RUNS, table_name)

    def of_run(self, namespace: str, run_id: str) -> Iterator[Waiter]:
        """Everyone that waits for a run, in any life and at any attempt of it. Consistent."""
        return self._at(run_key(namespace, run_id))

    def of_event(self, namespace: str, name: str) -> Iterator[Waiter]:
        """Everyone that waits for an event. Consistent."""
        return self._at(event_key(namespace, name))

    def drop(self, waiter: Waiter) -> None:
        """Forget a wait that is over."""
        self._dynamo.write(self._table.delete(*waiter_keys(waiter)))

    def _at(self, key: str) -> Iterator[Waiter]:
        return map(waiter_of, self._table.query_all(key, RunsItem.s.startswith(WAITER), consistent=True))


def event_key(namespace: str, name: str) -> str:
    """The partition of all that was posted under a name, and of who waits for it."""
    return f"{namespace}#{_EVENT}{name}"


def event_of(key: str) -> tuple[str, str]:
    """The namespace and the name of an event's partition."""
    namespace, _, name = key.partition(f"#{_EVENT}")
    return namespace, name


def waiter_keys(waiter: Waiter) -> tuple[str, str]:
    """Where a waiter stands."""
    if waiter.target is not None:
        key = run_key(waiter.namespace, waiter.target)
    else:
        key = event_key(waiter.namespace, waiter.event or "")
    return key, f"{WAITER}{waiter.run_id}#{waiter.wait_id}"


def waiter_item(waiter: Waiter) -> RunsItem:
    """A waiter's item; ``rev`` tells nothing that its place does not."""
    key, sort = waiter_keys(waiter)
    return RunsItem(k=key, s=sort, rev=waiter.wait_id, birth=waiter.birth, attempt=waiter.attempt)


def waiter_of(raw: Raw) -> Waiter:
    """The waiter that an item holds."""
    item = RunsItem.from_raw_data(raw)
    _, run_id, wait_id = item.s.split("#")
    if item.birth is None:
        namespace, name = event_of(item.k)
        return Waiter(namespace=namespace, run_id=run_id, wait_id=wait_id, event=name)
    namespace, target = item.k.split("#", 1)
    return Waiter(
        namespace=namespace,
        run_id=run_id,
        wait_id=wait_id,
        target=target,
        birth=item.birth,
        attempt=int(item.attempt),
    )
