"""The same house and handlers that the functions' tests have."""

from tests.functions.conftest import api, dynamodb, house, nothing_sent_is_logged, quiet_metrics

__all__ = ["api", "dynamodb", "house", "nothing_sent_is_logged", "quiet_metrics"]
