"""What tests in a model's code come out as under one YAML: `self.enable_x` -> the model config -> the hook -> the YAML.

A hook of the model class (`overwrite_transformer_config`) copies keys of the YAML into the model's config, from which
the class takes switches for its children. Only what this chain tells is known; the checkpoint's own config is not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..facts.config import ConfigFacts
from ..facts.source import FunctionFacts
from ..facts.static import StaticFacts
from .conditions import UNKNOWN, Lookup, evaluate, truth
from .features import declares, sections, value_of
from .index import Ref, index_of
from .tree import Test

HOOK = "overwrite_transformer_config"
_NAME = re.compile(r"\bself\.(\w+)")


class Values:
    """Values known for one target: its YAML, the schema's defaults and its model class."""

    def __init__(self, facts: StaticFacts, config: ConfigFacts, model: Ref | None) -> None:
        self._facts = facts
        self._config = config
        self._index = index_of(facts)
        self._written: dict[str, tuple[str, FunctionFacts]] = {}  # "text_config.x" -> value text, the hook
        hook = self._index.method(model, HOOK) if model is not None else None
        if hook is not None and hook[1].signature.params:
            parameters = [name for name in hook[1].signature.params if name not in ("self", "cls")]
            for write in hook[1].writes:
                root, _, rest = write.target.partition(".")
                if root == parameters[0] and rest:
                    known = rest not in self._written and not write.guarded
                    self._written[rest] = (write.value if known else "?", hook[1])

    def holds(self, test: Test) -> bool | None:
        """Whether a condition of a child holds; None when that is not known."""
        return truth(test.text, self._in_class(test.owner))

    def all_hold(self, tests: tuple[Test, ...]) -> bool | None:
        """Whether all conditions hold; False as soon as one is known not to."""
        results = [self.holds(test) for test in tests]
        return False if False in results else None if None in results else True

    def source_keys(self, test: Test) -> list[str]:
        """The YAML paths a condition depends on, as far as they can be followed."""
        text = test.text
        for name, value in self._flags(test.owner).items():
            text = re.sub(rf"\bself\.{name}\b", value.replace("\\", r"\\"), text)
        found = []
        for path, (value, hook) in self._written.items():
            leaf = path.rsplit(".", 1)[-1]
            if re.search(rf"\b{leaf}\b", text):
                found.extend(self._yaml_paths(value, hook))
        return found

    def by_key(self, name: str) -> Any:
        """Value of the key that a dotted name ends in, where one section of the schema declares it."""
        key = name.rsplit(".", 1)[-1]
        owners = [section for section in sections(self._facts) if declares(self._facts, section, key)]
        return value_of(self._facts, self._config, owners[0], key) if len(owners) == 1 else UNKNOWN

    def _flags(self, owner: Ref) -> Mapping[str, str]:
        merged: dict[str, str] = {}
        for _, facts in reversed(self._index.linear(owner)[0]):
            merged.update(facts.flags)
        return merged

    def _in_class(self, owner: Ref) -> Lookup:
        flags = self._flags(owner)

        def lookup(name: str) -> Any:
            root, _, rest = name.partition(".")
            if root == "self" and "." not in rest:
                return evaluate(flags[rest], lookup) if rest in flags and f"self.{rest}" not in flags[rest] else UNKNOWN
            if name.startswith("self.config."):
                rest = name.removeprefix("self.config.")
            elif root != "config":
                return UNKNOWN
            return self._model_config(rest)

        return lookup

    def _model_config(self, path: str) -> Any:
        """Value of a key of the model's config that the hook sets; the full path, or the only one that ends like it."""
        found = [written for written in self._written if written == path or written.endswith(f".{path}")]
        if len(found) != 1:
            return UNKNOWN
        value, hook = self._written[found[0]]
        return evaluate(value, self._in_hook(hook))

    def _in_hook(self, hook: FunctionFacts) -> Lookup:
        def lookup(name: str) -> Any:
            root, _, key = name.partition(".")
            section = self._section(root, hook)
            if section is None or "." in key:
                return UNKNOWN
            if key == "?":
                return None  # the owner is known
            return value_of(self._facts, self._config, section, key)

        return lookup

    def _section(self, parameter: str, hook: FunctionFacts) -> str | None:
        """The YAML section that a parameter of the hook stands for: by annotation, else by name (`model_args`)."""
        annotation = hook.annotations.get(parameter, "").rsplit(".", 1)[-1]
        for section, ref in sections(self._facts).items():
            if annotation == ref.qualname:
                return section
            if parameter.partition("_")[0] in (section, section.removesuffix("s")):
                return section
        return None

    def _yaml_paths(self, value: str, hook: FunctionFacts) -> list[str]:
        found = []
        for parameter, key in re.findall(r"(?:getattr\()?(\w+)(?:,\s*'|\.)(\w+)", value):
            section = self._section(parameter, hook)
            if section is not None:
                found.append(f"{section}.{key}")
        return found
