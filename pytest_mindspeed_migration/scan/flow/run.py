"""Entry of the flow analysis: facts of the modules in, `FlowFacts` out."""

from __future__ import annotations

from pathlib import Path

from ...analysis.index import index_of
from ...analysis.readers import schema_of
from ...facts.flow import FlowFacts
from ...facts.static import StaticFacts
from .bodies import Bodies
from .engine import Engine, note_untyped, registered_objects


def follow_configuration(repo: Path, found: StaticFacts, core: str) -> FlowFacts:
    """Follow the configuration through every module below `core` (the FSDP2 package's folder, with a final "/").

    Of `found` only the modules and files need to be complete.
    """
    index, schema, modules = index_of(found), schema_of(found), found.modules
    registrations = [(facts.name, item) for facts in modules.values() for item in facts.registrations]
    engine = Engine(index, schema, Bodies(repo), registered_objects(index, registrations))
    inside = [facts.name for path, facts in modules.items() if path.startswith(core)]
    parser = schema.root.module if schema.root else None  # turns the YAML into these classes, reads no key
    flow = engine.follow(name for name in inside if name != parser)
    visited = {(ref.module, ref.qualname) for ref in engine.state.visited}
    for name in inside:
        facts = index.modules[name]
        for function in facts.functions:
            if (name, function.qualname) not in visited:
                for key in function.keys:
                    note_untyped(flow, key, facts.path, function.line)
    _put_in_order(flow)
    return flow


def _put_in_order(flow: FlowFacts) -> None:
    """Sets are followed in an order that differs between two runs; what is recorded must not."""
    for records in vars(flow).values():
        if isinstance(records, list):
            records.sort(key=lambda record: (record.path, record.line, *map(str, vars(record).values())))
    flow.untyped = {key: dict(sorted(lines.items())) for key, lines in sorted(flow.untyped.items())}
