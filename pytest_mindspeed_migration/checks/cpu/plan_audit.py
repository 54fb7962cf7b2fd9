"""The module-plan audit on the full-size model: what the config's patterns really match, and what they leave out.

Sources of what raises: `fully_shard` of torch (containers, a module sharded twice), the framework's appliers (no module
for a whole list). What only costs memory or speed is a note.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...analysis.features import framework_functions, pattern_uses
from ...facts.runtime import Raised
from ...facts.static import StaticFacts
from ...findings import Finding, Level
from ..plans import APPLY, FEATURES, audit
from ..registry import check, detail
from ..view import TargetView
from .model_build import step_of
from .model_folder import PROBE
from .module_tree import SHARDING, ModuleTree, Row, Use
from .steps import data_of, failure, finding_of

STEP = "model.modules"
BASE = "parallel.fsdp_plan.apply_modules"
_APPLY = SHARDING[0]
_EXPERTS = SHARDING[1:]
_LEAST_SHARE = 0.01  # of the parameters: a smaller list of blocks left out costs nothing worth a note
_READ_FROM_TEXT = ("plans.blocks_uncovered", "plans.never_matches_off", "plans.dead_under_config")
_RAISES_WHEN_EMPTY = ("fsdp", "expert", "recompute", "chunk_mbs", "chunk_loss", "lora")


@check(APPLY, level="cpu", instead_of=_READ_FROM_TEXT)
def sharding_plan(view: TargetView) -> list[Finding]:
    """Patterns of the sharding and expert plans on the real tree: dead, doubled, containers, tied, gaps, order."""
    step = step_of(view, STEP)
    found = failure(view, PROBE, step, "get_fsdp_modules")
    if found:
        return found
    tree = ModuleTree.of(step.data)
    plan = _Plan(view, tree)
    found = [finding for use in tree.uses if use.plan in ("fsdp", "expert") for finding in plan.dead(use)]
    if plan.read and tree.facts["framework"]["count"]:
        found += [
            *plan.twice(),
            *plan.experts_twice(),
            *plan.containers(),
            *plan.split_ties(),
            *plan.order(),
            *plan.gaps(),
        ]
    elif plan.read and tree.facts["framework"]["error"] and not any(finding.fails for finding in found):
        found.append(finding_of(Raised(**tree.facts["framework"]["error"]), "get_fsdp_modules"))
    return found


@check(FEATURES, level="cpu", instead_of=_READ_FROM_TEXT)
def feature_plans(view: TargetView) -> list[Finding]:
    """Patterns of memory features, freezing, LoRA and weight decay on the real tree."""
    tree = ModuleTree.of(data_of(view, PROBE, STEP))
    plan = _Plan(view, tree)
    found = [finding for use in tree.uses if use.plan not in ("fsdp", "expert") for finding in plan.dead(use)]
    return [*found, *plan.one_head(), *plan.wrapped_twice(), *plan.frozen(), *plan.decay()]


class _Plan:
    """The patterns of one target's config on its tree."""

    def __init__(self, view: TargetView, tree: ModuleTree) -> None:
        assert view.config is not None
        self._view, self._tree, self._config = view, tree, view.config
        self._enabled = {use.yaml_path: use.enabled for use in pattern_uses(view.facts, view.config)}
        static = audit(view)
        self._conditional = {item.use.yaml_path for item in static.patterns if item.dead} if static else set()
        self.read = static is None or static.unread is None
        self.experts = any(self._on(use) for use in tree.uses if use.plan == "expert")

    def _on(self, use: Use) -> bool:
        return self._enabled.get(use.yaml_path, True) is not False

    def _finding(self, use: Use, key: str, severity: Level, suggestion: str | None = None, **args: Any) -> Finding:
        plan = use.yaml_path.split("[")[0]
        return Finding(
            f"audit.{key}",
            {"pattern": use.pattern, "plan": plan, **args},
            path=self._config.path,
            line=self._config.line_of(use.yaml_path),
            yaml_path=use.yaml_path,
            value=use.pattern,
            suggestion=suggestion,
            severity=severity,
        )

    def _at_plan(self, key: str, severity: Level, suggestion: str | None = None, **args: Any) -> Finding:
        line = self._config.line_of(BASE)
        return Finding(
            f"audit.{key}",
            args,
            path=self._config.path,
            line=line,
            yaml_path=BASE,
            suggestion=suggestion,
            severity=severity,
        )

    def dead(self, use: Use) -> Iterator[Finding]:
        """A pattern that matches no module, and the one that may have been meant."""
        if use.count or use.plan == "no_decay":
            return
        on = self._on(use) and (use.plan != "fsdp" or self.read)
        if use.invalid is not None:
            yield self._finding(use, "invalid", "error" if on else "note", problem=use.invalid)
            return
        alone = not any(
            other.count for other in self._tree.uses if (other.plan, other.option) == (use.plan, use.option)
        )
        fatal = on and alone and use.plan in _RAISES_WHEN_EMPTY
        stop = use.stop or {}
        if stop.get("state") in ("none", "empty") or use.yaml_path in self._conditional:
            where = ".".join(filter(None, (stop.get("path"), stop.get("segment")))) or use.pattern
            yield self._finding(use, "not_built", "error" if fatal else "note", module=where)
            return
        suggestion = self._tree.nearest(use.pattern)
        if not stop:
            yield self._finding(use, "dead", "error" if on else "note", suggestion)
            return
        args = {"module": stop["path"] or "(root)", "cls": stop["cls"], "segment": stop["segment"]}
        yield self._finding(use, "dead_at", "error" if on else "note", suggestion, **args)

    def twice(self) -> Iterator[Finding]:
        """Modules that the framework's own list holds more than once: `fully_shard` refuses the second time."""
        doubled = self._tree.facts["framework"]["twice"]
        if not doubled:
            return
        rows = [row for row in self._tree.rows if len(self._tree.marks(row, _APPLY)) > 1]
        if "" in doubled:
            root = next((use for use in self._tree.marks(self._tree.rows[0], _APPLY)), None)
            if root is not None:
                yield self._finding(root, "root_matched", "error")
        pairs: dict[tuple[str, str], tuple[Use, Use, Row]] = {}
        for row in rows:
            first, second, *_ = self._tree.marks(row, _APPLY)
            pairs.setdefault((first.pattern, second.yaml_path), (first, second, row))
        for first, second, row in pairs.values():
            yield self._finding(second, "twice", "error", module=row.path or "(root)", first=first.pattern)
        if not rows and doubled != [""]:
            yield self._at_plan("shared_twice", "error", module=", ".join(name for name in doubled if name))

    def experts_twice(self) -> Iterator[Finding]:
        """Experts that `ep_plan` shards and `apply_modules` names too, unless the framework takes them out of it."""
        removes = _takes_experts_out(self._view.facts)
        efsdp = [use for use in self._tree.uses if (use.plan, use.option) == _EXPERTS[0]]
        options = _EXPERTS[:1] if efsdp else _EXPERTS[1:]
        seen = set()
        for row in self._tree.rows:
            for expert in self._tree.marks(row, *options):
                for use in self._tree.marks(row, _APPLY):
                    same = use.pattern == expert.pattern
                    if (same and removes) or (use.number, expert.number) in seen:
                        continue
                    seen.add((use.number, expert.number))
                    severity: Level = "error" if self._on(expert) else "note"
                    yield self._finding(use, "experts_twice", severity, module=row.path, first=expert.pattern)

    def containers(self) -> Iterator[Finding]:
        """`fully_shard` refuses a ModuleList or ModuleDict."""
        for row in self._tree.rows:
            if row.container and not row.forward:
                for use in self._tree.marks(row, _APPLY):
                    args = {"module": row.path, "cls": row.cls}
                    yield self._finding(use, "container", "error", f"{row.pattern}.{{*}}", **args)

    def split_ties(self) -> Iterator[Finding]:
        """A parameter of two modules in two groups becomes two parameters, unless the trainer ties it again."""
        step = self._view.probe(PROBE).steps.get("model.tie")
        if step is not None and step.status != "ok":  # the training does not come so far; `model.build` says so
            return
        again = step.data["function"] if step is not None else self._tree.facts["ties"]
        for shared in self._tree.facts["tied"]:
            if len(set(shared["units"])) < 2:
                continue
            args = {
                "names": ", ".join(shared["names"]),
                "groups": ", ".join(dict.fromkeys(unit or "(root)" for unit in shared["units"])),
            }
            if again:
                yield self._at_plan("tied_again", "note", **args, function=again)
            else:
                yield self._at_plan("tied_split", "error", **args)

    def order(self) -> Iterator[Finding]:
        """An outer module that is sharded before an inner one takes the inner one's parameters with it."""
        for outer, inner in self._tree.facts["framework"]["parent_first"][:1]:
            yield self._at_plan("outer_first", "error", outer=outer, inner=inner)

    def gaps(self) -> Iterator[Finding]:
        """Lists of blocks that stay in the group of an outer module, with their part of the model."""
        seen = set()
        for row in self._tree.rows:
            inside = [outer for outer in self._tree.outer(row) if outer.repeated]
            if not inside or inside[0] is not row or row.pattern in seen or row.params == row.own:
                continue
            if any(self._tree.marks(outer, *SHARDING) for outer in inside) or len(inside) > 1:
                continue
            blocks = [other for other in self._tree.rows if other.pattern == row.pattern]
            seen.add(row.pattern)
            count = sum(other.places for other in blocks)
            size = sum(other.places * other.params for other in blocks)
            if count < 2 or size < _LEAST_SHARE * self._tree.parameters:
                continue
            group = self._tree.group(row, True)
            args = {"module": row.pattern, "cls": row.cls, "count": count, "share": self._tree.share(size)}
            yield self._at_plan("gap", "note", row.pattern, **args, group=group.path or "(root)")

    def one_head(self) -> Iterator[Finding]:
        """Chunk loss replaces the forward of one module; several matches raise."""
        for use in self._tree.uses:
            if use.plan == "chunk_loss" and use.count > 1:
                yield self._finding(use, "several_heads", "error" if self._on(use) else "note", count=use.count)

    def wrapped_twice(self) -> Iterator[Finding]:
        """A module that two patterns of one feature match is wrapped twice."""
        seen = set()
        for row in self._tree.rows:
            for plan in ("recompute", "chunk_mbs"):
                uses = self._tree.marks(row, (plan, "apply_modules"))
                if len(uses) > 1 and uses[1].number not in seen:
                    seen.add(uses[1].number)
                    yield self._finding(uses[1], "wrapped_twice", "note", module=row.path, first=uses[0].pattern)

    def frozen(self) -> Iterator[Finding]:
        """Freezing must leave something to train."""
        uses = [use for use in self._tree.uses if use.plan == "freeze" and use.count]
        if uses and not any(row.trainable for row in self._tree.rows):
            yield self._finding(uses[-1], "all_frozen", "error")

    def decay(self) -> Iterator[Finding]:
        """An entry of `no_decay_*` that takes no parameter out of weight decay."""
        for entry in self._tree.facts["no_decay"]:
            if not entry["count"]:
                yield self._finding(Use(-1, **entry), "no_decay", "error")


@detail(APPLY)
def tree_with_coverage(view: TargetView) -> dict[str, Any]:
    """The module tree with the plans that cover each node, for the report."""
    tree = ModuleTree.of(data_of(view, PROBE, STEP))
    experts = _Plan(view, tree).experts
    return {
        "matcher": tree.facts["matcher"],
        "parameters": tree.parameters,
        "in_root": tree.in_root(experts),
        "in_root_share": tree.share(tree.in_root(experts)),
        "rows": [_shown(tree, row) for row in tree.rows],
    }


def _shown(tree: ModuleTree, row: Row) -> dict[str, Any]:
    plans: dict[str, list[str]] = {}
    for number in row.marks:
        plans.setdefault(tree.uses[number].plan, []).append(tree.uses[number].pattern)
    total = row.params * row.places
    return {
        "path": row.path,
        "depth": sum(1 for _ in tree.outer(row)) - 1,
        "cls": row.cls,
        "places": row.places,
        "parameters": total,
        "share": tree.share(total),
        "plans": plans,
    }


def _takes_experts_out(facts: StaticFacts) -> bool:
    """Whether the framework removes what `ep_plan` has sharded from `apply_modules`."""
    return any(
        write.target.endswith("fsdp_plan.apply_modules")
        for _, function in framework_functions(facts, "distributed/")
        for write in function.writes
    )
