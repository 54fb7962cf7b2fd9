"""Calls: what is known of the callee decides whether the configuration is followed, read or lost."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ...analysis.index import Ref
from ..expressions import dotted, string_of
from .values import (
    NOTHING,
    Arguments,
    Code,
    Inherited,
    Instance,
    Mapping,
    Node,
    NodeMethod,
    Partial,
    Register,
    Value,
    Values,
)

if TYPE_CHECKING:
    from .body_reader import BodyReader

SAME = {"dict", "vars", "asdict", "deepcopy", "copy", "list", "tuple", "OrderedDict", "cast", "create", "to_container"}
"""Functions of other packages that give the same content back."""

HARMLESS = {
    "print", "len", "str", "repr", "isinstance", "type", "id", "bool", "hash", "issubclass", "callable",
    "info", "debug", "warning", "error", "warn", "exception", "print_rank", "format", "log", "critical", "int", "float",
    "range", "min", "max", "sum", "any", "all", "enumerate", "zip", "sorted", "set", "join", "append",
}  # fmt: skip
"""Functions that look at a value without reading keys of it."""


CUSTOM_BASES = {"torch.nn.Module", "torch.nn.modules.module.Module", "abc.ABC", "object"}
"""Bases of a model class that do not make it a Transformers model."""


class CallReader:
    """Evaluates calls for one `BodyReader`."""

    def __init__(self, body: BodyReader) -> None:
        self._body = body
        self._engine, self._state, self._index = body.engine, body.state, body.index

    def read(self, node: ast.Call) -> Values:
        name = dotted(node.func) or ""
        last = name.rsplit(".", 1)[-1]
        if last in ("getattr", "hasattr", "setattr") and len(node.args) >= 2:
            return self._attribute_call(last, node)
        if name.startswith("super().") and "." not in name[8:]:
            return self._super_call(name[8:], node)
        callees = self._body.value(node.func)
        arguments = self._arguments(node)
        if last == "partial" and arguments.positional:
            return self._partial(node, arguments)
        found: Values = NOTHING
        for callee in callees:
            found |= self._call(callee, arguments, node)
        if not callees:
            found |= self._foreign_call(last, name, arguments, node)
        return found

    def _arguments(self, node: ast.Call) -> Arguments:
        result = Arguments()
        for argument in node.args:
            values = self._body.value(argument.value if isinstance(argument, ast.Starred) else argument)
            (result.star if isinstance(argument, ast.Starred) else result.positional).append(values)
        for keyword in node.keywords:
            values = self._body.value(keyword.value)
            if keyword.arg is None:
                result.double_star.append(values)
            else:
                result.keywords[keyword.arg] = values
        return result

    def _call(self, callee: Value, arguments: Arguments, node: ast.Call) -> Values:
        if isinstance(callee, NodeMethod):
            return self._node_method(callee, node, arguments)
        if isinstance(callee, Register):
            return self._register_call(callee)
        if isinstance(callee, Code):
            if callee.ref.kind == "class":
                return self._construct(callee.ref, arguments, node)
            if self._is_other_route(callee):
                return NOTHING
            return self._enter(callee, arguments)
        if isinstance(callee, Instance):
            for method in ("__call__", "forward"):
                found = self._index.method(callee.cls, method)
                if found is not None:
                    return self._enter(Code(Ref("function", found[0], found[1].qualname), callee), arguments)
        if isinstance(callee, Partial):
            return self._call_partial(callee, arguments, node)
        if isinstance(callee, (Node, Inherited)):  # a key called like a method: nothing is known
            return NOTHING
        self._engine.escape(arguments.every(), self._body.path, node.lineno, "unknown call")
        return NOTHING

    def _is_other_route(self, callee: Code) -> bool:
        """ModelHub hands the YAML's model section to custom classes only; a Transformers class gets its own config.

        Rule of `ModelHub.build`: the custom route is taken where AutoConfig knows nothing of the model.
        """
        owner = callee.receiver
        name = callee.ref.qualname.rsplit(".", 1)[-1]
        if name not in ("from_pretrained", "_from_config") or not isinstance(owner, Code):
            return False
        _, foreign = self._index.linear(owner.ref)
        return any(base not in CUSTOM_BASES for base in foreign)

    def call_code(self, code: Code) -> Values:
        """A property read."""
        return self._enter(code, Arguments())

    def _enter(self, code: Code, arguments: Arguments) -> Values:
        receiver = frozenset([code.receiver]) if code.receiver is not None else NOTHING
        if not self._state.carries(arguments.every() | receiver, self._body.ref):
            ref = Ref("function", code.ref.module, code.ref.qualname)
            return self._state.get(("return", ref), self._body.ref)
        return self._engine.enter(code, arguments, self._body.ref)

    def _construct(self, cls: Ref, arguments: Arguments, node: ast.Call) -> Values:
        schema = self._engine.schema.cls(cls)
        if schema is not None:
            nodes = [v for group in arguments.double_star for v in group if isinstance(v, Node)]
            for item in nodes:
                self._engine.bind(item, cls, self._body.path, node.lineno)
            if nodes:
                return frozenset(nodes)
        instance = Instance(cls)
        method = self._index.method(cls, "__init__")
        if method is not None:
            if self._state.carries(arguments.every(), self._body.ref):
                self._engine.enter(
                    Code(Ref("function", method[0], method[1].qualname), instance), arguments, self._body.ref
                )
        elif schema is None:
            self._fill_fields(cls, instance, arguments, node)
        return frozenset([instance])

    def _fill_fields(self, cls: Ref, instance: Instance, arguments: Arguments, node: ast.Call) -> None:
        """A class without `__init__` in the repo: keyword arguments become attributes, the rest is lost to sight."""
        for name, values in arguments.keywords.items():
            self._state.set_attribute(cls, name, values)
        rest: Values = frozenset().union(*arguments.positional, *arguments.double_star)
        self._engine.escape(rest, self._body.path, node.lineno, f"{cls.qualname}(...)")

    def _super_call(self, name: str, node: ast.Call) -> Values:
        arguments = self._arguments(node)
        owner = self._body.function.qualname.rpartition(".")[0]
        found = self._index.method(Ref("class", self._body.ref.module, owner), name, skip_first=True)
        receiver = next(iter(self._body.function.signature.params), None)
        if found is None:
            if name != "__init__":
                self._engine.escape(arguments.every(), self._body.path, node.lineno, f"super().{name}")
            else:
                self._engine.escape(arguments.every(), self._body.path, node.lineno, "constructor of another package")
            return NOTHING
        result: Values = NOTHING
        for value in self._body.names.get(receiver or "", NOTHING) or NOTHING:
            result |= self._enter(Code(Ref("function", found[0], found[1].qualname), value), arguments)
        return result

    def _register_call(self, register: Register) -> Values:
        if register.method != "get":
            return NOTHING
        return frozenset(Code(ref) for ref in self._engine.registered.get(register.name, ()))

    def _partial(self, node: ast.Call, arguments: Arguments) -> Values:
        partial = Partial(f"{self._body.path}:{node.lineno}:{node.col_offset}")
        self._state.add(("partial", partial), arguments.positional[0])
        bound = Mapping(f"{partial.site}=")
        for key, values in arguments.keywords.items():
            self._state.put(bound, key, values)
        rest = frozenset().union(*arguments.positional[1:]) if len(arguments.positional) > 1 else NOTHING
        self._engine.escape(rest, self._body.path, node.lineno, "positional argument of partial")
        for callee in arguments.positional[0]:
            self._call(callee, Arguments(keywords=dict(arguments.keywords)), node)
        return frozenset([partial])

    def _call_partial(self, partial: Partial, arguments: Arguments, node: ast.Call) -> Values:
        bound = self._state.entries(Mapping(f"{partial.site}="), self._body.ref)
        merged = Arguments(arguments.positional, {**bound, **arguments.keywords}, arguments.star, arguments.double_star)
        found: Values = NOTHING
        for callee in self._state.get(("partial", partial), self._body.ref):
            found |= self._call(callee, merged, node)
        return found

    def _node_method(self, method: NodeMethod, node: ast.Call, arguments: Arguments) -> Values:
        owner, line = method.node, node.lineno
        if owner.path.startswith("\0"):
            return self._mapping_method(Mapping(owner.path[1:]), method.name, node, arguments)
        if method.name in ("get", "pop", "setdefault"):
            key = string_of(node.args[0]) if node.args else None
            if key is None:
                self._engine.escape(frozenset([owner]), self._body.path, line, "computed key")
                return NOTHING
            self._engine.read(owner, key, self._body.path, line, "get", self._body.guard > 0)
            return frozenset([owner.child(key)]).union(*arguments.positional[1:])
        if method.name in ("items", "keys", "values"):
            self._engine.escape(frozenset([owner]), self._body.path, line, "iterated")
            return NOTHING
        return NOTHING if method.name in ("update", "to_str", "to_json") else frozenset([owner])

    def _mapping_method(self, mapping: Mapping, name: str, node: ast.Call, arguments: Arguments) -> Values:
        entries = self._state.entries(mapping, self._body.ref)
        key = string_of(node.args[0]) if node.args else None
        if name in ("get", "pop", "setdefault"):
            return entries.get(key or "", NOTHING).union(*arguments.positional[1:])
        if name == "copy":
            return frozenset([mapping])
        if name == "update":
            for keyword, values in arguments.keywords.items():
                self._state.put(mapping, keyword, values)
        return frozenset().union(*entries.values()) if name in ("values", "items") and entries else NOTHING

    def _attribute_call(self, name: str, node: ast.Call) -> Values:
        owners = self._body.value(node.args[0])
        key = string_of(node.args[1])
        rest = [self._body.value(argument) for argument in node.args[2:]]
        if key is None:
            self._engine.escape(owners, self._body.path, node.lineno, "computed name")
            return NOTHING
        if name == "setattr":
            for owner in owners:
                if isinstance(owner, Instance) and rest:
                    self._state.set_attribute(owner.cls, key, rest[0])
                elif isinstance(owner, Node):
                    method = self._body.function.qualname
                    self._engine.write(owner, key, self._body.path, node.lineno, method, self._body.guard > 0)
            return NOTHING
        if not owners:
            self._engine.untyped(key, self._body.path, node.lineno)
        found: Values = NOTHING
        for owner in owners:
            found |= self._body.member(owner, key, node.lineno, name, weak=True)
        return found.union(*rest) if name == "getattr" else NOTHING

    def _foreign_call(self, last: str, name: str, arguments: Arguments, node: ast.Call) -> Values:
        """A callee outside the repo, or one nothing is known about."""
        if last in HARMLESS:
            return (
                frozenset().union(*arguments.positional) if last in ("sorted", "set", "enumerate", "zip") else NOTHING
            )
        if last in SAME:
            return arguments.every()
        if name in self._body.function.signature.params:  # a callback nobody in the repo passes
            return NOTHING
        if last in ("get", "pop") and node.args:
            key = string_of(node.args[0])
            if key is not None:
                self._engine.untyped(key, self._body.path, node.lineno)
        self._engine.escape(arguments.every(), self._body.path, node.lineno, name or "call")
        return NOTHING
