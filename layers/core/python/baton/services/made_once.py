"""Parts of an object that are made when they are first asked for, once, whoever asks at once: which the
standard library's ``cached_property`` no longer promises."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")
Whole = TypeVar("Whole")

_making = RLock()
"""Held while a part is made, which may ask for others. Once it is there nobody comes by here."""


class MadeOnce(Generic[Whole, T]):
    """A part that a method makes: once, whoever asks at once."""

    def __init__(self, make: Callable[[Whole], T]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, _owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, whole: None, owner: type) -> MadeOnce[Whole, T]: ...
    @overload
    def __get__(self, whole: Whole, owner: type) -> T: ...
    def __get__(self, whole: Any, owner: type) -> MadeOnce[Whole, T] | T:
        if whole is None:
            return self
        with _making:
            parts: dict[str, T] = vars(whole)
            if self._name not in parts:
                parts[self._name] = self._make(whole)
            return parts[self._name]
