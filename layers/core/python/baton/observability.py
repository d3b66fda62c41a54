"""One logger and one metrics buffer for the service. Payloads and secrets are never handed to either."""

from __future__ import annotations

from aws_lambda_powertools import Logger, Metrics

logger = Logger(service="baton")
metrics = Metrics(namespace="Baton", service="baton")
