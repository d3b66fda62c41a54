"""The manifest's functions in this process: each handler loaded once, one container that everyone shares."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, cast

from baton.bootstrap import Runtime, installed
from infra.local.names import arn_of, name_of
from infra.local.onward import calling
from infra.manifest import Function

FOLDER = Path(__file__).parents[2] / "functions"


class Streamed(Protocol):
    """What a function's ``stream`` answers: a body that comes as it is made, closed when nobody reads on."""

    status: int
    headers: dict[str, str]

    @property
    def body(self) -> Iterator[bytes]: ...


class Invoker(Protocol):
    """Who calls functions."""

    def call(self, function: Function, event: dict[str, Any], request_id: str) -> Any:
        """What the function's ``handler`` returns."""
        ...

    def stream(self, function: Function, event: dict[str, Any], request_id: str) -> Streamed:
        """What the ``stream`` of a function that has one returns."""
        ...


@dataclass(frozen=True, kw_only=True)
class LambdaContext:
    """What Lambda tells a function about its invocation."""

    function_name: str
    function_version: str = "$LATEST"
    invoked_function_arn: str
    memory_limit_in_mb: int
    aws_request_id: str
    log_group_name: str
    log_stream_name: str
    identity: None = None
    client_context: None = None
    _deadline: float = field(repr=False)

    def get_remaining_time_in_millis(self) -> int:
        """How long Lambda would still let it run."""
        return max(0, round((self._deadline - time.monotonic()) * 1000))


class Functions:
    """Loads ``functions/<name>/handler.py`` for each, with ``runtime`` handed in, and calls them."""

    def __init__(self, functions: Iterable[Function], runtime: Runtime, folder: Path = FOLDER) -> None:
        self._region = runtime.settings.region
        with installed(runtime):
            self._modules = {each.name: _load(each, folder) for each in functions}

    def call(self, function: Function, event: dict[str, Any], request_id: str) -> Any:
        handler: Callable[..., Any] = self._modules[function.name].handler
        with calling(function):
            return handler(event, self._context(function, request_id))

    def stream(self, function: Function, event: dict[str, Any], request_id: str) -> Streamed:
        opener: Callable[..., Any] = self._modules[function.name].stream
        return cast("Streamed", opener(event, self._context(function, request_id)))

    def _context(self, function: Function, request_id: str) -> LambdaContext:
        name = name_of(function)
        return LambdaContext(
            function_name=name,
            invoked_function_arn=arn_of(function, self._region),
            memory_limit_in_mb=function.memory_mb,
            aws_request_id=request_id,
            log_group_name=f"/aws/lambda/{name}",
            log_stream_name="local",
            _deadline=time.monotonic() + function.timeout_seconds,
        )


def _load(function: Function, folder: Path) -> ModuleType:
    path = folder / function.name / "handler.py"
    spec = importlib.util.spec_from_file_location(f"baton_function_{function.name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
