"""Reads one function body: statements and expressions over abstract values."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from ...analysis.index import Ref
from ...facts.source import FunctionFacts
from ..expressions import FunctionNode, dotted, string_of
from ..nodes import children
from .calls import CallReader
from .dropped import dropped_parameters
from .values import NOTHING, Code, Inherited, Instance, Mapping, Module, Node, NodeMethod, Register, Value, Values

if TYPE_CHECKING:
    from .engine import Engine

NODE_METHODS = {
    "get", "pop", "setdefault", "items", "keys", "values", "update", "copy",
    "to_dict", "model_dump", "dict", "to_str", "to_json", "model_copy",
}  # fmt: skip
"""Methods that a configuration node has besides its keys (dict, pydantic, the framework's base class)."""


class BodyReader:
    """One reading of one function. Order of statements is kept, loops and branches are merged."""

    def __init__(self, engine: Engine, ref: Ref, function: FunctionFacts, path: str) -> None:
        self.engine, self.state, self.index = engine, engine.state, engine.index
        self.ref, self.function, self.path = ref, function, path
        self.names: dict[str, Values] = {}
        self.guard = 0
        self._calls = CallReader(self)

    def read(self, node: FunctionNode) -> None:
        """Read the whole body."""
        signature = self.function.signature
        for name in (*signature.params, *signature.kwonly, signature.varargs, signature.varkw):
            if name:
                self.names[name] = self.state.get(("param", self.ref, name), self.ref)
        self.block(node.body)
        for item in dropped_parameters(node, self.names):
            self.engine.dropped(item.node, self.function.qualname, item.callee, self.path, item.line)

    # statements

    def block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Return):
            if node.value is not None:
                self.state.add(("return", self.ref), self.value(node.value))
        elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            values = self.value(node.value) if node.value is not None else NOTHING
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                self.assign(target, values, node.value)
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            self.assign(node.target, self.items(self.value(node.iter), node.iter.lineno), None)
            self.guarded(node.body)
            self.block(node.orelse)
        elif isinstance(node, (ast.If, ast.While)):
            self.value(node.test)
            self.guarded(node.body)
            self.guarded(node.orelse)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                values = self.value(item.context_expr)
                if item.optional_vars is not None:
                    self.assign(item.optional_vars, values, None)
            self.block(node.body)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self._nested(node)
        elif isinstance(node, ast.ClassDef):
            pass
        else:
            self._generic(node)

    def _generic(self, node: ast.AST) -> None:
        """`try`, `raise`, `assert`, expression statements, `match`: read what is inside."""
        guarded = isinstance(node, (ast.Try, ast.ExceptHandler)) or type(node).__name__ in ("Match", "match_case")
        self.guard += guarded
        for child in children(node):
            if isinstance(child, ast.stmt):
                self.statement(child)
            elif isinstance(child, ast.expr):
                self.value(child)
            else:
                self._generic(child)
        self.guard -= guarded

    def guarded(self, statements: list[ast.stmt]) -> None:
        self.guard += 1
        self.block(statements)
        self.guard -= 1

    def _nested(self, node: FunctionNode) -> None:
        """A nested function sees the names around it: read it in place with its own parameters unknown or seeded."""
        inner = Ref("function", self.ref.module, f"{self.ref.qualname}.{node.name}")
        outer = dict(self.names)
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        for argument in arguments:
            self.names[argument.arg] = self.state.get(("param", inner, argument.arg), self.ref)
        for packed in (node.args.vararg, node.args.kwarg):
            if packed is not None:
                self.names[packed.arg] = self.state.get(("param", inner, packed.arg), self.ref)
        function, self.ref = self.ref, inner
        self.guarded(node.body)
        self.ref = function
        self.state.visited.add(inner)
        self.names = outer
        self.names[node.name] = frozenset([Code(inner)])

    def assign(self, target: ast.expr, values: Values, source: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id] = self.names.get(target.id, NOTHING) | values if self.guard else values
            if target.id in self.index.modules[self.ref.module].names and values:
                self.state.add(("global", self.ref.module, target.id), values)
        elif isinstance(target, (ast.Tuple, ast.List)):
            parts = source.elts if isinstance(source, (ast.Tuple, ast.List)) else None
            for number, part in enumerate(target.elts):
                exact = parts is not None and len(parts) == len(target.elts)
                self.assign(part, self.value(parts[number]) if exact and parts else values, None)
        elif isinstance(target, ast.Attribute):
            for owner in self.value(target.value):
                if isinstance(owner, Instance):
                    self.state.set_attribute(owner.cls, target.attr, values)
                elif isinstance(owner, Node):
                    method = self.function.qualname
                    self.engine.write(owner, target.attr, self.path, target.lineno, method, self.guard > 0)
        elif isinstance(target, ast.Subscript):
            key = string_of(target.slice)
            for owner in self.value(target.value):
                if isinstance(owner, Mapping) and key is not None:
                    self.state.put(owner, key, values)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, values, None)

    # expressions

    def value(self, node: ast.expr) -> Values:
        handler = _EXPRESSIONS.get(type(node))
        if handler is not None:
            result: Values = handler(self, node)
            return result
        found: Values = NOTHING
        for child in children(node):
            if isinstance(child, ast.expr):
                found |= self.value(child)
            elif isinstance(child, ast.comprehension):
                self.value(child.iter)
        return found if isinstance(node, (ast.BoolOp, ast.IfExp, ast.Starred, ast.Await)) else NOTHING

    def _name(self, node: ast.Name) -> Values:
        if node.id in self.names:
            return self.names[node.id]
        return self.named(node.id)

    def named(self, text: str) -> Values:
        """A module-level or imported name."""
        ref = self.index.resolve(self.ref.module, text, self.ref.qualname)
        return self.named_ref(ref) if ref is not None else NOTHING

    def _attribute(self, node: ast.Attribute) -> Values:
        owners = self.value(node.value)
        if not owners and isinstance(node.ctx, ast.Load):
            root = dotted(node)
            known = root is not None and self._is_foreign(root.split(".", 1)[0])
            if not known:
                self.engine.untyped(node.attr, self.path, node.lineno)
            return NOTHING
        found: Values = NOTHING
        for owner in owners:
            found |= self.member(owner, node.attr, node.lineno)
        return found

    def _is_foreign(self, name: str) -> bool:
        """Whether a bare name is something imported from outside the repo (`torch`, `os`)."""
        if name in self.names:
            return False
        ref = self.index.resolve(self.ref.module, name, self.ref.qualname)
        return ref is not None and ref.kind == "external"

    def member(self, owner: Value, name: str, line: int, how: str = "attribute", weak: bool = False) -> Values:
        """`owner.name`."""
        if isinstance(owner, Node):
            return self._node_member(owner, name, line, how, weak)
        if isinstance(owner, Instance):
            found = self.state.get(("attribute", owner.cls, name), self.ref)
            method = self.index.method(owner.cls, name)
            if method is not None:
                code = Code(Ref("function", method[0], method[1].qualname), owner)
                if any(text.endswith("property") for text in method[1].decorators):
                    return found | self._calls.call_code(code)
                return found | frozenset([code])
            return found
        if isinstance(owner, Module):
            ref = self.index.lookup(owner.name, name)
            return self.named_ref(ref) if ref is not None else NOTHING
        if isinstance(owner, Register):
            return frozenset([Register(owner.name, name)])
        if isinstance(owner, Code) and owner.ref.kind == "class":
            method = self.index.method(owner.ref, name)
            if method is not None:
                bound = owner if "classmethod" in method[1].decorators else None
                return frozenset([Code(Ref("function", method[0], method[1].qualname), bound)])
        if isinstance(owner, Code):
            return frozenset([Inherited(name)])
        if isinstance(owner, Mapping):
            return frozenset([NodeMethod(Node(f"\0{owner.site}"), name)]) if name in NODE_METHODS else NOTHING
        return NOTHING

    def named_ref(self, ref: Ref) -> Values:
        """A resolved reference as a value."""
        if ref.kind in ("class", "function"):
            return frozenset([Code(ref)])
        if ref.kind == "module":
            return frozenset([Module(ref.module)])
        if ref.kind != "value":
            return NOTHING
        if ref.qualname.endswith("register"):
            return frozenset([Register(ref.qualname)])
        found = self.state.get(("global", ref.module, ref.qualname), self.ref)
        facts = self.index.modules.get(ref.module)
        callee = facts.instances.get(ref.qualname) if facts else None
        made = self.index.resolve(ref.module, callee) if callee else None
        return found | frozenset([Instance(made)]) if made is not None and made.kind == "class" else found

    def _node_member(self, node: Node, name: str, line: int, how: str, weak: bool) -> Values:
        owner = self.engine.schema.node(node.path)
        if owner is not None:
            method = self.index.method(owner.ref, name)
            if method is not None:
                if name in NODE_METHODS:
                    return frozenset([NodeMethod(node, name)])
                code = Code(Ref("function", method[0], method[1].qualname), node)
                if any(text.endswith("property") for text in method[1].decorators):
                    return self._calls.call_code(code)
                return frozenset([code])
        if name in NODE_METHODS and (owner is None or name not in owner.fields):
            return frozenset([NodeMethod(node, name)])
        self.engine.read(node, name, self.path, line, how, self.guard > 0 or weak)
        return frozenset([node.child(name)])

    def _subscript(self, node: ast.Subscript) -> Values:
        owners = self.value(node.value)
        key = string_of(node.slice)
        if key is None:
            self.value(node.slice)
        if not owners and key is not None:
            self.engine.untyped(key, self.path, node.lineno)
        found: Values = NOTHING
        for owner in owners:
            if isinstance(owner, Node):
                if key is not None:
                    found |= self._node_member(owner, key, node.lineno, "item", False)
                else:
                    dynamic = not isinstance(node.slice, (ast.Constant, ast.UnaryOp, ast.Slice))
                    if dynamic and self.engine.schema.node(owner.path) is not None:
                        self.engine.escape(frozenset([owner]), self.path, node.lineno, "computed key")
                    found |= frozenset([owner.item if not isinstance(node.slice, ast.Slice) else owner])
            elif isinstance(owner, Mapping) and key is not None:
                found |= self.state.entries(owner, self.ref).get(key, NOTHING)
            elif isinstance(owner, Mapping):
                found |= frozenset().union(*self.state.entries(owner, self.ref).values())
        return found

    def items(self, values: Values, line: int) -> Values:
        """What a loop over these values sees."""
        found: set[Value] = set()
        for value in values:
            if isinstance(value, Node):
                if self.engine.schema.node(value.path) is not None:
                    self.engine.escape(frozenset([value]), self.path, line, "iterated")
                found.add(value.item)
        return frozenset(found)

    def _compare(self, node: ast.Compare) -> Values:
        key = string_of(node.left)
        for operator, right in zip(node.ops, node.comparators, strict=True):
            owners = self.value(right)
            if key is not None and isinstance(operator, (ast.In, ast.NotIn)):
                for owner in owners:
                    if isinstance(owner, Node):
                        self.engine.read(owner, key, self.path, node.lineno, "hasattr", True)
        self.value(node.left)
        return NOTHING

    def _dict(self, node: ast.Dict) -> Values:
        mapping = Mapping(f"{self.path}:{node.lineno}:{node.col_offset}")
        found: set[Value] = {mapping}
        for key, item in zip(node.keys, node.values, strict=True):
            values = self.value(item)
            if key is None:
                found |= values
            else:
                text = string_of(key)
                if text is not None:
                    self.state.put(mapping, text, values)
                else:
                    self.value(key)
                    self.engine.escape(values, self.path, node.lineno, "stored under a computed key")
        return frozenset(found)

    def _if_expression(self, node: ast.IfExp) -> Values:
        self.value(node.test)
        self.guard += 1
        found = self.value(node.body) | self.value(node.orelse)
        self.guard -= 1
        return found

    def _bool_operation(self, node: ast.BoolOp) -> Values:
        found = self.value(node.values[0])
        self.guard += 1
        for item in node.values[1:]:
            found |= self.value(item)
        self.guard -= 1
        return found

    def _comprehension(self, node: Any) -> Values:
        outer = dict(self.names)
        for generator in node.generators:
            self.assign(generator.target, self.items(self.value(generator.iter), node.lineno), None)
            for test in generator.ifs:
                self.value(test)
        if isinstance(node, ast.DictComp):
            self.value(node.key)
            self.value(node.value)
        else:
            self.value(node.elt)
        self.names = outer
        return NOTHING

    def _lambda(self, node: ast.Lambda) -> Values:
        outer = dict(self.names)
        for argument in [*node.args.args, *node.args.kwonlyargs]:
            self.names[argument.arg] = NOTHING
        self.guard += 1
        self.value(node.body)
        self.guard -= 1
        self.names = outer
        return NOTHING

    def _named_expression(self, node: ast.NamedExpr) -> Values:
        values = self.value(node.value)
        self.assign(node.target, values, node.value)
        return values

    def _sequence(self, node: ast.List | ast.Tuple | ast.Set) -> Values:
        found: Values = NOTHING
        for item in node.elts:
            found |= self.value(item)
        return found

    def _constant(self, node: ast.Constant) -> Values:
        return NOTHING

    def _call(self, node: ast.Call) -> Values:
        return self._calls.read(node)


_EXPRESSIONS: dict[type[ast.AST], Any] = {
    ast.Name: BodyReader._name,
    ast.Attribute: BodyReader._attribute,
    ast.Subscript: BodyReader._subscript,
    ast.Compare: BodyReader._compare,
    ast.Dict: BodyReader._dict,
    ast.IfExp: BodyReader._if_expression,
    ast.BoolOp: BodyReader._bool_operation,
    ast.ListComp: BodyReader._comprehension,
    ast.SetComp: BodyReader._comprehension,
    ast.GeneratorExp: BodyReader._comprehension,
    ast.DictComp: BodyReader._comprehension,
    ast.Lambda: BodyReader._lambda,
    ast.NamedExpr: BodyReader._named_expression,
    ast.List: BodyReader._sequence,
    ast.Tuple: BodyReader._sequence,
    ast.Set: BodyReader._sequence,
    ast.Constant: BodyReader._constant,
    ast.Call: BodyReader._call,
}
