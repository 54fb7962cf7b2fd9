"""The framework's schema against its own readers: fields nothing reads, reads nothing declares, leftovers of a move."""

from __future__ import annotations

from collections.abc import Iterator

from ..analysis.moved import PLAN, left_behind
from ..analysis.plugins import in_plugin_space
from ..analysis.readers import Readers, all_readers, schema_of
from ..analysis.schema import Schema, SchemaField
from ..facts.flow import KeyRead
from ..facts.static import StaticFacts
from ..findings import Finding, near
from .registry import check
from .view import TargetView


@check("framework.schema_readers")
def schema_and_readers_agree(view: TargetView) -> list[Finding]:
    """Judged once, on the framework itself."""
    schema, readers = schema_of(view.facts), all_readers(view.facts)
    if not view.is_framework or schema.root is None:
        return []
    return [
        *_unread_fields(schema, readers),
        *_undeclared_reads(view.facts, schema, readers),
        *_stale_readers(readers),
        *_dropped_options(view.facts),
    ]


def _unread_fields(schema: Schema, readers: Readers) -> Iterator[Finding]:
    seen = set()
    dead: list[str] = []  # sections nobody reads: their keys are not listed one by one
    for path, owner in schema.nodes.items():
        if any(path.startswith(section) for section in dead):
            continue
        for field in owner.fields.values():
            if (owner.ref, field.name) in seen or field.name.startswith("_"):
                continue
            seen.add((owner.ref, field.name))
            nodes = schema.paths_of(owner.ref)
            if not any(_is_used(schema, readers, node, field) for node in nodes):
                dead.extend(f"{node}.{field.name}" if node else field.name for node in nodes)
                yield Finding(
                    "framework.unread_field",
                    {"cls": owner.ref.qualname},
                    path=field.path,
                    line=field.line,
                    yaml_path=f"{path}.{field.name}" if path else field.name,
                    value=field.name,
                    suggestion=near(
                        field.name, [k for n in nodes for k in readers.keys_of(n) if k not in owner.fields]
                    ),
                )


def _is_used(schema: Schema, readers: Readers, node: str, field: SchemaField) -> bool:
    child = f"{node}.{field.name}" if node else field.name
    if readers.used(node, field.name) or readers.lost(child) is not None:
        return True
    return any(path.startswith(f"{child}.") and readers.keys_of(path) for path in (child, *schema.nodes))


def _undeclared_reads(facts: StaticFacts, schema: Schema, readers: Readers) -> Iterator[Finding]:
    for (node, key), reads in readers.reads.items():
        owner = schema.node(node)
        path = f"{node}.{key}" if node else key
        if owner is None or key in owner.fields or key.startswith("__") or readers.writes(node, key):
            continue
        asked = {read.path for read in reads if read.how in ("getattr", "hasattr")}
        for read in reads:
            if read.how != "attribute" or read.guarded or read.path in asked or _belongs_to_a_model(facts, read):
                continue
            without = [t.config for t in facts.targets if t.config and not facts.configs[t.config].has(path)]
            if without:
                places = [place for place in schema.places_of(key) if place != path]
                yield Finding(
                    "framework.undeclared_read",
                    {"cls": owner.ref.qualname, "count": len(without)},
                    path=read.path,
                    line=read.line,
                    yaml_path=path,
                    value=key,
                    suggestion=places[0] if places else near(key, owner.fields),
                )


def _belongs_to_a_model(facts: StaticFacts, read: KeyRead) -> bool:
    """Plugins and task-specific entry points may demand keys of their own configs."""
    package = facts.repo.package
    return in_plugin_space(read.path, package) or read.path.startswith(f"{package}/fsdp/tasks/")


def _stale_readers(readers: Readers) -> Iterator[Finding]:
    for (node, key), reads in readers.reads.items():
        home = left_behind(readers, node, key)
        if home is None:
            continue
        for read in reads:
            yield Finding(
                "framework.stale_reader",
                {"plan": f"{home}{PLAN}"},
                path=read.path,
                line=read.line,
                yaml_path=f"{node}.{key}" if node else key,
                suggestion=home,
            )


def _dropped_options(facts: StaticFacts) -> Iterator[Finding]:
    for item in facts.flow.dropped:
        yield Finding(
            "framework.dropped_option",
            {"function": item.function, "callee": item.callee},
            path=item.path,
            line=item.line,
            yaml_path=item.node,
        )
