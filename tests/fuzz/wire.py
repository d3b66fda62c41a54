"""Requests as bytes: no client library tidies them up on their way."""

from __future__ import annotations

import socket
from contextlib import closing

import httpx

PATIENCE = 20.0


def address(http: httpx.Client) -> tuple[str, int]:
    """Where the stack listens."""
    url = http.base_url
    assert url.port is not None
    return url.host, url.port


def connect(http: httpx.Client) -> socket.socket:
    """A bare connection to the stack."""
    return socket.create_connection(address(http), timeout=PATIENCE)


def exchange(http: httpx.Client, sent: bytes) -> bytes:
    """All that comes back for ``sent`` until the server closes the connection."""
    with closing(connect(http)) as wire:
        wire.sendall(sent)
        said = bytearray()
        while chunk := wire.recv(65536):
            said += chunk
        return bytes(said)


def raw(
    http: httpx.Client, method: str, path: str, body: bytes, **headers: str
) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of one request whose path goes out as it stands."""
    host, port = address(http)
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}:{port}", "Connection: close"]
    if method == "POST" or body:
        lines.append(f"Content-Length: {len(body)}")
    if body:
        lines.append("Content-Type: application/json")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return parsed(exchange(http, "\r\n".join((*lines, "", "")).encode("latin-1") + body))


def parsed(said: bytes) -> tuple[int, dict[str, str], bytes]:
    """One answer apart; its body as it came, chunks and all."""
    head, _, body = said.partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    pairs = [line.split(": ", 1) for line in lines]
    return int(status.split()[1]), {name.lower(): value for name, value in pairs}, body
