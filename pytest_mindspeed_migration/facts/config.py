"""A YAML file as facts: the resolved value, the line of every node, and what was wrong with the text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class YamlProblem:
    """Why a YAML text cannot be used as it stands. `kind` is a stable key such as `duplicate_anchor`."""

    kind: str
    line: int | None
    detail: str
    fatal: bool = True  # the framework's own loader (`yaml.safe_load`) refuses the file


@dataclass
class ConfigFacts:
    """One YAML file. Merge keys and aliases are resolved in `data`.

    `lines` maps the dotted path of each node (`parallel.fsdp_plan.apply_modules[2]`) to the 1-based line where it is
    written; a node that comes in through an alias or a merge key has the line of the place where it is used.
    """

    path: str
    data: dict[str, Any] | None
    lines: dict[str, int] = field(default_factory=dict)
    problems: list[YamlProblem] = field(default_factory=list)
    anchor_only: list[str] = field(default_factory=list)  # top-level keys that only hold an anchor used elsewhere
    aliases: dict[str, str] = field(default_factory=dict)  # node path -> anchor name it is an alias of

    def line_of(self, yaml_path: str) -> int | None:
        """Line of the node, or of its nearest written ancestor; None when the file has no such branch."""
        while yaml_path:
            if yaml_path in self.lines:
                return self.lines[yaml_path]
            cut = max(yaml_path.rfind("."), yaml_path.rfind("["))
            if cut < 0:
                return None
            yaml_path = yaml_path[:cut]
        return None

    def get(self, yaml_path: str, default: Any = None) -> Any:
        """Value at a dotted path without list indexes, `default` when any part of it is absent."""
        node: Any = self.data
        for part in yaml_path.split("."):
            if not isinstance(node, dict) or part not in node:
                return default
            node = node[part]
        return node

    def string(self, yaml_path: str) -> str | None:
        """The text at a dotted path; None when it is absent, empty or anything but text."""
        value = self.get(yaml_path)
        return value if isinstance(value, str) and value else None

    def has(self, yaml_path: str) -> bool:
        """Whether the path is written in the file (a null value counts as written)."""
        missing = object()
        return self.get(yaml_path, missing) is not missing
