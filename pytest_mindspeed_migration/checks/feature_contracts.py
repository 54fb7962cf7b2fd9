"""What a feature of the framework does to the modules it is applied to, against what these modules can take."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..analysis.features import framework_functions, injected_keywords, reader_of
from ..analysis.hub import accepts_keyword, model_of, registered
from ..analysis.index import Index, Ref, index_of
from ..analysis.memo import per_facts
from ..analysis.patterns import INDEX
from ..analysis.tree import tree_of
from ..facts.source import CallFacts, FunctionFacts, Signature
from ..facts.static import StaticFacts
from ..findings import Finding
from .plans import FEATURES, Audit, Audited, audit
from .registry import NothingToJudge, check
from .view import TargetView

LOSS = "model.forward_loss"
_METHOD = re.compile(r"(?:types\.)?MethodType\((\w[\w.]*),")
_CALLEE = re.compile(r"^([\w.]+)\(")


@check(FEATURES)
def recompute_keyword(view: TargetView) -> list[Finding]:
    """The recompute wrapper adds keywords to every call: each module it wraps must take them."""
    found = audit(view)
    keywords = injected_keywords(view.facts)
    if found is None or not keywords:
        return []
    findings: list[Finding] = []
    for item in found.of("recompute", "apply_modules"):
        for label, where, signature in _forwards(view, item):
            for keyword, (path, line) in keywords.items():
                if not accepts_keyword(signature, keyword):
                    findings.append(_refused(found, item, label, where, keyword, f"{path}:{line}"))
    if not findings and found.decides_nothing:
        raise NothingToJudge("plans.opaque")
    return findings


def _refused(found: Audit, item: Audited, label: str, where: tuple[str, int], keyword: str, wrapper: str) -> Finding:
    use = item.use
    return Finding(
        "plans.recompute_keyword",
        {
            "pattern": use.text,
            "function": label,
            "where": f"{where[0]}:{where[1]}",
            "wrapper": wrapper,
            "keyword": keyword,
        },
        path=found.config.path,
        line=found.config.line_of(use.yaml_path),
        yaml_path=use.yaml_path,
        value=use.text,
        expected=f"{label}(..., **kwargs)",
        severity="error" if use.enabled else "note",
    )


def _forwards(view: TargetView, item: Audited) -> Iterator[tuple[str, tuple[str, int], Signature]]:
    """The forward functions behind a pattern: of the matched classes, or bound to the modules by their owners."""
    index = index_of(view.facts)
    seen: set[str] = set()
    rebound = _rebound(index, item)
    for hit in item.match.hits:
        if hit.path in rebound or hit.node.ref is None or hit.node.kind != "module" or hit in item.dead:
            continue
        method = index.method(hit.node.ref, "forward")
        label = f"{hit.node.label}.forward"
        if method is None or label in seen or label in _patched_forwards(view.facts):
            continue
        seen.add(label)
        yield label, (index.path_of(method[0]) or "", method[1].line), method[1].signature
    for module, function in rebound.values():
        if function.qualname not in seen:
            seen.add(function.qualname)
            yield function.qualname, (index.path_of(module) or "", function.line), function.signature


def _rebound(index: Index, item: Audited) -> dict[str, tuple[str, FunctionFacts]]:
    """Modules the pattern matches whose forward an owner replaces: `block.forward = MethodType(function, block)`."""
    owners = {id(node): (path, node) for hit in item.match.hits for path, node in hit.trail}
    owners.update({id(node): (path, node) for _, _, trail in item.match.opaque for path, node in trail})
    found: dict[str, tuple[str, FunctionFacts]] = {}
    for path, node in owners.values():
        for module, facts in index.linear(node.ref)[0] if node.ref is not None else []:
            for name, function in index.functions(module).items():
                if not name.startswith(f"{facts.qualname}."):
                    continue
                for write in function.writes:
                    bound = _METHOD.match(write.value)
                    if not bound or not write.target.startswith("self.") or not write.target.endswith(".forward"):
                        continue
                    target = write.target[len("self.") : -len(".forward")].replace("[]", f".{INDEX}")
                    full = f"{path}.{target}" if path else target
                    ref = index.resolve(module, bound.group(1), name)
                    if ref is not None and ref.kind == "function" and item.pattern.matches(full):
                        found[full] = (ref.module, index.functions(ref.module)[ref.qualname])
    return found


@per_facts
def _patched_forwards(facts: StaticFacts) -> frozenset[str]:
    """`Class.forward` that some code of the repo replaces at run time."""
    targets = [
        text
        for module in facts.modules.values()
        for function in module.functions
        for text in [*function.patches, *[write.target for write in function.writes]]
        if text.endswith(".forward")
    ]
    return frozenset(".".join(text.split(".")[-2:]) for text in targets)


@check(FEATURES)
def chunk_loss_lookup(view: TargetView) -> list[Finding]:
    """A generation looks the chunk-loss module up with one getattr on the model: a dotted path is never found."""
    lookup = _single_lookup(view.facts)
    if lookup is None:  # this generation matches the pattern like any other
        raise NothingToJudge("plans.opaque")
    path, line, text = lookup
    if view.is_framework:
        return [Finding("plans.chunkloss_lookup_framework", {"lookup": text}, path=path, line=line)]
    found = audit(view)
    return [
        Finding(
            "plans.chunkloss_lookup",
            {"pattern": item.use.text, "lookup": text},
            path=path,
            line=line,
            yaml_path=item.use.yaml_path,
            value=item.use.text,
            severity="error" if item.use.enabled else "note",
        )
        for item in (found.of("chunk_loss", "apply_module") if found is not None else [])
        if "." in item.use.text
    ]


@per_facts
def _single_lookup(facts: StaticFacts) -> tuple[str, int, str] | None:
    for module, function in framework_functions(facts, "chunkloss"):
        for lookup in function.lookups:
            if lookup.name.endswith("apply_module"):
                return module.path, lookup.line, f"getattr(..., {lookup.name})"
    return None


@check(LOSS)
def chunk_loss_protocol(view: TargetView) -> list[Finding]:
    """Chunk loss gives `lm_head` a forward that wants the loss function: the model has to hand it over."""
    found, model = audit(view), model_of(view)
    if found is None or model is None or model.ref is None or model.ref.kind != "class":
        return []
    index = index_of(view.facts)
    if index.method(model.ref, "forward") is None:
        return []
    findings = []
    for item in found.of("chunk_loss", "apply_module"):
        reader = reader_of(view.facts, item.use.kind.key)
        if item.use.enabled is not True or reader is None:
            continue
        switches = [name for name in item.use.kind.switches if found.config.get(f"{reader.section}.{name}") is True]
        if _speaks_protocol(view.facts, model.ref, item.use.text.rsplit(".", 1)[-1], switches):
            continue
        where = f"{reader.section}.{switches[0]}" if switches else item.use.yaml_path
        findings.append(
            Finding(
                "loss.chunk_loss_unsupported",
                {"model": model.id, "cls": model.ref.qualname, "head": item.use.text, "switch": where},
                path=found.config.path,
                line=found.config.line_of(where),
                yaml_path=where,
                value="true",
                expected="false",
            )
        )
    return findings


def _speaks_protocol(facts: StaticFacts, root: Ref, head: str, switches: list[str]) -> bool:
    """Whether the model's code reads a switch, or calls the head with more than the hidden states."""
    index = index_of(facts)
    modules = {module for module, _ in index.linear(root)[0]}
    modules.update(n.ref.module for path, n in tree_of(facts, root).walk() if "." not in path and n.ref is not None)
    for name in modules:
        module = index.modules[name]
        if any(switch in module.keys_read for switch in switches) and name in {m for m, _ in index.linear(root)[0]}:
            return True
        if any(call.callee.endswith(f".{head}") and call.positional + len(call.keywords) > 1 for call in module.calls):
            return True
    return False


@check(LOSS)
def loss_closure(view: TargetView) -> list[Finding]:
    """The framework puts its own function in place of `model.loss_function`: it must take what the models hand it."""
    closures = _loss_closures(view.facts)
    if not closures:
        return []
    if view.is_framework:
        return _framework_closure(view.facts, closures)
    found, model = audit(view), model_of(view)
    section = _loss_section(view.facts)
    if found is None or section is None or model is None or model.ref is None:
        return []
    index = index_of(view.facts)
    findings = []
    for path, call in _loss_calls(index, model.ref):
        for closure_path, closure in closures:
            reason = _unfit(closure.signature, call)
            if reason is not None:
                raw = found.config.get(section, "raw") == "raw"
                findings.append(
                    Finding(
                        "loss.closure_call",
                        {"closure": f"{closure_path}:{closure.line}", "reason": reason, "yaml": section},
                        path=path,
                        line=call.line,
                        severity="note" if raw or reason == "**kwargs" else "error",
                    )
                )
    return findings


def _framework_closure(facts: StaticFacts, closures: list[tuple[str, FunctionFacts]]) -> list[Finding]:
    index = index_of(facts)
    findings = []
    for path, closure in closures:
        sites: dict[str, None] = {}
        for items in registered(facts, "model_register").values():
            for item in items:
                if item.ref is not None and item.ref.kind == "class":
                    calls = _loss_calls(index, item.ref, facts)
                    sites.update({f"{p}:{c.line}": None for p, c in calls if _unfit(closure.signature, c)})
        if sites:
            findings.append(
                Finding(
                    "loss.closure_closed",
                    {"closure": closure.qualname, "sites": ", ".join(sorted(sites))},
                    path=path,
                    line=closure.line,
                    expected="**kwargs",
                )
            )
    return findings


def _unfit(signature: Signature, call: CallFacts) -> str | None:
    """Why a call by keyword does not fit a closure that is meant for it; None when it fits or is for another one."""
    accepted = {*signature.params, *signature.kwonly}
    if not call.keywords or call.keywords[0] not in accepted or signature.varkw is not None:
        return None
    unknown = [name for name in call.keywords if name not in accepted]
    return unknown[0] if unknown else "**kwargs" if call.double_star else None


def _loss_calls(index: Index, root: Ref, deep: StaticFacts | None = None) -> list[tuple[str, CallFacts]]:
    """`self.loss_function(...)` in a registered class, and in the classes directly below it."""
    refs = {root}
    if deep is not None:
        refs.update(n.ref for p, n in tree_of(deep, root).walk() if "." not in p and n.ref is not None)
    found: list[tuple[str, CallFacts]] = []
    for ref in refs:
        for module, facts in index.linear(ref)[0]:
            prefix = f"{facts.qualname}."
            found.extend(
                (index.path_of(module) or "", call)
                for call in index.modules[module].calls
                if call.callee == "self.loss_function" and call.scope.startswith(prefix)
            )
    return found


@per_facts
def _loss_closures(facts: StaticFacts) -> list[tuple[str, FunctionFacts]]:
    """Functions that the training engine may put in place of `model.loss_function`: what its builder returns."""
    index = index_of(facts)
    for module, function in framework_functions(facts, "/train/"):
        for write in function.writes:
            callee = _CALLEE.match(write.value)
            if not write.target.endswith(".loss_function") or callee is None:
                continue
            ref = index.resolve(module.name, callee.group(1), function.qualname)
            if ref is None or ref.kind != "function":
                continue
            path = index.path_of(ref.module) or ""
            prefix = f"{ref.qualname}."
            return [(path, f) for f in index.modules[ref.module].functions if f.qualname.startswith(prefix)]
    return []


@per_facts
def _loss_section(facts: StaticFacts) -> str | None:
    """The YAML path of the loss type, as the training engine reads it (`args.features.loss_cfg.loss_type`)."""
    for _, function in framework_functions(facts, "/train/"):
        for name in function.compares:
            if name.startswith("args.") and name.endswith("loss_cfg.loss_type"):
                return name.removeprefix("args.")
    return None


@check(LOSS)
def loss_type(view: TargetView) -> list[Finding]:
    """`loss_type` must be one of the values that the loss builder handles; any other raises NotImplementedError."""
    config, section = view.config, _loss_section(view.facts)
    known = _loss_types(view.facts)
    if config is None or config.data is None or section is None or not known:
        return []
    findings = []
    for top in ("features", "model"):
        path = f"{top}.{section.partition('.')[2]}"
        value = config.get(path)
        if isinstance(value, str) and value not in known:
            findings.append(
                Finding(
                    "loss.unknown_type" if path == section else "loss.unknown_type_unread",
                    {"known": ", ".join(sorted(known)), "read_at": section},
                    path=config.path,
                    line=config.line_of(path),
                    yaml_path=path,
                    value=value,
                    expected=", ".join(sorted(known)),
                    severity="error" if path == section else "note",
                )
            )
    return findings


@per_facts
def _loss_types(facts: StaticFacts) -> frozenset[str]:
    found: set[str] = set()
    for _, function in [*framework_functions(facts, "/loss/"), *framework_functions(facts, "/train/")]:
        for name, values in function.compares.items():
            if name == "loss_type" or name.endswith(".loss_type"):
                found.update(values)
    return frozenset(found)
