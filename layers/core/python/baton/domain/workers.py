"""Workers: what a heartbeat says, and what changes by it.

A worker says with each heartbeat which workflows it serves and what starts them. It is taken at its word
once: two that say different things of one workflow would else take it from each other every few seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from baton.domain.catalog import Announced, Subscription, Workflow
from baton.domain.clock import Millis
from baton.domain.payload import digest


class Served(msgspec.Struct, frozen=True):
    """A workflow that a worker serves. ``subscribes`` None: it has nothing to say about that."""

    name: str
    subscribes: tuple[Subscription, ...] | None = None


class Heartbeat(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A worker's word that it is alive, and what it serves: each workflow once."""

    namespace: str
    worker_id: str
    runtime: str | None = None
    serves: tuple[Served, ...]

    @cached_property
    def said(self) -> Mapping[str, str]:
        """What tells one word about a workflow from another, by its name."""
        return {each.name: digest(msgspec.json.encode(each)) for each in self.serves}

    @cached_property
    def digest(self) -> str:
        """What tells one announcement from another, in whatever order it names its workflows."""
        return digest(msgspec.json.encode(self.said, order="sorted"))


class Worker(msgspec.Struct, frozen=True, kw_only=True):
    """A worker that was heard.

    ``said`` is the word it was last taken at about each workflow it serves, ``digest`` that of them all, both
    as its heartbeat makes them. ``seen_at`` is when it was heard last, ``applied_at`` when what it announces
    was last seen to count. ``rev`` marks the last write but for mere heartbeats.
    """

    namespace: str
    id: str
    runtime: str | None
    said: Mapping[str, str]
    digest: str
    seen_at: Millis
    applied_at: Millis
    rev: str


class Lasting(NamedTuple):
    """For how many milliseconds what was announced counts at least after the last worker that serves the
    workflow was heard, and how often a worker that lives sees to that."""

    at_least: Millis
    renewed_every: Millis


def is_news(served: Served, heartbeat: Heartbeat, known: Worker | None) -> bool:
    """Whether the worker was not taken at this word before: it is ``known`` to have said something else of
    the workflow, or nothing."""
    return known is None or known.said.get(served.name) != heartbeat.said[served.name]


def announce(
    before: Workflow | None,
    namespace: str,
    served: Served,
    *,
    news: bool,
    lasting: Lasting,
    rev: str,
    now: Millis,
) -> Workflow | None:
    """The workflow once a worker was heard that serves it; ``before`` itself where nothing changes.

    What is ``news`` stands in the place of what any worker announced before; where nothing is said of
    subscriptions theirs stay. What is none only counts for longer, and where an operator has removed it, it
    stays removed. So that each of many workers need not write, it is made to count for longer than it must.
    """
    standing = _standing(before, now)
    if standing is None and not news:
        return before
    subscribes = None if standing is None else standing.subscribes
    if news and served.subscribes is not None:
        subscribes = served.subscribes
    needed = now + lasting.at_least + lasting.renewed_every
    if standing is not None and standing.subscribes == subscribes and standing.until >= needed:
        return before
    announced = Announced(needed + lasting.renewed_every, subscribes)
    if before is None:
        return Workflow(
            namespace=namespace,
            name=served.name,
            registered=False,
            announced=announced,
            created_at=now,
            updated_at=now,
            rev=rev,
        )
    same = standing is not None and standing.subscribes == subscribes
    return replace(before, announced=announced, updated_at=before.updated_at if same else now, rev=rev)


def _standing(workflow: Workflow | None, now: Millis) -> Announced | None:
    """What workers announced of it, while that counts."""
    counting = None if workflow is None else workflow.at(now)
    return None if counting is None else counting.announced
