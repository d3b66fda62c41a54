"""Starting runs: once, however often and from wherever the same start is sent."""

from __future__ import annotations

from typing import NamedTuple

from baton.domain.clock import millis
from baton.domain.log import Tail, pack
from baton.domain.names import id_from_key
from baton.domain.run import Run
from baton.domain.starting import FIRST_HEADER, Alias, Born, Start, bear, check_same_start
from baton.domain.states import State
from baton.errors import NotFound, RunExists, Unavailable
from baton.services.catalog import Catalog
from baton.services.context import Context
from baton.services.details import Details, RunDetail
from baton.services.lookup import Lookup
from baton.store.dynamo import Write
from baton.store.log import LogItem
from baton.store.rows import Purge
from baton.store.runs import Creation

ROUTE = "POST /v1/runs"
ROUNDS = 8


class Started(NamedTuple):
    """The run; whether this start made it; and the log's end, if it did."""

    detail: RunDetail
    started: bool
    tail: Tail | None


class Starts:
    """Where runs begin."""

    def __init__(self, context: Context, lookup: Lookup, details: Details, catalog: Catalog) -> None:
        self._context = context
        self._catalog = catalog
        self._lookup = lookup
        self._details = details

    def start(self, command: Start) -> Started:
        """Make the run, or find the one that the same key made.

        One round trip when nothing stands in the way and the catalog was read of late. Raises
        PayloadTooLarge, InvalidRequest, IdempotencyMismatch (the key came with another body), RunExists (the
        id is a live run's, made without this key) and Unavailable (the catalog can't be read).
        """
        key_id = None if command.key is None else id_from_key(command.namespace, ROUTE, command.key)
        born = self._bear(command, key_id)
        creation = Creation(
            run=born.run, alias_id=born.run.alias_id, first_item=first_item(self._context, born)
        )
        for round_ in range(ROUNDS):
            if self._create(creation):
                tail = born.tail
                if born.run.state is State.RUNNING:
                    self._lookup.remember(command.namespace, born.run.id, tail)
                return Started(self._details.after(born.run, tail, input_=command.input), True, tail)
            at_id, at_key = self._standing(command.namespace, born.run.id, key_id)
            existing = self._made_by_key(command.namespace, key_id, at_id, at_key)
            if existing is not None:
                check_same_start(existing, command)
                try:
                    return Started(self._details.load(command.namespace, existing.id), False, None)
                except NotFound:
                    continue  # deleted meanwhile: its key is free again
            if born.run.id != key_id and isinstance(at_id, Run) and self._lives(at_id):
                raise RunExists(f"run {at_id.id!r} exists", run=at_id)
            creation = replacing(self._context, creation, at_id, at_key if creation.alias_id else None)
            self._context.stand_back(round_)
        raise Unavailable("the id or key is taken and given up faster than it can be read")

    def _bear(self, command: Start, key_id: str | None) -> Born:
        context = self._context
        birth = context.birth()
        registered = self._catalog.snapshot(command.namespace).workflow(command.workflow)
        return bear(
            command,
            registered,
            run_id=command.run_id or key_id or birth,
            birth=birth,
            rev=context.nonce(),
            alias_id=key_id if command.run_id else None,
            now=context.clock.now(),
        )

    def _create(self, creation: Creation) -> bool:
        """Write the run, and beside it the workflow's name unless this container knows it to be kept: neither
        needs the other, and both are there before the start is acknowledged."""
        context, run = self._context, creation.run
        if context.catalog.noted(run.namespace, run.workflow):
            return context.runs.create(creation)
        made, _ = context.dynamo.together(
            lambda: context.runs.create(creation),
            lambda: context.catalog.note(run.namespace, run.workflow, run.created_at),
        )
        return made

    def _standing(
        self, namespace: str, run_id: str, key_id: str | None
    ) -> tuple[Run | Alias | None, Run | Alias | None]:
        """What stands at the run's id, and at the id of the key (the same one where the key makes the id)."""
        runs = self._context.runs
        if key_id is None or key_id == run_id:
            at_id = runs.get(namespace, run_id)
            return at_id, at_id if key_id else None
        return self._context.dynamo.together(
            lambda: runs.get(namespace, run_id), lambda: runs.get(namespace, key_id)
        )

    def _made_by_key(
        self, namespace: str, key_id: str | None, at_id: Run | Alias | None, at_key: Run | Alias | None
    ) -> Run | None:
        """The live run that the key made: itself, or the one its alias leads to, in the same life.

        The row is asked first, which names its alias: of two reads at once the alias may be the older one.
        """
        if key_id is not None and isinstance(at_id, Run) and at_id.alias_id == key_id and self._lives(at_id):
            return at_id
        if isinstance(at_key, Run):
            return at_key if self._lives(at_key) else None
        if at_key is None:
            return None
        target = self._context.runs.get(namespace, at_key.run_id)
        same_life = isinstance(target, Run) and target.birth == at_key.birth
        return target if isinstance(target, Run) and same_life and self._lives(target) else None

    def _lives(self, run: Run) -> bool:
        return not run.expired(self._context.clock.now())


def first_item(context: Context, born: Born) -> Write | None:
    """The put of log item 0, if the run needs one."""
    run = born.run
    if not born.first:
        return None
    header = FIRST_HEADER
    for said in born.first:
        header = header.following(said.type, run.attempt)
    item = LogItem(
        birth=run.birth,
        slot=0,
        count=len(born.first),
        header=header,
        ts=run.created_at,
        nonce=run.rev,
        body=pack(list(born.first)),
    )
    return context.log.put(run.namespace, run.id, item)


def replacing(
    context: Context, creation: Creation, at_id: Run | Alias | None, at_key: Run | Alias | None = None
) -> Creation:
    """The creation that takes the place of what stands there and is over; past lives get their purges."""
    due_at = context.clock.now() + millis(context.settings.purge_delay_seconds)
    purges = tuple(
        Purge(
            namespace=old.namespace,
            run_id=old.id,
            birth=old.birth,
            rev=creation.run.rev,
            due_at=due_at,
            alias=old.alias_id,
        )
        for old in (at_id, at_key)
        if isinstance(old, Run)
    )
    return Creation(
        run=creation.run,
        alias_id=creation.alias_id,
        first_item=creation.first_item,
        over_row=at_id,
        over_alias=at_key,
        purges=purges,
    )
