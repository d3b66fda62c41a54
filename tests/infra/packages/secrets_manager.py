"""AWS Secrets Manager with one secret, for containers that are told its address."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ADDRESS = "AWS_ENDPOINT_URL_SECRETS_MANAGER"
"""Tells botocore where the service is. Source: "Service-specific endpoints", AWS SDKs and Tools guide."""


@contextmanager
def keeping(arn: str, text: str) -> Iterator[str]:
    """Serve the secret under a URL, until the block ends; of another it says that there is none."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found = self.headers["X-Amz-Target"] == "secretsmanager.GetSecretValue" and asked == {
                "SecretId": arn
            }
            answer = {"ARN": arn, "SecretString": text} if found else {"__type": "ResourceNotFoundException"}
            body = json.dumps(answer).encode()
            self.send_response(200 if found else 400)
            self.send_header("Content-Type", "application/x-amz-json-1.1")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
