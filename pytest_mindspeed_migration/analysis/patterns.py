"""The pattern language of module plans, matched against names in which a list index may be unknown.

The language is the one of MindSpeed's `mindspeed/fsdp/utils/str_match.py`: `{*}` is a number, `{a-b}` a number in that
range, `*` any text (dots included), `?` one character, everything else itself, over the whole name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

INDEX = "#"
"""Stands for the index of an element of a list of unknown length."""

_BRACES = re.compile(r"\{([^}]*)\}")
_DIGITS = re.compile(r"[0-9]+")
_MAX_DIGITS = 4_000
"""Longer runs of digits are text: Python does not convert them to numbers."""


class PatternError(ValueError):
    """The text is not a pattern; the framework's matcher raises ValueError for it."""


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  # "text" (one character), "any" (*), "one" (?), "number" (braces), "digits" (a written-out index)
    text: str = ""
    low: int | None = None
    high: int | None = None


States = frozenset[int]


@dataclass(frozen=True)
class Pattern:
    """A compiled pattern. Matching goes step by step (`start`, `feed`, `accepts`), so that a tree can be pruned."""

    text: str
    tokens: tuple[_Token, ...]

    @property
    def start(self) -> States:
        """The state before the first character."""
        return self._skip({0})

    def feed(self, states: States, text: str) -> States:
        """The state after more text; empty when no continuation can match."""
        position = 0
        while position < len(text) and states:
            run = _DIGITS.match(text, position)
            if run is not None:
                states = self._digits(states, run.group())
                position += len(run.group())
            else:
                states = self._character(states, text[position])
                position += 1
        return states

    def accepts(self, states: States) -> bool:
        """Whether the text fed so far matches as a whole."""
        return len(self.tokens) in states

    def matches(self, name: str) -> bool:
        """Whether a name matches; `#` in it stands for any index."""
        return self.accepts(self.feed(self.start, name))

    @property
    def indexes(self) -> tuple[tuple[int, int] | None, ...]:
        """The ranges of its numbers in order: (low, high), or None for `{*}`."""
        return tuple(
            None if token.low is None or token.high is None else (token.low, token.high)
            for token in self.tokens
            if token.kind in ("number", "digits")
        )

    def _skip(self, states: set[int]) -> States:
        """Add the states reached by letting a `*` match nothing."""
        reached = set(states)
        for state in states:
            while state < len(self.tokens) and self.tokens[state].kind == "any":
                state += 1
                reached.add(state)
        return frozenset(reached)

    def _character(self, states: States, character: str) -> States:
        after = set()
        for state in states:
            if state == len(self.tokens):
                continue
            token = self.tokens[state]
            if token.kind == "any":
                after.add(state)
            elif (
                token.kind == "one"
                or (token.kind in ("number", "digits") and character == INDEX)
                or (token.kind == "text" and token.text == character)
            ):
                after.add(state + 1)
        return self._skip(after)

    def _digits(self, states: States, run: str) -> States:
        """A run of digits: a number token takes it whole (as in practice), any other token takes its characters."""
        after: set[int] = set()
        for state in states:
            if state < len(self.tokens):
                token = self.tokens[state]
                if token.kind in ("number", "digits") and _in_range(run, token):
                    after.add(state + 1)
        for state in states:
            single: States = frozenset({state})
            for character in run:
                single = self._character(single, character)
            after.update(single)
        return self._skip(after)


@lru_cache(maxsize=512)
def compile_pattern(text: str) -> Pattern:
    """Compile a pattern.

    Raises:
        PatternError: for braces that are neither `{*}` nor `{low-high}` with low <= high.
    """
    tokens: list[_Token] = []
    position = 0
    while position < len(text):
        brace = _BRACES.match(text, position)
        digits = _DIGITS.match(text, position)
        if brace:
            tokens.append(_number(brace.group(1)))
            position += len(brace.group())
            continue
        if digits and len(digits.group()) <= _MAX_DIGITS and _starts_segment(tokens):
            value = int(digits.group())
            tokens.append(_Token("digits", digits.group(), value, value))
            position += len(digits.group())
            continue
        token = _character_token(text[position])
        if token.kind != "any" or not tokens or tokens[-1].kind != "any":  # `**` says what `*` says
            tokens.append(token)
        position += 1
    return Pattern(text, tuple(tokens))


def overlap(first: Pattern, second: Pattern) -> bool:
    """Whether two patterns that match the same symbolic name can match the same module: their index ranges meet."""
    for one, other in zip(first.indexes, second.indexes, strict=False):
        if one is not None and other is not None and (one[1] < other[0] or other[1] < one[0]):
            return False
    return True


def _number(inner: str) -> _Token:
    if inner == "*":
        return _Token("number")
    try:
        low, high = (int(bound) for bound in inner.split("-"))
    except ValueError as error:  # more or fewer than two, no numbers, or longer than Python converts
        raise PatternError(inner) from error
    if low > high:
        raise PatternError(inner)
    return _Token("number", inner, low, high)


@lru_cache(maxsize=512)
def _character_token(character: str) -> _Token:
    """The token of one character; a long pattern shares them."""
    return _Token({"*": "any", "?": "one"}.get(character, "text"), character)


def _in_range(run: str, token: _Token) -> bool:
    """Whether a run of digits is a number of the token's range."""
    if token.low is None or token.high is None:
        return True
    return len(run) <= _MAX_DIGITS and token.low <= int(run) <= token.high


def _starts_segment(tokens: list[_Token]) -> bool:
    """Whether the next token begins a part of the name: digits there may be an index."""
    return not tokens or tokens[-1].text == "."
