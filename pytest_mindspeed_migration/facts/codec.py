"""Dataclass <-> JSON, generically: every facts class round-trips without code of its own."""

from __future__ import annotations

import dataclasses
import types
import typing
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin

T = TypeVar("T")


def to_json(value: Any) -> Any:
    """Turn facts into plain JSON values, leaving out fields that hold their default (small files, stable diffs)."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _record(type(value)).encode(value)
    if isinstance(value, dict):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    return value


def from_json(cls: type[T], value: Any) -> T:
    """Build an instance of the facts class `cls` from what `to_json` made.

    Raises:
        ValueError: when `value` does not have the shape of `cls`.
    """
    try:
        return typing.cast(T, _decoder(typing.cast(Any, cls))(value))
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"not a valid {getattr(cls, '__name__', cls)}: {error}") from error


@cache
def _decoder(hint: Any) -> Any:
    """Return a function that decodes a JSON value of the annotated type; built once per type, since facts are many."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        (inner,) = [arg for arg in get_args(hint) if arg is not type(None)][:1]
        decode = _decoder(inner)
        return decode if decode is _same else (lambda value: None if value is None else decode(value))
    if origin is list:
        item = _decoder(get_args(hint)[0])
        return _same if item is _same else (lambda value: [item(entry) for entry in value])
    if origin is dict:
        item = _decoder(get_args(hint)[1])
        return _same if item is _same else (lambda value: {key: item(entry) for key, entry in value.items()})
    if origin is tuple:
        return tuple
    if dataclasses.is_dataclass(hint):
        return _record(typing.cast(Any, hint)).decode
    return _same


@cache
def _encoder(hint: Any) -> Any:
    """Return a function that encodes a value of the annotated type, as `to_json` does without knowing the type."""
    origin = get_origin(hint)
    if _decoder(hint) is _same:
        return _same
    if origin in (Union, types.UnionType):
        (inner,) = [arg for arg in get_args(hint) if arg is not type(None)][:1]
        encode = _encoder(inner)
        return lambda value: None if value is None else encode(value)
    if origin is list:
        item = _encoder(get_args(hint)[0])
        return lambda value: [item(entry) for entry in value]
    if origin is dict:
        item = _encoder(get_args(hint)[1])
        return lambda value: {str(key): item(entry) for key, entry in value.items()}
    return _record(typing.cast(Any, hint)).encode if dataclasses.is_dataclass(hint) else to_json


_MISSING = object()


class _Record:
    """Codec of one dataclass. Field types are looked at on first use: a class may hold itself."""

    def __init__(self, cls: Any) -> None:
        self._cls = cls
        self._decoders: dict[str, Any] = {}
        self._fields: list[tuple[str, Any, Any]] = []  # name, default, encoder

    def decode(self, value: Any) -> Any:
        decoders = self._decoders or self._prepare()
        return self._cls(
            **{key: entry if decoders[key] is _same else decoders[key](entry) for key, entry in value.items()}
        )

    def encode(self, value: Any) -> dict[str, Any]:
        if not self._fields:
            self._prepare()
        out = {}
        for name, default, encode in self._fields:
            item = getattr(value, name)
            if item != default:
                out[name] = item if encode is _same else encode(item)
        return out

    def _prepare(self) -> dict[str, Any]:
        hints = typing.get_type_hints(self._cls)
        self._decoders = {item.name: _decoder(hints[item.name]) for item in dataclasses.fields(self._cls)}
        for item in dataclasses.fields(self._cls):
            default: Any = _MISSING if item.default is dataclasses.MISSING else item.default
            if item.default_factory is not dataclasses.MISSING:
                default = item.default_factory()
            self._fields.append((item.name, default, _encoder(hints[item.name])))
        return self._decoders


@cache
def _record(cls: Any) -> _Record:
    return _Record(cls)


def _same(value: Any) -> Any:
    return value
