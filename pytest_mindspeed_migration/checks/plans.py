"""Module plans against the model's tree: sharding, experts, recompute, offload, chunk loss, chunk mbs, freeze."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..analysis.conditions import truth
from ..analysis.features import PatternUse, framework_functions, pattern_uses
from ..analysis.hub import model_of
from ..analysis.index import index_of
from ..analysis.memo import per_facts
from ..analysis.patterns import INDEX, Pattern, PatternError, compile_pattern, overlap
from ..analysis.tree import Hit, Match, Tree, tree_of
from ..analysis.values import Values
from ..facts.config import ConfigFacts
from ..facts.static import StaticFacts
from ..findings import Finding, Level, near
from .registry import NothingToJudge, check
from .view import TargetView

APPLY = "config.apply_modules"
FEATURES = "config.feature_plans"


@dataclass(frozen=True)
class Audited:
    """A pattern with what it matches. `alive`: False when its only matches need a condition that is false."""

    use: PatternUse
    pattern: Pattern
    match: Match
    alive: bool | None
    dead: tuple[Hit, ...] = ()


@dataclass
class Audit:
    """All patterns of one target, on its tree. `tree` is None when the model's class is not known."""

    config: ConfigFacts
    values: Values
    tree: Tree | None
    patterns: list[Audited]
    invalid: list[tuple[PatternUse, str]]
    unread: tuple[str, int] | None = None  # test under which the sharding plan is never looked at, and its value's line

    @property
    def decides_nothing(self) -> bool:
        """Whether no pattern could be matched, for or against: the model's tree cannot be read from its source text."""
        known = any(not item.match.opaque for item in self.patterns)
        return not known and not self.invalid and self.unread is None and (self.tree is None or bool(self.patterns))

    def of(self, kind: str, option: str) -> list[Audited]:
        """The patterns of one option of one plan."""
        return [item for item in self.patterns if item.use.kind.name == kind and item.use.option == option]


def audit(view: TargetView) -> Audit | None:
    """Match every pattern of the target's plans; None when there is no readable config."""
    config = view.config
    if config is None or config.data is None:
        return None
    return _audit(view.facts, view.target.name)


@per_facts
def _audit(facts: StaticFacts, name: str) -> Audit:
    view = TargetView(facts, facts.target(name))
    config = view.config
    assert config is not None
    model = model_of(view)
    root = model.ref if model is not None and model.ref is not None and model.ref.kind == "class" else None
    tree = tree_of(facts, root) if root is not None else None
    values = Values(facts, config, root)
    result = Audit(config, values, tree, [], [], _unread(facts, values))
    for use in pattern_uses(facts, config):
        try:
            pattern = compile_pattern(use.text)
        except PatternError as error:
            result.invalid.append((use, str(error)))
            continue
        if tree is not None:
            result.patterns.append(_audited(use, pattern, tree.match(pattern), values))
    return result


def _audited(use: PatternUse, pattern: Pattern, match: Match, values: Values) -> Audited:
    if match.opaque:
        return Audited(use, pattern, match, True)
    verdicts = [values.all_hold(hit.tests) for hit in match.hits]
    dead = tuple(hit for hit, verdict in zip(match.hits, verdicts, strict=True) if verdict is False)
    if not match.hits:
        return Audited(use, pattern, match, False)
    return Audited(use, pattern, match, len(dead) < len(match.hits), dead)


def _unread(facts: StaticFacts, values: Values) -> tuple[str, int] | None:
    """A test, true under this config, after which the framework returns before it has looked at `apply_modules`."""
    for module, function in framework_functions(facts, "distributed/"):
        if "fsdp_plan" not in function.signature.params or function.qualname.endswith("prefetch"):
            continue
        for test, line in function.exits.items():
            if truth(test, values.by_key):
                return f"{test} ({module.path}:{line})", line
    return None


@check(APPLY)
def sharding_plan(view: TargetView) -> list[Finding]:
    """Patterns of the sharding and expert plans that match nothing, lists that cannot be wrapped, doubles, gaps."""
    found = audit(view)
    if found is None:
        return []
    if found.decides_nothing:
        raise NothingToJudge("plans.opaque")
    kinds = ("fsdp", "expert")
    findings = [_invalid(found, use, why) for use, why in found.invalid if use.kind.name in kinds]
    if found.unread is not None:
        findings.extend(_bypassed(found))
    for item in found.patterns:
        if item.use.kind.name in kinds:
            findings.extend(_reach(found, item))
    if found.unread is None:
        findings.extend(_containers(found))
        findings.extend(_doubles(found))
        findings.extend(_gaps(found))
        findings.extend(_prefetch(view, found))
    return findings


@check(FEATURES)
def feature_plans(view: TargetView) -> list[Finding]:
    """Patterns of the memory and communication features, and of `model.freeze`, that match nothing."""
    found = audit(view)
    if found is None:
        return []
    kinds = ("fsdp", "expert")
    findings = [_invalid(found, use, why) for use, why in found.invalid if use.kind.name not in kinds]
    for item in found.patterns:
        if item.use.kind.name not in kinds:
            findings.extend(_reach(found, item))
    if not findings and found.decides_nothing:
        raise NothingToJudge("plans.opaque")
    return findings


def _finding(found: Audit, use: PatternUse, message: str, severity: Level, **more: object) -> Finding:
    suggestion = more.pop("suggestion", None)
    return Finding(
        f"plans.{message}",
        {"pattern": use.text, "plan": use.kind.key, **more},
        path=found.config.path,
        line=found.config.line_of(use.yaml_path),
        yaml_path=use.yaml_path,
        value=use.text,
        suggestion=str(suggestion) if suggestion else None,
        severity=severity,
    )


def _invalid(found: Audit, use: PatternUse, why: str) -> Finding:
    return _finding(found, use, "invalid_pattern", "note" if use.enabled is False else "error", part="{" + why + "}")


def _bypassed(found: Audit) -> Iterator[Finding]:
    assert found.unread is not None
    base = "parallel.fsdp_plan.apply_modules"
    if found.config.get(base):
        yield Finding(
            "plans.plan_not_read",
            {"test": found.unread[0]},
            path=found.config.path,
            line=found.config.line_of(base),
            yaml_path=base,
            severity="note",
        )


def _reach(found: Audit, item: Audited) -> Iterator[Finding]:
    """A pattern that matches nothing: never, or not under this config."""
    if item.alive is not False:
        return
    use = item.use
    off = use.enabled is False or (use.kind.name == "fsdp" and found.unread is not None)
    if not item.match.hits:
        assert item.match.end is not None
        path, node = item.match.end
        yield _finding(
            found,
            use,
            "never_matches_off" if off else "never_matches",
            "note" if off else "error",
            module=path or "(root)",
            cls=node.label,
            where=f"{node.path}:{node.line}",
            suggestion=_nearest(found, use.text),
        )
        return
    hit = item.dead[0]
    tests = [test for test in hit.tests if found.values.holds(test) is False]
    keys = [key for test in tests for key in found.values.source_keys(test)]
    fatal = use.enabled and (use.kind.name == "offload" or _all_dead(found, use))
    yield _finding(
        found,
        use,
        "dead_under_config",
        "error" if fatal and not off else "note",
        module=hit.path,
        test=" and ".join(test.text for test in tests),
        keys=", ".join(dict.fromkeys(keys)) or "-",
    )


def _all_dead(found: Audit, use: PatternUse) -> bool:
    """Whether no pattern of the same list matches anything: then the framework raises."""
    return not any(item.alive for item in found.of(use.kind.name, use.option))


def _nearest(found: Audit, text: str) -> str | None:
    """The known module path that looks most like the pattern, its indexes written as `{*}`."""
    assert found.tree is not None
    paths = [path.replace(INDEX, "{*}") for path, node in found.tree.walk() if path and node.kind != "opaque"]
    moved = [path for path in paths if path.endswith(f".{text}") or text.endswith(f".{path}")]
    return min(moved, key=len) if moved else near(text, paths, cutoff=0.6)


def _containers(found: Audit) -> Iterator[Finding]:
    """`fully_shard` refuses a ModuleList or ModuleDict: such a list has no forward to hook."""
    for item in found.of("fsdp", "apply_modules"):
        hits = [hit for hit in item.match.hits if hit.node.kind == "list" and hit.node.label in ("list", "dict")]
        if hits and len(hits) == len(item.match.hits) and not item.match.opaque:
            yield _finding(
                found,
                item.use,
                "container_wrapped",
                "error",
                module=hits[0].path,
                where=f"{hits[0].node.path}:{hits[0].node.line}",
                suggestion=f"{item.use.text}.{{*}}",
            )


def _doubles(found: Audit) -> Iterator[Finding]:
    """A module named by two patterns of `apply_modules` is sharded twice, which raises."""
    items = found.of("fsdp", "apply_modules")
    for place, second in enumerate(items):
        for first in items[:place]:
            if not overlap(first.pattern, second.pattern):
                continue
            both = {hit.path for hit in first.match.hits} & {hit.path for hit in second.match.hits}
            if both:
                yield _finding(found, second.use, "matched_twice", "error", module=min(both), first=first.use.text)
                break


def _gaps(found: Audit) -> Iterator[Finding]:
    """Lists of blocks that no pattern covers: their parameters stay in the group of an outer module."""
    items = [*found.of("fsdp", "apply_modules"), *found.of("expert", "apply_modules")]
    patterns = [item.pattern for item in items]
    if not patterns or found.tree is None:
        return
    for path, node in found.tree.walk(lambda tests: found.values.all_hold(tests) is False):
        if node.kind != "list" or node.label != "list" or not node.elements:
            continue
        if any(element.kind != "module" or not element.children for element in node.elements):
            continue
        blocks = f"{path}.{INDEX}"
        parts = blocks.split(".")
        outer = [".".join(parts[: place + 1]) for place, part in enumerate(parts) if part == INDEX]
        if any(pattern.matches(name) for pattern in patterns for name in outer):
            continue
        base = "parallel.fsdp_plan.apply_modules"
        yield Finding(
            "plans.blocks_uncovered",
            {"module": path, "cls": node.elements[0].label, "where": f"{node.path}:{node.line}"},
            path=found.config.path,
            line=found.config.line_of(base),
            yaml_path=base,
            suggestion=f"{path}.{{*}}".replace(INDEX, "{*}"),
            severity="note",
        )


def _prefetch(view: TargetView, found: Audit) -> Iterator[Finding]:
    """A model's own prefetch hook calls methods that only sharded modules have: the plan must wrap what it names."""
    config = found.config
    options = ("num_to_forward_prefetch", "num_to_backward_prefetch")
    on = any(isinstance(n := config.get(f"parallel.fsdp_plan.{key}"), int) and n > 0 for key in options)
    model = model_of(view)
    if not on or model is None or model.ref is None or found.tree is None:
        return
    wrapped = [item.pattern for item in found.of("fsdp", "apply_modules")]
    experts = [item.pattern for item in found.patterns if item.use.kind.name == "expert"]
    method = index_of(view.facts).method(model.ref, "set_modules_to_prefetch")
    if method is None or not wrapped:
        return
    module, function = method
    for chain, line in function.prefetches.items():
        root, _, rest = chain.partition(".")
        path = rest.replace("[]", f".{INDEX}")
        if root != "self" or not rest or any(pattern.matches(path) for pattern in wrapped):
            continue
        only_expert = any(pattern.matches(path) for pattern in experts)
        base = "parallel.fsdp_plan.apply_modules"
        yield Finding(
            "plans.prefetch_expert_only" if only_expert else "plans.prefetch_unwrapped",
            {"module": path, "where": f"{index_of(view.facts).path_of(module)}:{line}"},
            path=config.path,
            line=config.line_of(base),
            yaml_path=base,
            expected=path.replace(INDEX, "{*}"),
        )
