"""What must hold whatever died: read from the tables themselves, and then as a stranger to them would.

I1 settled once per attempt. I2 the log gapless and immutable, `end` last, what was acknowledged in it once.
I3 and I4: what is owed is marked, and what was delivered stands. I7 one key, one run. And that the due index,
the expiry and the purges fit the rows. I6, I9 and the rest of I7 are judged by the scenarios, which know what
was asked.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from baton.domain.handoff import Apart, Settled
from baton.domain.log import Entry, ProducerState, unpack
from baton.domain.pushing import to_push
from baton.domain.run import Run
from baton.domain.settlement import DeliveryState
from baton.domain.starting import Alias
from baton.errors import NotFound
from baton.store import runs as run_rows
from baton.store.apart import SETTLEMENT, apart_of
from baton.store.log import LogItem, _item
from baton.store.rows import PURGE, ROW, Purge, RunsItem, purge_of
from tests.faults import awaiting, handed, held, windows
from tests.faults.world import Container, World

Life = tuple[str, str]
"""A run id and a birth."""


@dataclass
class Facts:
    """Everything the tables hold, decoded."""

    runs: dict[str, Run] = field(default_factory=dict)
    aliases: dict[str, Alias] = field(default_factory=dict)
    apart: dict[str, list[Apart]] = field(default_factory=lambda: defaultdict(list))
    """Settlements in items of their own, by run."""
    purges: list[Purge] = field(default_factory=list)
    others: list[dict[str, Any]] = field(default_factory=list)
    """Items of other kinds as DynamoDB holds them: whoever stores one teaches this module what must hold."""
    logs: dict[Life, list[LogItem]] = field(default_factory=lambda: defaultdict(list))
    raw: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Rows of runs as DynamoDB holds them."""


def facts(world: World) -> Facts:
    """Read the tables past the product's services."""
    found = Facts()
    for raw in world.house.scan(world.settings.runs_table):
        run_id, sort = raw["k"]["S"].split("#")[1], raw["s"]["S"]
        if sort == PURGE:
            found.purges.append(purge_of(RunsItem.from_raw_data(raw)))
            continue
        if sort.startswith(SETTLEMENT):
            found.apart[run_id].append(apart_of(RunsItem.from_raw_data(raw)))
            continue
        if sort != ROW or "wi" in raw:  # the second: that an input joined a window
            found.others.append(raw)
            continue
        row = run_rows._decode(raw)
        if isinstance(row, Alias):
            found.aliases[run_id] = row
        else:
            found.runs[run_id] = row
            found.raw[run_id] = raw
    for raw in world.house.scan(world.settings.log_table):
        item = _item(raw)
        found.logs[raw["k"]["S"].split("#")[1], item.birth].append(item)
    for items in found.logs.values():
        items.sort(key=lambda item: item.slot)
    return found


def check(world: World, *, as_read: bool = False) -> Facts:
    """Assert everything that holds at any moment, whoever is at work. Gives what it read, for more.

    `as_read`: also that every run that lives reads so.
    """
    found = facts(world)
    for run_id, run in found.runs.items():
        check_log(found.logs.get((run_id, run.birth), []), first=0 if run.input_in_log else 1)
        check_settled_once(run, found.logs.get((run_id, run.birth), []))
        held.check_held(run, found.raw[run_id], found)
        check_due(run, found.raw[run_id], found.logs.get((run_id, run.birth), []), world)
        check_marked(run, [each for each in found.apart[run_id] if each.birth == run.birth], found)
    check_lives(found)
    check_said(world, found)
    windows.check_windows(found.others, found.runs)
    awaiting.check_waits(found)
    awaiting.check_events(found)
    if as_read:
        reader = world.container()
        for run in found.runs.values():
            if not run.expired(world.clock.now()):
                check_as_read(reader, run, found.logs.get((run.id, run.birth), []))
    return found


def check_log(items: Sequence[LogItem], *, first: int) -> None:
    """I2: no holes, no overlap; headers carry on from one another; `end` is the last word of its attempt."""
    slot, attempt, closed, cancel, suspended = first, 1, False, False, False
    producers: dict[tuple[str, int], ProducerState] = {}
    for item in items:
        entries = unpack(item.body)
        assert item.slot == slot, f"a hole or overlap at {slot}: {item}"
        assert item.count == len(entries) > 0
        said = entries[0].type
        if closed:
            assert said == "resumed", f"after an end comes {said}"
            attempt, closed, cancel = attempt + 1, False, False
        elif said == "end":
            closed, suspended = True, False
        elif said == "cancel":
            cancel = True
        elif said == "claimed":
            attempt = msgspec.json.decode(entries[0].data)["attempt"]
        elif said == "suspended":
            suspended = "woken" not in {entry.type for entry in entries}
        elif said == "woken":
            suspended = False
        if said == "start":
            cancel = "cancel" in {entry.type for entry in entries}  # it goes on from one told to stop
        else:
            alone = {"end", "resumed", "cancel", "claimed"}
            assert len(entries) == 1 or not alone & {entry.type for entry in entries}
        header = item.header
        marks = (header.attempt, header.closed, header.cancel, header.suspended)
        assert marks == (attempt, closed, cancel, suspended), f"{said}: {header}"
        for state in header.producers:
            before = producers.get((state.id, state.attempt), state)
            assert (state.epoch, state.seq) >= (before.epoch, before.seq), f"{before} went back to {state}"
            producers[state.id, state.attempt] = state
        slot += item.count
    nonces = Counter(item.nonce for item in items)
    assert all(times == 1 for times in nonces.values()), f"one write stands twice: {nonces}"


def check_settled_once(run: Run, items: Sequence[LogItem]) -> None:
    """I1: as many ends as attempts were settled: those that a resume followed, and the last if it is over,
    which says what the row says. What is claimed anew begins an attempt with no end before it."""
    ends: dict[int, list[tuple[int, Any]]] = defaultdict(list)
    settled = {run.attempt} if run.state.terminal else set()
    for item in items:
        for index, entry in enumerate(unpack(item.body)):
            if entry.type == "end":
                ends[item.header.attempt].append((item.slot + index, msgspec.json.decode(entry.data)))
            elif entry.type == "resumed":
                settled.add(item.header.attempt - 1)
    assert {attempt: len(said) for attempt, said in ends.items()} == dict.fromkeys(settled, 1), (run, ends)
    assert (run.ending is not None) == run.state.terminal
    if run.ending is not None:
        seq, said = ends[run.attempt][0]
        told = (said["status"], said["code"], said["signal"], said["resumable"], said["session_ref"])
        ending = run.ending
        row = (run.state.value, ending.code, ending.signal, ending.resumable, ending.session_ref)
        assert (ending.seq, row) == (seq, told)
        assert ending.error == (said["error"] is not None)
    newest = items[-1].header if items else None
    assert (run.cancel is not None) == (newest is not None and newest.cancel) or run.state.terminal


def check_due(run: Run, raw: dict[str, Any], items: Sequence[LogItem], world: World) -> None:
    """A run that something must happen to is in the due index, no later than that; a settled one expires,
    unless something keeps it (I5)."""
    assert (run.due_at is not None) == ("dk" in raw) == ("du" in raw)
    assert (run.expires_at is not None) == (run.state.terminal and not run.kept) == ("ttl" in raw)
    if run.state.terminal:
        assert (run.due_at is not None) == run.settlement.holding, f"kept and never looked at, or due: {run}"
        return
    heard = max([run.started_at or run.created_at] + [item.ts for item in items])
    if run.lease is not None:
        heard = max(heard, run.lease.heard_at)
    needs = [run.watched_until(heard), held.expiry(run, world.settings.skew_seconds)]
    if run.cancel is not None:
        needs.append(run.cancel.at + round(world.settings.cancel_grace_seconds * 1000))
    if to_push(run):
        assert run.due_at is not None, f"nobody will ever tell of {run}"
        assert run.announce or run.due_at > run.updated_at, "it is not looked at, and nobody is called"
    deadlines = [at for at in needs if at is not None]
    if deadlines:
        assert run.due_at is not None, f"nobody will ever look at {run}"
        assert run.due_at <= min(deadlines) or run.strikes, "it is looked at too late, and nobody put it off"


def check_marked(run: Run, apart: Sequence[Apart], found: Facts) -> None:
    """I4: the marker is there exactly as long as something is owed; I3: what was started once is there once,
    and says what started it."""
    assert run.apart == sum(each.settlement.holding for each in apart), (run, apart)
    assert {each.attempt for each in apart} | {run.attempt} <= set(range(1, run.attempt + 1))
    endings = [Settled(run, each) for each in apart]
    if run.ending is not None and not run.ending.apart:
        endings.append(Settled(run))
    assert len({ending.attempt for ending in endings}) == len(endings), "an attempt's ending stands twice"
    for each in apart:
        assert (each.due_at is not None) == each.settlement.holding, each
    for ending in endings:
        settlement = ending.settlement
        assert len({each.subscriber for each in settlement.deliveries}) == len(settlement.deliveries)
        for delivery in settlement.deliveries:
            if delivery.state is DeliveryState.STARTED:
                started = found.runs.get(ending.started_id(delivery.subscriber))
                assert started is not None, f"delivered and not started: {delivery}"
                assert started.workflow == delivery.subscriber
                assert started.triggered_by == ending.trigger
                assert started.depth == run.depth + 1


def check_lives(found: Facts) -> None:
    """A log belongs to a row, or to a past life that is over and is to be purged."""
    to_purge = {(purge.run_id, purge.birth) for purge in found.purges}
    for (run_id, birth), items in found.logs.items():
        now = found.runs.get(run_id)
        if now is None or now.birth != birth:
            assert (run_id, birth) in to_purge, f"the log of a past life of {run_id} is left for good"
            assert items[-1].header.closed, f"a past life of {run_id} goes on"
    for purge in found.purges:
        now = found.runs.get(purge.run_id)
        assert now is None or now.birth != purge.birth, f"a life is to be purged that is not over: {now}"


def check_said(world: World, found: Facts) -> None:
    """I2: what was acknowledged stands where it was said to stand, as it was said, while its run is there."""
    for run_id, birth, slot, entries in world.said:
        now = found.runs.get(run_id)
        if now is None or now.birth != birth:
            continue  # a past life, perhaps half purged: `check_lives` has seen that it is over
        standing = [item for item in found.logs[run_id, birth] if item.slot == slot]
        assert len(standing) == 1, f"acknowledged at {slot} and not there: {entries}"
        assert unpack(standing[0].body) == entries


def check_as_read(reader: Container, run: Run, items: Sequence[LogItem]) -> None:
    """A stranger reads the same: the run with its payloads, and the log from any offset to its end."""
    runtime = reader.runtime
    detail = runtime.runs.get(run.namespace, run.id)
    assert detail.run == run
    assert detail.input is not None
    assert (detail.output is None) == (run.ending is None)
    opened = runtime.streams.open(run.namespace, run.id, "-1")
    chunk = runtime.streams.read(opened)
    messages, offsets = chunk.messages, ["now"]
    assert [message.seq for message in messages] == list(range(len(messages)))
    assert messages[0].type == "start"
    assert chunk.up_to_date
    assert chunk.closed == run.state.terminal
    assert str(chunk.next) == str(detail.next_offset)
    offsets += [f"{item.slot:016d}_{item.count // 2:05d}" for item in items[-2:]]
    for offset in offsets:
        rest = runtime.streams.read(runtime.streams.open(run.namespace, run.id, offset))
        assert rest.messages == messages[len(messages) - len(rest.messages) :]
        start = len(messages) if offset == "now" else int(offset[:16]) + int(offset[17:])
        assert [message.seq for message in rest.messages] == list(range(start, len(messages)))


def check_quiet(world: World) -> None:
    """Once everything is long past: every watched run has settled, no past life is left, nothing is due."""
    found = facts(world)
    now = world.clock.now()
    assert not found.purges
    for run in found.runs.values():
        assert run.due_at is None or run.due_at > now, run
        assert not run.settlement.marked, f"still owed, unresolved or waiting: {run}"
    for each in (apart for some in found.apart.values() for apart in some):
        assert not each.settlement.marked, f"still owed, unresolved or waiting: {each}"
    awaiting.check_nobody_forgotten(world, found)
    handed.check_all_handed(world, found)
    windows.check_all_fired(found.others)
    for run_id, alias in found.aliases.items():
        target = found.runs.get(alias.run_id)
        assert target is not None, f"alias {run_id} leads nowhere"


def gone(container: Container, namespace: str, run_id: str) -> bool:
    """Whether nothing is there for any reader."""
    try:
        container.runtime.runs.get(namespace, run_id)
    except NotFound:
        return True
    return False


def entries_of(found: Facts, run: Run) -> list[Entry]:
    """What was said in this life of a run, without an entry 0 that its row holds."""
    return [entry for item in found.logs.get((run.id, run.birth), []) for entry in unpack(item.body)]
