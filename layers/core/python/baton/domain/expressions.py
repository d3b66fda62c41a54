"""Expressions: JMESPath over an event's payload, checked when registered, bounded when evaluated.

Whatever only starts, appends or settles must not import this: the library takes time to load.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import jmespath
import msgspec
from jmespath.exceptions import IncompleteExpressionError, JMESPathError, LexerError, ParseError
from jmespath.lexer import Lexer

from baton.domain.interpreter import BoundedFunctions, ExpressionFailed, Interpreter, Node, Number, spelled
from baton.domain.payload import KB, MAX_DEPTH, MAX_HANDOFF_INPUT, canonical, parse
from baton.errors import InvalidRequest, PayloadTooLarge

__all__ = ["ExpressionFailed", "accepts", "check", "evaluate", "load", "mapped"]

MAX_EXPRESSION = KB
MAX_NESTING = 64
"""Levels of an expression: each takes some calls within each other to evaluate."""

_encoder = msgspec.json.Encoder(order="sorted", enc_hook=spelled)


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
    result = Interpreter().run(text, value)
    try:
        written = _encoder.encode(result)
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
    interpreter = Interpreter()
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
        raise InvalidRequest.at(loc, _placed(_said(exc), exc.lex_position, text)) from exc
    except JMESPathError as exc:
        raise InvalidRequest.at(loc, _placed(str(exc), 0, text)) from exc
    except RecursionError as exc:
        raise InvalidRequest.at(loc, _TOO_NESTED) from exc


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


def _check_tree(root: Node, tokens: list[Any]) -> None:
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
    known = BoundedFunctions.FUNCTION_TABLE.get(name)
    if known is None:
        raise _Refused(f"there is no function {name}()", position)
    expected = known["signature"]
    variadic = expected[-1].get("variadic", False)
    if len(args) < len(expected) or (len(args) > len(expected) and not variadic):
        least = "at least " if variadic else ""
        many = f"{len(expected)} argument{'s' * (len(expected) != 1)}"
        raise _Refused(f"{name}() takes {least}{many}, not {len(args)}", position)
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


def _said(exc: ParseError) -> str:
    """What the library says, but for its lists of the kinds of token that it would have taken."""
    by_kind = exc.msg.startswith(("Expecting:", "Unexpected token:", "invalid token", "syntax error"))
    return f"unexpected {str(exc.token_value)!r}" if by_kind else exc.msg


def _placed(msg: str, position: int | None, text: str) -> str:
    if position is None:
        return f"not a JMESPath expression: {msg}"
    here = text[position : position + 20]
    return f"not a JMESPath expression: {msg} at character {position + 1}" + (f", {here!r}" if here else "")


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

_TOO_NESTED = f"nested too deeply: over {MAX_NESTING} levels"
