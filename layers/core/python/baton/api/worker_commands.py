"""From workers' requests to what services are asked for."""

from __future__ import annotations

from baton.api import shapes, worker_models
from baton.api.catalog_commands import subscriptions
from baton.api.commands import key_digest, present
from baton.api.request import Request
from baton.config import Settings
from baton.domain.leasing import Claim, Release, Renew
from baton.domain.payload import canonical, check_size, digest
from baton.domain.workers import Heartbeat, Served
from baton.errors import InvalidRequest
from baton.services.claims import Wanted


def claims(request: Request, settings: Settings) -> Wanted:
    """POST /v1/claims. Raises InvalidRequest, UnsupportedMediaType."""
    sent = request.json()
    body = shapes.convert(shapes.numbers(sent), worker_models.ClaimRuns)
    return Wanted(
        namespace=request.namespace,
        workflows=tuple(dict.fromkeys(body.workflows)),
        claim=Claim(
            worker_id=body.worker_id,
            lease_seconds=_lease(body.lease_seconds, settings) or settings.lease_seconds,
            key=key_digest(request),
            body=digest(canonical(sent)),
        ),
        most=body.max or 1,
        wait_seconds=request.seconds(body.wait_seconds or 0),
    )


def claim(request: Request, settings: Settings) -> Claim:
    """POST /v1/runs/{id}/claim. Raises InvalidRequest, UnsupportedMediaType."""
    sent = request.json()
    body = shapes.convert(shapes.numbers(sent), worker_models.ClaimRun)
    return Claim(
        worker_id=body.worker_id,
        lease_seconds=_lease(body.lease_seconds, settings) or settings.lease_seconds,
        key=key_digest(request),
        body=digest(canonical(sent)),
    )


def renew(request: Request, settings: Settings) -> Renew:
    """POST /v1/runs/{id}/renew. Raises InvalidRequest, UnsupportedMediaType."""
    body = shapes.convert(shapes.numbers(request.json()), worker_models.RenewLease)
    return Renew(
        worker_id=body.worker_id,
        attempt=body.attempt,
        lease_seconds=_lease(body.lease_seconds, settings),
    )


def release(request: Request) -> Release:
    """POST /v1/runs/{id}/release. Raises InvalidRequest, UnsupportedMediaType, PayloadTooLarge."""
    sent = request.json()
    body = shapes.convert(shapes.numbers(sent), worker_models.ReleaseRun)
    error = None if body.error is None else present(sent["error"])
    if error is not None:
        check_size("error", len(canonical(error)))
    return Release(
        worker_id=body.worker_id, attempt=body.attempt, delay_seconds=body.delay_seconds, error=error
    )


def heartbeat(request: Request) -> Heartbeat:
    """PUT /v1/workers/{worker_id}. Raises InvalidRequest, UnsupportedMediaType."""
    body = shapes.convert(request.json(), worker_models.PutWorker)
    serves: dict[str, Served] = {}
    for at, each in enumerate(body.workflows):
        if each.name in serves:
            raise InvalidRequest.at(["body", "workflows", at, "name"], "named before: each workflow once")
        said = None if each.subscribes is None else subscriptions(each.subscribes)
        serves[each.name] = Served(each.name, said)
    return Heartbeat(
        namespace=request.namespace,
        worker_id=request.worker_id,
        runtime=body.runtime,
        serves=tuple(serves.values()),
    )


def _lease(seconds: float | None, settings: Settings) -> float | None:
    """A lease's length, within what the deployment takes. Raises InvalidRequest."""
    if seconds is not None and seconds < settings.least_lease_seconds:
        raise InvalidRequest.at(
            ["body", "lease_seconds"], f"must be at least {settings.least_lease_seconds:g}"
        )
    return seconds
