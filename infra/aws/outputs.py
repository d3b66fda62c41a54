"""What a deployed stack says of itself: the keys of its outputs, named once for who writes them and who reads
them."""

API_URL = "ApiUrl"
"""Where the service is, without a slash at the end."""
RUNS_TABLE = "RunsTable"
LOG_TABLE = "LogTable"
CATALOG_TABLE = "CatalogTable"
PARKED_QUEUE_URL = "ParkedQueueUrl"
"""Where what kept failing is put aside."""
TIMERS_QUEUE_URL = "TimersQueueUrl"
EVENT_BUS = "EventBus"
DASHBOARD = "Dashboard"

OUTPUTS = (
    API_URL,
    RUNS_TABLE,
    LOG_TABLE,
    CATALOG_TABLE,
    PARKED_QUEUE_URL,
    TIMERS_QUEUE_URL,
    EVENT_BUS,
    DASHBOARD,
)
