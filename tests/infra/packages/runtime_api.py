"""Lambda's Runtime API for one container: hands it events, and takes what it makes of them.

Source: "Using the Lambda runtime API for custom runtimes", Lambda's developer guide.
"""

from __future__ import annotations

import json
import queue
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any, NamedTuple

TRACE = "Root=1-67e5a3c0-2a9f4a1b6c8d7e9f01234567;Parent=53995c3f42cd8ad8;Sampled=0"
ARN = "arn:aws:lambda:eu-central-1:000000000000:function:"


class Answer(NamedTuple):
    """What a container made of an event; if it ``failed``, its report of that. ``at`` is by
    `time.perf_counter`."""

    result: Any
    failed: bool
    at: float


class RuntimeApi:
    """Events in, answers out, one at a time as Lambda does."""

    def __init__(self, port: int, name: str, timeout_seconds: float) -> None:
        self.address = f"127.0.0.1:{port}"
        self.arn = ARN + name
        self.timeout_seconds = timeout_seconds
        self.events: queue.Queue[tuple[str, bytes] | None] = queue.Queue()
        self.answers: queue.Queue[Answer] = queue.Queue()
        self._numbers = count(1)

    def invoke(self, event: Any) -> None:
        """Have the container called with ``event``."""
        number = next(self._numbers)
        self.events.put((f"00000000-0000-0000-0000-{number:012}", json.dumps(event).encode()))


@contextmanager
def serving(name: str, timeout_seconds: float) -> Iterator[RuntimeApi]:
    """The API for a container of the function ``name``, on a free port, until the block ends."""
    server = _Server(name, timeout_seconds)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server.api
    finally:
        server.api.events.put(None)
        server.shutdown()
        thread.join()
        server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, name: str, timeout_seconds: float) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.api = RuntimeApi(self.server_port, name, timeout_seconds)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # a container was killed, as always in the end
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        assert self.path == "/2018-06-01/runtime/invocation/next", self.path
        given = self.server.api.events.get()
        if given is None:  # nobody asks any more: the container has been stopped
            self.close_connection = True
            return
        request_id, event = given
        deadline = time.time() + self.server.api.timeout_seconds  # noqa: TID251 - the container's clock
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(event)))
        self.send_header("Lambda-Runtime-Aws-Request-Id", request_id)
        self.send_header("Lambda-Runtime-Deadline-Ms", str(round(deadline * 1000)))
        self.send_header("Lambda-Runtime-Invoked-Function-Arn", self.server.api.arn)
        self.send_header("Lambda-Runtime-Trace-Id", TRACE)
        self.end_headers()
        self.wfile.write(event)

    def do_POST(self) -> None:
        arrived = time.perf_counter()
        said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.api.answers.put(Answer(said, not self.path.endswith("/response"), arrived))
        body = b'{"status":"OK"}'
        self.send_response(HTTPStatus.ACCEPTED)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass
