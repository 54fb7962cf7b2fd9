"""The work list: which functions are read, with what in their parameters, until nothing new is learnt."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ...analysis.index import Index, Ref
from ...analysis.schema import Schema
from ...facts.flow import DroppedParameter, Escape, FlowFacts, KeyRead, KeyWrite, NodeBinding
from ...facts.source import FunctionFacts, RegistrationFacts
from .bodies import Bodies
from .body_reader import NODE_METHODS, BodyReader
from .state import State
from .values import NOTHING, Arguments, Code, Instance, Mapping, Node, Value, Values

LIMIT = 6000
"""Most function readings in one run: a guard against code that never settles."""


@dataclass
class Engine:
    """One run over the functions the configuration reaches. `follow()` returns what was found."""

    index: Index
    schema: Schema
    bodies: Bodies
    registered: dict[str, list[Ref]]  # register name -> registered objects
    facts: FlowFacts = field(default_factory=FlowFacts)
    state: State = field(default_factory=State)
    _opened: set[Ref] = field(default_factory=set)
    _seen: dict[tuple[object, ...], Any] = field(default_factory=dict)  # what tells a record from others -> the record

    def follow(self, modules: Iterable[str]) -> FlowFacts:
        """Seed every function of these modules that takes a schema class, then read until nothing changes."""
        for module in modules:
            for facts in self.index.functions(module).values():
                self._seed(module, facts)
        for path, owner in self.schema.nodes.items():
            self._open(owner.ref, Node(path), own=True)
        for _ in range(LIMIT):
            function = self.state.next()
            if function is None:
                if not self._open_carriers():
                    break
                continue
            self._read(function)
        return self.facts

    def _open_carriers(self) -> bool:
        """Methods of objects that hold configuration may be called by code that was not reached: have them read too."""
        fresh = [cls for cls in self.state.carriers if cls not in self._opened]
        for cls in fresh:
            self._opened.add(cls)
            self._open(cls, Instance(cls))
        return bool(fresh)

    def _open(self, cls: Ref, receiver: Value, own: bool = False) -> None:
        """Have every method of a class read, with `receiver` as its `self`; with `own`, only those it defines itself.

        What a schema class inherits is the machinery of schema classes: it touches every key and reads none.
        """
        chain = self.index.linear(cls)[0]
        for module, facts in chain[:1] if own else chain:
            for qualname, function in self.index.functions(module).items():
                owner, _, name = qualname.rpartition(".")
                if own and name in NODE_METHODS:
                    continue
                if owner == facts.qualname and "staticmethod" not in function.decorators:
                    bound = Code(cls) if "classmethod" in function.decorators else receiver
                    self.enter(Code(Ref("function", module, qualname), bound), Arguments(), None)

    def _seed(self, module: str, function: FunctionFacts) -> None:
        for parameter, annotation in function.annotations.items():
            schema = self.schema.type_of(annotation, module).schema
            paths = self.schema.paths_of(schema) if schema is not None else []
            if not paths:
                continue
            ref = Ref("function", module, function.qualname)
            self.state.add(("param", ref, parameter), frozenset(Node(path) for path in paths))
            owner = function.qualname.rpartition(".")[0]
            if owner in self.index.classes(module) and function.signature.params[:1] != [parameter]:
                receiver: Value = Instance(Ref("class", module, owner))
                if function.signature.params and "staticmethod" not in function.decorators:
                    self.state.add(("param", ref, function.signature.params[0]), frozenset([receiver]))
            self.state.enqueue(ref)

    def _read(self, ref: Ref) -> None:
        function = self.index.functions(ref.module).get(ref.qualname)
        module = self.index.modules.get(ref.module)
        if function is None or module is None:
            return
        node = self.bodies.function(module.path, function)
        if node is not None:
            BodyReader(self, ref, function, module.path).read(node)

    def enter(self, code: Code, arguments: Arguments, caller: Ref | None) -> Values:
        """Call a function of the repo: bind the arguments, have it read, return what it is known to return."""
        function = self.index.functions(code.ref.module).get(code.ref.qualname)
        if function is None:
            return NOTHING
        ref = Ref("function", code.ref.module, function.qualname)
        names = list(function.signature.params)
        positional = list(arguments.positional)
        static = "staticmethod" in function.decorators
        if code.receiver is not None and not static:
            positional.insert(0, frozenset([code.receiver]))
        for name, values in zip(names, positional, strict=False):
            self.state.add(("param", ref, name), values)
        rest = positional[len(names) :] + arguments.star
        if rest and function.signature.varargs:
            self.state.add(("param", ref, function.signature.varargs), frozenset().union(*rest))
        self._bind_keywords(ref, function, arguments)
        if ref not in self.state.visited:
            self.state.enqueue(ref)
        return self.state.get(("return", ref), caller)

    def _bind_keywords(self, ref: Ref, function: FunctionFacts, arguments: Arguments) -> None:
        names = {*function.signature.params[function.signature.posonly :], *function.signature.kwonly}
        extra: dict[str, Values] = {}
        for name, values in arguments.keywords.items():
            if name in names:
                self.state.add(("param", ref, name), values)
            else:
                extra[name] = values
        packed = function.signature.varkw
        for value in frozenset().union(*arguments.double_star) if arguments.double_star else ():
            if isinstance(value, Node):
                self._spread(value, ref, function, names, bool(packed), arguments)
                if packed:
                    self.state.add(("param", ref, packed), frozenset([value]))
            elif isinstance(value, Mapping):
                for key, values in self.state.entries(value, ref).items():
                    if key in names:
                        self.state.add(("param", ref, key), values)
                    else:
                        extra[key] = values
        if packed and extra:
            rest = Mapping(f"{ref.full}**")
            for key, values in extra.items():
                self.state.put(rest, key, values)
            self.state.add(("param", ref, packed), frozenset([rest]))

    def _spread(
        self, node: Node, ref: Ref, function: FunctionFacts, names: set[str], open_: bool, arguments: Arguments
    ) -> None:
        path = self.index.modules[ref.module].path
        given = {*arguments.keywords, *function.signature.params[: len(arguments.positional)]}
        for name in sorted(names - given):
            self.read(node, name, path, function.line, "bind", False)
            self.state.add(("param", ref, name), frozenset([node.child(name)]))
        if not open_:
            self._once(
                self.facts.closed_calls, NodeBinding(node.path, ref.module, function.qualname, path, function.line)
            )

    # what is recorded

    def read(self, node: Node, key: str, path: str, line: int, how: str, guarded: bool) -> None:
        """Record that `key` of `node` is read."""
        mark = ("read", node.path, key, path, how, guarded)
        self._first(self.facts.reads, mark, KeyRead(node.path, key, path, line, how, guarded))  # type: ignore[arg-type]

    def untyped(self, key: str, path: str, line: int) -> None:
        """Record a read on a receiver nothing is known about."""
        lines = self.facts.untyped.setdefault(key, {})
        lines[path] = min(line, lines.get(path, line))

    def escape(self, values: Values, path: str, line: int, reason: str) -> None:
        """Record that nodes leave what can be followed."""
        for value in values:
            if isinstance(value, Node):
                mark = ("escape", value.path, path, reason)
                self._first(self.facts.escapes, mark, Escape(value.path, path, line, reason))
            elif isinstance(value, Mapping):
                for inner in self.state.entries(value, None).values():
                    self.escape(inner, path, line, reason)

    def bind(self, node: Node, cls: Ref, path: str, line: int) -> None:
        """Record `Class(**node)`."""
        self._once(self.facts.bindings, NodeBinding(node.path, cls.module, cls.qualname, path, line))

    def write(self, node: Node, key: str, path: str, line: int, method: str, guarded: bool) -> None:
        """Record an assignment to a key of a node."""
        self._once(self.facts.writes, KeyWrite(node.path, key, path, line, method, guarded))

    def dropped(self, node: Node, function: str, callee: str, path: str, line: int) -> None:
        """Record a parameter with a configuration value that an early return does not hand on."""
        self._once(self.facts.dropped, DroppedParameter(node.path, function, callee, path, line))

    def _once(self, records: list[Any], record: Any) -> None:
        self._first(records, (type(record).__name__, *vars(record).values()), record)

    def _first(self, records: list[Any], mark: tuple[object, ...], record: Any) -> None:
        """Keep one record of a mark: the one that stands first in its file, whichever was met first."""
        known = self._seen.setdefault(mark, record)
        if known is record:
            records.append(record)
        else:
            known.line = min(known.line, record.line)


def registered_objects(index: Index, registrations: Iterable[tuple[str, RegistrationFacts]]) -> dict[str, list[Ref]]:
    """Registered classes and functions by the last part of the register's name; (module, registration) pairs in."""
    found: dict[str, list[Ref]] = {}
    for module, item in registrations:
        ref = index.resolve(module, item.object)
        if ref is not None and ref.kind in ("class", "function"):
            found.setdefault(item.register.rsplit(".", 1)[-1], []).append(ref)
    return found
