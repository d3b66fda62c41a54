"""The stack's own measures are nobody's here."""

from tests.functions.conftest import quiet_metrics

__all__ = ["quiet_metrics"]
