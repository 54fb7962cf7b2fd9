"""A diagnosis as lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..messages import shown, text
from .texts import labelled

if TYPE_CHECKING:
    from ..triage import Diagnosis, Folded, Place

MAX_FOLDED = 8
"""Kinds of consequences that are shown; the JSON of the diagnosis has them all."""


def diagnosis_text(diagnosis: Diagnosis, lang: str) -> str:
    """What broke a run, why, whose part it is, what to do, and what to read."""
    return "\n".join(_lines(diagnosis, lang))


def _lines(found: Diagnosis, lang: str) -> Iterator[str]:
    values = {"symptom": found.symptom.get(lang, ""), "entry": found.entry or ""}
    yield text(f"triage.{found.status}", values, lang)
    place_values = {"place": _place(found.place, lang), "text": found.place.text}
    yield _labelled("place", text("triage.place_value", place_values, lang), lang)
    if found.cause:
        yield _labelled("why", found.cause[lang], lang)
    stage = text(f"owner.{found.stage}", {}, lang)
    owner = text(f"triage.owner_{found.owner}" if found.owner else "triage.unowned", {}, lang)
    yield _labelled("owner", text("triage.owner_stage", {"owner": owner, "stage": stage}, lang), lang)
    yield _labelled("confidence", text(f"triage.confidence_{found.confidence}", {}, lang), lang)
    for action in found.fix.get(lang, ()):
        yield f"  {labelled('report.fix', action, lang)}"
    if found.contracts:
        earlier = {"contracts": ", ".join(found.contracts), "level": found.level}
        yield _labelled("earlier", text("triage.earlier_value", earlier, lang), lang)
    yield _labelled("seen", _times(found.count, found.ranks, lang), lang)
    for other in found.alternatives:
        owner = text(f"triage.owner_{other.owner}", {}, lang)
        other_values = {"text": other.text[lang], "owner": owner, "tell": other.tell[lang]}
        yield _labelled("alternatives", text("triage.alternative", other_values, lang), lang)
    yield from _folded("follows", found.consequences, lang)
    yield from _folded("others", found.others, lang)
    yield f"  {text('triage.excerpt', {}, lang)}:"
    for line in found.excerpt:
        yield f"    | {shown(line)}"


def _folded(name: str, kinds: Sequence[Folded], lang: str) -> Iterator[str]:
    for kind in kinds[:MAX_FOLDED]:
        values = {"count": kind.count, "text": kind.text[lang], "place": _place(kind.first, lang)}
        yield _labelled(name, text("triage.folded", values, lang), lang)


def _labelled(name: str, value: str, lang: str) -> str:
    return f"  {labelled(f'triage.{name}', value, lang)}"


def _place(place: Place, lang: str) -> str:
    if place.rank is None:
        return text("triage.line", {"line": place.line}, lang)
    return text("triage.rank_line", {"rank": place.rank, "line": place.line}, lang)


def _times(count: int, ranks: Sequence[int], lang: str) -> str:
    if not ranks:
        return text("triage.times", {"count": count}, lang)
    return text("triage.times_ranks", {"count": count, "ranks": ", ".join(map(str, ranks))}, lang)
