"""Which targets a namespace may push to: those that carry its tag, and those that the deployment lists."""

from __future__ import annotations

from typing import NamedTuple

from baton.bounded import Bounded
from baton.domain.catalog import Target
from baton.domain.clock import Millis, recent
from baton.domain.pushing import Never, NotNow
from baton.domain.targets import TAG, batons_own, is_batons, is_listed, not_allowed, resource
from baton.services.context import Context

ALLOWED_MS = 300_000
"""How long a look at a target's tags serves that showed the right one."""

REFUSED_MS = 5_000
"""How long one serves that did not: who has set it right and resumes a run must not be told the past."""

MAX_REMEMBERED = 10_000


class _Look(NamedTuple):
    at: Millis
    allowed: bool

    def lasts(self, now: Millis) -> bool:
        return recent(self.at, now, ALLOWED_MS if self.allowed else REFUSED_MS)


class Permits:
    """What each namespace may push to, as far as this container has looked."""

    def __init__(self, context: Context) -> None:
        settings = context.settings
        self._context = context
        self._own = {
            named.replace("/", ":").rpartition(":")[2]
            for named in (settings.timers_queue_url, settings.events_bus)
            if named
        }
        self._looks = Bounded[tuple[str, str], _Look](MAX_REMEMBERED)

    def refusal(self, namespace: str, target: Target) -> NotNow | Never | None:
        """Why ``namespace`` may not push to ``target``, or why that can't be told now; None: it may."""
        settings, found = self._context.settings, resource(target)
        if is_batons(found, settings.own_prefix, self._own):
            return Never(batons_own(target))
        if is_listed(target, settings.targets_allowed):
            return None
        now, place = self._context.clock.now(), (namespace, found.arn)
        look = self._looks.get(place)
        if look is None or not look.lasts(now):
            tags = self._context.targets.tags(target)
            if isinstance(tags, NotNow):
                return tags
            self._looks[place] = look = _Look(now, tags.get(TAG) == namespace)
        return None if look.allowed else Never(not_allowed(target, namespace))
