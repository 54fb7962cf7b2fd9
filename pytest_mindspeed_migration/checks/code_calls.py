"""`code.calls`: calls of what the repo defines bind to the parameters it takes."""

from __future__ import annotations

from collections.abc import Iterator

from ..analysis.callees import Callee, Callees, callees
from ..analysis.index import Ref
from ..analysis.memo import per_facts
from ..analysis.plugins import Registration, all_registrations, plugins_of, unowned
from ..analysis.signatures import Misfit, bind, swapped
from ..facts.source import CallFacts, ModuleFacts
from ..facts.static import StaticFacts
from ..findings import Finding, near
from .ownership import judged_files
from .registration import DATASET_TYPES, dataset_type_is_used
from .registry import check
from .view import TargetView

BUILDERS = ("from_pretrained", "_from_config")
"""Methods of registered models with contracts of their own."""


@check("code.calls")
def calls_bind(view: TargetView) -> list[Finding]:
    """Calls of functions, methods, constructors, child modules and `super()`."""
    return [finding for path in judged_files(view) for finding in _calls_of(view.facts, path)]


@check("code.calls")
def overrides_bind(view: TargetView) -> list[Finding]:
    """Methods that a subclass overrides accept the calls its base class makes on `self`."""
    return [finding for path in judged_files(view) for finding in _overrides_of(view.facts, path)]


@check("code.calls")
def hooks_bind(view: TargetView) -> list[Finding]:
    """What the framework calls on a registered class or function accepts what it passes."""
    known = callees(view.facts)
    found: list[Finding] = []
    for item in _registered(view):
        for path, call in _register_calls(view.facts):
            register, _, name = call.callee.partition(">")
            if item.kind in register and name[1:] not in BUILDERS and "." not in name[1:]:
                found += _hook_findings(known, item, path, call, name[1:])
    return found


@per_facts
def _calls_of(facts: StaticFacts, path: str) -> list[Finding]:
    known, module = callees(facts), facts.modules[path]
    found: list[Finding] = []
    for call in module.calls:
        found += _same_mapping_twice(known, module, call)
        callee = known.of(module.name, call)
        if callee is not None:
            found += _judge(module, call, callee)
    return found


@per_facts
def _overrides_of(facts: StaticFacts, path: str) -> list[Finding]:
    known, module = callees(facts), facts.modules[path]
    return [
        finding
        for item in module.classes
        for finding in _override_findings(known, module, Ref("class", module.name, item.qualname))
    ]


@per_facts
def _register_calls(facts: StaticFacts) -> list[tuple[str, CallFacts]]:
    """(file, call) of every call on what a register holds."""
    return [
        (module.path, call) for module in facts.modules.values() for call in module.calls if call.callee.startswith("<")
    ]


def _judge(facts: ModuleFacts, call: CallFacts, callee: Callee) -> Iterator[Finding]:
    if not callee.keywords and call.keywords:
        yield Finding("calls.no_keywords", {"callee": callee.name}, facts.path, call.line, value=call.keywords[0])
    for misfit in bind(call, callee.signature, callee.skip):
        yield _finding(misfit, call, callee, facts.path, call.line)
    pair = swapped(call, callee.signature, callee.skip)
    if pair is not None:
        args = {"callee": callee.name, "first": pair[0], "second": pair[1], "defined": _place(callee)}
        yield Finding("calls.swapped", args, facts.path, call.line, severity="note")


def _finding(misfit: Misfit, call: CallFacts, callee: Callee, path: str, line: int) -> Finding:
    names = [*callee.signature.params[callee.skip :], *callee.signature.kwonly]
    suggestion = near(misfit.name, names) if misfit.kind == "unknown_keyword" else None
    args = {
        "callee": callee.name,
        "name": misfit.name,
        "given": misfit.given,
        "takes": misfit.takes,
        "defined": _place(callee),
        "parameters": ", ".join(names) or "-",
        "passed": _passed(call),
    }
    return Finding(f"calls.{misfit.kind}", args, path, line, suggestion=suggestion)


def _passed(call: CallFacts) -> str:
    """The arguments of a call: by name where they have one."""
    names = [*call.names, *[""] * (call.positional - len(call.names))]
    return ", ".join([*(name or "..." for name in names), *(f"{name}=..." for name in call.keywords)]) or "-"


def _place(callee: Callee) -> str:
    return f"{callee.path}:{callee.line}" if callee.path else callee.name


def _same_mapping_twice(known: Callees, facts: ModuleFacts, call: CallFacts) -> Iterator[Finding]:
    """`f(**a, **b)` where b may be a: any key in it is given twice."""
    if len(call.double_star) < 2:
        return
    function = known.index.functions(facts.name).get(call.scope)
    aliases = function.aliases if function is not None else {}
    for number, first in enumerate(call.double_star):
        for second in call.double_star[number + 1 :]:
            if first != "?" and (
                first == second or second in aliases.get(first, []) or first in aliases.get(second, [])
            ):
                args = {"callee": call.callee, "first": first, "second": second}
                yield Finding("calls.same_mapping", args, facts.path, call.line)


def _override_findings(known: Callees, facts: ModuleFacts, ref: Ref) -> Iterator[Finding]:
    chain, _ = known.index.linear(ref)
    own = chain[0][1]
    for base_module, base in chain[1:]:
        base_ref = Ref("class", base_module, base.qualname)
        base_facts = known.index.modules[base_module]
        for call in known.index.calls_of_methods(base_module, base.qualname):
            receiver, _, name = call.callee.partition(".")
            caller = call.scope.rpartition(".")[2]
            if not _is_receiver(known, base_module, call.scope, receiver):
                continue
            override = known.index.functions(facts.name).get(f"{own.qualname}.{name}")
            runs = known.method(ref, caller)
            if override is None or runs is None or runs[1].qualname != call.scope or runs[0] != base_module:
                continue
            callee = known.bound_method(ref, name)
            original = known.bound_method(base_ref, name)
            if callee is None or original is None or bind(call, original.signature, original.skip):
                continue
            for misfit in bind(call, callee.signature, callee.skip):
                finding = _finding(misfit, call, callee, facts.path, override.line)
                yield _called_from(finding, f"{base_facts.path}:{call.line}")


def _is_receiver(known: Callees, module: str, scope: str, root: str) -> bool:
    function = known.index.functions(module).get(scope)
    return function is not None and root == next(iter(function.signature.params), None) and root != "cls"


def _hook_findings(known: Callees, item: Registration, path: str, call: CallFacts, name: str) -> Iterator[Finding]:
    ref = known.index.resolve(item.module, item.object)
    if ref is None or (name and ref.kind != "class"):
        return
    callee = known.class_method(ref, name) if name else known.to(ref)
    for misfit in bind(call, callee.signature, callee.skip) if callee is not None else []:
        assert callee is not None
        finding = _finding(misfit, call, callee, callee.path, callee.line)
        yield _called_from(finding, f"{path}:{call.line}")


def _called_from(finding: Finding, place: str) -> Finding:
    return Finding(
        f"{finding.message}_from",
        {**finding.args, "caller": place},
        finding.path,
        finding.line,
        suggestion=finding.suggestion,
    )


def _registered(view: TargetView) -> list[Registration]:
    """Registrations whose hooks are judged here: the target's own model, or those of plugins no target uses."""
    if view.is_framework:
        paths = unowned(view.facts)
        return [item for item in all_registrations(view.facts) if item.path in paths]
    plugins = plugins_of(view.facts, view.target.name)
    wanted = {("model", view.target.model_id)}
    if dataset_type_is_used(view) and view.config is not None:
        wanted |= {("data", view.config.string(path)) for path in DATASET_TYPES}
    return [item for item in plugins.registrations if (item.kind, item.id) in wanted]
