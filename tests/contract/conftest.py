"""The same house and handlers that the functions' tests have."""

from tests.functions.conftest import api, dynamodb, house, quiet_metrics

__all__ = ["api", "dynamodb", "house", "quiet_metrics"]
