"""Name resolution over module facts: imports, star imports, classes with their bases, functions and methods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from ..facts.source import CallFacts, ClassFacts, FunctionFacts, ImportFacts, ModuleFacts
from ..facts.static import StaticFacts
from .memo import per_facts

_DEPTH = 12
"""Longest chain of re-exports that is followed."""

MAX_BASES = 50
"""Classes that are looked at to know all bases of one; the rest of them count as unreadable."""


class Ref(NamedTuple):
    """Something a name means. `kind`: function, class, module, value (anything else bound), external, missing."""

    kind: str
    module: str  # dotted module that defines it
    qualname: str = ""

    @property
    def full(self) -> str:
        """Dotted name with its module."""
        return f"{self.module}.{self.qualname}" if self.qualname else self.module


class Index:
    """All modules of a set of facts, searchable. Pure: built from facts, no I/O."""

    def __init__(self, modules: Iterable[ModuleFacts], files: Iterable[str], package: str = "mindspeed_mm") -> None:
        self.package = package
        self._inside = f"{package}."
        self.modules: dict[str, ModuleFacts] = {m.name: m for m in modules}
        self._files = set(files) | {m.path for m in self.modules.values()}
        self._functions: dict[str, dict[str, FunctionFacts]] = {}
        self._classes: dict[str, dict[str, ClassFacts]] = {}
        self._imports: dict[str, dict[str, list[ImportFacts]]] = {}
        self._calls: dict[str, dict[str, list[CallFacts]]] = {}
        self._method_calls: dict[str, dict[str, list[CallFacts]]] = {}
        self._names: dict[tuple[str, str], Ref | None] = {}
        self._resolved: dict[tuple[str, str, str], Ref | None] = {}
        self._methods: dict[tuple[Ref, str, bool], tuple[str, FunctionFacts] | None] = {}
        self._nested: dict[str, set[str]] = {}
        self._linear: dict[tuple[str, str], tuple[list[tuple[str, ClassFacts]], list[str]]] = {}
        self._open = 0  # results of `linear` that are being worked out

    @cached_property
    def folders(self) -> set[str]:
        """Every folder that holds a Python file at some depth: importable as a (namespace) package."""
        found = set()
        for path in self._files:
            while "/" in path:
                path = path.rsplit("/", 1)[0]
                if path in found:
                    break
                found.add(path)
        return found

    def in_repo(self, module: str) -> bool:
        """Whether a dotted module name belongs to the target's own package."""
        return module.startswith(self._inside) or module == self.package

    def module_exists(self, module: str) -> bool:
        """Whether a module of the target's package is there, as file, package or namespace folder."""
        base = module.replace(".", "/")
        return f"{base}.py" in self._files or f"{base}/__init__.py" in self._files or base in self.folders

    def path_of(self, module: str) -> str | None:
        """File of a module, None for a namespace folder or a missing module."""
        base = module.replace(".", "/")
        return next((p for p in (f"{base}.py", f"{base}/__init__.py") if p in self._files), None)

    def below(self, folder: str) -> list[str]:
        """The Python files below a folder."""
        return [path for path in self.all_files if path.startswith(f"{folder}/")]

    @cached_property
    def all_files(self) -> list[str]:
        """Every Python file of the package, sorted."""
        return sorted(self._files)

    def names_module(self, package: str, name: str) -> bool:
        """Whether a package's own name `name` is bound by importing its submodule of that name."""
        return any(f"{item.module}.{item.name}" == f"{package}.{name}" for item in self.imports(package).get(name, []))

    def calls_in(self, module: str, scope: str) -> list[CallFacts]:
        """Calls written in a function (its qualname) or, with "", at module level (class bodies included)."""
        if module not in self._calls:
            found: dict[str, list[CallFacts]] = {}
            facts = self.modules.get(module)
            for call in facts.calls if facts else []:
                found.setdefault(call.scope if call.scope in self.functions(module) else "", []).append(call)
            self._calls[module] = found
        return self._calls[module].get(scope, [])

    def calls_of_methods(self, module: str, owner: str) -> list[CallFacts]:
        """Calls written in the methods of a class (its qualname)."""
        if module not in self._method_calls:
            found: dict[str, list[CallFacts]] = {}
            facts = self.modules.get(module)
            for call in facts.calls if facts else []:
                found.setdefault(call.scope.rpartition(".")[0], []).append(call)
            self._method_calls[module] = found
        return self._method_calls[module].get(owner, [])

    def functions(self, module: str) -> dict[str, FunctionFacts]:
        """Functions and methods of a module by qualname; of a name defined twice, the last."""
        if module not in self._functions:
            facts = self.modules.get(module)
            self._functions[module] = {f.qualname: f for f in facts.functions} if facts else {}
        return self._functions[module]

    def classes(self, module: str) -> dict[str, ClassFacts]:
        """Classes of a module by qualname."""
        if module not in self._classes:
            facts = self.modules.get(module)
            self._classes[module] = {c.qualname: c for c in facts.classes} if facts else {}
        return self._classes[module]

    def imports(self, module: str) -> dict[str, list[ImportFacts]]:
        """Imports of a module by the local name they bind."""
        if module not in self._imports:
            found: dict[str, list[ImportFacts]] = {}
            facts = self.modules.get(module)
            for item in facts.imports if facts else []:
                found.setdefault(item.bound, []).append(item)
            self._imports[module] = found
        return self._imports[module]

    def lookup(self, module: str, name: str, depth: int = 0) -> Ref | None:
        """What a module-level name of a module means. None: the module does not have that name."""
        key = (module, name)
        if key in self._names:
            return self._names[key]
        found = self._lookup(module, name, depth)
        if depth == 0:  # deeper, a result may only be due to the limit
            self._names[key] = found
        return found

    def _lookup(self, module: str, name: str, depth: int) -> Ref | None:
        facts = self.modules.get(module)
        if facts is None or depth > _DEPTH:
            return Ref("external" if not self.in_repo(module) else "value", module, name)
        if name in self.classes(module):
            return Ref("class", module, name)
        if name in self.functions(module):
            return Ref("function", module, name)
        for item in self.imports(module).get(name, []):
            if item.scope in ("module", "type_checking", "class"):
                return self.imported(item, depth + 1)
        if name in facts.names:
            return Ref("value", module, name)
        if facts.is_package or self.path_of(module) is None:
            child = f"{module}.{name}"
            if self.module_exists(child):
                return Ref("module", child)
        for item in self.imports(module).get("*", []):
            found = self.lookup(item.module, name, depth + 1) if self.in_repo(item.module) else None
            if found is not None:
                return found
            if not self.in_repo(item.module):
                return Ref("value", module, name)
        return Ref("value", module, name) if facts.dynamic else None

    def imported(self, item: ImportFacts, depth: int = 0) -> Ref:
        """What an import binds."""
        if item.name is None:
            target = item.module if item.bound != item.module.split(".", 1)[0] else item.bound
            if not self.in_repo(target):
                return Ref("external", target)
            return Ref("module", target) if self.module_exists(target) else Ref("missing", target)
        if not self.in_repo(item.module):
            return Ref("external", item.module, item.name)
        if not self.module_exists(item.module):
            return Ref("missing", item.module, item.name)
        if item.module not in self.modules:
            child = f"{item.module}.{item.name}"
            if self.module_exists(child):
                return Ref("module", child)
            return Ref("value" if self.path_of(item.module) else "missing", item.module, item.name)
        found = self.lookup(item.module, item.name, depth)
        if found is None and self.module_exists(f"{item.module}.{item.name}"):
            return Ref("module", f"{item.module}.{item.name}")
        return found or Ref("missing", item.module, item.name)

    def resolve(self, module: str, text: str, scope: str = "") -> Ref | None:
        """What dotted source text means inside a function (`scope`, its qualname) of a module. None: unknown."""
        root, _, rest = text.partition(".")
        key = (module, text, scope if root in self._nested_names(module) else "")
        if key in self._resolved:
            return self._resolved[key]
        ref = self._resolve(module, root, rest, scope)
        if not self._open:  # else it may be due to bases that are not yet known
            self._resolved[key] = ref
        return ref

    def _resolve(self, module: str, root: str, rest: str, scope: str) -> Ref | None:
        ref = self._local(module, root, scope) or self.lookup(module, root)
        for part in rest.split(".") if rest else []:
            if ref is None:
                return None
            ref = self._member(ref, part)
        return ref

    def _local(self, module: str, name: str, scope: str) -> Ref | None:
        """Nested functions, classes and imports of the enclosing functions, innermost first."""
        if name not in self._nested_names(module):
            return None
        while scope:
            nested = f"{scope}.{name}"
            if nested in self.functions(module) and scope in self.functions(module):
                return Ref("function", module, nested)
            if nested in self.classes(module) and scope in self.functions(module):
                return Ref("class", module, nested)
            for item in self.imports(module).get(name, []):
                if item.function == scope:
                    return self.imported(item)
            scope = scope.rpartition(".")[0]
        return None

    def _nested_names(self, module: str) -> set[str]:
        """Names that some function of the module binds for itself: the only ones worth looking for outward."""
        if module not in self._nested:
            facts = self.modules.get(module)
            found: set[str] = set()
            if facts is not None:
                definitions = [f.qualname for f in facts.functions] + [c.qualname for c in facts.classes]
                found = {name.rpartition(".")[2] for name in definitions if "." in name}
                found |= {item.bound for item in facts.imports if item.function}
            self._nested[module] = found
        return self._nested[module]

    def _member(self, ref: Ref, name: str) -> Ref | None:
        if ref.kind == "module":
            child = f"{ref.module}.{name}"
            if ref.module in self.modules:
                found = self.lookup(ref.module, name)
                if found is not None:
                    return found
            return Ref("module", child) if self.module_exists(child) else None
        if ref.kind == "external":
            return Ref("external", ref.module, f"{ref.qualname}.{name}" if ref.qualname else name)
        if ref.kind == "class":
            owner = self.method(ref, name)
            if owner is not None:
                return Ref("function", owner[0], owner[1].qualname)
            nested = f"{ref.qualname}.{name}"
            return Ref("class", ref.module, nested) if nested in self.classes(ref.module) else None
        return None

    def linear(self, ref: Ref) -> tuple[list[tuple[str, ClassFacts]], list[str]]:
        """The class and its bases that the repo defines, in lookup order, and the dotted names of its other bases.

        An unreadable base (an expression) is listed as "?".
        """
        key = (ref.module, ref.qualname)
        if key not in self._linear:
            if self._open > MAX_BASES:  # bases that are members of classes whose bases are members of classes ...
                return [], ["?"]
            self._linear[key] = ([], ["?"])  # cut cycles
            self._open += 1
            self._linear[key] = self._linearise(ref)
            self._open -= 1
        return self._linear[key]

    def _linearise(self, ref: Ref) -> tuple[list[tuple[str, ClassFacts]], list[str]]:
        chain: dict[Ref, tuple[str, ClassFacts]] = {}
        foreign: dict[str, None] = {}
        path: list[tuple[Ref, Iterator[Ref | str]]] = []  # the classes whose bases are being visited
        step: Ref | str | None = ref
        while step is not None:
            if isinstance(step, str):
                foreign[step] = None
            elif step not in chain:
                facts = self.classes(step.module).get(step.qualname)
                if facts is None or len(chain) == MAX_BASES:
                    foreign["?"] = None
                else:
                    chain[step] = (step.module, facts)
                    path.append((step, self._bases(step, facts)))
            elif any(step == inside for inside, _ in path):
                foreign["?"] = None  # its own base
            step = None
            while path and step is None:
                step = next(path[-1][1], None)
                if step is None:
                    path.pop()
        return list(chain.values()), list(foreign)

    def _bases(self, ref: Ref, facts: ClassFacts) -> Iterator[Ref | str]:
        """The bases of a class as written: a class of the repo, or the dotted name of another one."""
        for base in facts.bases:
            target = None if base == "?" else self.resolve(ref.module, base, ref.qualname.rpartition(".")[0])
            if target is not None and target.kind == "class":
                yield target
            elif base != "object":
                yield target.full if target is not None and target.kind == "external" else base

    def method(self, ref: Ref, name: str, skip_first: bool = False) -> tuple[str, FunctionFacts] | None:
        """(module, function) of a method as the class finds it in the repo; with `skip_first`, from `super()`."""
        key = (ref, name, skip_first)
        if key in self._methods:
            return self._methods[key]
        chain, _ = self.linear(ref)
        found = None
        for module, facts in chain[1 if skip_first else 0 :]:
            function = self.functions(module).get(f"{facts.qualname}.{name}")
            if function is not None:
                found = module, function
                break
        if not self._open:
            self._methods[key] = found
        return found

    def all_classes(self) -> Iterator[tuple[ModuleFacts, ClassFacts]]:
        """Every class of every module."""
        for facts in self.modules.values():
            for item in facts.classes:
                yield facts, item


def parents(module: str) -> list[str]:
    """The packages above a module, outermost first."""
    parts = module.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts))]


@per_facts
def index_of(facts: StaticFacts) -> Index:
    """The index of a set of facts."""
    return Index(facts.modules.values(), facts.files, facts.repo.package)
