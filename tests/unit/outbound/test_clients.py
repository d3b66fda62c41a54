"""A service that can't be reached holds nobody up: it is left alone for a while, and then tried again."""

from types import SimpleNamespace

import pytest

from baton.outbound.clients import QUIET_MS, LazyClient, Line
from tests.unit.manual_clock import ManualClock


class Service:
    """A service that fails while a test says so."""

    def __init__(self):
        self.asked = 0
        self.down = False

    def ask(self, **request):
        self.asked += 1
        if self.down:
            raise ConnectionError("down")
        return request


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def service():
    return Service()


@pytest.fixture
def line(service, clock):
    return Line(lambda: service, clock)


def test_an_answer_is_passed_on(line):
    assert line.call("ask", question=1) == {"question": 1}


def test_while_it_is_left_alone_nobody_waits_for_it(line, service, clock):
    service.down = True
    assert [line.call("ask") for _ in range(5)] == [None] * 5
    assert service.asked == 1
    clock.advance(QUIET_MS / 1000 - 0.001)
    assert line.call("ask") is None
    assert service.asked == 1


def test_after_a_while_it_is_tried_again(line, service, clock):
    service.down = True
    line.call("ask")
    clock.advance(QUIET_MS / 1000)
    assert line.call("ask") is None
    assert service.asked == 2
    service.down = False
    clock.advance(QUIET_MS / 1000)
    assert line.call("ask") == {}


def test_a_clock_that_is_set_back_leaves_it_alone_no_longer(line, service, clock):
    service.down = True
    line.call("ask")
    service.down = False
    clock.set_back(3600)
    assert line.call("ask") == {}


def test_a_client_that_can_not_even_be_made_fails_as_quietly(clock):
    def unmakable():
        raise ValueError("Invalid endpoint")

    assert Line(unmakable, clock).call("ask") is None


def test_a_client_is_made_once_and_only_when_it_is_needed(monkeypatch):
    made = []

    def make(lazy):
        made.append(lazy)
        return SimpleNamespace()

    monkeypatch.setattr(LazyClient, "_made", make)
    lazy = LazyClient("events", region="eu-central-1")
    assert made == []
    assert lazy() is lazy()
    assert made == [lazy]
