"""Expressions: JMESPath over an event's payload, checked when registered, bounded when evaluated.

An expression is somebody's program that runs in our time, so it gets a budget: of steps (about a microsecond
each), and of weight, which is the size a value would have written out. Values share their parts, so that
doubling one twenty times costs nothing until someone walks it; its weight says beforehand what that takes.

Whatever only settles or appends must not import this: it costs a start what the library takes to load.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import jmespath
import msgspec
from jmespath.exceptions import (
    IncompleteExpressionError,
    JMESPathError,
    JMESPathTypeError,
    LexerError,
    ParseError,
)
from jmespath.functions import TYPES_MAP, Functions, signature
from jmespath.lexer import Lexer
from jmespath.visitor import Options, TreeInterpreter

from baton.domain.payload import KB, MAX_DEPTH, MAX_HANDOFF_INPUT, canonical, parse
from baton.errors import InvalidRequest, PayloadTooLarge

MAX_EXPRESSION = KB
MAX_NESTING = 64
"""Levels of an expression: each takes some calls within each other to evaluate."""
MAX_STEPS = 500_000
MAX_WEIGHT = 1024 * KB
"""Of any value on the way. What comes out of it is held to a hand-off's input, less than a third of it."""

# What goes for one step: of values compared or searched, their weight; of a list made, its elements; of a
# text made, its characters.
COMPARED = 32
LISTED = 4
SPELLED = 8

MAX_REASON = 300

Node = dict[str, Any]


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


def load(payload: bytes) -> Any:
    """A payload, canonical JSON, as expressions take it: once for all that are to look at it."""
    return json.loads(payload, parse_float=Number, parse_int=_integer)


def evaluate(text: str, value: Any) -> Any:
    """What the expression makes of a value that ``load`` gave, as ``payload.parse`` gives values: numbers of
    the payload keep their characters.

    Raises ExpressionFailed on whatever goes wrong: over the budget, over a hand-off input's size or depth,
    nothing that JSON can say.
    """
    return parse(mapped(text, value))


def mapped(text: str, value: Any) -> bytes:
    """As ``evaluate``, in canonical JSON."""
    result = _Interpreter().run(text, value)
    try:
        written = _sorted.encode(result)
        if written.count(b"[") + written.count(b"{") > MAX_DEPTH:
            parse(written)
    except (InvalidRequest, RecursionError) as exc:
        raise ExpressionFailed(f"its result is nested over {MAX_DEPTH} levels deep") from exc
    except (TypeError, ValueError) as exc:
        raise ExpressionFailed("its result is nothing that JSON can say") from exc
    if len(written) > MAX_HANDOFF_INPUT:
        size = f"{len(written)} bytes of canonical JSON, over the limit of {MAX_HANDOFF_INPUT}"
        raise ExpressionFailed(f"its result takes {size}")
    return written


def accepts(text: str, value: Any) -> bool:
    """Whether the value satisfies the expression: its result is true to JMESPath, which is anything but
    false, null and what is empty. Raises ExpressionFailed."""
    interpreter = _Interpreter()
    return interpreter.holds(interpreter.run(text, value))


def check(text: str, loc: list[str | int]) -> None:
    """Raise InvalidRequest at ``loc`` unless this is an expression, saying what in it is wrong and where;
    PayloadTooLarge over 1 KB."""
    size = len(canonical(text))
    if size > MAX_EXPRESSION:
        msg = f"{size} bytes of canonical JSON, over the limit of {MAX_EXPRESSION}"
        raise PayloadTooLarge(f"{'.'.join(map(str, loc))}: {msg}", errors=[{"loc": loc, "msg": msg}])
    try:
        _check_quoted(text)
        _check_tree(jmespath.compile(text).parsed, list(Lexer().tokenize(text)))
    except _Refused as refused:
        raise InvalidRequest.at(loc, _placed(refused.msg, refused.position, text)) from refused
    except IncompleteExpressionError as exc:
        raise InvalidRequest.at(loc, _placed("it ends too early", len(text), text)) from exc
    except LexerError as exc:
        raise InvalidRequest.at(loc, _placed(exc.message, exc.lex_position, text)) from exc
    except ParseError as exc:
        raise InvalidRequest.at(loc, _placed(exc.msg, exc.lex_position, text)) from exc
    except JMESPathError as exc:
        raise InvalidRequest.at(loc, _placed(str(exc), 0, text)) from exc
    except RecursionError as exc:
        raise InvalidRequest.at(loc, _TOO_NESTED) from exc


class _Budget:
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
        if isinstance(value, str):
            return len(value)
        if not isinstance(value, list | dict):
            return 1
        waiting = [value]
        while waiting:
            inner = [
                part
                for part in _parts(waiting[-1])
                if isinstance(part, list | dict) and id(part) not in self._weights
            ]
            if inner:
                waiting += inner
                continue
            whole = waiting.pop()
            if id(whole) not in self._weights:
                self.spend(1 + len(whole) // LISTED)
                self._weights[id(whole)] = (whole, self._sum(whole))
        return self._weights[id(value)][1]

    def _sum(self, whole: list[Any] | dict[str, Any]) -> int:
        known = self._weights
        total = 1 + len(whole)
        for part in _parts(whole):
            if isinstance(part, str):
                total += len(part)
            else:
                total += known[id(part)][1] if isinstance(part, list | dict) else 1
        return total + sum(map(len, whole)) if isinstance(whole, dict) else total


class _Functions(Functions):
    """The library's functions within the budget."""

    def __init__(self, budget: _Budget) -> None:
        self._budget = budget

    def call_function(self, function_name: str, resolved_args: list[Any]) -> Any:
        self._budget.spend(sum(map(self._budget.weigh, resolved_args)) // COMPARED)
        return super().call_function(function_name, resolved_args)

    @signature({"types": ["string"]}, {"types": ["array-string"]})
    def _func_join(self, separator: str, array: list[str]) -> str:
        self._budget.spell(len(separator) * len(array) + sum(map(len, array)))
        return separator.join(array)

    @signature({"types": []})
    def _func_to_string(self, arg: Any) -> str:
        return arg if isinstance(arg, str) else _unsorted.encode(arg).decode()


class _Interpreter(TreeInterpreter):
    """The library's interpreter within a budget: of steps, and of the weight of what it makes."""

    def __init__(self) -> None:
        self._budget = _Budget()
        super().__init__(Options(custom_functions=_Functions(self._budget)))

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
        return bool(self._is_true(value))

    def visit(self, node: Node, *args: Any, **kwargs: Any) -> Any:
        self._budget.spend(1)
        result = super().visit(node, *args, **kwargs)
        if node["type"] in _MAKERS:
            self._budget.admit(result)
        return result

    def visit_comparator(self, node: Node, value: Any) -> Any:
        """As the library does it, but that a number and a text have no order: null, as the language has
        it."""
        left, right = (self.visit(child, value) for child in node["children"])
        self._budget.spend(min(self._budget.weigh(left), self._budget.weigh(right)) // COMPARED)
        if node["value"] not in self._EQUALITY_OPS and not _ordered(left, right):
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


class _Refused(Exception):
    def __init__(self, msg: str, position: int | None) -> None:
        super().__init__(msg)
        self.msg = msg
        self.position = position


# What is quoted, in the order it comes: a quote within another's quotes is a character.
_QUOTED = re.compile(r"""'(?:\\.|[^'\\])*' | "(?:\\.|[^"\\])*" | `(?:\\.|[^`\\])*`""", re.VERBOSE | re.DOTALL)


def _check_quoted(text: str) -> None:
    """Literals are JSON, and nothing that JSON can't say. What else the library would take for a literal it
    warns of, and the language has no more."""
    for found in _QUOTED.finditer(text):
        quoted = found[0]
        try:
            if quoted[0] == "`":
                value = json.loads(quoted[1:-1].replace("\\`", "`"), parse_constant=_no_number)
            elif quoted[0] == '"':
                value = json.loads(quoted)
            else:
                continue
            canonical(value)
        except (ValueError, InvalidRequest) as exc:
            raise _Refused(f"{quoted[:40]} is not JSON (a text is quoted so: 'text')", found.start()) from exc


def _check_tree(root: Node, tokens: list[dict[str, Any]]) -> None:
    # Calls come in the same order in the tree as in the text, and only the text says where.
    places = [
        token["start"]
        for token, after in pairwise(tokens)
        if token["type"] == "unquoted_identifier" and after["type"] == "lparen"
    ]
    places.reverse()
    for node, level, argument in _walk(root):
        if level > MAX_NESTING:
            raise _Refused(_TOO_NESTED, None)
        if node["type"] == "function_expression":
            _check_call(node, places.pop() if places else None)
        elif node["type"] == "expref" and not argument:
            raise _Refused("an '&' expression is good as an argument of a function only", None)
        elif node["type"] == "slice" and node["children"][2] == 0:
            raise _Refused("a slice can't go by steps of 0", None)


def _check_call(node: Node, position: int | None) -> None:
    name, args = node["value"], node["children"]
    known = _Functions.FUNCTION_TABLE.get(name)
    if known is None:
        raise _Refused(f"there is no function {name}()", position)
    expected = known["signature"]
    variadic = expected[-1].get("variadic", False)
    if len(args) < len(expected) or (len(args) > len(expected) and not variadic):
        least = "at least " if variadic else ""
        raise _Refused(f"{name}() takes {least}{len(expected)} arguments, not {len(args)}", position)
    for at, arg in enumerate(args):
        wants = "expref" in expected[min(at, len(expected) - 1)]["types"]
        if wants != (arg["type"] == "expref"):
            what = "an '&' expression" if wants else "a value"
            raise _Refused(f"{name}() takes {what} as its argument {at + 1}", position)


def _walk(root: Node) -> Iterator[tuple[Node, int, bool]]:
    """Every node in the order of the text, with its level and whether it is a function's argument."""
    waiting = [(root, 1, False)]
    while waiting:
        node, level, argument = waiting.pop()
        yield node, level, argument
        children = node["children"]
        if node["type"] == "slice":
            continue
        if node["type"] == "filter_projection":  # its condition stands between the two
            children = [children[0], children[2], children[1]]
        is_call = node["type"] == "function_expression"
        waiting += [(child, level + 1, is_call) for child in reversed(children)]


def _placed(msg: str, position: int | None, text: str) -> str:
    if position is None:
        return f"not a JMESPath expression: {msg}"
    here = text[position : position + 20]
    return f"not a JMESPath expression: {msg} at character {position + 1}" + (f", {here!r}" if here else "")


def _ordered(left: Any, right: Any) -> bool:
    if isinstance(left, str) or isinstance(right, str):
        return isinstance(left, str) and isinstance(right, str)
    return all(isinstance(side, int | float) and not isinstance(side, bool) for side in (left, right))


def _parts(whole: Any) -> Any:
    return whole.values() if isinstance(whole, dict) else whole


def _integer(text: str) -> int | Number:
    return Number(text) if text == "-0" else int(text)  # Python has one integer zero, JSON two


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON's")


def _spelled(value: Any) -> msgspec.Raw:
    if isinstance(value, Number):
        return msgspec.Raw(value.text)
    raise TypeError("not a value")


_sorted = msgspec.json.Encoder(order="sorted", enc_hook=_spelled)
_unsorted = msgspec.json.Encoder(enc_hook=_spelled)

_TOO_HEAVY = f"it makes something of over {MAX_WEIGHT} characters"
_TOO_NESTED = f"nested too deeply: over {MAX_NESTING} levels"
