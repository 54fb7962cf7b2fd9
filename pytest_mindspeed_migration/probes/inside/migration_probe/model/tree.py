"""A model's module tree as compact facts: elements of a list that are alike are one row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

MAX_SHAPES = 40


def places(model: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every module with its path, children before parents; a module that stands at two places comes twice."""
    for name, child in model.named_children():
        yield from places(child, f"{path}.{name}" if path else name)
    yield path, model


def collapse(model: Any, marks: dict[str, tuple[int, ...]]) -> list[dict[str, Any]]:
    """The tree as rows, parents before children.

    Args:
        model: its root.
        marks: by path, the numbers of the patterns that match there; modules that differ in them are not alike.

    Returns:
        Rows with `path` (`layers.{0-47}` for elements that are alike), `parent` (number of its row, -1 for the root),
        `cls`, `places` (how many modules the row stands for), `params` (elements of one of them with all below it),
        `own` (shapes of its own parameters), `trainable` (whether one of its own requires a gradient), `forward`
        (whether its class has one), `container` (a ModuleList or ModuleDict) and `marks`.
    """
    kinds = _Kinds(marks)
    kinds.kind(model, "")
    rows: list[dict[str, Any]] = []
    _emit(rows, kinds, model, "", "", -1, 1)
    return rows


def parameter_count(model: Any) -> int:
    """Elements of all parameters, a tied one counted once."""
    return sum(parameter.numel() for parameter in model.parameters())


class _Kinds:
    """A number for every module, the same for modules that are alike with all that is below them."""

    def __init__(self, marks: dict[str, tuple[int, ...]]) -> None:
        self._marks = marks
        self._numbers: dict[Any, int] = {}
        self._by_path: dict[str, int] = {}
        self._params: dict[int, int] = {}

    def kind(self, module: Any, path: str) -> int:
        below = tuple(
            (name, self.kind(child, f"{path}.{name}" if path else name)) for name, child in module.named_children()
        )
        own = tuple(
            (name, tuple(item.shape), item.requires_grad)
            for name, item in module._parameters.items()
            if item is not None
        )
        key = (type(module), own, self.marks(path), below)
        number = self._numbers.setdefault(key, len(self._numbers))
        if number not in self._params:
            sizes = [item.numel() for item in module._parameters.values() if item is not None]
            self._params[number] = sum(sizes) + sum(self._params[child] for _, child in below)
        self._by_path[path] = number
        return number

    def marks(self, path: str) -> tuple[int, ...]:
        return self._marks.get(path, ())

    def at(self, path: str) -> int:
        return self._by_path[path]

    def params(self, path: str) -> int:
        return self._params[self.at(path)]


def _emit(
    rows: list[dict[str, Any]], kinds: _Kinds, module: Any, path: str, shown: str, parent: int, count: int
) -> None:
    import torch

    number = len(rows)
    own = {name: list(item.shape) for name, item in module._parameters.items() if item is not None}
    rows.append(
        {
            "path": shown,
            "parent": parent,
            "cls": type(module).__name__,
            "places": count,
            "params": kinds.params(path),
            "own": dict(list(own.items())[:MAX_SHAPES]),
            "trainable": any(item.requires_grad for item in module._parameters.values() if item is not None),
            "forward": type(module).forward is not torch.nn.Module.forward,
            "container": isinstance(module, (torch.nn.ModuleList, torch.nn.ModuleDict)),
            "marks": list(kinds.marks(path)),
        }
    )
    alike: dict[tuple[str, int], list[str]] = {}
    for name, _ in module.named_children():
        below = f"{path}.{name}" if path else name
        group = ("", kinds.at(below)) if name.isdigit() else (name, kinds.at(below))
        alike.setdefault(group, []).append(name)
    for names in alike.values():
        first = names[0]
        name = first if len(names) == 1 else "{" + ranges([int(item) for item in names]) + "}"
        _emit(
            rows,
            kinds,
            module._modules[first],
            f"{path}.{first}" if path else first,
            f"{shown}.{name}" if shown else name,
            number,
            count * len(names),
        )


def ranges(numbers: list[int]) -> str:
    """Numbers as text: `0-3,7`."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in parts)
