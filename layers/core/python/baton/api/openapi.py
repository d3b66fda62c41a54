"""The contract as OpenAPI 3.1, made from the rows that route and the models that validate."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from baton.api import answers
from baton.api.contract import OPERATIONS
from baton.api.operation import (
    ANY_PROBLEMS,
    COMMON_HEADERS,
    EVENTS,
    JSON,
    NAMESPACE,
    PROBLEM,
    RETRY_AFTER,
    Answer,
    Header,
    Operation,
)
from baton.api.patterns import END
from baton.api.problems import KINDS

VERSION = "1"
COME_AGAIN = (429, 503)
"""Statuses whose answers say when."""
_REF = "#/components/schemas/{name}"
_WITHOUT_BODY = frozenset({204, 304})

Json = dict[str, Any]


def document() -> Json:
    """The whole document."""
    schemas, components = _schemas()
    paths: Json = {}
    for row in OPERATIONS:
        paths.setdefault(row.path, {})[row.method.lower()] = _operation(row, schemas)
    made: Json = _portable(
        {
            "openapi": "3.1.0",
            "info": {
                "title": "Baton",
                "version": VERSION,
                "summary": "Runs: started once, logged without loss, finished once.",
                "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
            },
            "paths": paths,
            "components": {
                "schemas": components,
                "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            },
        }
    )
    return made


_LONGEST = {"name": 160}
"""What a path's parameter may hold, where that is more than the 128 characters of an id."""


def _schemas() -> tuple[dict[Any, Json], Json]:
    """The schema of every model that a row names, by the model, and the components they refer to."""
    models: list[Any] = [answers.Problem]
    for row in OPERATIONS:
        models += [model for model in (row.body, row.query) if model is not None]
        models += [answer.model for answer in row.answers.values() if answer.model is not None]
    unique = list({_key(model): model for model in models}.values())
    schemas, components = msgspec.json.schema_components(unique, ref_template=_REF)
    return dict(zip(map(_key, unique), schemas, strict=True)), components


def _key(model: Any) -> str:
    return repr(model)  # unions and lists are no classes


def _operation(row: Operation, schemas: dict[Any, Json]) -> Json:
    made: Json = {
        "operationId": row.id,
        "summary": row.summary,
        "parameters": list(_parameters(row, schemas)),
        "responses": {
            str(status): _answer(status, answer, schemas) for status, answer in row.answers.items()
        },
        "security": [] if row.role is None else [{"token": []}],
    }
    if row.role is not None:
        made["x-baton-role"] = row.role.name.lower()
    for status in (*ANY_PROBLEMS, *row.problems):
        made["responses"].setdefault(str(status), _problem(status, schemas))
    if row.body is not None:
        schema = schemas[_key(row.body)]
        needed = "oneOf" in schema or _says_something(row.body)
        made["requestBody"] = {"required": needed, "content": {JSON: {"schema": schema}}}
    if row.method == "HEAD":
        for response in made["responses"].values():
            response.pop("content", None)
    return made


def _says_something(model: Any) -> bool:
    """Whether an empty body, which reads as ``{}``, is none of the model's."""
    try:
        msgspec.convert({}, model)
    except msgspec.ValidationError:
        return True
    return False


def _parameters(row: Operation, schemas: dict[Any, Json]) -> Iterable[Json]:
    for name in re.findall(r"\{(\w+)\}", row.path):
        yield {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "minLength": 1, "maxLength": _LONGEST.get(name, 128)},
        }
    if row.query is not None:
        for name, schema in _fields(row.query):
            yield {"name": name, "in": "query", "required": False, "schema": schema}
    for header in (NAMESPACE, *row.headers) if row.role is not None else row.headers:
        yield {
            "name": header.name,
            "in": "header",
            "required": False,
            "description": header.description,
            "schema": dict(header.schema),
        }


def _fields(model: Any) -> Iterable[tuple[str, Json]]:
    """A query model's parameters. Null is how Python says "absent"; in a query nothing is null."""
    _, components = msgspec.json.schema_components([model], ref_template=_REF)
    for name, schema in components[model.__name__]["properties"].items():
        choices = [choice for choice in schema.get("anyOf", [schema]) if choice != {"type": "null"}]
        plain = choices[0] if len(choices) == 1 else {"anyOf": choices}
        yield name, {key: value for key, value in plain.items() if key != "default" or value is not None}


def _answer(status: int, answer: Answer, schemas: dict[Any, Json]) -> Json:
    made: Json = {"description": answer.description, "headers": _headers((*COMMON_HEADERS, *answer.headers))}
    if answer.model is not None and status not in _WITHOUT_BODY:
        made["content"] = {
            media: {"schema": {"type": "string"} if media == EVENTS else schemas[_key(answer.model)]}
            for media in answer.media
        }
    return made


def _problem(status: int, schemas: dict[Any, Json]) -> Json:
    titles = [kind.title for kind in KINDS.values() if kind.status == status]
    headers = (*COMMON_HEADERS, RETRY_AFTER) if status in COME_AGAIN else COMMON_HEADERS
    return {
        "description": "; ".join(titles),
        "headers": _headers(headers),
        "content": {PROBLEM: {"schema": schemas[_key(answers.Problem)]}},
    }


def _headers(headers: Iterable[Header]) -> Json:
    return {
        header.name: {"description": header.description, "schema": dict(header.schema)} for header in headers
    }


def _portable(value: Any) -> Any:
    """With every pattern as JSON Schema's readers know it."""
    if isinstance(value, dict):
        return {
            name: _ecma(part) if name == "pattern" and isinstance(part, str) else _portable(part)
            for name, part in value.items()
        }
    return [_portable(part) for part in value] if isinstance(value, list) else value


def _ecma(pattern: str) -> str:
    """A pattern without what only Python says: its end of a string, and surrogates, unknown to UTF-8."""
    return pattern.replace(END, "$").replace(r"\ud800-\udfff", "")
