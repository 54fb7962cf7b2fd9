"""The error dictionary (`contracts/errors/*.yaml`, and files of the user) as objects, validated when it is loaded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import yaml

from ..catalogue import LEVELS, Text, load_catalogue
from ..remedies import OWNERS
from ..resources import resource_dir
from .conditions import KEYS, When, names_in
from .literals import best, options_of

AREAS = (
    "framework",
    "environment",
    "npu",
    "distributed",
    "fsdp",
    "weights",
    "transformers",
    "tokens",
    "data",
    "config",
    "python",
)
"""Files of the dictionary that ships, in the order in which their entries are tried: the most particular first."""

ROLES = ("cause", "consequence", "wrapper")
SOURCES = ("raised", "printed", "any")
CONFIDENCES = ("high", "medium", "low")
UNOWNED_STAGE = "verification"
"""The stage that keeps a failure nobody owns: it ran the gate that failed first."""

MIN_LITERAL = 3

_REQUIRED = ("pattern", "owner", "text", "cause", "fix")
_OPTIONAL = (
    "role",
    "source",
    "silent",
    "generic",
    "confidence",
    "gate",
    "when",
    "explains",
    "ambiguous_with",
    "catchable_at",
    "example",
)
_LANGUAGES = ("en", "zh")


class DictionaryError(ValueError):
    """A dictionary is malformed: says in which file, at which entry and key, and why.

    Attributes:
        file, place, detail: where (`entry.key`), and what is wrong there.
    """

    def __init__(self, file: str, place: str, detail: str) -> None:
        super().__init__(f"{file}: {place}: {detail}")
        self.file, self.place, self.detail = file, place, detail


@dataclass(frozen=True)
class Entry:
    """One kind of failure, as a log shows it.

    Attributes:
        id: its name.
        pattern: regular expression for one line without its rank prefix (`re.search`, no flags).
        owner: whose part is at fault.
        text: the symptom in words; `cause`: the root cause; `fix`: what to do. By language.
        role: a cause; a consequence of what happened elsewhere; or a wrapper around the message that matters.
        source: what sort of line counts: "raised" (exceptions and error records), "printed" (any text but debug, info
            and warning records), "any".
        silent: the run goes on after it, so it counts although nothing stopped.
        generic: says little more than the exception's class; anything more particular is preferred.
        confidence: how far the line alone proves the cause.
        gate: a pattern that begins with a literal and finds the lines faster than the pattern's own literals.
        when: conditions that tell it from entries with the same words.
        explains: entries whose failure follows from this one.
        ambiguous_with: other causes of the same symptom, and what tells them apart, by language.
        level, contracts: where it can be caught before a run on devices.
        examples: lines that it matches.
    """

    id: str
    pattern: re.Pattern[str]
    owner: str
    text: Text
    cause: Text
    fix: Mapping[str, tuple[str, ...]]
    role: str = "cause"
    source: str = "raised"
    silent: bool = False
    generic: bool = False
    confidence: str = "high"
    gate: str | None = None
    when: When | None = None
    explains: tuple[str, ...] = ()
    ambiguous_with: Mapping[str, Text] = field(default_factory=dict)
    level: str = "npu"
    contracts: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()

    @cached_property
    def literals(self) -> frozenset[str]:
        """Texts of which a line must contain one to match."""
        found = best(options_of(self.pattern.pattern))
        assert found is not None
        return found

    def fits(self, text: str) -> bool:
        """Whether the pattern matches and the line does not already rule the entry out."""
        match = self.pattern.search(text)
        return match is not None and (self.when is None or self.when.fits(match.groupdict()))


@dataclass(frozen=True, eq=False)
class Dictionary:
    """All entries, in the order in which they are tried."""

    entries: tuple[Entry, ...]

    @cached_property
    def by_id(self) -> dict[str, Entry]:
        """Entries by id."""
        return {entry.id: entry for entry in self.entries}

    @cached_property
    def position(self) -> dict[str, int]:
        """How particular an entry is: the lower, the more."""
        return {entry.id: index for index, entry in enumerate(self.entries)}

    def extended(self, path: Path) -> Dictionary:
        """This dictionary with a file of the user in front: an entry of the same id is replaced.

        Raises:
            DictionaryError: when the file cannot be read or is malformed.
        """
        own = read_entries(path)
        names = {entry.id for entry in own}
        merged = Dictionary((*own, *(entry for entry in self.entries if entry.id not in names)))
        check_references(own, merged, str(path))
        return merged


@cache
def load_dictionary() -> Dictionary:
    """The dictionary that ships with this installation.

    Raises:
        DictionaryError: when it is malformed: a mistake in this package.
    """
    folder = resource_dir("contracts") / "errors"
    entries: list[Entry] = []
    for area in AREAS:
        entries += read_entries(folder / f"{area}.yaml")
    names = [entry.id for entry in entries]
    if twice := {name for name in names if names.count(name) > 1}:
        raise DictionaryError(str(folder), ", ".join(sorted(twice)), "defined twice")
    dictionary = Dictionary(tuple(entries))
    check_references(entries, dictionary, str(folder))
    return dictionary


def read_entries(path: Path) -> list[Entry]:
    """Read one file: a mapping from id to entry.

    Raises:
        DictionaryError: when it cannot be read, is not YAML, or an entry is malformed.
    """
    try:
        document = yaml.load(path.read_bytes(), Loader=_UniqueKeys)
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise DictionaryError(str(path), "-", str(error)) from error
    if document is None:
        return []
    if not isinstance(document, dict):
        raise DictionaryError(str(path), "-", "has to be a mapping from id to entry")
    return [_entry(str(name), value, path) for name, value in document.items()]


def check_references(entries: Iterable[Entry], dictionary: Dictionary, file: str) -> None:
    """Check that the entries and contracts which `entries` name exist.

    Raises:
        DictionaryError: for a name that does not.
    """
    contracts = load_catalogue().by_id
    for entry in entries:
        when = entry.when or When()
        seen = [name for name in (when.seen, when.not_seen) if name]
        for key, names in (("explains", entry.explains), ("ambiguous_with", entry.ambiguous_with), ("when", seen)):
            if unknown := [name for name in names if name not in dictionary.by_id]:
                raise DictionaryError(file, f"{entry.id}.{key}", f"no such entry: {', '.join(unknown)}")
        if unknown := [name for name in entry.contracts if name not in contracts]:
            raise DictionaryError(file, f"{entry.id}.catchable_at", f"no such contract: {', '.join(unknown)}")


_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _UniqueKeys(_Loader):  # type: ignore[misc]
    """Refuses a key that stands twice in one mapping."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        if twice := next((key for key in keys if keys.count(key) > 1), None):
            raise yaml.constructor.ConstructorError(None, None, f"the key {twice!r} stands twice", node.start_mark)
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        return mapping


def _entry(name: str, value: Any, path: Path) -> Entry:
    def fail(key: str, detail: str) -> DictionaryError:
        return DictionaryError(str(path), f"{name}.{key}" if key else name, detail)

    if not isinstance(value, dict):
        raise fail("", "has to be a mapping")
    if missing := [key for key in _REQUIRED if key not in value]:
        raise fail(missing[0], "is missing")
    if unknown := [str(key) for key in value if key not in (*_REQUIRED, *_OPTIONAL)]:
        raise fail(unknown[0], f"is not known; allowed: {', '.join((*_REQUIRED, *_OPTIONAL))}")
    choices = {"owner": OWNERS, "role": ROLES, "source": SOURCES, "confidence": CONFIDENCES}
    for key, allowed in choices.items():
        if key in value and value[key] not in allowed:
            raise fail(key, f"{value[key]!r} is not one of {', '.join(allowed)}")
    for key in ("silent", "generic"):
        if not isinstance(value.get(key, False), bool):
            raise fail(key, "has to be true or false")
    when = _when(value.get("when"), fail)
    pattern = _pattern(value["pattern"], "pattern", fail)
    found = best(options_of(pattern.pattern))
    if found is None or min(map(len, found)) < MIN_LITERAL:
        raise fail("pattern", f"needs a fixed text of at least {MIN_LITERAL} characters in each of its alternatives")
    if when:
        _check_groups(when, pattern, fail)
    gate = value.get("gate")
    if gate is not None:
        _pattern(gate, "gate", fail)
    level, contracts = _catchable(value.get("catchable_at", {}), fail)
    other = value.get("ambiguous_with", {})
    if not isinstance(other, dict):
        raise fail("ambiguous_with", "has to be a mapping from id to what tells it apart")
    return Entry(
        id=name,
        pattern=pattern,
        owner=value["owner"],
        text=_text(value["text"], "text", fail),
        cause=_text(value["cause"], "cause", fail),
        fix=_actions(value["fix"], fail),
        role=value.get("role", "cause"),
        source=value.get("source", "raised"),
        silent=value.get("silent", False),
        generic=value.get("generic", False),
        confidence=value.get("confidence", "high"),
        gate=gate,
        when=when,
        explains=_names(value.get("explains", []), "explains", fail),
        ambiguous_with={str(id_): _text(tell, f"ambiguous_with.{id_}", fail) for id_, tell in other.items()},
        level=level,
        contracts=contracts,
        examples=_names(value.get("example", []), "example", fail),
    )


def _pattern(value: Any, key: str, fail: Any) -> re.Pattern[str]:
    if not isinstance(value, str) or not value:
        raise fail(key, "has to be a regular expression")
    try:
        return re.compile(value)
    except re.error as error:
        raise fail(key, f"is not a regular expression: {error}") from error


def _text(value: Any, key: str, fail: Any) -> Text:
    """Text in both languages; a plain string stands for both."""
    if isinstance(value, str) and value:
        return dict.fromkeys(_LANGUAGES, value)
    if not isinstance(value, dict) or set(value) != set(_LANGUAGES):
        raise fail(key, "has to be text, or a mapping with en and zh")
    if bad := [lang for lang in _LANGUAGES if not isinstance(value[lang], str) or not value[lang]]:
        raise fail(f"{key}.{bad[0]}", "has to be text")
    return dict(value)


def _actions(value: Any, fail: Any) -> Mapping[str, tuple[str, ...]]:
    if isinstance(value, dict):
        if set(value) != set(_LANGUAGES):
            raise fail("fix", "has to be text, a list, or a mapping with en and zh")
        return {lang: _names(value[lang], f"fix.{lang}", fail) for lang in _LANGUAGES}
    actions = _names(value, "fix", fail)
    return dict.fromkeys(_LANGUAGES, actions)


def _names(value: Any, key: str, fail: Any) -> tuple[str, ...]:
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(item, str) and item for item in items):
        raise fail(key, "has to be text or a list of texts")
    return tuple(items)


def _when(value: Any, fail: Any) -> When | None:
    if value is None:
        return None
    if not isinstance(value, dict) or not value:
        raise fail("when", "has to be a mapping")
    if unknown := [key for key in value if key not in KEYS]:
        raise fail(f"when.{unknown[0]}", f"is not known; allowed: {', '.join(KEYS)}")
    values: dict[str, Any] = dict(value)
    for key in ("chained", "trace", "not_trace", "frame", "near", "not_near"):
        if key in values:
            _pattern(values[key], f"when.{key}", fail)
    if "numbers" in values:
        values["numbers"] = _names(values["numbers"], "when.numbers", fail)
    if "misspelt" in values:
        if not isinstance(values["misspelt"], dict):
            raise fail("when.misspelt", "has to be a mapping from group to names")
        groups = values["misspelt"].items()
        values["misspelt"] = {group: _names(names, f"when.misspelt.{group}", fail) for group, names in groups}
    return When(**values)


def _check_groups(when: When, pattern: re.Pattern[str], fail: Any) -> None:
    for expression in when.numbers:
        try:
            used = names_in(expression)
        except ValueError as error:
            raise fail("when.numbers", str(error)) from error
        if unknown := used - set(pattern.groupindex):
            raise fail("when.numbers", f"the pattern has no group {', '.join(sorted(unknown))}")
    if unknown := set(when.misspelt) - set(pattern.groupindex):
        raise fail("when.misspelt", f"the pattern has no group {', '.join(sorted(unknown))}")


def _catchable(value: Any, fail: Any) -> tuple[str, tuple[str, ...]]:
    if not isinstance(value, dict) or not set(value) <= {"level", "contracts"}:
        raise fail("catchable_at", "has to be a mapping with level and contracts")
    level = value.get("level", "npu")
    if level not in LEVELS:
        raise fail("catchable_at.level", f"{level!r} is not one of {', '.join(LEVELS)}")
    return level, _names(value.get("contracts", []), "catchable_at.contracts", fail)
