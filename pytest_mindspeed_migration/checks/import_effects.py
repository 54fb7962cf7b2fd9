"""`code.import_effects`: importing a plugin needs no NPU, no command line, no file, and ends nothing."""

from __future__ import annotations

from collections.abc import Iterator

from ..analysis.index import Index, index_of
from ..analysis.memo import per_facts
from ..analysis.plugins import baseline, in_plugin_space, plugins_of, unowned
from ..analysis.reach import Certainty, Node, Reach, graph_of
from ..facts.source import CallFacts, EffectFacts, ModuleFacts
from ..facts.static import StaticFacts
from ..findings import Finding
from .registry import check
from .view import TargetView


@check("code.import_effects")
def import_is_harmless(view: TargetView) -> list[Finding]:
    """What the import of the target's plugins and trainer runs for certain has no effect beyond defining names."""
    facts = view.facts
    if view.is_framework:
        return [*_of_the_framework(facts), *_of_unused_plugins(facts)]
    plugins = plugins_of(facts, view.target.name)
    return list(_findings(facts, plugins.reach, plugins.owned, _certain(baseline(facts))))


@check("code.import_effects")
def command_line_is_read_once(view: TargetView) -> list[Finding]:
    """Only an entry point reads the command line; a function of the framework that does cannot be embedded."""
    if not view.is_framework:
        return []
    index, readers = index_of(view.facts), _argv_readers(view.facts)
    found = []
    for path in sorted(unowned(view.facts)):
        facts = view.facts.modules[path]
        for call in facts.calls:
            target = _called(index, facts, call) if call.scope in index.functions(facts.name) else None
            entry = call.scope.rpartition(".")[2] == "main"
            if target is not None and target in readers and not entry and target.module != facts.name:
                args = {"function": call.scope, "callee": call.callee}
                found.append(Finding("effects.argv_in_function", args, path, call.line))
    return found


@check("code.import_effects")
def packages_do_not_patch(view: TargetView) -> list[Finding]:
    """Importing a package of the framework does not replace parts of other packages without a condition."""
    if not view.is_framework:
        return []
    index = index_of(view.facts)
    found = []
    for path in sorted(unowned(view.facts)):
        facts = view.facts.modules[path]
        if not facts.is_package or in_plugin_space(path, view.facts.repo.package):
            continue
        for call in index.calls_in(facts.name, ""):
            patched = [] if call.guarded else sorted(_patches(index, _called(index, facts, call), set()))
            if patched:
                args = {"package": facts.name, "function": call.callee, "patched": ", ".join(patched[:3])}
                found.append(Finding("effects.patches", args, path, call.line))
    return found


def _of_the_framework(facts: StaticFacts) -> Iterator[Finding]:
    """What every run imports, and NPU imports that only some runs reach (shown as notes)."""
    base, own = baseline(facts), unowned(facts)
    yield from _findings(facts, base, own, frozenset())
    for path in sorted(own):
        module = facts.modules[path]
        if base.runs(module.name) is not Certainty.ALWAYS and not in_plugin_space(path, facts.repo.package):
            effect = next(
                (e for e in module.effects if e.kind == "npu_import" and not e.guarded and not e.function), None
            )
            if effect is not None:
                args = {"package": effect.detail}
                yield Finding("effects.npu_import_later", args, path, effect.line, severity="note")


def _of_unused_plugins(facts: StaticFacts) -> Iterator[Finding]:
    """Plugins that no config uses, imported as a config would import them."""
    package = facts.repo.package
    own = frozenset(path for path in unowned(facts) if in_plugin_space(path, package))
    reach = Reach(graph_of(facts), [facts.modules[path].name for path in sorted(own)])
    yield from _findings(facts, reach, own, _certain(baseline(facts)))


def _findings(facts: StaticFacts, reach: Reach, own: frozenset[str], ignored: frozenset[Node]) -> Iterator[Finding]:
    """Effects of what certainly runs, at the place in the own files that brings them in."""
    index = index_of(facts)
    seen: set[tuple[str, int, str]] = set()
    for node in reach.nodes(Certainty.ALWAYS):
        if node in ignored:
            continue
        for effect in _effects(index, node):
            finding = _at_home(index, reach, own, node, effect)
            if finding is None:
                continue
            key = (finding.path or "", finding.line or 0, effect.kind)
            if key not in seen:
                seen.add(key)
                yield finding


def _effects(index: Index, node: Node) -> Iterator[EffectFacts]:
    """The first effect of each kind that certainly happens in the node."""
    facts = index.modules.get(node.module)
    kinds: set[str] = set()
    for effect in facts.effects if facts else []:
        if (effect.function or "") == node.function and not effect.guarded and effect.kind not in kinds:
            kinds.add(effect.kind)
            yield effect


def _at_home(index: Index, reach: Reach, own: frozenset[str], node: Node, effect: EffectFacts) -> Finding | None:
    """The finding at the effect itself when it is in an own file, else at the own line that leads to it."""
    way = [
        (step, line, index.modules[step.module].path) for step, line in reach.way(node) if step.module in index.modules
    ]
    path = index.modules[node.module].path
    args = {"detail": effect.detail}
    if path in own:
        return Finding(f"effects.{effect.kind}", args, path, effect.line)
    places = [(number, line, place) for number, (_, line, place) in enumerate(way) if place in own and line]
    if not places:
        return None
    number, line, place = places[-1]
    chain = [step.module for step, _, _ in way[number + 1 :]]
    via = " → ".join(dict.fromkeys(chain))
    return Finding(f"effects.{effect.kind}_via", {**args, "via": via, "place": f"{path}:{effect.line}"}, place, line)


def _certain(reach: Reach) -> frozenset[Node]:
    return frozenset(reach.nodes(Certainty.ALWAYS))


@per_facts
def _argv_readers(facts: StaticFacts) -> frozenset[Node]:
    """Functions that read the command line themselves."""
    return frozenset(
        Node(module.name, effect.function)
        for module in facts.modules.values()
        for effect in module.effects
        if effect.kind == "argv" and effect.function
    )


def _called(index: Index, facts: ModuleFacts, call: CallFacts) -> Node | None:
    ref = index.resolve(facts.name, call.callee, call.scope)
    return Node(ref.module, ref.qualname) if ref is not None and ref.kind == "function" else None


def _patches(index: Index, node: Node | None, seen: set[Node]) -> set[str]:
    """Attributes of other modules that a function assigns, itself or through what it calls."""
    if node is None or node in seen or node.module not in index.modules:
        return set()
    seen.add(node)
    facts = index.modules[node.module]
    function = index.functions(node.module).get(node.function)
    found = set(function.patches) if function is not None else set()
    for call in index.calls_in(node.module, node.function):
        found |= _patches(index, _called(index, facts, call), seen)
    return found
