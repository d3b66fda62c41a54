"""A container of a function as Lambda starts it: a process of its own, with Lambda's runtime client."""

from __future__ import annotations

import os
import queue
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from tests.infra.packages.image import Image
from tests.infra.packages.runtime_api import Answer, RuntimeApi, serving

BOOT_SECONDS = 60.0
CERTIFICATES = "python/botocore/cacert.pem"
"""Of the layer: the runtime client looks for some, though it speaks plain HTTP."""


@dataclass
class Container:
    """One process. It dies with its block; then ``cpu_seconds`` says what it took of the processor."""

    api: RuntimeApi
    process: subprocess.Popen[bytes]
    output: IO[bytes]
    started: float
    cpu_seconds: float = field(default=0.0)

    def answer(self, event: Any) -> Answer:
        """What the function makes of ``event``. Fails where it does not answer, with all that it printed."""
        self.api.invoke(event)
        deadline = time.monotonic() + BOOT_SECONDS
        while time.monotonic() < deadline:
            try:
                answer = self.api.answers.get(timeout=0.5)
            except queue.Empty:
                if self.process.poll() is not None:
                    break
            else:
                assert not answer.failed, f"{answer.result}\n{self._said()}"
                return answer
        raise AssertionError(f"no answer; the container said:\n{self._said()}")

    def _said(self) -> str:
        self.output.seek(0)
        return self.output.read().decode(errors="replace")

    def stop(self) -> None:
        """Lambda kills a container that it no longer needs."""
        self.process.kill()
        _, status, used = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.cpu_seconds = used.ru_utime + used.ru_stime


@contextmanager
def booted(
    image: Image,
    task: Path,
    *,
    environment: Mapping[str, str],
    layers: bool = True,
    memory_mb: int = 512,
    timeout_seconds: float = 60,
) -> Iterator[Container]:
    """A container of the function in the folder ``task`` (Lambda's `/var/task`), until the block ends."""
    name = f"baton-{task.name}"
    # Lambda's order: the function, the layers, what the base image brings. And nothing of this machine's.
    roots = [task, image.opt / "python", image.runtime] if layers else [task, image.runtime]
    given = {
        "PYTHONPATH": os.pathsep.join(map(str, roots)),
        "PYTHONDONTWRITEBYTECODE": "1",  # all but /tmp is read-only
        "SSL_CERT_FILE": str(image.opt / CERTIFICATES),
        "AWS_LAMBDA_FUNCTION_NAME": name,
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(memory_mb),
        "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{name}",
        "AWS_LAMBDA_LOG_STREAM_NAME": "test",
        "LAMBDA_TASK_ROOT": str(task),
        "_HANDLER": "handler.handler",
        "PATH": os.environ["PATH"],
        "LANG": "en_US.UTF-8",
        "TZ": ":UTC",
        **environment,
    }
    with serving(name, timeout_seconds) as api, tempfile.TemporaryFile() as output:
        started = time.perf_counter()
        process = subprocess.Popen(
            [image.interpreter.path, "-S", "-m", "awslambdaric", "handler.handler"],
            cwd=task,
            env=given | {"AWS_LAMBDA_RUNTIME_API": api.address},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        container = Container(api, process, output, started)
        try:
            yield container
        finally:
            container.stop()
