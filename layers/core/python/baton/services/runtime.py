"""What a container's handlers work with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from baton.services.catalog import Catalog
from baton.services.context import Context
from baton.services.details import Details
from baton.services.lookup import Lookup
from baton.services.made_once import MadeOnce

if TYPE_CHECKING:
    from baton.services.announcing import Announcer
    from baton.services.appends import Appends
    from baton.services.audit import Audit
    from baton.services.changes import Changes
    from baton.services.claims import Claims
    from baton.services.coalescing import Coalescer
    from baton.services.control import Control
    from baton.services.delivering import Deliverer
    from baton.services.endings import Endings
    from baton.services.events import Events
    from baton.services.finishes import Finishes
    from baton.services.heal import Heal
    from baton.services.leases import Leases
    from baton.services.limiting import Limiter
    from baton.services.performing import Performer
    from baton.services.publishing import Publisher
    from baton.services.pushing import Pusher
    from baton.services.republish import Republisher
    from baton.services.retention import Retention
    from baton.services.runs import Runs
    from baton.services.starts import Starts
    from baton.services.stats import Statistics
    from baton.services.streams import Streams
    from baton.services.surroundings import Views
    from baton.services.sweep import Sweep
    from baton.services.tokens import Tokens
    from baton.services.waits import Waits
    from baton.services.workers import Workers
    from baton.services.workflows import Workflows


class Runtime:
    """One container: settings, clock, connection, services. ``baton.bootstrap`` builds it.

    Each service is imported and made when it is first asked for, so that a container pays for what its
    function does and not for all that Baton does. A handler asks for its own while it is imported.
    """

    def __init__(self, context: Context) -> None:
        self.settings = context.settings
        self.clock = context.clock
        self.dynamo = context.dynamo
        self.catalog = Catalog(context)
        self._context = context
        self._lookup = Lookup(context)
        self._details = Details(context, self._lookup)

    @property
    def signing_keys(self) -> tuple[bytes, ...]:
        """What signs and verifies, the newest last."""
        return self._context.signing_keys

    def workflow_of(self, namespace: str, run_id: str) -> str:
        """The workflow of a run. Raises NotFound."""
        return self._lookup.run(namespace, run_id).workflow

    @MadeOnce
    def limiter(self) -> Limiter:
        """Where requests are counted."""
        from baton.services.limiting import Limiter

        return Limiter(self._context)

    @MadeOnce
    def audit(self) -> Audit:
        """Where it is kept and told who did what."""
        from baton.services.audit import Audit

        return Audit(self._context)

    @MadeOnce
    def starts(self) -> Starts:
        """Where runs begin."""
        from baton.services.starts import Starts

        return Starts(self._context, self._lookup, self._details, self.catalog)

    @MadeOnce
    def appends(self) -> Appends:
        """Where logs grow."""
        from baton.services.appends import Appends

        return Appends(self._context, self._lookup)

    @MadeOnce
    def streams(self) -> Streams:
        """Where logs are read."""
        from baton.services.streams import Streams

        return Streams(self._context, self._lookup)

    @MadeOnce
    def finishes(self) -> Finishes:
        """Where runs are settled by whoever drives them."""
        from baton.services.finishes import Finishes

        return Finishes(self._context, self._lookup, self._performer, self._details)

    @MadeOnce
    def control(self) -> Control:
        """Where runs are cancelled and resumed."""
        from baton.services.control import Control

        return Control(self._context, self._lookup, self._performer, self._details)

    @MadeOnce
    def runs(self) -> Runs:
        """Where runs are listed, awaited and deleted."""
        from baton.services.runs import Runs

        return Runs(self._context, self._lookup, self._performer, self._details)

    @MadeOnce
    def views(self) -> Views:
        """Where a run is seen with all around it."""
        from baton.services.surroundings import Views

        return Views(self._context, self._lookup, self._details, self.catalog)

    @MadeOnce
    def waits(self) -> Waits:
        """Where runs are suspended and woken."""
        from baton.services.waits import Waits

        return Waits(self._context, self._lookup, self._performer, self._details)

    @MadeOnce
    def claims(self) -> Claims:
        """Where runs are claimed."""
        from baton.services.claims import Claims

        return Claims(self._context, self._lookup, self._performer, self._details)

    @MadeOnce
    def leases(self) -> Leases:
        """Where runs are held and given up."""
        from baton.services.leases import Leases

        return Leases(self._context, self._lookup, self._performer, self._details, self.catalog)

    @MadeOnce
    def workers(self) -> Workers:
        """Where workers are heard and seen."""
        from baton.services.workers import Workers

        return Workers(self._context, self.catalog)

    @MadeOnce
    def tokens(self) -> Tokens:
        """Where tokens are made, revoked, and proven."""
        from baton.services.tokens import Tokens

        return Tokens(self._context)

    @MadeOnce
    def workflows(self) -> Workflows:
        """Where the catalog is changed and shown."""
        from baton.services.workflows import Workflows

        return Workflows(self._context, self.catalog)

    @MadeOnce
    def statistics(self) -> Statistics:
        """Where what is owed is counted."""
        from baton.services.stats import Statistics

        return Statistics(self._context, self.catalog)

    @MadeOnce
    def events(self) -> Events:
        """Where custom events are published."""
        from baton.services.events import Events

        return Events(self._context, self.catalog, self._deliverer, self.waits)

    @MadeOnce
    def coalescer(self) -> Coalescer:
        """Where windows open, fill and fire."""
        from baton.services.coalescing import Coalescer

        return Coalescer(self._context)

    @MadeOnce
    def announcer(self) -> Announcer:
        """Where lifecycle events are made."""
        from baton.services.announcing import Announcer

        return Announcer(self._context.bus)

    @MadeOnce
    def publisher(self) -> Publisher:
        """Where endings are delivered."""
        from baton.services.publishing import Publisher

        return Publisher(
            self._context, self.catalog, self._details, self._deliverer, self.announcer, self.waits
        )

    @MadeOnce
    def pusher(self) -> Pusher:
        """Where targets are told of runs."""
        from baton.services.permitting import Permits
        from baton.services.pushing import Pusher

        return Pusher(self._context, self.catalog, self._performer, Permits(self._context))

    @MadeOnce
    def republisher(self) -> Republisher:
        """Where endings are delivered again."""
        from baton.services.rehearsing import rehearsing
        from baton.services.republish import Republisher

        rehearsal = rehearsing(self._context, self.catalog, self._details)
        return Republisher(self._context, self.catalog, self._endings, self.publisher, rehearsal, self.audit)

    @MadeOnce
    def changes(self) -> Changes:
        """What follows from a change of the runs table."""
        from baton.services.changes import Changes

        return Changes(self.publisher, self.pusher, self.announcer, self._retention)

    @MadeOnce
    def sweep(self) -> Sweep:
        """What nobody did in time."""
        from baton.services.sweep import Sweep

        return Sweep(
            self._context,
            catalog=self.catalog,
            performer=self._performer,
            publisher=self.publisher,
            pusher=self.pusher,
            coalescer=self.coalescer,
            waits=self.waits,
            events=self.events,
            retention=self._retention,
        )

    @MadeOnce
    def heal(self) -> Heal:
        """What no marker ever named."""
        from baton.services.heal import Heal

        return Heal(self._context, self.catalog, self._endings, self.publisher)

    @MadeOnce
    def _performer(self) -> Performer:
        from baton.services.performing import Performer

        return Performer(self._context, self._lookup, self.catalog)

    @MadeOnce
    def _deliverer(self) -> Deliverer:
        from baton.services.delivering import Deliverer

        return Deliverer(self._context, self.catalog, self.coalescer)

    @MadeOnce
    def _endings(self) -> Endings:
        from baton.services.endings import Endings

        return Endings(self._context)

    @MadeOnce
    def _retention(self) -> Retention:
        from baton.services.retention import Retention

        return Retention(self._context)
