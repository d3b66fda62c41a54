"""What must hold of windows whatever died: every input that joined one is in it or in its run, once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from baton.domain.catalog import BatchMode
from baton.domain.coalescing import MAX_WINDOW, Window
from baton.domain.names import id_from_window
from baton.store import windows as items
from baton.store.dynamo import Raw
from baton.store.log import inflate
from baton.store.rows import ROW
from tests.faults.world import NAMESPACE, Container


@dataclass
class Windows:
    """Everything the tables hold of windows, decoded."""

    open: list[Window] = field(default_factory=list)
    payloads: dict[str, list[bytes]] = field(default_factory=lambda: defaultdict(list))
    """By the run that their window becomes, in order."""
    joined: list[items.Joined] = field(default_factory=list)
    spent: set[str] = field(default_factory=set)
    """Runs whose windows' payloads are still to be removed."""

    def take(self, raw: Raw) -> None:
        """Decode an item, if it is a window's."""
        key, sort = raw["k"]["S"], raw["s"]["S"]
        if sort == items.OPEN:
            self.open.append(items._window_of(items.HeaderItem.from_raw_data(raw)))
            assert {"dk", "du"} <= raw.keys(), "nobody will ever look at an open window"
        elif sort == ROW:
            self.joined.append(items._joined_of(raw))
        elif sort == items.SPENT:
            self.spent.add(_run_of(key))
        elif sort.startswith(items._MEMBER):
            payloads = self.payloads[_run_of(key)]
            assert sort == items._place(len(payloads)), "a payload is missing"
            payloads.append(inflate(raw))


def standing(raws: Iterable[Raw]) -> Windows:
    """The windows that are among some items."""
    found = Windows()
    for raw in sorted(raws, key=lambda raw: str(raw["s"]["S"])):
        found.take(raw)
    return found


def check_windows(raws: Iterable[Raw], runs: Mapping[str, Any]) -> None:
    """Open windows hold what they count and have no run; fired ones have theirs and are cleared away."""
    windows = standing(raws)
    members = Counter(id_from_window(NAMESPACE, joined.window_id) for joined in windows.joined)
    still_open = {window.run_id for window in windows.open}
    for window in windows.open:
        kept = windows.payloads[window.run_id]
        assert window.run_id not in runs, f"fired and still open: {window}"
        assert (len(kept), members[window.run_id]) == (window.kept, window.count)
        assert window.bytes == sum(map(len, kept))
        assert window.count == 1 or window.mode is BatchMode.DEBOUNCE or window.bytes <= MAX_WINDOW
        assert window.due_at <= window.fires_at <= window.latest_at
    for run_id in windows.payloads:
        assert run_id in still_open or run_id in windows.spent, f"payloads of {run_id} are left for good"
    for run_id in windows.spent:
        assert run_id in runs, f"payloads are to be removed that nobody got: {run_id}"
    for run_id in members:
        assert run_id in still_open or run_id in runs, f"an input is lost with {run_id}"


def check_all_fired(raws: Iterable[Raw]) -> None:
    """Once everything is long past no window is open, and nothing of a fired one is left."""
    windows = standing(raws)
    assert not (windows.open or windows.payloads or windows.spent)


def tend(container: Container) -> int:
    """Do with windows and their reminders what the sweep does, one due entry after the other; how many there
    were."""
    done = 0
    runtime = container.runtime
    context = runtime.coalescer._context
    for shard in range(context.settings.due_shards):
        for entry in context.due.page(shard, runtime.clock.now()).items:
            if entry["s"]["S"] == items.OPEN:
                runtime.coalescer.fire(entry["k"]["S"])
            elif entry["s"]["S"] == items.SPENT:
                runtime.coalescer.clear(entry["k"]["S"])
            done += entry["s"]["S"] in (items.OPEN, items.SPENT)
    return done


def _run_of(key: str) -> str:
    return key.partition("##window#")[2]
