"""What a function takes beside something bare that is measured with it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class BesideBare:
    """One function's: milliseconds in the middle, and the middle of the ratios, pair by pair."""

    function: str
    wall_ms: float
    cpu_ms: float
    ratio: float
    limit: float | None

    @property
    def verdict(self) -> str:
        """``ok``, ``over`` or, where there is no limit, nothing."""
        if self.limit is None:
            return ""
        return "ok" if self.ratio <= self.limit else "over"
