"""Checks that JSON somebody else wrote has the shape of a facts class, before anything is built from it."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin

Check = Callable[[Any, str], None]


def require_shape(cls: type, value: Any) -> None:
    """Check every value below a record against the annotations of `cls`.

    Raises:
        ValueError: naming the place and what belongs there.
    """
    _check_of(cls)(value, cls.__name__)


@cache
def _check_of(hint: Any) -> Check:
    """The check of one annotation, put together once: an export holds some hundred thousand values."""
    origin, inside = get_origin(hint), get_args(hint)
    if hint is Any:
        return lambda value, where: None
    if origin in (Union, types.UnionType):
        return _optional(_check_of(next(one for one in inside if one is not type(None))))
    if origin is Literal:
        return _one_of(inside)
    if origin is list or (origin is tuple and inside[1:] == (...,)):
        return _items(_check_of(inside[0]))
    if origin is tuple:
        return _fixed([_check_of(one) for one in inside])
    if origin is dict:
        return _values(_check_of(inside[1]))
    return _record(hint) if dataclasses.is_dataclass(hint) else _scalar(hint)


def _scalar(kind: type) -> Check:
    wanted: tuple[type, ...] = (int, float) if kind is float else (kind,)

    def check(value: Any, where: str) -> None:
        if type(value) not in wanted:
            raise ValueError(f"{where} is not {kind.__name__}")

    return check


_LIST, _DICT = _scalar(list), _scalar(dict)


def _one_of(choices: tuple[Any, ...]) -> Check:
    def check(value: Any, where: str) -> None:
        if not isinstance(value, str) or value not in choices:
            raise ValueError(f"{where} is none of {', '.join(map(str, choices))}")

    return check


def _optional(inner: Check) -> Check:
    def check(value: Any, where: str) -> None:
        if value is not None:
            inner(value, where)

    return check


def _items(inner: Check) -> Check:
    def check(value: Any, where: str) -> None:
        _LIST(value, where)
        for item in value:
            inner(item, where)

    return check


def _fixed(inner: list[Check]) -> Check:
    def check(value: Any, where: str) -> None:
        _LIST(value, where)
        if len(value) != len(inner):
            raise ValueError(f"{where} has not {len(inner)} items")
        for one, item in zip(inner, value, strict=True):
            one(item, where)

    return check


def _values(inner: Check) -> Check:
    def check(value: Any, where: str) -> None:
        _DICT(value, where)
        for key, item in value.items():
            inner(item, f"{where}.{key}")

    return check


def _record(cls: Any) -> Check:
    fields: dict[str, Check] = {}
    required: set[str] = set()

    def check(value: Any, where: str) -> None:
        if not fields:  # on first use: a class may hold itself
            hints = typing.get_type_hints(cls)
            fields.update({item.name: _check_of(hints[item.name]) for item in dataclasses.fields(cls)})
            required.update(item.name for item in dataclasses.fields(cls) if _is_required(item))
        _DICT(value, where)
        for key, item in value.items():
            if key not in fields:
                raise ValueError(f"{where} has no {key}")
            fields[key](item, f"{where}.{key}")
        if missing := required - value.keys():
            raise ValueError(f"{where} lacks {', '.join(sorted(missing))}")

    return check


def _is_required(item: dataclasses.Field[Any]) -> bool:
    return item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING
