"""A built model's tree as a probe shows it, with the patterns that match its modules and the groups they make."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ...findings import near

_INDEXES = re.compile(r"(?<=\.)(?:\{[0-9,-]+\}|[0-9]+)(?=\.|$)|^(?:\{[0-9,-]+\}|[0-9]+)(?=\.|$)")


@dataclass(frozen=True)
class Use:
    """A pattern of a plan on the real tree. `count`: modules it matches. `stop`: where its way ends."""

    number: int
    plan: str
    option: str
    pattern: str
    yaml_path: str
    count: int
    invalid: str | None = None
    stop: dict[str, Any] | None = None


@dataclass(frozen=True)
class Row:
    """Modules that are alike, with all below them: `places` of them; `params` of one, `own` without what is below."""

    number: int
    path: str
    parent: int
    cls: str
    places: int
    params: int
    own: int
    forward: bool
    container: bool
    marks: tuple[int, ...]
    trainable: bool = True

    @property
    def pattern(self) -> str:
        """The pattern that matches these modules and the others of their list."""
        return as_pattern(self.path)

    @property
    def repeated(self) -> bool:
        """Whether it is an element of a list."""
        last = self.path.rsplit(".", 1)[-1]
        return last.startswith("{") or last.isdigit()


@dataclass(frozen=True)
class ModuleTree:
    """The collapsed tree of a model. `parameters`: of the whole model, tied ones once."""

    rows: list[Row]
    uses: list[Use]
    parameters: int
    facts: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, data: dict[str, Any]) -> ModuleTree:
        """From the facts of the probe's step."""
        known = ("plan", "option", "pattern", "yaml_path", "count", "invalid", "stop")
        uses = [
            Use(number, **{name: use[name] for name in known if name in use}) for number, use in enumerate(data["uses"])
        ]
        rows = [
            Row(
                number,
                row["path"],
                row["parent"],
                row["cls"],
                row["places"],
                row["params"],
                sum(_size(shape) for shape in row["own"].values()),
                row["forward"],
                row["container"],
                tuple(row["marks"]),
                row["trainable"],
            )
            for number, row in enumerate(data["rows"])
        ]
        return cls(rows, uses, data["parameters"], data)

    def marks(self, row: Row, *options: tuple[str, str]) -> list[Use]:
        """The patterns of these plans and options that match a row."""
        return [
            self.uses[number] for number in row.marks if (self.uses[number].plan, self.uses[number].option) in options
        ]

    def outer(self, row: Row) -> Iterator[Row]:
        """A row and those around it, up to the root."""
        while True:
            yield row
            if row.parent < 0:
                return
            row = self.rows[row.parent]

    def share(self, elements: int) -> str:
        """A number of parameters as a part of the whole model."""
        return f"{100 * elements / self.parameters:.1f}%" if self.parameters else "0%"

    def group(self, row: Row, experts: bool) -> Row:
        """The row whose sharding group takes a row's own parameters: the nearest one that is sharded, else the root."""
        options = SHARDING if experts else SHARDING[:1]
        return next((outer for outer in self.outer(row) if self.marks(outer, *options)), self.rows[0])

    def in_root(self, experts: bool) -> int:
        """Parameters that no pattern takes: they stay in the group of the root."""
        return sum(row.own * row.places for row in self.rows if self.group(row, experts) is self.rows[0])

    @cached_property
    def patterns(self) -> list[str]:
        """A pattern for every row, in the order of the tree, each once."""
        return list(dict.fromkeys(row.pattern for row in self.rows if row.path))

    def nearest(self, text: str) -> str | None:
        """The pattern of the tree that a dead one may have meant: the same way below another parent, else one close."""
        moved = [path for path in self.patterns if path.endswith(f".{text}") or text.endswith(f".{path}")]
        return min(moved, key=len) if moved else near(text, self.patterns, cutoff=0.6)


SHARDING = (("fsdp", "apply_modules"), ("expert", "apply_efsdp_modules"), ("expert", "apply_modules"))


def as_pattern(path: str) -> str:
    """A path of the tree as a pattern: every index is any number."""
    return _INDEXES.sub("{*}", path)


def _size(shape: list[int]) -> int:
    size = 1
    for length in shape:
        size *= length
    return size
