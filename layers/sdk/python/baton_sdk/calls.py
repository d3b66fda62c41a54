"""How a call of the contract is made: paths, query, JSON body in, JSON object out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import quote

import httpx

from baton_sdk import payload
from baton_sdk.errors import BadAnswer, InvalidRequest
from baton_sdk.retry import Listener, RetryPolicy
from baton_sdk.transport import JSON_TYPE, Request, Transport, body


class Calls:
    """What every group of calls stands on."""

    _transport: Transport
    _patient: RetryPolicy

    def _get(
        self, path: str, *, params: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None
    ) -> httpx.Response:
        request = Request(
            method="GET", path=path, params=params or {}, headers=headers or {}, repeatable=True
        )
        return self._transport.send(request)

    def _post(
        self,
        path: str,
        fields: Mapping[str, Any],
        *,
        repeatable: bool,
        headers: Mapping[str, str] | None = None,
        retry: RetryPolicy | None = None,
        listener: Listener | None = None,
        read_timeout: float | None = None,
    ) -> httpx.Response:
        request = Request(
            method="POST",
            path=path,
            headers={"content-type": JSON_TYPE, **(headers or {})},
            content=body(fields),
            repeatable=repeatable,
            read_timeout=read_timeout,
        )
        return self._transport.send(request, retry=retry, listener=listener)

    def _put(self, path: str, fields: Mapping[str, Any]) -> httpx.Response:
        headers = {"content-type": JSON_TYPE}
        request = Request(method="PUT", path=path, headers=headers, content=body(fields), repeatable=True)
        return self._transport.send(request)

    def _delete(self, path: str) -> None:
        # Not repeated: the second one would be told that there is nothing, as if there never had been.
        self._transport.send(Request(method="DELETE", path=path, repeatable=False))

    def _pages(self, path: str, params: Mapping[str, Any], items: str) -> Iterator[Any]:
        """The ``items`` of every page. A page may be empty: only a missing token is the end."""
        asked = present(params)
        while True:
            document = json_object(self._get(path, params=asked))
            yield from document.get(items) or ()
            token = document.get("next_token")
            if not token:
                return
            asked["next_token"] = token


def path_of(collection: str, name: str, what: str) -> str:
    """The path of ``what`` in its collection. Raises InvalidRequest for a name that would lead elsewhere."""
    if name in {"", ".", ".."}:
        raise InvalidRequest(f"{name!r} is not {what}")
    return f"/v1/{collection}/{quote(name, safe='')}"


def run_path(run_id: str) -> str:
    """The path of a run. Raises InvalidRequest."""
    return path_of("runs", run_id, "a run id")


def stream_path(run_id: str) -> str:
    """The path of a run's log."""
    return f"{run_path(run_id)}/stream"


def present(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that were given."""
    return {name: value for name, value in values.items() if value is not None}


def rfc3339(value: datetime | str | None) -> str | None:
    """A time as the contract writes it; text is taken as it is."""
    return value.isoformat() if isinstance(value, datetime) else value


def json_object(response: httpx.Response) -> Mapping[str, Any]:
    """The answer's body. Raises BadAnswer if it is anything but a JSON object."""
    document = payload.decode(response.content)
    if not isinstance(document, dict):
        raise BadAnswer("the server's answer is not a JSON object", status=response.status_code)
    return document
