"""Which fixed texts a line must contain before a pattern can match it: what makes a search through a big log cheap."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Any

_INTERNAL = "re." if sys.version_info >= (3, 11) else "sre"
sre: Any = import_module(f"{_INTERNAL}_constants")
parser: Any = import_module(f"{_INTERNAL}_parser" if _INTERNAL == "re." else "sre_parse")

Option = frozenset[str]
"""Alternatives: every match contains at least one of these texts."""

_MAX_ALTERNATIVES = 64


def options_of(pattern: str) -> list[Option]:
    """The texts that each match of `pattern` contains: of every option, at least one alternative.

    Args:
        pattern: a regular expression without flags; `re.error` when it is not one.
    """
    return _of_sequence(parser.parse(pattern))


def best(options: Iterable[Option]) -> Option | None:
    """The option that says most: the one whose shortest alternative is longest."""
    return max(options, key=lambda option: (min(map(len, option)), -len(option)), default=None)


def _of_sequence(items: Any) -> list[Option]:
    found: list[Option] = []
    run = ""
    for kind, value in items:
        if kind is sre.LITERAL:
            run += chr(value)
            continue
        if run:
            found.append(frozenset([run]))
            run = ""
        found += _of_item(kind, value)
    return [*found, frozenset([run])] if run else found


def _of_item(kind: Any, value: Any) -> list[Option]:
    if kind is sre.SUBPATTERN:
        _, added, _, inner = value
        return [] if added else _of_sequence(inner)  # case does not matter inside `(?i:...)`: nothing is fixed
    if kind is sre.BRANCH:
        choices = [best(_of_sequence(choice)) for choice in value[1]]
        known = [choice for choice in choices if choice is not None]
        if len(known) < len(choices):  # one of the alternatives may be anything
            return []
        merged = frozenset().union(*known)
        return [merged] if len(merged) <= _MAX_ALTERNATIVES else []
    if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, getattr(sre, "POSSESSIVE_REPEAT", None)):
        least, _, inner = value
        return _of_sequence(inner) if least else []
    if kind is getattr(sre, "ATOMIC_GROUP", None):
        return _of_sequence(value)
    return []
