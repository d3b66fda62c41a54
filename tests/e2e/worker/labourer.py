"""A worker as a program, which may be killed at any moment: ``python -m tests.e2e.worker.labourer URL FOLDER
WORKER_ID``. Each step of a run appends a line to the run's file in FOLDER, and is told on stdout."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

from baton_sdk import Client, Context, Worker
from tests.e2e.worker.fast import FastWorker

STEPS = ("first", "second", "third")
LEASE_SECONDS = 10.0


def labourer(url: str, folder: Path, worker_id: str) -> Worker:
    worker = Worker(
        concurrency=4,
        lease_seconds=LEASE_SECONDS,
        worker_id=worker_id,
        client=Client(url),
        clock=FastWorker(),
    )

    @worker.workflow("labour")
    def labour(ctx: Context) -> list[str]:
        return [ctx.step(name, done, folder / ctx.run.id, name, ctx.attempt) for name in STEPS]

    return worker


def done(file: Path, name: str, attempt: int) -> str:
    # One write of a few bytes to a file that is appended to is whole, or it is not.
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(descriptor, f"{name} {attempt}\n".encode())
    finally:
        os.close(descriptor)
    print(file.name, name, flush=True)
    return f"{name} {attempt}"


if __name__ == "__main__":
    logging.basicConfig(level=logging.ERROR)
    url, folder, worker_id = sys.argv[1:]
    labourer(url, Path(folder), worker_id).run()
