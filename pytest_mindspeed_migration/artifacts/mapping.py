"""Arguments of the source training against fields of the YAML (`config_mapping_table.md`)."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ..analysis.readers import schema_of
from ..resources import resource_dir
from ..scan.shell import read_script
from ..scan.yaml_tree import read_config
from ..yaml_files import load_yaml
from .material import Material

_MOST_BYTES = 2_000_000


def mapping(material: Material) -> dict[str, Any]:
    """Rows `argument`, `value`, `place`, `fields`, `target_values`, `how` and `state`, and the files that were read.

    `how`: "same_name" or "known_name" (`contracts/source_arguments.yaml`), None without a counterpart. `state`: "same",
    "differs", "not_set" (the field exists and the YAML does not set it), "open" (no counterpart is known).
    """
    named = (material.manifest.get("source_entrypoints") or {}).get("config")
    names = named if isinstance(named, list) else [named] if isinstance(named, str) else []
    files, rows = [], []
    for name in names:
        path = _path(material, name)
        arguments = list(_arguments(path)) if path is not None else None
        files.append({"file": name, "arguments": len(arguments) if arguments is not None else None})
        rows += [_row(material, f"{name}:{line}", key, value) for key, value, line in arguments or ()]
    return {"files": files, "rows": rows}


def _path(material: Material, name: str) -> Path | None:
    source = material.manifest.get("source_repo_path")
    if source is None or material.source_folder is None:
        return None
    path = material.source_folder / source / name
    try:
        return path if path.is_file() and path.stat().st_size <= _MOST_BYTES else None
    except OSError:
        return None


def _row(material: Material, place: str, key: str, value: Any) -> dict[str, Any]:
    fields, how = _counterparts(material, key)
    config = material.view.config
    targets = [config.get(field) for field in fields if config is not None and config.has(field)]
    if not fields:
        state = "open"
    elif not targets:
        state = "not_set"
    else:
        state = "same" if all(_same(value, target) for target in targets) else "differs"
    return {
        "argument": key,
        "value": _shown(value),
        "place": place,
        "fields": fields,
        "target_values": list(dict.fromkeys(map(_shown, targets))),
        "how": how,
        "state": state,
    }


def _counterparts(material: Material, key: str) -> tuple[list[str], str | None]:
    """The fields that take an argument over: of the same name, or of a name that is known to mean the same."""
    last = key.rsplit(".", 1)[-1].replace("-", "_")
    leaves = _leaves(material)
    if key in leaves:
        return [key], "same_name"
    named = [field for field in leaves if field.rsplit(".", 1)[-1] == last]
    if named:
        return named, "same_name"
    field = _aliases().get(last)
    if field is None:
        return [], None
    if field in leaves or schema_of(material.view.facts).declared(field) is not None:
        return [field], "known_name"
    moved = [leaf for leaf in leaves if leaf.rsplit(".", 1)[-1] == field.rsplit(".", 1)[-1]]
    return moved, "known_name" if moved else None


def _leaves(material: Material) -> list[str]:
    config = material.view.config
    return [key for key, _ in flattened(config.data)] if config and config.data else []


@cache
def _aliases() -> dict[str, str]:
    table = load_yaml(resource_dir("contracts") / "source_arguments.yaml")
    return {alias: field for field, aliases in table.items() for alias in aliases}


def flattened(data: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted key and value of everything in a mapping that is no mapping itself."""
    for key, value in data.items():
        if isinstance(value, Mapping) and value:
            yield from flattened(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _arguments(path: Path) -> Iterator[tuple[str, Any, int]]:
    """Name, value and line of each argument that a file gives or declares."""
    if path.suffix in (".yaml", ".yml", ".json"):
        facts = read_config(path.parent, path.name)
        for key, value in flattened(facts.data or {}):
            yield key, value, facts.line_of(key) or 1
    elif path.suffix == ".sh":
        for command in read_script(path.parent, path.name).commands:
            yield from ((name, value, command.line) for name, value in _of_command(command.arguments))
    elif path.suffix == ".py":
        yield from sorted(_of_python(path), key=lambda found: found[2])


def _of_command(words: list[str]) -> Iterator[tuple[str, Any]]:
    for number, word in enumerate(words):
        if word.startswith("--") and len(word) > 2:
            name, equals, value = word[2:].partition("=")
            following = words[number + 1] if number + 1 < len(words) else "--"
            yield name, value if equals else True if following.startswith("--") else following


def _of_python(path: Path) -> Iterator[tuple[str, Any, int]]:
    """Options of an argument parser, and fields of dataclasses, with their defaults."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
            names = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
            name = next((name for name in names if name.startswith("--")), None)
            if name is not None:
                default = next((item.value for item in node.keywords if item.arg == "default"), None)
                yield name[2:], _constant(default), node.lineno
        elif isinstance(node, ast.ClassDef) and any("dataclass" in ast.unparse(one) for one in node.decorator_list):
            for item in node.body:
                if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                    yield item.target.id, _default(item.value), item.lineno


def _default(node: ast.expr | None) -> Any:
    if isinstance(node, ast.Call):  # field(default=...)
        return _constant(next((item.value for item in node.keywords if item.arg == "default"), None))
    return _constant(node)


def _constant(node: ast.expr | None) -> Any:
    try:
        return ast.literal_eval(node) if node is not None else None
    except (ValueError, TypeError, MemoryError, RecursionError):
        return None


def _same(one: Any, other: Any) -> bool:
    if one == other:
        return True
    try:
        return float(one) == float(other)
    except (TypeError, ValueError):
        return posixpath.normpath(str(one)).lower() == posixpath.normpath(str(other)).lower()


def _shown(value: Any) -> str:
    return "-" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
