"""What triage has to say about a log: plain values that go to JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Status = Literal["cause", "consequence", "unknown"]
"""A cause was found; only consequences or wrappers of one that this log does not show; a failure that no entry fits."""

Texts = Mapping[str, str]


@dataclass(frozen=True)
class Place:
    """A line of the log: counted from 1, with the rank that wrote it where that is known."""

    line: int
    rank: int | None
    text: str


@dataclass(frozen=True)
class Folded:
    """Lines that follow from the first cause, or repeat it on other ranks.

    Attributes:
        entry: of the dictionary; None for an exception that it does not know.
        text: what it is, by language.
        count: lines of this kind; `ranks`: who wrote them; `first`: the first of them.
    """

    entry: str | None
    text: Texts
    count: int
    ranks: tuple[int, ...]
    first: Place


@dataclass(frozen=True)
class Alternative:
    """Another cause that looks alike: its owner, and what would tell the two apart, by language."""

    entry: str
    owner: str
    text: Texts
    tell: Texts


@dataclass(frozen=True)
class Diagnosis:
    """The verdict on one log.

    Attributes:
        status: whether `cause` is one.
        entry: id in the dictionary; None when nothing fits.
        owner: model, data, config, environment or framework; None when nobody is known to own it.
        stage: the migration stage that it goes to (`catalogue.OWNERS`).
        confidence: high, medium or low.
        place: the line that shows it.
        excerpt: the lines to read, as they stand in the log.
        symptom, cause: by language; empty when unknown.
        fix: actions, by language.
        level, contracts: where it can be caught earlier.
        count, ranks: how often, and where, the same was seen.
        consequences: folded under it, the most frequent first.
        others: further causes in the log that it does not explain.
        alternatives: causes that look alike.
    """

    status: Status
    entry: str | None
    owner: str | None
    stage: str
    confidence: str
    place: Place
    excerpt: tuple[str, ...]
    symptom: Texts = field(default_factory=dict)
    cause: Texts = field(default_factory=dict)
    fix: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    level: str | None = None
    contracts: tuple[str, ...] = ()
    count: int = 1
    ranks: tuple[int, ...] = ()
    consequences: tuple[Folded, ...] = ()
    others: tuple[Folded, ...] = ()
    alternatives: tuple[Alternative, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As plain values for `json.dumps`."""
        return asdict(self)
