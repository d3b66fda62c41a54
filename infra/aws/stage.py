"""The stages Baton is deployed as, and what losing one would mean."""

from __future__ import annotations

from dataclasses import dataclass

DEVELOPMENT = "dev"


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One deployment. Only that of a developer may be thrown away with what it holds."""

    name: str

    @property
    def protected(self) -> bool:
        """Whether its tables outlive the stack and refuse to be deleted."""
        return self.name != DEVELOPMENT
