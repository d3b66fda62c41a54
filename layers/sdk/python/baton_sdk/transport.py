"""The one seam to HTTP: builds requests, turns failures into errors, and repeats what is safe to repeat."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from baton_sdk import payload
from baton_sdk.errors import BadAnswer, BatonError, InvalidRequest, TooManyRequests, TryAgain, Unreachable
from baton_sdk.problems import error_from
from baton_sdk.retry import Listener, RetryPolicy

DEFAULT_URL = "http://127.0.0.1:4437"
JSON_TYPE = "application/json"
USER_AGENT = "baton-sdk/0.1"

# The request was never handed over: a repeat can't be a second one.
_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)
_NOT_OURS_TO_REPEAT = (httpx.UnsupportedProtocol, httpx.LocalProtocolError)


@dataclass(frozen=True, kw_only=True)
class Request:
    """One call. ``repeatable``: the same bytes may be sent again after an unknown outcome."""

    method: str
    path: str
    repeatable: bool
    params: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None
    read_timeout: float | None = None


@dataclass(frozen=True, kw_only=True)
class Address:
    """Where the service is and who asks: arguments first, then the environment, then the laptop's
    defaults."""

    url: str
    token: str | None = field(repr=False)
    namespace: str | None

    @classmethod
    def resolve(cls, url: str | None, token: str | None, namespace: str | None) -> Address:
        """Fill what was not given from ``BATON_URL``, ``BATON_TOKEN``, ``BATON_NAMESPACE``. Raises
        InvalidRequest."""
        where = url or os.environ.get("BATON_URL") or DEFAULT_URL
        parsed = _parsed(where)
        if parsed is None or parsed.scheme not in {"http", "https"} or not parsed.host:
            raise InvalidRequest(f"{where!r} is not the URL of a service: write it like {DEFAULT_URL}")
        return cls(
            url=where.rstrip("/"),
            token=_sayable((token or os.environ.get("BATON_TOKEN") or "").strip()),
            namespace=namespace or os.environ.get("BATON_NAMESPACE") or None,
        )

    def headers(self) -> dict[str, str]:
        """What every request carries."""
        found = {"user-agent": USER_AGENT}
        if self.token:
            found["authorization"] = f"Bearer {self.token}"
        if self.namespace:
            found["baton-namespace"] = self.namespace
        return found


class Transport:
    """An httpx client with the contract's errors and a retry policy. Safe to share between threads."""

    def __init__(
        self,
        address: Address,
        *,
        timeout: float,
        retry: RetryPolicy,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.address = address
        self.retry = retry
        self._timeout = timeout
        try:
            self._http = httpx.Client(
                base_url=address.url,
                headers=address.headers(),
                timeout=httpx.Timeout(timeout, connect=min(timeout, 5.0)),
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
                transport=transport,
            )
        except UnicodeEncodeError as exc:
            raise InvalidRequest("the namespace goes into an HTTP header: plain ASCII only") from exc

    def close(self) -> None:
        """Close every connection."""
        self._http.close()

    def send(
        self,
        request: Request,
        *,
        retry: RetryPolicy | None = None,
        listener: Listener | None = None,
        stop: threading.Event | None = None,
    ) -> httpx.Response:
        """The answer of a request that was not refused. Raises BatonError when the retries are used up."""
        retrying = (retry or self.retry).retrying(
            lambda error: worth_repeating(error, repeatable=request.repeatable), listener=listener, stop=stop
        )
        response: httpx.Response = retrying(self.send_once, request)
        return response

    def send_once(self, request: Request) -> httpx.Response:
        """One try."""
        with self.stream(request) as response:
            with reading(self.address.url):
                response.read()
            return response

    @contextmanager
    def stream(self, request: Request) -> Iterator[httpx.Response]:
        """One try whose body is read by the caller, inside the context. Refusals are raised already."""
        if self._http.is_closed:
            raise InvalidRequest("this client has been closed")
        built = self._http.build_request(
            request.method,
            request.path,
            params=dict(request.params) or None,
            headers=dict(request.headers),
            content=request.content,
            timeout=self._timeouts(request),
        )
        with reading(self.address.url):
            response = self._http.send(built, stream=True)
        try:
            if response.is_error:
                with reading(self.address.url):
                    response.read()
                raise error_from(response, token_sent=self.address.token is not None)
            if not (response.is_success or response.status_code == httpx.codes.NOT_MODIFIED):
                raise BadAnswer(
                    f"the service at {self.address.url} answered {response.status_code}: is the URL right?",
                    status=response.status_code,
                )
            yield response
        finally:
            response.close()

    def _timeouts(self, request: Request) -> httpx.Timeout:
        read = request.read_timeout if request.read_timeout is not None else self._timeout
        return httpx.Timeout(self._timeout, connect=min(self._timeout, 5.0), read=read)


def body(fields: Mapping[str, Any]) -> bytes:
    """A request's body: the fields that were given. Raises InvalidRequest for what JSON can't say."""
    return payload.encode(
        {name: value for name, value in fields.items() if value is not None}, what="request"
    )


def worth_repeating(error: BaseException, *, repeatable: bool) -> bool:
    """Whether sending the same request again can help and can't harm."""
    if isinstance(error, Unreachable):
        return repeatable or not error.maybe_sent
    if isinstance(error, TooManyRequests):
        return True  # it was turned away at the door: nothing was done
    return repeatable and isinstance(error, TryAgain)


def _sayable(token: str) -> str | None:
    # Refused here, where what is wrong is said without it: of what fits no header httpx shows all.
    if not (token.isascii() and token.isprintable()):
        raise InvalidRequest("the token goes into an HTTP header: plain ASCII on one line only")
    return token or None


def _parsed(url: str) -> httpx.URL | None:
    try:
        return httpx.URL(url)
    except httpx.InvalidURL:
        return None


@contextmanager
def reading(url: str) -> Iterator[None]:
    """Around anything that touches the network: httpx's failures come out as BatonErrors."""
    try:
        yield
    except BatonError:
        raise
    except _NOT_OURS_TO_REPEAT as exc:
        raise InvalidRequest(f"this request can't be sent: {exc}") from exc
    except httpx.TransportError as exc:
        raise unreachable(url, exc) from exc
    except httpx.HTTPError as exc:
        raise BadAnswer(f"the answer of {url} could not be read: {exc}") from exc


def unreachable(url: str, exc: httpx.TransportError) -> Unreachable:
    """What a failed connection is to the caller."""
    return Unreachable(
        f"no answer from {url}: {str(exc) or type(exc).__name__}",
        maybe_sent=not isinstance(exc, _NEVER_SENT),
        silent=isinstance(exc, httpx.ReadTimeout),
    )
