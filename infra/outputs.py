"""What a deployment tells of itself, by name, as data: who deploys writes it, who examines it reads it."""

DEFAULT_STACK = "baton-dev-service"
"""The stack of the stage that is deployed when none is named."""

API_URL = "ApiUrl"
"""Where the service is."""
PARKED_QUEUE_URL = "ParkedQueueUrl"
"""Where what kept failing is put aside."""
