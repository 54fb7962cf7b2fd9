"""Texts shown to users, by language, from `contracts/messages/*.yaml`."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from .findings import Finding
from .resources import resource_dir

LANGUAGES = ("en", "zh")

MAX_SHOWN = 2_000
"""Characters of one value that are shown; the evidence holds the whole of it."""

# Line breaks, terminal control, text direction, halves of surrogates: they change how the text around them is read.
_HIDDEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


class MessageError(LookupError):
    """A text is missing from the catalogue, or lacks one of its placeholders: a mistake in this package."""


def text(key: str, args: Mapping[str, Any], lang: str = "en") -> str:
    """Return the text `key` in `lang`, its placeholders filled from `args`.

    Raises:
        MessageError: when there is no such text, or `args` lacks one of its placeholders.
    """
    values = tuple(args.items())
    if all(type(value) is str for _, value in values):  # 1 and True are equal, and no equal texts
        return _text_of_texts(key, values, lang)
    return _text(key, args, lang)


@lru_cache(maxsize=4096)  # most reasons are those of many contracts, and are shown and kept
def _text_of_texts(key: str, args: tuple[tuple[str, str], ...], lang: str) -> str:
    return _text(key, dict(args), lang)


def _text(key: str, args: Mapping[str, Any], lang: str) -> str:
    return _filled(key, _template(key, lang), args, lang)


def _filled(key: str, template: str, args: Mapping[str, Any], lang: str) -> str:
    try:
        return template.format(**{name: shown(arg) if isinstance(arg, str) else arg for name, arg in args.items()})
    except (KeyError, IndexError, AttributeError, ValueError) as error:
        raise MessageError(
            f"text {key!r} ({lang}): placeholder {error} cannot be filled from {sorted(args)}"
        ) from error


def shown(value: str) -> str:
    """Text of a target repo as it may stand in a line for people: one line, nothing a terminal obeys, not endless."""
    if len(value) > MAX_SHOWN:
        value = f"{value[:MAX_SHOWN]}... ({len(value)})"
    return _HIDDEN.sub(lambda match: match.group().encode("unicode_escape").decode("ascii"), value)


def finding_text(finding: Finding, lang: str = "en") -> str:
    """Return the sentence of a finding, without its place; value, expected and suggestion count as arguments.

    An argument `{"key": ..., "args": ...}` is a text of the catalogue itself.
    """
    return text(finding.message, _texts_in(_finding_args(finding), lang), lang)


def finding_line(finding: Finding, lang: str = "en") -> str:
    """Return a finding on one line: place, YAML path, sentence, then what the sentence does not already say."""
    sentence = finding_text(finding, lang)
    said = placeholders(finding.message, lang)
    extra = [
        text(f"finding.{name}", {name: value}, lang)
        for name, value in (("value", finding.value), ("expected", finding.expected))
        if value is not None and name not in said
    ]
    comma, semicolon = ("，", "；") if lang == "zh" else (", ", "; ")
    tail = comma.join(extra)
    if finding.suggestion is not None and "suggestion" not in said:
        hint = text("finding.suggestion", {"suggestion": finding.suggestion}, lang)
        tail = f"{tail}{semicolon}{hint}" if tail else hint
    place = " ".join(shown(part) for part in (finding.where, finding.yaml_path) if part)
    line = f"{place}: {sentence}" if place else sentence  # a place is written as compilers write it, in any language
    if not tail:
        return line
    return f"{line}（{tail}）" if lang == "zh" else f"{line} ({tail})"


def finding_extra(finding: Finding, part: str, lang: str | None = None) -> str | None:
    """Return what the catalogue says of such a finding beside its sentence, filled.

    Args:
        part: "owner", which is one word for all languages, or the text "cause", "fix" or "fix_near".

    Returns:
        None where it says nothing, or would have to name what this finding does not know, such as its YAML path.
    """
    found = _texts().get(finding.message, {}).get(part)
    if found is None or lang is None:
        return found
    place = {"where": finding.where or None, "path": finding.path, "line": finding.line, "yaml_path": finding.yaml_path}
    args = {**place, **_texts_in(_finding_args(finding), lang)}
    if any(args.get(name) is None for name in placeholders_in(found[lang])):
        return None
    return _filled(f"{finding.message}.{part}", found[lang], args, lang)


@cache
def placeholders(key: str, lang: str = "en") -> frozenset[str]:
    """Return the names of the placeholders of a text."""
    return placeholders_in(_template(key, lang))


@cache
def placeholders_in(template: str) -> frozenset[str]:
    """Return the names of the placeholders of a template."""
    parts = string.Formatter().parse(template)
    return frozenset(name.split(".")[0].split("[")[0] for _, name, _, _ in parts if name)


def known_keys() -> set[str]:
    """Return the keys of all texts."""
    return set(_texts())


def extras_of(key: str) -> dict[str, Any]:
    """Return what the catalogue says beside the text `key`: owner, cause, fix, fix_near."""
    return {part: value for part, value in _texts()[key].items() if part not in LANGUAGES}


def _texts_in(args: Mapping[str, Any], lang: str) -> dict[str, Any]:
    """Arguments, with those that are texts of the catalogue themselves written out."""
    return {
        name: text(arg["key"], arg["args"], lang) if isinstance(arg, dict) and "key" in arg else arg
        for name, arg in args.items()
    }


def _finding_args(finding: Finding) -> dict[str, Any]:
    own = {"value": finding.value, "expected": finding.expected, "suggestion": finding.suggestion}
    return {**own, **finding.args}


def _template(key: str, lang: str) -> str:
    entry = _texts().get(key)
    if entry is None or lang not in entry:
        raise MessageError(f"contracts/messages has no text {key!r} in {lang!r}")
    template: str = entry[lang]
    return template


@cache
def _texts() -> dict[str, dict[str, Any]]:
    from .yaml_files import load_yaml

    merged: dict[str, dict[str, Any]] = {}
    for path in sorted((resource_dir("contracts") / "messages").glob("*.yaml")):
        for key, entry in (load_yaml(path) or {}).items():
            if key in merged:
                raise MessageError(f"{path.name}: text {key!r} is defined twice")
            merged[key] = entry
    return merged
