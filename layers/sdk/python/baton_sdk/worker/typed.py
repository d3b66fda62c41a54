"""A run's input as the type that a function asks for."""

from __future__ import annotations

import dataclasses
import sys
import typing
from collections.abc import Callable
from typing import Any

from baton_sdk.worker.errors import InvalidInput

Reader = Callable[[Any], Any]


def reader_of(annotation: Any) -> Reader:
    """What makes the annotated type of JSON: a dataclass (also in a list, or optional) strictly, a pydantic
    model by its own rules; anything else is as JSON gave it. The reader raises InvalidInput, which says where
    it does not fit."""
    parts = (annotation, *typing.get_args(annotation))
    if any(hasattr(part, "__pydantic_validator__") for part in parts):
        return _by_pydantic(annotation)
    if any(_structured(part) for part in parts):
        return _by_msgspec(annotation)
    return lambda value: value


def _structured(part: Any) -> bool:
    if not isinstance(part, type):
        return False
    msgspec = sys.modules.get("msgspec")  # a Struct can't be there without it
    return (
        dataclasses.is_dataclass(part)
        or typing.is_typeddict(part)
        or (msgspec is not None and issubclass(part, msgspec.Struct))
    )


def _by_msgspec(annotation: Any) -> Reader:
    def read(value: Any) -> Any:
        import msgspec  # a client that is no worker does without

        try:
            return msgspec.convert(value, annotation)
        except msgspec.ValidationError as error:
            raise InvalidInput(f"the input does not fit: {error}") from error

    return read


def _by_pydantic(annotation: Any) -> Reader:
    def read(value: Any) -> Any:
        import pydantic

        try:
            return pydantic.TypeAdapter(annotation).validate_python(value)
        except pydantic.ValidationError as error:
            places = (
                f"{'.'.join(str(part) for part in each['loc']) or 'input'}: {each['msg']}"
                for each in error.errors(include_url=False, include_input=False)
            )
            raise InvalidInput(f"the input does not fit: {'; '.join(places)}") from error

    return read
