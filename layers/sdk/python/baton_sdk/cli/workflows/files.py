"""Workflows from YAML files, read as strictly as JSON: 1.2, so ``on`` is text and a date stays one; no key
twice, no tags. What is wrong is told with its file, line, document and field, all of it at once."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedBase, CommentedMap, CommentedSeq
from ruamel.yaml.constructor import RoundTripConstructor, SafeConstructor
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from baton_sdk.cli.workflows.shape import (
    NO_MATCH,
    Backoff,
    Batch,
    Steps,
    Subscription,
    Target,
    Workflow,
    misread,
)
from baton_sdk.errors import FieldError, InvalidRequest

LIST = "workflows"
_FIELDS = {LIST, *Workflow.__struct_fields__}
_KNOWN = [
    name for part in (Workflow, Subscription, Batch, Backoff, Target) for name in part.__struct_fields__
]
_WHERE = re.compile(r"(?P<msg>.*) - at `(?P<path>[^`]*)`(?: in `(?P<inside>[^`]*)`)?\Z", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>.*)`")
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+)\]")


class Declared(NamedTuple):
    """A workflow as a file has it: what to send under which name, and ``place`` to speak of it."""

    name: str
    fields: dict[str, Any]
    place: str


@dataclass(frozen=True)
class Mistake(FieldError):
    """One thing that is wrong in a file, ``place`` as a person finds it."""

    place: str

    def __str__(self) -> str:
        return f"{self.place}: {self.msg}"


class _Plain(RoundTripConstructor):
    """Values as JSON has them, in a tree that knows its lines."""


_Plain.add_constructor("tag:yaml.org,2002:timestamp", RoundTripConstructor.construct_yaml_str)
_Plain.add_constructor("tag:yaml.org,2002:int", SafeConstructor.construct_yaml_int)
_Plain.add_constructor("tag:yaml.org,2002:float", SafeConstructor.construct_yaml_float)


def read(files: list[str]) -> list[Declared]:
    """Every workflow of the files, in order; ``-`` is stdin. Raises InvalidRequest with all Mistakes."""
    declared: list[Declared] = []
    mistakes: list[Mistake] = []
    places: dict[str, str] = {}
    for file in files:
        shown = "stdin" if file == "-" else file
        try:
            for found in _of_text(_text(file), shown):
                if isinstance(found, Mistake):
                    mistakes.append(found)
                elif found.name in places:
                    msg = f"{found.name} is declared before, at {places[found.name]}"
                    mistakes.append(Mistake((shown, found.name), msg, found.place))
                else:
                    places[found.name] = found.place.partition(": ")[0]
                    declared.append(found)
        except (OSError, UnicodeDecodeError) as exc:
            why = exc.strerror if isinstance(exc, OSError) else f"not UTF-8: {exc}"
            mistakes.append(Mistake((shown,), f"can't be read: {why}", shown))
    if not declared and not mistakes:
        mistakes.append(Mistake(tuple(files), "no workflow in it", ", ".join(files)))
    if mistakes:
        raise InvalidRequest("nothing was sent: what is written is not right", errors=mistakes)
    return declared


def _text(file: str) -> str:
    return (sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()).decode()


def _of_text(text: str, file: str) -> Iterator[Declared | Mistake]:
    yaml = YAML(typ="rt", pure=True)
    yaml.Constructor = _Plain
    number = 0
    try:
        for number, document in enumerate(yaml.load_all(text), 1):
            if document is not None:
                yield from _Document(file, number, document).workflows()
    except MarkedYAMLError as exc:
        line = "" if exc.problem_mark is None else f":{exc.problem_mark.line + 1}"
        label = f"document {number + 1}"
        msg = f"not YAML: {exc.problem}" if "duplicate" not in str(exc.problem) else str(exc.problem)
        yield Mistake((file, label), msg, f"{file}{line}: {label}")
    except (YAMLError, ValueError, RecursionError) as exc:
        msg = str(exc).partition("\n")[0] or type(exc).__name__
        yield Mistake((file,), f"not YAML: {msg}", f"{file}: document {number + 1}")


class _Document:
    """One document of a file: a workflow, or a list of them under ``workflows``."""

    def __init__(self, file: str, number: int, root: Any) -> None:
        self._file = file
        self._root = root
        self._label = f"document {number}"

    def workflows(self) -> Iterator[Declared | Mistake]:
        """What is declared, or what is wrong with it."""
        if not isinstance(self._root, CommentedMap) or not _FIELDS & self._root.keys():
            yield self._mistake((), f"a workflow is wanted (`name: …`), or a list of them under `{LIST}:`")
        elif LIST not in self._root:
            yield self._workflow((), self._root)
        elif len(self._root) > 1:
            yield self._mistake((LIST,), f"beside `{LIST}` there can't be other fields")
        elif not isinstance(self._root[LIST], CommentedSeq):
            yield self._mistake((LIST,), "a list of workflows is wanted")
        else:
            for at, entry in enumerate(self._root[LIST]):
                yield self._workflow((LIST, at), entry)

    def _workflow(self, path: Steps, entry: Any) -> Declared | Mistake:
        name = entry.get("name") if isinstance(entry, CommentedMap) else None
        named = name if isinstance(name, str) else None
        try:
            workflow = msgspec.convert(entry, Workflow)
        except msgspec.ValidationError as exc:
            inside, msg = _explained(str(exc))
            return self._mistake(path + inside, msg, named)
        except RecursionError:
            return self._mistake(path, "it contains itself", named)
        for inside, expression in workflow.expressions():
            if (wrong := misread(expression)) is not None:
                return self._mistake(path + inside, wrong, named)
        fields = msgspec.to_builtins(workflow)
        return Declared(fields.pop("name"), fields, self._place(path, named))

    def _mistake(self, path: Steps, msg: str, name: str | None = None) -> Mistake:
        return Mistake((self._file, self._named(name), *path), msg, self._place(path, name))

    def _place(self, path: Steps, name: str | None) -> str:
        field = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")
        return f"{self._file}:{_line(self._root, path)}: {self._named(name)}{field and ', '}{field}"

    def _named(self, name: str | None) -> str:
        return f"{self._label} ({name})" if name else self._label


def _line(node: Any, path: Steps) -> int:
    """The line of what ``path`` leads to, or of the last on the way that has one. Counts from 1."""
    line = node.lc.line if isinstance(node, CommentedBase) else 0
    for step in path:
        marks = node.lc.data if isinstance(node, CommentedBase) else None
        if not marks or step not in marks:
            break
        line = marks[step][0]
        node = node[step]
    return int(line) + 1


def _explained(said: str) -> tuple[Steps, str]:
    """Where in a workflow, and what, msgspec found wrong."""
    found = _WHERE.fullmatch(said)
    msg, where = (found["msg"], found["inside"] or found["path"]) if found else (said, "$")
    path = tuple(name or int(index) for name, index in _STEP.findall(where))
    if found and found["path"] == "key":
        return path, "a field's name is text"
    if msg.startswith("Expected `str` matching") and path and path[-1] in NO_MATCH:
        return path, NO_MATCH[str(path[-1])]
    unknown = _UNKNOWN.fullmatch(msg)
    if unknown is None:
        return path, msg
    alike = difflib.get_close_matches(unknown["name"], _KNOWN, 1)
    hint = f"; {alike[0]} is meant?" if alike else ""
    return (*path, unknown["name"]), f"there is no such field{hint}"
