"""Reads one YAML file as the framework's loader would (YAML 1.1, `yaml.safe_load`), and keeps the line of every node.

PyYAML's own composer stops at the first fault and forgets lines. This one works on PyYAML's events (so the grammar is
PyYAML's), goes on after faults that leave the rest of the text readable, and never expands more than `MAX_NODES` nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from yaml.constructor import ConstructorError, SafeConstructor
from yaml.nodes import ScalarNode
from yaml.resolver import Resolver

from ..facts.config import ConfigFacts, YamlProblem
from .text import TextProblem, read_text

MAX_NODES = 100_000
MAX_DEPTH = 100
MAX_NUMBER = 200  # characters of a number

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_MERGE = _TAG + "merge"
_STR = _TAG + "str"
_SAFE_TAGS = frozenset(str(tag) for tag in SafeConstructor.yaml_constructors if tag)


def read_config(repo: Path, rel: str) -> ConfigFacts:
    """Read the YAML file `rel` of `repo`.

    Never raises for what the file holds: faults are in `ConfigFacts.problems`, and `data` is None when nothing of the
    file can be used. Dates come as their text and sets as lists, so that the facts stay plain JSON.
    """
    facts = ConfigFacts(path=rel, data=None)
    text = read_text(repo / rel)
    if isinstance(text, TextProblem):
        facts.problems.append(YamlProblem(text.kind, text.line, text.detail))
    else:
        parse_text(text, facts)
    return facts


def parse_text(text: str, facts: ConfigFacts) -> None:
    """Fill `facts` from the YAML text."""
    reader = _Reader(facts)
    try:
        root = reader.compose(text)
    except _StopError:
        return
    except yaml.YAMLError as error:
        facts.problems.append(_syntax_problem(error, text))
        return
    if root is None:
        facts.problems.append(YamlProblem("empty", None, ""))
        return
    if root.kind != "map":
        kind = "empty" if root.kind == "scalar" and reader.value(root) is None else "root_not_mapping"
        facts.problems.append(YamlProblem(kind, root.line, {"seq": "a list", "scalar": "a single value"}[root.kind]))
        return
    facts.data = reader.value(root)
    reader.locate(root, "")
    facts.problems.sort(key=lambda problem: problem.line or 0)
    facts.anchor_only = [key for key, node in reader.pairs(root) if _only_holds_anchor(node, reader.uses)]


class _StopError(Exception):
    """The rest of the text is not read; the problem is already recorded."""


@dataclass(slots=True)
class _Node:
    """A scalar, sequence or mapping. An alias is the node it stands for; `_Slot` keeps where it was used."""

    kind: str  # "scalar", "seq", "map"
    tag: str
    line: int
    text: str = ""
    items: list[_Slot] = field(default_factory=list)
    keys: list[_Slot] = field(default_factory=list)  # of a mapping, parallel to `items`
    anchor: str | None = None
    index: int = 0  # order in the text; a subtree is the range [index, end)
    end: int = 0
    size: int = 1  # nodes below and including it, aliases written out
    depth: int = 1
    open: bool = False  # being read: an alias to it would be recursive
    value: Any = None
    built: bool = False


@dataclass(slots=True)
class _Slot:
    """A place in a collection: the node there and, when it came by alias, the name of the anchor."""

    node: _Node
    line: int
    alias: str | None = None


class _Reader:
    def __init__(self, facts: ConfigFacts) -> None:
        self.facts = facts
        self.resolver = Resolver()
        self.constructor = SafeConstructor()
        self.anchors: dict[str, tuple[_Node, int]] = {}
        self.uses: dict[int, list[int]] = {}  # id of an anchored node -> indexes at which an alias stands for it
        self.tags: dict[str, str] = {}
        self.count = 0
        self.effective: dict[int, list[tuple[str, _Slot, int]]] = {}

    def problem(self, kind: str, line: int | None, detail: str, fatal: bool = True) -> None:
        self.facts.problems.append(YamlProblem(kind, line, detail, fatal))

    # -- events to nodes ----------------------------------------------------------------------------------------

    def compose(self, text: str) -> _Node | None:
        loader = _LOADER(text)
        try:
            return self._documents(loader)
        finally:
            loader.dispose()

    def _documents(self, loader: Any) -> _Node | None:
        root: _Node | None = None
        stack: list[_Node] = []
        pending: list[_Slot | None] = []  # per open mapping: the key that waits for its value
        documents = 0
        while loader.check_event():
            event = loader.get_event()
            kind = type(event).__name__
            if kind == "DocumentStartEvent":
                documents += 1
                if documents > 1:
                    self.problem("several_documents", event.start_mark.line + 1, "")
                    break
                continue
            if kind in ("SequenceEndEvent", "MappingEndEvent"):
                pending.pop()
                self._close(stack.pop())
                continue
            if kind not in ("ScalarEvent", "AliasEvent", "SequenceStartEvent", "MappingStartEvent"):
                continue
            slot = self._slot(event, kind)
            if not stack:
                root = slot.node
            else:
                self._place(stack[-1], slot, pending)
            if kind in ("SequenceStartEvent", "MappingStartEvent"):
                if len(stack) >= MAX_DEPTH:
                    self.problem("nesting", slot.line, f"more than {MAX_DEPTH} levels")
                    raise _StopError
                slot.node.open = True
                stack.append(slot.node)
                pending.append(None)
        return root

    def _close(self, node: _Node) -> None:
        node.open, node.end = False, self.count + 1
        node.size += sum(slot.node.size for slot in node.items)
        node.depth += max((slot.node.depth for slot in node.items), default=0)
        if node.size > MAX_NODES:
            self.problem("alias_bomb", node.line, f"more than {MAX_NODES} nodes with aliases written out")
            raise _StopError
        if node.depth > MAX_DEPTH:  # a chain of aliases nests without deep indentation
            self.problem("nesting", node.line, f"more than {MAX_DEPTH} levels")
            raise _StopError

    def _place(self, parent: _Node, slot: _Slot, pending: list[_Slot | None]) -> None:
        if parent.kind == "seq":
            parent.items.append(slot)
        elif pending[-1] is None:
            pending[-1] = slot
        else:
            parent.keys.append(pending[-1])
            parent.items.append(slot)
            pending[-1] = None

    def _slot(self, event: Any, kind: str) -> _Slot:
        self.count += 1
        line = event.start_mark.line + 1
        if self.count > MAX_NODES:
            self.problem("too_large", line, f"more than {MAX_NODES} nodes")
            raise _StopError
        if kind == "AliasEvent":
            return self._alias(event.anchor, line)
        if kind == "ScalarEvent":
            node = _Node("scalar", self._scalar_tag(event), line, event.value)
        elif kind == "SequenceStartEvent":
            node = _Node("seq", self._collection_tag(event, "seq"), line)
        else:
            node = _Node("map", self._collection_tag(event, "map"), line)
        node.index, node.end = self.count, self.count + 1
        if event.anchor is not None:
            node.anchor = event.anchor
            if event.anchor in self.anchors:
                first = self.anchors[event.anchor][1]
                self.problem("duplicate_anchor", line, f"&{event.anchor}, first on line {first}")
            self.anchors[event.anchor] = (node, line)
        return _Slot(node, line)

    def _alias(self, name: str, line: int) -> _Slot:
        node = self.anchors.get(name, (None, 0))[0]
        if node is None or node.open:
            self.problem("undefined_alias" if node is None else "recursive_alias", line, f"*{name}")
            return _Slot(_Node("scalar", _TAG + "null", line, "", index=self.count, end=self.count), line, name)
        self.uses.setdefault(id(node), []).append(self.count)
        return _Slot(node, line, name)

    def _scalar_tag(self, event: Any) -> str:
        if event.tag is not None and event.tag != "!":
            return self._known(event.tag, event.start_mark.line + 1, _STR)
        return str(self.resolver.resolve(ScalarNode, event.value, event.implicit))  # type: ignore[no-untyped-call]

    def _collection_tag(self, event: Any, kind: str) -> str:
        if event.tag is not None and event.tag != "!":
            return self._known(event.tag, event.start_mark.line + 1, _TAG + kind)
        return _TAG + kind

    def _known(self, tag: str, line: int, fallback: str) -> str:
        if tag in _SAFE_TAGS:
            return tag
        self.problem("unknown_tag", line, tag.replace(_TAG, "!!"))
        return fallback

    # -- nodes to values ----------------------------------------------------------------------------------------

    def value(self, node: _Node) -> Any:
        """The Python value of a node; shared between the places that alias it, as PyYAML does."""
        if node.built:
            return node.value
        if node.kind == "scalar":
            node.value = self._scalar(node)
        elif node.kind == "seq":
            node.value = [self.value(slot.node) for slot in node.items]
        else:
            node.value = {key: self.value(slot.node) for key, slot, _ in self._effective(node)}
            if node.tag == _TAG + "set":
                node.value = list(node.value)
        node.built = True
        return node.value

    def _scalar(self, node: _Node) -> Any:
        tag = node.tag[len(_TAG) :]
        if tag in ("str", "timestamp", "binary", "merge", "value"):
            return node.text
        if len(node.text) > MAX_NUMBER:  # base-60 numbers cost the square of their length
            self.problem("bad_scalar", node.line, f"a !!{tag} of {len(node.text)} characters")
            return node.text
        try:
            return SafeConstructor.yaml_constructors[node.tag](self.constructor, ScalarNode(node.tag, node.text))
        except (ValueError, KeyError, IndexError, AttributeError, TypeError, ConstructorError):
            self.problem("bad_scalar", node.line, f"{node.text!r} is not a YAML !!{tag}")
            return node.text

    def pairs(self, node: _Node) -> list[tuple[str, _Node]]:
        """Key and value node of a mapping, merge keys resolved."""
        return [(key, slot.node) for key, slot, _ in self._effective(node)]

    def _effective(self, node: _Node) -> list[tuple[str, _Slot, int]]:
        """Key, value and line of every entry in force: merged entries first, then the mapping's own, last one wins."""
        known = self.effective.get(id(node))
        if known is not None:
            return known
        own: dict[str, tuple[str, _Slot, int]] = {}
        merged: dict[str, tuple[str, _Slot, int]] = {}
        for key, slot in zip(node.keys, node.items, strict=True):
            if key.node.tag == _MERGE:
                for source in reversed(self._merge_sources(slot)):
                    for name, inner, _ in self._effective(source):
                        merged[name] = (name, inner, key.line)
                continue
            name = self._key(key)
            if name in own:
                detail = f"{name}, first on line {own[name][2]}"
                self.problem("duplicate_key", key.line, detail, fatal=False)
            own[name] = (name, slot, key.line)
        result = [entry for name, entry in merged.items() if name not in own] + list(own.values())
        self.effective[id(node)] = result
        return result

    def _merge_sources(self, slot: _Slot) -> list[_Node]:
        nodes = [slot.node] if slot.node.kind != "seq" else [item.node for item in slot.node.items]
        sources = [node for node in nodes if node.kind == "map"]
        if len(sources) < len(nodes):
            self.problem("bad_merge", slot.line, "`<<` takes a mapping or a list of mappings")
        return sources

    def _key(self, slot: _Slot) -> str:
        if slot.node.kind != "scalar":
            self.problem("unhashable_key", slot.line, "a list" if slot.node.kind == "seq" else "a mapping")
            return f"<line {slot.line}>"
        value = self.value(slot.node)
        if not isinstance(value, str):
            self.problem("key_not_text", slot.line, f"{slot.node.text} ({type(value).__name__})", fatal=False)
        return slot.node.text if slot.node.text else str(value)

    # -- places -------------------------------------------------------------------------------------------------

    def locate(self, node: _Node, path: str) -> None:
        """Record the line of every node written below `path`; what comes in by alias has the line of its use."""
        if node.kind == "seq":
            for number, slot in enumerate(node.items):
                self._locate_slot(slot, f"{path}[{number}]", slot.line)
            return
        prefix = f"{path}." if path else ""
        own_lines = {key.line for key in node.keys if key.node.tag != _MERGE}
        for key, slot in zip(node.keys, node.items, strict=True):
            if key.node.tag == _MERGE and slot.alias is not None:
                self.facts.aliases[f"{prefix}<<"] = slot.alias
        for name, slot, line in self._effective(node):
            if line in own_lines:
                self._locate_slot(slot, prefix + name, line)
            else:
                self.facts.lines[prefix + name] = line

    def _locate_slot(self, slot: _Slot, path: str, line: int) -> None:
        self.facts.lines[path] = line
        if slot.alias is not None:
            self.facts.aliases[path] = slot.alias
        elif slot.node.kind != "scalar":
            self.locate(slot.node, path)


def _only_holds_anchor(node: _Node, uses: dict[int, list[int]]) -> bool:
    """Whether a top-level node is only there to be referred to: it, or each of its children, is anchored and used."""

    def used_outside(candidate: _Node) -> bool:
        return any(not node.index <= use < node.end for use in uses.get(id(candidate), ()))

    if used_outside(node):
        return True
    children = [slot.node for slot in node.items]
    return bool(children) and all(child.anchor for child in children) and any(map(used_outside, children))


def _syntax_problem(error: yaml.YAMLError, text: str) -> YamlProblem:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    detail = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error).splitlines()[0]
    if mark is None:
        position = getattr(error, "position", None)
        line = text.count("\n", 0, position) + 1 if isinstance(position, int) else None
        return YamlProblem("binary" if "character" in detail or "allowed" in detail else "syntax", line, detail)
    lines = text.splitlines()
    at = lines[mark.line] if mark.line < len(lines) else ""
    indent = at[: len(at) - len(at.lstrip())]
    kind = "tabs" if "\t" in indent or "'\\t'" in detail else "syntax"
    return YamlProblem(kind, mark.line + 1, detail)
