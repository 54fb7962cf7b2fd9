"""What a check says: findings, each with the place, the value seen, the value expected and the way out."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

MAX_NEAR = 200
"""Longer names have no near one."""

_HITS = 3
_SAME_WORD = 0.6
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

Level = Literal["error", "note"]


@dataclass(frozen=True)
class Finding:
    """One thing a check has to say about the target repo.

    Attributes:
        message: key of a text in the message catalogue (`contracts/messages.yaml`); `args` fill it.
        args: values of the placeholders of that text, plain JSON.
        path: file the finding is about, relative to the target repo, "/" as separator.
        line: 1-based line in `path`, when known.
        yaml_path: dotted path of the YAML node, such as `parallel.fsdp_plan.apply_modules[2]`.
        value: what was seen, as text.
        expected: what would have been right, as text.
        suggestion: the near name or the place where a key belongs ("did you mean").
        severity: an "error" fails its contract; a "note" is shown and does not.
    """

    message: str
    args: dict[str, Any] = field(default_factory=dict)
    path: str | None = None
    line: int | None = None
    yaml_path: str | None = None
    value: str | None = None
    expected: str | None = None
    suggestion: str | None = None
    severity: Level = "error"

    @property
    def fails(self) -> bool:
        """Whether this finding fails its contract."""
        return self.severity == "error"

    @property
    def where(self) -> str:
        """The place as `file:line`, as far as it is known."""
        if self.path is None:
            return ""
        return self.path if self.line is None else f"{self.path}:{self.line}"


def near(name: str, candidates: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the candidate nearest to `name` ("did you mean"), or None when none is near."""
    if len(name) > MAX_NEAR:  # no slip of the pen, and comparing costs the square of the length
        return None
    folded = {str(c).lower(): str(c) for c in candidates if c != name}
    hits = difflib.get_close_matches(name.lower(), list(folded), n=_HITS, cutoff=cutoff)
    return next((folded[hit] for hit in hits if _one_slip(name, folded[hit])), None)


def _one_slip(name: str, other: str) -> bool:
    """Whether two names may be one and a slip of the pen: not where a whole word of one stands in place of another."""
    words, others = _WORD.findall(name), _WORD.findall(other)
    return len(words) != len(others) or all(map(_alike, words, others))


def _alike(word: str, other: str) -> bool:
    one, two = word.lower(), other.lower()
    shortened = one.startswith(two) or two.startswith(one)
    return shortened or difflib.SequenceMatcher(None, one, two).ratio() >= _SAME_WORD
