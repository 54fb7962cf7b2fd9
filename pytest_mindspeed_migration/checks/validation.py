"""Values that the framework's own schema classes refuse: sizes that do not divide the world, rates out of range."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..analysis.index import index_of
from ..analysis.memo import per_facts
from ..analysis.readers import schema_of
from ..analysis.schema import SchemaClass
from ..analysis.validation import Refusal, refusal_of
from ..facts.config import ConfigFacts
from ..facts.launch import ScriptFacts
from ..facts.static import StaticFacts
from ..findings import Finding
from .launch import number_of
from .registry import check
from .view import TargetView

PARALLEL = "parallel"


@check("config.parallel_sizes")
def parallel_sizes_fit(view: TargetView) -> list[Finding]:
    """The parallel sizes fit the number of ranks each launch script starts."""
    refused = [finding for node, finding in _refusals_of(view) if node.split(".")[0] == PARALLEL]
    return [*refused, *_expert_ranks(view)]


@check("config.types")
def values_pass_the_schema_validation(view: TargetView) -> list[Finding]:
    """The other sections pass the validation of their schema classes."""
    return [finding for node, finding in _refusals_of(view) if node.split(".")[0] != PARALLEL]


def _refusals_of(view: TargetView) -> list[tuple[str, Finding]]:
    config = view.target.config
    return _refusals(view.facts, config, tuple(view.target.scripts)) if config in view.facts.configs else []


@per_facts
def _refusals(facts: StaticFacts, path: str, scripts: tuple[str, ...]) -> list[tuple[str, Finding]]:
    """(section, finding) of everything in a config that the validation of its schema class refuses."""
    config, schema, index = facts.configs[path], schema_of(facts), index_of(facts)
    if config.data is None:
        return []
    started = [facts.scripts[script] for script in scripts if script in facts.scripts]
    found = []
    for node, owner in schema.nodes.items():
        if "[" in node or (node and config.has(node) and not isinstance(config.get(node), dict)):
            continue
        chain, _ = index.linear(owner.ref)
        steps = next((cls.validation for _, cls in chain if cls.validation), [])
        sizes = {world_size(script, config.path) for script in started} or {None}
        for size in sorted(sizes, key=str) if steps else ():
            environment = {"RANK": "0", "LOCAL_RANK": "0"} | ({"WORLD_SIZE": str(size)} if size else {})
            refusal = refusal_of(steps, _values(config, node, owner), environment)
            if refusal is not None:
                found.append((node, _refusal_finding(config, node, owner, refusal, size)))
    return found


def _refusal_finding(config: ConfigFacts, node: str, owner: SchemaClass, refusal: Refusal, size: int | None) -> Finding:
    values = _values(config, node, owner)
    named = [name for name in owner.fields if f"self.{name}" in refusal.test]
    written = [name for name in named if config.has(f"{node}.{name}")]
    chosen = [name for name in written if values[name] != owner.fields[name].default] or written
    place = f"{node}.{chosen[0]}" if chosen else node
    return Finding(
        "schema.refusal",
        {
            "cls": owner.ref.qualname,
            "test": refusal.test,
            "place": f"{owner.path}:{refusal.line}",
            "ranks": str(size or "?"),
        },
        path=config.path,
        line=config.line_of(place),
        yaml_path=place,
        value=", ".join(f"{name}={values.get(name)}" for name in named),
    )


def _expert_ranks(view: TargetView) -> Iterator[Finding]:
    """Expert parallelism lays all ranks out as a mesh of expert groups (`fsdp/distributed/parallel_state.py`)."""
    config, key = view.config, f"{PARALLEL}.expert_parallel_size"
    size = config.get(key) if config is not None else None
    if config is None or not isinstance(size, int) or size < 1 or schema_of(view.facts).declared(key) is None:
        return
    for ranks in sorted({n for n in (world_size(script, config.path) for script in view.scripts) if n}):
        if ranks % size:
            yield Finding(
                "schema.expert_ranks",
                {"ranks": ranks},
                path=config.path,
                line=config.line_of(key),
                yaml_path=key,
                value=str(size),
            )


def _values(config: ConfigFacts, node: str, owner: SchemaClass) -> dict[str, Any]:
    """Field values of a section: what is written, else the default where it is a constant."""
    written = config.get(node) if node else config.data
    values = {
        name: field.default
        for name, field in owner.fields.items()
        if not field.required and not str(field.default).startswith("<")
    }
    return {**values, **(written if isinstance(written, dict) else {})}


def world_size(script: ScriptFacts, config: str) -> int | None:
    """Ranks that a launch script starts for a config; None when its numbers cannot be read."""
    for command in script.commands:
        if command.config != config:
            continue
        ranks = number_of(command.options.get("--nproc_per_node", command.options.get("--nproc-per-node")))
        nodes = number_of(command.options.get("--nnodes", "1"))
        if ranks is not None and nodes is not None:
            return ranks * nodes
    return None
