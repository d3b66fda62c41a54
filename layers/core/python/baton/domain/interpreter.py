"""Evaluating within a budget: of steps (some microseconds each), and of weight, which is the size a value
would have written out.

Values share their parts, so that doubling one twenty times costs nothing until someone walks it; its weight
says beforehand what that would take.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import jmespath
import msgspec
from jmespath.exceptions import JMESPathTypeError
from jmespath.functions import TYPES_MAP, Functions, signature
from jmespath.visitor import Options, TreeInterpreter

from baton.domain.payload import KB

MAX_STEPS = 200_000
MAX_WEIGHT = 1024 * KB
"""Of any value on the way. What comes out of it is held to a hand-off's input, less than a third of it."""

# What goes for one step: of values compared or searched, their weight; of a list made, its elements; of a
# text made, its characters.
COMPARED = 32
LISTED = 4
SPELLED = 8

MAX_REASON = 300

Node = Any
"""A node of the library's tree: a dictionary of its type, its children, and a value."""


class ExpressionFailed(Exception):
    """An expression came to nothing with this payload. ``reason`` is a sentence for a person."""

    def __init__(self, reason: str) -> None:
        self.reason = reason[:MAX_REASON]
        super().__init__(self.reason)


class Number(float):
    """A number of a payload that is no plain integer: it keeps the characters it was sent with."""

    text: str

    def __new__(cls, text: str) -> Number:
        made = super().__new__(cls, text)
        made.text = text
        return made


Number.__name__ = "float"  # the library knows a number by the name of its type


def spelled(value: Any) -> msgspec.Raw:
    """How msgspec is to write what it knows not. Raises TypeError on anything but a number of a payload."""
    if isinstance(value, Number):
        return msgspec.Raw(value.text)
    raise TypeError("not a value")


_encoder = msgspec.json.Encoder(enc_hook=spelled)


class Budget:
    """What one evaluation may still take."""

    def __init__(self) -> None:
        self._steps = MAX_STEPS
        # By identity, and with the value itself, so that its identity stays its own.
        self._weights: dict[int, tuple[Any, int]] = {}

    def spend(self, steps: int) -> None:
        self._steps -= steps
        if self._steps < 0:
            raise ExpressionFailed("it takes more work than an expression may")

    def admit(self, made: Any) -> None:
        """Take a value that the expression made. Raises ExpressionFailed when it is too much."""
        if isinstance(made, str):
            self.spell(len(made))
        elif isinstance(made, list | dict):
            self.spend(len(made) // LISTED)
            if self.weigh(made) > MAX_WEIGHT:
                raise ExpressionFailed(_TOO_HEAVY)
        elif type(made) is float and not math.isfinite(made):
            raise ExpressionFailed("it computes a number that JSON can't say")

    def spell(self, length: int) -> None:
        """Take a text that is to be made."""
        if length > MAX_WEIGHT:
            raise ExpressionFailed(_TOO_HEAVY)
        self.spend(length // SPELLED)

    def weigh(self, value: Any) -> int:
        """About the characters that a value takes written out, and never more; its parts are weighed once."""
        if type(value) is str:
            return len(value)
        if type(value) is not list and type(value) is not dict:
            return 1
        waiting = [value]
        while waiting:
            whole = waiting[-1]
            if id(whole) not in self._weights:
                weight, unknown = self._sum(whole)
                if unknown:
                    waiting += unknown
                    continue
                self.spend(len(whole) // LISTED)
                self._weights[id(whole)] = (whole, weight)
            waiting.pop()
        return self._weights[id(value)][1]

    def _sum(self, whole: list[Any] | dict[str, Any]) -> tuple[int, list[Any]]:
        """What a list or an object weighs, as far as its parts are known, and the parts that are not."""
        known = self._weights
        weight, unknown = 1 + len(whole), []
        parts: Iterable[Any] = whole
        if type(whole) is dict:
            weight += sum(map(len, whole))
            parts = whole.values()
        for part in parts:
            kind = type(part)
            if kind is str:
                weight += len(part)
            elif kind is not list and kind is not dict:
                weight += 1
            elif id(part) in known:
                weight += known[id(part)][1]
            else:
                unknown.append(part)
        return weight, unknown


class BoundedFunctions(Functions):
    """The library's functions within the budget."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget

    def call_function(self, function_name: str, resolved_args: Iterable[Any]) -> Any:
        args = list(resolved_args)
        self._budget.spend(sum(map(self._budget.weigh, args)) // COMPARED)
        return super().call_function(function_name, args)

    @signature({"types": ["string"]}, {"types": ["array-string"]})
    def _func_join(self, separator: str, array: list[str]) -> str:
        self._budget.spell(len(separator) * len(array) + sum(map(len, array)))
        return separator.join(array)

    @signature({"types": []})
    def _func_to_string(self, arg: Any) -> str:
        return arg if isinstance(arg, str) else _encoder.encode(arg).decode()


class Interpreter(TreeInterpreter):
    """The library's interpreter within a budget: of steps, and of the weight of what it makes."""

    def __init__(self) -> None:
        self._budget = Budget()
        super().__init__(Options(custom_functions=BoundedFunctions(self._budget)))

    def run(self, text: str, value: Any) -> Any:
        """The expression's result. Raises ExpressionFailed."""
        try:
            return self.visit(jmespath.compile(text).parsed, value)
        except JMESPathTypeError as exc:  # whose own words would spell the value out, whatever its size
            takes = " or ".join(exc.expected_types)
            got = TYPES_MAP.get(exc.actual_type, exc.actual_type)
            raise ExpressionFailed(f"{exc.function_name}() takes {takes}, and was given {got}") from exc
        except RecursionError as exc:
            raise ExpressionFailed("it goes too deep into nested values") from exc
        except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError) as exc:
            raise ExpressionFailed(f"it does not work with this payload: {exc}") from exc

    def holds(self, value: Any) -> bool:
        """Whether a value is true to JMESPath."""
        return bool(self._is_true(value))  # type: ignore[attr-defined] # the stubs leave it out

    def visit(self, node: Node, *args: Any, **kwargs: Any) -> Any:
        self._budget.spend(1)
        result = getattr(self, f"visit_{node['type']}")(node, *args, **kwargs)
        if node["type"] in _MAKERS:
            self._budget.admit(result)
        return result

    def visit_comparator(self, node: Node, value: Any) -> Any:
        """As the library does it, but that a number and a text have no order: null, as the language has
        it."""
        left, right = (self.visit(child, value) for child in node["children"])
        self._budget.spend(min(self._budget.weigh(left), self._budget.weigh(right)) // COMPARED)
        if node["value"] not in ("eq", "ne") and not _ordered(left, right):
            return None
        return self.COMPARATOR_FUNC[node["value"]](left, right)


_MAKERS = frozenset(
    {
        "filter_projection",
        "flatten",
        "function_expression",
        "multi_select_dict",
        "multi_select_list",
        "projection",
        "slice",
        "value_projection",
    }
)
"""Nodes whose result is a value of their own."""


def _ordered(left: Any, right: Any) -> bool:
    if isinstance(left, str) or isinstance(right, str):
        return isinstance(left, str) and isinstance(right, str)
    return all(isinstance(side, int | float) and not isinstance(side, bool) for side in (left, right))


_TOO_HEAVY = f"it makes something of over {MAX_WEIGHT} characters"
