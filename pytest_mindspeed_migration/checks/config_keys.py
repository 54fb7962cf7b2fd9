"""Keys that are accepted and have no effect: typos, keys that moved to another section, leftovers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..analysis.memo import per_facts
from ..analysis.moved import home_of, left_behind
from ..analysis.readers import Readers, readers_of, schema_of
from ..analysis.schema import Schema
from ..facts.config import ConfigFacts
from ..facts.static import StaticFacts
from ..findings import Finding, near
from ..resources import resource_dir
from ..yaml_files import load_yaml
from .registry import check
from .view import TargetView

_TYPO = 0.8
"""How alike a key is that may be misspelt although the one it is near to is set as well."""


@check("config.ignored_keys")
def every_key_has_a_reader(view: TargetView) -> list[Finding]:
    """Each key of the YAML is read by code that the target's trainer reaches."""
    config = view.config
    if config is None or config.data is None or schema_of(view.facts).root is None:
        return []
    readers = readers_of(view.facts, view.target.name)
    walk = _Walk(config, schema_of(view.facts), readers, _names_in_code(view.facts))
    return [*walk.below("", config.data), *_own_checkpointing(config)]


def _own_checkpointing(config: ConfigFacts) -> Iterator[Finding]:
    """A model's own checkpointing does not go through the block calls that FSDP2 hooks; the framework has its own."""
    section = config.get("model")
    for key, value in section.items() if isinstance(section, dict) else ():
        if str(key).endswith("gradient_checkpointing") and value is True:
            yield Finding(
                "keys.own_checkpointing",
                path=config.path,
                line=config.line_of(f"model.{key}"),
                yaml_path=f"model.{key}",
                value="true",
                suggestion="features.recompute",
                severity="note",
            )


@per_facts
def _names_in_code(facts: StaticFacts) -> frozenset[str]:
    """Every name that some code reads as attribute or key, or passes as keyword."""
    modules = facts.modules.values()
    return frozenset(name for module in modules for names in (module.keys_read, module.keys_passed) for name in names)


@cache
def other_names() -> dict[str, list[str]]:
    """Keys as other stacks call them, with the place of the same thing here (`contracts/renamed_keys.yaml`)."""
    renamed = load_yaml(resource_dir("contracts") / "renamed_keys.yaml")
    return {str(key): list(places) for key, places in renamed.items()}


@dataclass
class _Walk:
    config: ConfigFacts
    schema: Schema
    readers: Readers
    named: frozenset[str]

    def below(self, path: str, data: dict[str, Any]) -> Iterator[Finding]:
        """Judge every key of one mapping."""
        owner = self.schema.node(path)
        for key, value in data.items():
            if (path == "" and key in self.config.anchor_only) or not isinstance(key, str):
                continue
            child = f"{path}.{key}" if path else key
            if owner is not None and owner.extra == "forbid" and key not in owner.fields:
                continue  # an error of its own: the class refuses it
            if self._replaced(path, key, child):
                yield self._finding("keys.replaced", child, value, writer=self._writer(path, key))
            elif self.readers.lost(child) is None:
                yield from self._key(path, key, child, value)
            elif (meant := self._misspelt(path, key, data)) is not None:
                yield self._finding("keys.misspelt", child, value, meant)
            elif isinstance(value, dict) and self.schema.node(child) is not None:
                yield from self.below(child, value)

    def _misspelt(self, node: str, key: str, data: dict[str, Any]) -> str | None:
        """The declared key that is meant, where the section goes to code that cannot be followed.

        Only what no code of the repo names and what is close to a declared key that the YAML leaves out.
        """
        owner = self.schema.node(node)
        if owner is None or key in owner.fields or key in self.named or self.schema.places_of(key):
            return None
        return near(key, [name for name in owner.fields if name not in data], 0.85)

    def _key(self, node: str, key: str, child: str, value: Any) -> Iterator[Finding]:
        read = self.readers.of(node, key) or self.readers.maybe(key)
        inner = self.readers.keys_of(child) or self.readers.keys_of(f"{child}[]")
        if not read and not inner:
            yield self._ignored(node, key, child, value)
        elif (moved := left_behind(self.readers, node, key)) is not None:
            severity = "error" if value else "note"  # switched off on either side
            yield self._finding("keys.left_behind", child, value, moved, severity, reader=self._place(node, key))
        elif isinstance(value, dict) and (inner or self.schema.node(child) is not None):
            yield from self.below(child, value)
        elif isinstance(value, list) and self.readers.keys_of(f"{child}[]"):
            for item in value:
                if isinstance(item, dict):
                    yield from self._items(f"{child}[]", item)

    def _items(self, path: str, item: dict[str, Any]) -> Iterator[Finding]:
        for key in item:
            if isinstance(key, str) and not self.readers.used(path, key):
                yield self._ignored(path, key, f"{path}.{key}", item[key])

    def _ignored(self, node: str, key: str, child: str, value: Any) -> Finding:
        field = self.schema.declared(child)
        home = home_of(self.readers, self.schema, node, key)
        if home is not None:
            return self._finding("keys.moved_and_set" if self.config.has(home) else "keys.moved", child, value, home)
        if field is not None:
            harmless = value == field.default and not str(field.default).startswith("<")
            return self._finding("keys.unread", child, value, severity="note" if harmless else "error")
        if key in other_names():
            known = [place for place in other_names()[key] if self.schema.declared(place) is not None]
            message = "keys.other_name" if known else "keys.ignored"
            return self._finding(message, child, value, " / ".join(known) or None)
        owner = self.schema.node(node)
        names = [*(owner.fields if owner is not None else ()), *self.readers.keys_of(node)]
        free = [name for name in names if not self.config.has(f"{node}.{name}" if node else name)]
        return self._finding("keys.ignored", child, value, near(key, free) or near(key, names, _TYPO))

    def _replaced(self, node: str, key: str, child: str) -> bool:
        """The framework computes the key itself: what the YAML says is overwritten before anything reads it."""
        owner = self.schema.node(node)
        if owner is None or self.schema.declared(child) is not None:
            return False
        return any(w.method.startswith(f"{owner.ref.qualname}.") for w in self.readers.writes(node, key))

    def _writer(self, node: str, key: str) -> str:
        first = self.readers.writes(node, key)[0]
        return f"{first.path}:{first.line}"

    def _place(self, node: str, key: str) -> str:
        first = self.readers.of(node, key)[0]
        return f"{first.path}:{first.line}"

    def _finding(
        self, message: str, child: str, value: Any, suggestion: str | None = None, severity: str = "error", **args: str
    ) -> Finding:
        text = str(value) if not isinstance(value, (dict, list)) else ""
        return Finding(
            message,
            dict(args),
            path=self.config.path,
            line=self.config.line_of(child.replace("[]", "")),
            yaml_path=child,
            value=text[:80] or None,
            suggestion=suggestion,
            severity="note" if severity == "note" else "error",
        )
