"""The workflows that a worker performs: a function under a name, and what it is started by."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from baton_sdk.run import Run
from baton_sdk.worker.context import Context
from baton_sdk.worker.names import COMPLETED, FAILED, check_event, check_workflow
from baton_sdk.worker.typed import Reader, reader_of
from baton_sdk.workflow import Subscription

Subscribes = str | Subscription | Mapping[str, Any]
"""A name, or a subscription whose ``event`` is that name, with its ``where`` and ``input``."""


@dataclass(frozen=True, kw_only=True)
class WorkflowFunction:
    """A registered function."""

    name: str
    function: Callable[..., Any]
    subscribes: tuple[Subscription, ...]
    read: Reader | None
    """None for a function that takes no input."""

    def __call__(self, context: Context, run: Run) -> Any:
        """The function's result for this run. Raises InvalidInput, and what the function raises."""
        if self.read is None:
            return self.function(context)
        return self.function(context, self.read(run.input))


class Workflows:
    """The functions of one worker by their names."""

    def __init__(self) -> None:
        self._by_name: dict[str, WorkflowFunction] = {}

    def __iter__(self) -> typing.Iterator[WorkflowFunction]:
        return iter(self._by_name.values())

    @property
    def names(self) -> list[str]:
        """In the order in which they were registered."""
        return list(self._by_name)

    def get(self, name: str) -> WorkflowFunction:
        """Raises LookupError where no function has the name."""
        try:
            return self._by_name[name]
        except KeyError:
            raise LookupError(f"this worker has no workflow {name!r}; it has {self.names}") from None

    def add(self, name: str, function: Callable[..., Any], subscribes: Sequence[Subscription]) -> None:
        """Register a function. Raises ValueError for a name that is none or is taken, and TypeError for a
        function that can't be called with a context and an input."""
        check_workflow(name)
        if name in self._by_name:
            raise ValueError(f"there is a workflow {name!r} already: {self._by_name[name].function!r}")
        if inspect.iscoroutinefunction(function):
            raise TypeError(f"workflow {name!r} is async: a function that blocks is what a worker calls")
        self._by_name[name] = WorkflowFunction(
            name=name, function=function, subscribes=tuple(subscribes), read=_reader(name, function)
        )


def subscriptions(
    on_completed: Sequence[Subscribes],
    on_failed: Sequence[Subscribes],
    on_event: Sequence[Subscribes],
    subscribes: Sequence[Subscription | Mapping[str, Any]],
) -> list[Subscription]:
    """All that a workflow is started by. Raises ValueError for a name that is none."""
    return [
        *(_subscription(entry, COMPLETED) for entry in _each(on_completed)),
        *(_subscription(entry, FAILED) for entry in _each(on_failed)),
        *(_subscription(entry, "") for entry in _each(on_event)),
        *(_subscription(entry, "") for entry in _each(subscribes)),
    ]


def _each(entries: Sequence[Any]) -> Sequence[Any]:
    if isinstance(entries, str | Subscription | Mapping):
        raise TypeError(f"{entries!r} is one: give a list")
    return entries


def _subscription(entry: Subscribes, prefix: str) -> Subscription:
    if isinstance(entry, str):
        entry = Subscription(event=entry)
    elif not isinstance(entry, Subscription):
        entry = Subscription(**entry)
    if not entry.event.startswith(prefix):
        entry = replace(entry, event=prefix + entry.event)
    check_event(entry.event)
    return entry


def _reader(name: str, function: Callable[..., Any]) -> Reader | None:
    taken = [
        each
        for each in inspect.signature(function).parameters.values()
        if each.kind in {each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD}
    ]
    if len(taken) == 1:
        return None
    if len(taken) != 2:
        raise TypeError(f"workflow {name!r} is called with a context and an input: f(ctx) or f(ctx, input)")
    return reader_of(_annotation(name, function, taken[1].annotation))


def _annotation(name: str, function: Callable[..., Any], written: Any) -> Any:
    """The type of the input, which may be written as text."""
    holder = type("Annotated", (), {"__annotations__": {"input": written}})
    try:
        names = getattr(inspect.unwrap(function), "__globals__", {})
        return typing.get_type_hints(holder, globalns=names)["input"]
    except NameError as error:
        raise TypeError(
            f"the input of workflow {name!r} is a {written}, which can't be found: {error}; a type of input "
            f"stands in the module, and is imported not for type checkers alone"
        ) from error
