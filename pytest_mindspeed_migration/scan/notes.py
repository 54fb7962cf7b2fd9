"""What a function does to things other than its own locals, and what it looks at by name."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ..facts.source import FunctionFacts, LookupFacts, WriteFacts
from .expressions import dotted, source_text, string_of

LONGEST = 200
"""Source text above this length is not kept: nobody evaluates it."""

PREFETCH = {"set_modules_to_forward_prefetch", "set_modules_to_backward_prefetch"}
"""Methods that `torch.distributed.fsdp.fully_shard` gives to the modules it wraps, and to no others."""

NOTED = {"getattr", "hasattr", "setattr", *PREFETCH}
"""Last parts of the callees that `FunctionNotes.call` looks at."""


class FunctionNotes:
    """Collects the notes of one function while it is walked; `finish()` puts them into its facts."""

    def __init__(self, facts: FunctionFacts) -> None:
        self.facts = facts
        self._values: dict[str, ast.expr] = {}  # local name -> the expression it was last assigned
        self._loops: dict[str, str] = {}  # loop variable -> chain of what it runs over, with "[]"
        self._literals: dict[str, list[str]] = {}  # local name -> keys of the dict literal it was assigned
        self._returns: list[list[str] | None] = []
        self._plan = any("plan" in name for name in facts.signature.params)

    def assign(self, target: ast.expr, value: ast.expr, line: int, guarded: bool) -> None:
        """`target = value`."""
        if isinstance(target, ast.Name):
            self._values[target.id] = value
            keys = _constant_keys(value)
            if keys is not None:
                self._literals[target.id] = keys
        elif isinstance(target, ast.Subscript):
            name, key = dotted(target.value), string_of(target.slice)
            if name is not None and key is not None:
                keys = self.facts.item_sets.setdefault(name, [])
                if key not in keys:
                    keys.append(key)
        elif isinstance(target, ast.Attribute):
            text = self.chain(target)
            if text is not None and not (text.startswith("self.") and text.count(".") == 1):
                self.facts.writes.append(WriteFacts(text, self._source(value), line, guarded))

    def loop(self, target: ast.expr, iterable: ast.expr) -> None:
        """`for target in iterable`."""
        chain = self.chain(iterable)
        if isinstance(target, ast.Name) and chain is not None:
            self._loops[target.id] = f"{chain}[]"

    def call(self, node: ast.Call, callee: str | None, guarded: bool, condition: Callable[[], str | None]) -> None:
        """A call: attributes looked up or set through a name, and FSDP2's prefetch hooks."""
        arguments = node.args
        if callee in ("getattr", "hasattr") and len(arguments) > 1:
            name = string_of(arguments[1])
            if name is None:
                text = dotted(arguments[1]) or "?"
                self.facts.lookups.append(LookupFacts(text, node.lineno, len(arguments) > 2))
            elif callee == "hasattr" and name not in self.facts.tested:
                self.facts.tested.append(name)
        elif callee == "setattr" and len(arguments) == 3:
            root, name = self.chain(arguments[0]), string_of(arguments[1])
            if root is not None and name is not None and root != "self":
                self.facts.writes.append(WriteFacts(f"{root}.{name}", self._source(arguments[2]), node.lineno, guarded))
        elif isinstance(node.func, ast.Attribute) and node.func.attr in PREFETCH:
            tests = condition() or ""
            if "ep_plan" in tests or "expert" in tests:
                return
            items = arguments[0].elts if arguments and isinstance(arguments[0], (ast.List, ast.Tuple)) else []
            for item in [node.func.value, *items]:
                chain = self.chain(item)
                if chain is not None:
                    self.facts.prefetches.setdefault(chain, node.lineno)

    def compare(self, node: ast.Compare) -> None:
        """`name == "text"` and `name in ("text", ...)`."""
        if len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Eq, ast.In)):
            return
        right = node.comparators[0]
        items = right.elts if isinstance(right, (ast.Tuple, ast.List, ast.Set)) else [right]
        texts = [text for text in map(string_of, items) if text is not None]
        left = dotted(node.left) if texts else None
        if left is not None:
            known = self.facts.compares.setdefault(left, [])
            known.extend(text for text in texts if text not in known)

    def branch(self, node: ast.If) -> None:
        """An `if` of a function that gets a plan: one that returns makes what follows depend on its test."""
        if self._plan and node.body and isinstance(node.body[-1], ast.Return):
            self.facts.exits.setdefault(self._source(node.test), node.lineno)

    def returned(self, node: ast.Return) -> None:
        """`return {...}` or `return name`, where the name holds a dict literal."""
        if node.value is None:
            self._returns.append(None)
        elif isinstance(node.value, ast.Name):
            keys = self._literals.get(node.value.id)
            extra = self.facts.item_sets.get(node.value.id, [])
            self._returns.append(None if keys is None else [*keys, *[k for k in extra if k not in keys]])
        else:
            self._returns.append(_constant_keys(node.value))

    def finish(self) -> None:
        """Settle what needs the whole function."""
        if self._returns and all(keys is not None for keys in self._returns):
            self.facts.dict_keys = sorted({key for keys in self._returns for key in keys or []})

    def chain(self, node: ast.expr) -> str | None:
        """`self.a.layers[i].mlp` as `self.a.layers[].mlp`, local names for parts of it put back in place."""
        if isinstance(node, ast.Attribute):
            root = self.chain(node.value)
            return None if root is None else f"{root}.{node.attr}"
        if isinstance(node, ast.Subscript):
            root = self.chain(node.value)
            if root is None or string_of(node.slice) is not None:
                return None
            return root if isinstance(node.slice, ast.Slice) else f"{root}[]"
        if isinstance(node, ast.Name):
            if node.id in self._loops:
                return self._loops[node.id]
            value = self._values.pop(node.id, None)
            if not isinstance(value, (ast.Attribute, ast.Subscript)):
                text: str | None = node.id
            else:
                text = self.chain(value) or node.id  # popped meanwhile: `x = x.y` ends the chain
            if value is not None:
                self._values[node.id] = value
            return text
        return None

    def _source(self, node: ast.expr) -> str:
        """Source text of a value; of a local name, the text of what it was assigned."""
        if isinstance(node, ast.Name):
            node = self._values.get(node.id, node)
        text = source_text(node) if not isinstance(node, (ast.Dict, ast.List, ast.Lambda)) else "?"
        return text if len(text) <= LONGEST else "?"


def _constant_keys(node: ast.expr) -> list[str] | None:
    if not isinstance(node, ast.Dict):
        return None
    keys = [string_of(key) for key in node.keys]
    return None if any(key is None for key in keys) else [key for key in keys if key is not None]


def condition_flags(conditions: list[str], values: dict[str, ast.expr | None]) -> dict[str, str]:
    """Source text of the `self.x` that tests of a class refer to, where `x` is assigned exactly once."""
    flags = {}
    for name, value in values.items():
        if value is not None and any(f"self.{name}" in text for text in conditions):
            text = source_text(value)
            if len(text) <= LONGEST:
                flags[name] = text
    return flags
