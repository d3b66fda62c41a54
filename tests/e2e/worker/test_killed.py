"""Workers that are killed at random: every run completes, and no step happens again once its record was
acknowledged."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from baton_sdk import Client
from infra.local.testing import running_stack
from tests.e2e.worker.fast import FastStack
from tests.e2e.worker.labourer import STEPS

CHECKOUT = Path(__file__).parents[3]
WORKERS = 3
DEATHS_PER_STEP = 1 / 15
GUARD_SECONDS = 240


@pytest.fixture(scope="module")
def fast_stack(worker_environment):
    with running_stack(clock=FastStack()) as stack:
        yield stack


@pytest.fixture(scope="module")
def worker_environment():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POWERTOOLS_METRICS_DISABLED", "true")
        patch.setenv("POWERTOOLS_LOG_LEVEL", "ERROR")
        yield


class Crew:
    """Workers as processes, which tell of their steps; now and then one is killed then, and another comes."""

    def __init__(self, url, folder, chance) -> None:
        self.killed = 0
        self._url = url
        self._folder = folder
        self._chance = chance
        self._lock = threading.Lock()
        self._hired = 0
        self._over = threading.Event()
        self._processes: set[subprocess.Popen[str]] = set()
        self._listeners: list[threading.Thread] = []
        for _ in range(WORKERS):
            self._hire()

    def dismiss(self):
        """How those ended who were told to."""
        with self._lock:
            self._over.set()
            left = list(self._processes)
        for process in left:
            process.terminate()
        codes = [process.wait(GUARD_SECONDS) for process in left]
        for listener in self._listeners:
            listener.join(GUARD_SECONDS)
        return codes

    def _hire(self):
        self._hired += 1
        command = [sys.executable, "-m", "tests.e2e.worker.labourer", self._url, str(self._folder)]
        process = subprocess.Popen(
            [*command, f"w{self._hired}"], cwd=CHECKOUT, stdout=subprocess.PIPE, text=True
        )
        self._processes.add(process)
        listener = threading.Thread(target=self._listen, args=(process,))
        self._listeners.append(listener)
        listener.start()

    def _listen(self, process):
        with process.stdout:
            for _step in process.stdout:
                if self._chance.random() < DEATHS_PER_STEP:
                    # Dead in the step, in its record, in what comes after: wherever that finds it.
                    self._over.wait(self._chance.uniform(0, 0.05))
                    self._kill(process)

    def _kill(self, process):
        with self._lock:
            if self._over.is_set() or process not in self._processes:
                return
            self._processes.remove(process)
            process.kill()
            process.wait()
            self.killed += 1
            self._hire()


def performed(stack, folder, runs, seed):
    """How many workers were killed while so many runs were performed to their end."""
    with Client(stack.url) as client:
        ids = [f"labour-{seed}-{number}" for number in range(runs)]
        for run_id in ids:
            client.start("labour", run_id=run_id, mode="queued", max_attempts=100)
        crew = Crew(stack.url, folder, random.Random(seed))
        try:
            for run_id in ids:
                run = client.wait(run_id, GUARD_SECONDS)
                assert run.terminal, f"{run_id} is {run.state} after {crew.killed} deaths"
        finally:
            codes = crew.dismiss()
        assert set(codes) <= {0, -signal.SIGTERM}, "a signal that comes before there is a worker ends it, too"
        for run_id in ids:
            check(client, folder, run_id)
    return crew.killed


def check(client, folder, run_id):
    run = client.get(run_id).run
    assert run.state == "completed", run.error
    recorded = [event for event in client.stream(run_id) if event.type == "checkpoint"]
    assert [event.data["name"] for event in recorded] == list(STEPS)
    results = [event.data["result"] for event in recorded]
    assert run.output == results
    effects = (folder / run_id).read_text().splitlines()
    # Each attempt did a step at most once; the last who did it is the one whose record was acknowledged, and
    # nobody did it after that.
    assert max(Counter(effects).values()) == 1
    for name, result in zip(STEPS, results, strict=True):
        assert [line for line in effects if line.startswith(name)][-1] == result
    order = [STEPS.index(line.split()[0]) for line in effects]
    assert order == sorted(order), f"a step was done after a later one: {effects}"


def test_workers_killed_at_random_lose_no_run_and_repeat_no_recorded_step(fast_stack, tmp_path):
    performed(fast_stack, tmp_path, runs=12, seed=7)


@pytest.mark.slow
def test_a_massacre(fast_stack, tmp_path):
    assert performed(fast_stack, tmp_path, runs=200, seed=11) >= 10
