"""A signal that a waiting thread's system call does not see: it is noticed all the same."""

from __future__ import annotations

import signal
import threading

import pytest

from baton_sdk import Fault
from baton_sdk.outbox import Entry, Limits, Outbox

GUARD_SECONDS = 10


class Interrupted(Exception):
    pass


@pytest.fixture
def interrupting():
    def interrupt(*_):
        raise Interrupted

    before = signal.signal(signal.SIGUSR1, interrupt)
    yield
    signal.signal(signal.SIGUSR1, before)


class Interrupter:
    """Sends the signal to a thread of its own while the main one waits, which no system call of that notices;
    ends the wait when nobody has noticed for long."""

    def __init__(self, outbox):
        self._outbox = outbox
        self.noticed = threading.Event()
        self.unnoticed = False
        self.thread = threading.Thread(target=self._send)

    def _send(self):
        with self._outbox._changed:  # free only while the main thread waits
            signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
        if not self.noticed.wait(GUARD_SECONDS):
            self.unnoticed = True
            self._outbox.fail(Fault("nobody noticed"))


@pytest.mark.parametrize("wait", [Outbox.flush, lambda outbox: outbox.put(Entry(b"2", 1))])
def test_a_signal_that_no_system_call_saw_ends_the_wait(wait, interrupting):
    outbox = Outbox(Limits(max_buffer_events=1))
    outbox.put(Entry(b"1", 1))
    interrupter = Interrupter(outbox)
    with outbox._changed:  # so that it waits for us to wait
        interrupter.thread.start()
        with pytest.raises(Interrupted):
            wait(outbox)
    interrupter.noticed.set()
    interrupter.thread.join()
    assert not interrupter.unnoticed
