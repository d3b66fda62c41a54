"""Scheduled functions tick, one call at a time, whatever becomes of a call."""

import queue
import threading
from types import SimpleNamespace

import pytest

from infra.local.scheduler import Scheduler
from infra.manifest import FUNCTIONS, function

SECONDS = 10
SWEEP = [function("sweep")]
CLOCK = SimpleNamespace(now=lambda: 1583348638390)


class Ticker:
    """Passes an interval when told to."""

    def __init__(self):
        self._told: queue.Queue[bool] = queue.Queue()
        self.waits: queue.Queue[float] = queue.Queue()

    def __call__(self, seconds):
        self.waits.put(seconds)
        return self._told.get(timeout=SECONDS)

    def pass_interval(self):
        self._told.put(False)

    def stop(self):
        self._told.put(True)


@pytest.fixture
def ticking():
    """ticking(call) -> Ticker: the sweep's schedule, calling `call`, in a test's hand."""
    running = []

    def start(call):
        ticker = Ticker()
        scheduler = Scheduler(SWEEP, call, clock=CLOCK, region="eu-central-1", wait=ticker)
        scheduler.start()
        running.append((ticker, scheduler))
        return ticker

    yield start
    for ticker, scheduler in running:
        ticker.stop()
        assert scheduler.stop(SECONDS)


def test_each_interval_is_one_call_with_the_event_of_eventbridge_scheduler(ticking):
    calls: queue.Queue[tuple] = queue.Queue()
    ticker = ticking(lambda function, event, request_id: calls.put((function.name, event, request_id)))
    assert ticker.waits.get(timeout=SECONDS) == 1.0
    ticker.pass_interval()
    name, event, request_id = calls.get(timeout=SECONDS)
    assert name == "sweep"
    assert event == {
        "version": "0",
        "id": request_id,
        "detail-type": "Scheduled Event",
        "source": "aws.scheduler",
        "account": "000000000000",
        "time": "2020-03-04T19:03:58Z",
        "region": "eu-central-1",
        "resources": ["arn:aws:scheduler:eu-central-1:000000000000:schedule/default/baton-local-sweep"],
        "detail": "{}",
    }


def test_intervals_that_pass_during_a_call_start_no_second_one(ticking):
    began, go_on = threading.Semaphore(0), threading.Semaphore(0)
    at_once = []
    most = []

    def call(function, event, request_id):
        at_once.append(request_id)
        most.append(len(at_once))
        began.release()
        assert go_on.acquire(timeout=SECONDS)
        at_once.remove(request_id)

    ticker = ticking(call)
    for _ in range(3):
        ticker.pass_interval()
    for _ in range(3):
        assert began.acquire(timeout=SECONDS)
        go_on.release()
    assert most == [1, 1, 1]


def test_a_call_that_fails_is_logged_and_the_next_one_comes(ticking, caplog):
    outcomes: queue.Queue[Exception | None] = queue.Queue()
    outcomes.put(LookupError("broken on purpose"))
    outcomes.put(None)
    called = threading.Semaphore(0)

    def call(function, event, request_id):
        called.release()
        failure = outcomes.get_nowait()
        if failure is not None:
            raise failure

    ticker = ticking(call)
    for _ in range(2):
        ticker.pass_interval()
        assert called.acquire(timeout=SECONDS)
    assert "broken on purpose" in caplog.text


def test_stopping_ends_the_ticks_without_waiting_for_the_next():
    scheduler = Scheduler(FUNCTIONS, lambda *_: None, clock=CLOCK, region="eu-central-1")
    scheduler.start()
    assert scheduler.stop(SECONDS)
