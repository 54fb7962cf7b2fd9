"""Which plans the framework of this checkout applies, from which YAML section, under which switch.

That is read from its appliers: classes constructed with a schema object (`FeaturesApplier(feature_config:
FeatureArguments)`) in a module that reads the plan's key. The section is the one that schema class describes; the
generations of the framework differ there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..facts.config import ConfigFacts
from ..facts.source import FunctionFacts, ModuleFacts
from ..facts.static import StaticFacts
from .conditions import UNKNOWN
from .index import Index, Ref, index_of
from .memo import per_facts

NOT_APPLIERS = ("models/", "params/", "data/", "tools/", "tasks/")


@dataclass(frozen=True)
class PlanKind:
    """A plan the framework may have. `switches`: boolean keys beside it, any of which turns it on."""

    name: str
    key: str
    patterns: tuple[str, ...]
    switches: tuple[str, ...] = ()


KINDS = (
    PlanKind("fsdp", "fsdp_plan", ("apply_modules", "ignored_modules", "hook_modules")),
    PlanKind("expert", "ep_plan", ("apply_modules", "apply_efsdp_modules")),
    PlanKind("recompute", "recompute_plan", ("apply_modules",), ("recompute",)),
    PlanKind("offload", "activation_offload_plan", ("apply_modules",), ("enable_activation_offload",)),
    PlanKind("chunk_loss", "chunkloss_plan", ("apply_module",), ("enable_chunk_loss", "enable_dynamic_chunk_loss")),
    PlanKind("chunk_mbs", "chunkmbs_plan", ("apply_modules",), ("enable_chunk_mbs",)),
)


@dataclass(frozen=True)
class Reader:
    """Where a plan is read: the YAML section, and the applier's file."""

    section: str
    path: str


@dataclass(frozen=True)
class PatternUse:
    """One pattern of one plan of a config."""

    kind: PlanKind
    option: str  # "apply_modules"
    text: str
    yaml_path: str
    enabled: bool | None


@per_facts
def sections(facts: StaticFacts) -> dict[str, Ref]:
    """Top-level YAML sections with their schema classes, from the root class `Arguments`."""
    index = index_of(facts)
    root = index.lookup(f"{facts.repo.package}.fsdp.params.argument", "Arguments")
    if root is None or root.kind != "class":
        return {}
    found = {}
    for module, owner in reversed(index.linear(root)[0]):
        for entry in owner.fields:
            ref = index.resolve(module, entry.annotation)
            if ref is not None and ref.kind == "class":
                found[entry.name] = ref
    return found


@per_facts
def default_of(facts: StaticFacts, section: str, key: str) -> Any:
    """Default of a declared key of a section; UNKNOWN when it is not declared or not a constant."""
    ref = sections(facts).get(section)
    if ref is None:
        return UNKNOWN
    for _, owner in index_of(facts).linear(ref)[0]:
        for entry in owner.fields:
            if entry.name == key:
                return UNKNOWN if not entry.has_default or entry.default in ("<factory>", "<expr>") else entry.default
    return UNKNOWN


def declares(facts: StaticFacts, section: str, key: str) -> bool:
    """Whether the schema class of a section declares a key."""
    ref = sections(facts).get(section)
    chain = index_of(facts).linear(ref)[0] if ref is not None else []
    return any(entry.name == key for _, owner in chain for entry in owner.fields)


def value_of(facts: StaticFacts, config: ConfigFacts, section: str, key: str) -> Any:
    """Value of a key: from the YAML, else the declared default, else UNKNOWN."""
    if config.has(f"{section}.{key}"):
        return config.get(f"{section}.{key}")
    return default_of(facts, section, key)


@per_facts
def reader_of(facts: StaticFacts, key: str) -> Reader | None:
    """The applier that reads a plan; None when this generation has none."""
    index, root = index_of(facts), f"{facts.repo.package}/fsdp/"
    names = {ref: name for name, ref in sections(facts).items()}
    for path, module in facts.modules.items():
        inside = path.startswith(root) and not path[len(root) :].startswith(NOT_APPLIERS)
        if not inside or key not in module.keys_read:
            continue
        for section in _given_sections(index, module, names):
            if declares(facts, section, key):
                return Reader(section, path)
    return None


def _given_sections(index: Index, module: ModuleFacts, names: dict[Ref, str]) -> list[str]:
    """Sections whose schema objects the classes of a module are constructed with."""
    found = []
    for function in module.functions:
        if not function.qualname.endswith(".__init__"):
            continue
        for annotation in function.annotations.values():
            ref = index.resolve(module.name, annotation)
            if ref in names and names[ref] not in found:
                found.append(names[ref])
    return found


def enabled(facts: StaticFacts, config: ConfigFacts, kind: PlanKind, reader: Reader) -> bool | None:
    """Whether a plan is switched on; None when the files do not tell."""
    if kind.name == "fsdp":
        return True
    if kind.name == "expert":
        size = value_of(facts, config, reader.section, "expert_parallel_size")
        return None if size is UNKNOWN or not isinstance(size, int) else size > 1
    module = facts.modules[reader.path]
    switches = [name for name in kind.switches if name in module.keys_read]
    if not switches:
        return config.has(f"{reader.section}.{kind.key}")
    return any(value_of(facts, config, reader.section, name) is True for name in switches)


def pattern_uses(facts: StaticFacts, config: ConfigFacts) -> list[PatternUse]:
    """Every pattern of every plan that this generation reads, in the order of the YAML."""
    found = []
    for kind in KINDS:
        reader = reader_of(facts, kind.key)
        if reader is None:
            continue
        on = enabled(facts, config, kind, reader)
        for option in kind.patterns:
            base = f"{reader.section}.{kind.key}.{option}"
            value = config.get(base)
            if value is None and on is True and kind.name == "chunk_loss":
                value = _plan_default(facts, reader.section, kind.key, option)
            if isinstance(value, str):
                found.append(PatternUse(kind, option, value, base, on))
            elif isinstance(value, list):
                found.extend(
                    PatternUse(kind, option, item, f"{base}[{place}]", on)
                    for place, item in enumerate(value)
                    if isinstance(item, str)
                )
    freeze = config.get("model.freeze")
    if isinstance(freeze, list):
        found.extend(
            PatternUse(FREEZE, "freeze", item, f"model.freeze[{place}]", True)
            for place, item in enumerate(freeze)
            if isinstance(item, str)
        )
    return found


def _plan_default(facts: StaticFacts, section: str, key: str, option: str) -> Any:
    """The default of an option of a plan, from the plan's own schema class."""
    ref, index = sections(facts).get(section), index_of(facts)
    for module, owner in index.linear(ref)[0] if ref is not None else []:
        for entry in owner.fields:
            plan = index.resolve(module, entry.annotation) if entry.name == key else None
            if plan is not None and plan.kind == "class":
                fields = [item for _, schema in index.linear(plan)[0] for item in schema.fields]
                return next((item.default for item in fields if item.name == option), None)
    return None


FREEZE = PlanKind("freeze", "freeze", ())


def framework_functions(facts: StaticFacts, fragment: str) -> list[tuple[ModuleFacts, FunctionFacts]]:
    """Functions of the framework itself (no plugin, no schema) in files whose path has this fragment."""
    root = f"{facts.repo.package}/fsdp/"
    return [
        (module, function)
        for path, module in facts.modules.items()
        if path.startswith(root) and fragment in path and not path[len(root) :].startswith(NOT_APPLIERS)
        for function in module.functions
    ]


@per_facts
def injected_keywords(facts: StaticFacts) -> dict[str, tuple[str, int]]:
    """Keywords that the recompute wrapper adds to every forward call it wraps -> where it does so."""
    found: dict[str, tuple[str, int]] = {}
    for module, function in framework_functions(facts, "recompute"):
        varkw = function.signature.varkw
        if varkw and "." in function.qualname:
            for key in function.item_sets.get(varkw, []):
                found.setdefault(key, (module.path, function.line))
    return found
