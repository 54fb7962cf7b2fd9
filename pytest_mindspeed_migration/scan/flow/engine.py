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

Found = dict[tuple[Any, ...], Any]
"""What tells a record from others, beginning with its list in `FlowFacts` -> the record."""

LIMIT = 6000
"""Most function readings in one run: a guard against code that never settles."""


@dataclass
class Engine:
    """One run over the functions the configuration reaches. `follow()` returns what was found."""

    index: Index
    schema: Schema
    bodies: Bodies
    registered: dict[str, list[Ref]]  # register name -> registered objects
    state: State = field(default_factory=State)
    _opened: set[Ref] = field(default_factory=set)
    _found: dict[Ref | None, Found] = field(default_factory=dict)  # by the function in whose last reading it was
    _now: Found = field(default_factory=dict)
    _reading: Ref | None = None

    def follow(self, modules: Iterable[str]) -> FlowFacts:
        """Seed every function of these modules that takes a schema class, then read until nothing changes.

        What a function showed before all was known of its values does not count: only its last reading does, so that
        the order in which functions are read has no say.
        """
        self._begin(None)
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
            self._begin(function)
            self._read(function)
        self._begin(None)
        return self._settled()

    def _begin(self, function: Ref | None) -> None:
        """What is recorded from now on belongs to a new reading of the function, or to none."""
        self._reading = function
        self._now = {} if function is not None else self._found.get(None, {})
        self._found[function] = self._now

    def _settled(self) -> FlowFacts:
        facts = FlowFacts()
        first: Found = {}
        for found in self._found.values():
            for mark, record in found.items():
                if mark[0] == "untyped":
                    note_untyped(facts, mark[1], mark[2], record)
                else:
                    _keep_first(first, mark, record)
        for (kind, *_), record in first.items():
            getattr(facts, kind).append(record)
        return facts

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
        self._bind_keywords(ref, function, arguments, caller)
        if ref not in self.state.visited:
            self.state.enqueue(ref)
        return self.state.get(("return", ref), caller)

    def _bind_keywords(self, ref: Ref, function: FunctionFacts, arguments: Arguments, caller: Ref | None) -> None:
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
                for key, values in self.state.entries(value, caller).items():
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
            self._once("closed_calls", NodeBinding(node.path, ref.module, function.qualname, path, function.line))

    # what is recorded

    def read(self, node: Node, key: str, path: str, line: int, how: str, guarded: bool) -> None:
        """Record that `key` of `node` is read."""
        mark = ("reads", node.path, key, path, how, guarded)
        _keep_first(self._now, mark, KeyRead(node.path, key, path, line, how, guarded))  # type: ignore[arg-type]

    def untyped(self, key: str, path: str, line: int) -> None:
        """Record a read on a receiver nothing is known about."""
        mark = ("untyped", key, path)
        self._now[mark] = min(line, self._now.get(mark, line))

    def escape(self, values: Values, path: str, line: int, reason: str) -> None:
        """Record that nodes leave what can be followed."""
        for value in values:
            if isinstance(value, Node):
                mark = ("escapes", value.path, path, reason)
                _keep_first(self._now, mark, Escape(value.path, path, line, reason))
            elif isinstance(value, Mapping):
                for inner in self.state.entries(value, self._reading).values():
                    self.escape(inner, path, line, reason)

    def bind(self, node: Node, cls: Ref, path: str, line: int) -> None:
        """Record `Class(**node)`."""
        self._once("bindings", NodeBinding(node.path, cls.module, cls.qualname, path, line))

    def write(self, node: Node, key: str, path: str, line: int, method: str, guarded: bool) -> None:
        """Record an assignment to a key of a node."""
        self._once("writes", KeyWrite(node.path, key, path, line, method, guarded))

    def dropped(self, node: Node, function: str, callee: str, path: str, line: int) -> None:
        """Record a parameter with a configuration value that an early return does not hand on."""
        self._once("dropped", DroppedParameter(node.path, function, callee, path, line))

    def _once(self, kind: str, record: Any) -> None:
        _keep_first(self._now, (kind, *vars(record).values()), record)


def note_untyped(facts: FlowFacts, key: str, path: str, line: int) -> None:
    """Add a read on a receiver nothing is known about."""
    lines = facts.untyped.setdefault(key, {})
    lines[path] = min(line, lines.get(path, line))


def _keep_first(found: Found, mark: tuple[Any, ...], record: Any) -> None:
    """Keep one record of a mark: the one that stands first in its file, whichever was met first."""
    known = found.get(mark)
    if known is None or record.line < known.line:
        found[mark] = record


def registered_objects(index: Index, registrations: Iterable[tuple[str, RegistrationFacts]]) -> dict[str, list[Ref]]:
    """Registered classes and functions by the last part of the register's name; (module, registration) pairs in."""
    found: dict[str, list[Ref]] = {}
    for module, item in registrations:
        ref = index.resolve(module, item.object)
        if ref is not None and ref.kind in ("class", "function"):
            found.setdefault(item.register.rsplit(".", 1)[-1], []).append(ref)
    return found
