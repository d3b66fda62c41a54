"""A network that can be cut: forwards TCP to the stack, drops what is under way and refuses while it is
down."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import urlsplit


class Wire:
    def __init__(self, url):
        parts = urlsplit(url)
        self._target = (parts.hostname, parts.port)
        self._port = _free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self.before: Callable[[bytes], object] = lambda data: None
        """Told of what is about to be sent to the stack."""
        self._lock = threading.Lock()
        self._listener: socket.socket | None = None
        self._open: set[socket.socket] = set()

    def __enter__(self):
        self.up()
        return self

    def __exit__(self, *_):
        self.cut()

    def up(self):
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self._port))
        listener.listen(64)
        with self._lock:
            self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def cut(self):
        """Every connection breaks, with whatever it carried; new ones are refused."""
        with self._lock:
            gone, self._open = self._open, set()
            if self._listener is not None:
                gone.add(self._listener)
            self._listener = None
        for each in gone:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self, listener):
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(self._target)
            except OSError:
                near.close()
                continue
            with self._lock:
                alive = self._listener is listener
                if alive:
                    self._open |= {near, far}
            if not alive:
                near.close()
                far.close()
                return
            for ends in ((near, far, self.before), (far, near, lambda data: None)):
                threading.Thread(target=self._carry, args=ends, daemon=True).start()

    def _carry(self, source, target, before):
        try:
            while data := source.recv(65536):
                before(data)
                target.sendall(data)
        except OSError:
            pass
        with suppress(OSError):
            target.shutdown(socket.SHUT_WR)


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
