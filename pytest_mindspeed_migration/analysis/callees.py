"""What a call calls: a function, a method through inheritance, a constructor, the forward of a child module."""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from ..facts.source import CallFacts, ClassFacts, FunctionFacts, Signature
from ..facts.static import StaticFacts
from .decorators import CLASS_KEEPS, KEEPS_SIGNATURE
from .external import attributes_of, packages_with_signatures, signature_of
from .index import MAX_BASES, Ref, index_of
from .memo import per_facts

DATACLASS = ("dataclass", "dataclasses.dataclass")
WITHOUT_METHODS = frozenset(("abc.ABC", "typing.Generic", "typing.Protocol"))
WITHOUT_FIELDS = WITHOUT_METHODS | frozenset(
    f"transformers.{module}ModelOutput" for module in ("utils.", "utils.generic.", "file_utils.", "modeling_outputs.")
)
"""External bases of dataclasses that declare no fields themselves."""
FUNCTIONS = ("torch.autograd.Function", "torch.autograd.function.Function")

_BUILTINS = frozenset(dir(builtins))
_ABSENT = ("", FunctionFacts("", 0, 0, Signature()))
"""Found instead of a method when neither the class nor any of its bases has it."""


@dataclass(frozen=True)
class Callee:
    """A signature that a call has to fit, how many parameters Python fills, and where it is written."""

    name: str
    signature: Signature
    skip: int
    path: str = ""
    line: int = 0
    keywords: bool = True  # False: takes no keyword arguments at all (`Function.apply`)


class Callees:
    """Finds the callee of each call, or nothing where it cannot be known for certain."""

    def __init__(self, facts: StaticFacts) -> None:
        self.index = index_of(facts)
        self._repeated: dict[str, set[str]] = {}
        self.patched = {entry for module in facts.modules.values() for entry in module.attrs_set}
        self._patched_names: dict[str, list[str]] = {}
        for entry in self.patched:
            receiver, _, name = entry.rpartition(".")
            self._patched_names.setdefault(name, []).append(receiver)
        self._foreign_names: dict[str, frozenset[str]] = {}
        self._module_names = {name.rpartition(".")[2] for name in self.index.modules}
        self.subclasses: dict[Ref, list[Ref]] = {}
        for module in facts.modules.values():
            for item in module.classes:
                ref = Ref("class", module.name, item.qualname)
                for base_module, base in self.index.linear(ref)[0][1:]:
                    self.subclasses.setdefault(Ref("class", base_module, base.qualname), []).append(ref)

    def of(self, module: str, call: CallFacts) -> Callee | None:
        """The callee of a call written in a module."""
        root, _, rest = call.callee.partition(".")
        if root in self._foreign(module):
            return None
        owner = self.owner(module, call.scope)
        if root == "super()":
            return self._super(owner, rest) if owner and "." not in rest else None
        if owner is not None and root.removesuffix("[]") == self._receiver(owner, call.scope):
            if not self._in_classmethod(owner, call.scope):
                return self._on_receiver(owner, rest) if rest else None
            return self.class_method(owner, rest) if rest else self.constructor(owner)
        if rest.endswith("apply") and "." in call.callee:
            applied = self._apply(module, call)
            if applied is not None:
                return applied
        if root in self.rebound(module) or (rest and self._repeats(module, root)):
            return None
        ref = self.index.resolve(module, call.callee, call.scope)
        return None if ref is None else self.to(ref)

    def to(self, ref: Ref) -> Callee | None:
        """The callee when that thing itself is called."""
        if ref.kind == "external":
            signature = signature_of(ref.full)
            return None if signature is None else Callee(ref.full, signature, 0)
        if ref.kind == "class":
            return self.constructor(ref)
        if ref.kind != "function" or ref.module not in self.index.modules:
            return None
        function = self.index.functions(ref.module)[ref.qualname]
        owner = ref.qualname.rpartition(".")[0]
        if owner in self.index.classes(ref.module):
            return self._callee(ref.module, function, on_class=True)
        if function.qualname in self.rebound(ref.module) or self._is_patched(ref):
            return None
        return self._callee(ref.module, function)

    def constructor(self, ref: Ref) -> Callee | None:
        """`Class(...)`: its `__init__`, or the fields of a dataclass."""
        facts = self.index.classes(ref.module).get(ref.qualname)
        if facts is None or not self._plain_class(ref, facts):
            return None
        if any(decorator in DATACLASS for decorator in facts.decorators):
            return self._dataclass(ref, facts)
        found = next(self._search(ref, "__init__", set()), _ABSENT)
        if found is None or any("__new__" in item.class_attrs for _, item in self.index.linear(ref)[0]):
            return None
        if found is _ABSENT:
            return Callee(facts.qualname, Signature(), 0, self.index.modules[ref.module].path, facts.line)
        return self._callee(*found, name=facts.qualname, always_bound=True)

    def method(self, ref: Ref, name: str) -> tuple[str, FunctionFacts] | None:
        """The method a class finds under a name; None when an unknown base may come first, or there is none."""
        return next(self._search(ref, name, set()), None)

    def bound_method(self, ref: Ref, name: str) -> Callee | None:
        """`instance.name(...)`."""
        found = self.method(ref, name)
        if found is None or self._set_as_attribute(ref, name):
            return None
        return self._callee(*found)

    def class_method(self, ref: Ref, name: str) -> Callee | None:
        """`Class.name(...)`."""
        found = self.method(ref, name)
        return None if found is None else self._callee(*found, on_class=True)

    def owner(self, module: str, scope: str) -> Ref | None:
        """The class whose method (or a function in it) that scope is."""
        while scope:
            scope = scope.rpartition(".")[0]
            if scope in self.index.classes(module):
                return Ref("class", module, scope)
        return None

    def _foreign(self, module: str) -> frozenset[str]:
        """Names that a module only ever imports from packages nothing is known of, and the builtins: most callees."""
        if module not in self._foreign_names:
            known = {self.index.package, *packages_with_signatures()}
            facts = self.index.modules.get(module)
            names = set(_BUILTINS)
            for name, items in self.index.imports(module).items():
                if all(item.module.partition(".")[0] not in known for item in items):
                    names.add(name)
            if facts is not None:
                imported = {name for name in names if name in self.index.imports(module)}
                defined = [f.qualname for f in facts.functions] + [c.qualname for c in facts.classes]
                names -= (
                    {name.rpartition(".")[2] for name in defined} | set(facts.rebound) | (set(facts.names) - imported)
                )
            self._foreign_names[module] = frozenset(names)
        return self._foreign_names[module]

    def rebound(self, module: str) -> list[str]:
        """Names a module binds more than once."""
        facts = self.index.modules.get(module)
        return facts.rebound if facts else []

    def _search(self, ref: Ref, name: str, seen: set[Ref]) -> Iterator[tuple[str, FunctionFacts] | None]:
        """Depth first through the bases: the method where it is found, None where nothing can be known any more."""
        facts = self.index.classes(ref.module).get(ref.qualname)
        if facts is None or len(seen) > MAX_BASES:
            yield None
            return
        if ref in seen:
            return
        seen.add(ref)
        qualname = f"{facts.qualname}.{name}"
        function = self.index.functions(ref.module).get(qualname)
        if function is not None:
            yield None if self._repeats(ref.module, qualname) else (ref.module, function)
            return
        if name in facts.class_attrs:
            yield None
            return
        for base in facts.bases:
            target = None if base == "?" else self.index.resolve(ref.module, base, ref.qualname.rpartition(".")[0])
            if target is not None and target.kind == "class" and not self._repeats(target.module, target.qualname):
                yield from self._search(target, name, seen)
                continue
            if base != "object" and self._may_define(target, name):
                yield None

    @staticmethod
    def _may_define(base: Ref | None, name: str) -> bool:
        """Whether a base class outside the repo may have a method of that name."""
        if base is not None and base.full in WITHOUT_METHODS:
            return False
        known = attributes_of(base.full) if base is not None and base.kind == "external" else None
        return known is None or name in known or name.startswith("__")

    def _on_receiver(self, owner: Ref, rest: str) -> Callee | None:
        """`self.method(...)`, `self.child(...)`, `self.child.method(...)`, `self.layers[](...)`."""
        name, _, member = rest.partition(".")
        if not member and not name.endswith("[]") and (callee := self.bound_method(owner, name)) is not None:
            return callee
        child = self._child(owner, name)
        if child is None or "." in member:
            return None
        return self.bound_method(child, member or "forward")

    def _child(self, owner: Ref, text: str) -> Ref | None:
        """The one class that an attribute holds instances of."""
        name, container = text.removesuffix("[]"), text.endswith("[]")
        if self._assigned_outside(name):
            return None
        found: set[Ref | None] = set()
        for ref in [owner, *self.subclasses.get(owner, [])]:
            for module, facts in self.index.linear(ref)[0]:
                for child in facts.children:
                    if child.name == name and child.callee != "None":
                        fits = (child.container == "list") == container and child.container in ("", "list")
                        scope = f"{facts.qualname}.{child.method}"
                        target = self.index.resolve(module, child.callee, scope) if fits else None
                        known = (
                            target is not None and target.kind == "class" and not self._is_rebound(module, child.callee)
                        )
                        found.add(target if known else None)
        if len(found) != 1:
            return None
        (only,) = found
        return only if only is not None and self._plain_class(only, None) else None

    def _super(self, owner: Ref, name: str) -> Callee | None:
        facts = self.index.classes(owner.module)[owner.qualname]
        if any(len(self._facts(sub).bases) > 1 for sub in self.subclasses.get(owner, [])):
            return None  # with a mixin, another class may come next
        found = next((hit for base in facts.bases for hit in self._from_base(owner, base, name)), None)
        return None if found is None else self._callee(*found, name=f"super().{name}")

    def _from_base(self, owner: Ref, base: str, name: str) -> Iterator[tuple[str, FunctionFacts] | None]:
        target = None if base == "?" else self.index.resolve(owner.module, base, owner.qualname.rpartition(".")[0])
        if target is not None and target.kind == "class":
            yield from self._search(target, name, set())
        elif base != "object" and self._may_define(target, name):
            yield None

    def _apply(self, module: str, call: CallFacts) -> Callee | None:
        """`Function.apply(...)`: the forward of a `torch.autograd.Function`, its context left out."""
        ref = self.index.resolve(module, call.callee.rpartition(".")[0], call.scope)
        if ref is None or ref.kind != "class" or not any(base in FUNCTIONS for base in self.index.linear(ref)[1]):
            return None
        found = self.method(ref, "forward")
        if found is None:
            return None
        function = found[1]
        skip = 0 if self.method(ref, "setup_context") else 1
        path = self.index.modules[found[0]].path
        return Callee(f"{ref.qualname}.apply", function.signature, skip, path, function.line, keywords=False)

    def _callee(
        self, module: str, function: FunctionFacts, name: str = "", on_class: bool = False, always_bound: bool = False
    ) -> Callee | None:
        if not all(self._keeps(module, decorator) for decorator in function.decorators):
            return None
        is_method = function.qualname.rpartition(".")[0] in self.index.classes(module)
        if self._repeats(module, function.qualname):
            return None
        if not is_method or "staticmethod" in function.decorators:
            skip = 0
        else:
            skip = 0 if on_class and not always_bound and "classmethod" not in function.decorators else 1
        path = self.index.modules[module].path
        return Callee(name or function.qualname, function.signature, skip, path, function.line)

    def _keeps(self, module: str, decorator: str) -> bool:
        if decorator in KEEPS_SIGNATURE or decorator.endswith(".register"):
            return True
        ref = self.index.resolve(module, decorator)
        if ref is None or ref.kind != "function":
            return False
        inner = [f for q, f in self.index.functions(ref.module).items() if q.startswith(f"{ref.qualname}.")]
        return any(function.signature.varargs and function.signature.varkw for function in inner)

    def _dataclass(self, ref: Ref, facts: ClassFacts) -> Callee | None:
        chain, foreign = self.index.linear(ref)
        if any(base not in WITHOUT_FIELDS for base in foreign) or self.method(ref, "__init__") is not None:
            return None
        fields = {}
        for _, item in reversed(chain):
            if not any(decorator in DATACLASS for decorator in item.decorators):
                continue
            for entry in item.fields:
                if not entry.init or "KW_ONLY" in entry.annotation:
                    return None
                fields[entry.name] = entry
        required = [name for name, entry in fields.items() if not entry.has_default]
        signature = Signature(params=[*required, *(name for name in fields if name not in required)])
        signature.defaults = len(fields) - len(required)
        return Callee(facts.qualname, signature, 0, self.index.modules[ref.module].path, facts.line)

    def _plain_class(self, ref: Ref, facts: ClassFacts | None) -> bool:
        facts = facts or self._facts(ref)
        if self._repeats(ref.module, ref.qualname) or ref.qualname in self.rebound(ref.module):
            return False
        return all(d in CLASS_KEEPS or d.endswith(".register") for d in facts.decorators)

    def _set_as_attribute(self, ref: Ref, name: str) -> bool:
        """Whether the method may be replaced on instances or on the class."""
        chain, _ = self.index.linear(ref)
        owners = {facts.qualname for _, facts in chain}
        return any(name in facts.self_sets for _, facts in chain) or any(
            f"{owner}.{name}" in self.patched for owner in owners
        )

    def _assigned_outside(self, name: str) -> bool:
        return name in self._patched_names

    def _is_rebound(self, module: str, text: str) -> bool:
        return text.partition(".")[0] in self.rebound(module)

    def _receiver(self, owner: Ref, scope: str) -> str | None:
        method = scope[len(owner.qualname) + 1 :].partition(".")[0]
        function = self.index.functions(owner.module).get(f"{owner.qualname}.{method}")
        if function is None or "staticmethod" in function.decorators:
            return None
        return next(iter(function.signature.params), None)

    def _in_classmethod(self, owner: Ref, scope: str) -> bool:
        method = scope[len(owner.qualname) + 1 :].partition(".")[0]
        return "classmethod" in self.index.functions(owner.module)[f"{owner.qualname}.{method}"].decorators

    def _is_patched(self, ref: Ref) -> bool:
        """Whether code somewhere replaces that function in its module: `module.f = other`."""
        name, own = ref.qualname.rpartition(".")[2], ref.module.rpartition(".")[2]
        receivers = self._patched_names.get(name, ())
        return any(receiver == own or receiver not in self._module_names for receiver in receivers)

    def _facts(self, ref: Ref) -> ClassFacts:
        return self.index.classes(ref.module)[ref.qualname]

    def _repeats(self, module: str, qualname: str) -> bool:
        """Whether a module defines that name twice, so that it depends on conditions which one is meant."""
        if module not in self._repeated:
            facts = self.index.modules.get(module)
            names = [*(f.qualname for f in facts.functions), *(c.qualname for c in facts.classes)] if facts else []
            self._repeated[module] = {name for name, count in Counter(names).items() if count > 1}
        return qualname in self._repeated[module]


@per_facts
def callees(facts: StaticFacts) -> Callees:
    """The callees of a set of facts."""
    return Callees(facts)
