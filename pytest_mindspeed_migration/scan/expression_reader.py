"""Expressions of a file: attributes and keys that are read, calls with their shape, names set from a distance."""

from __future__ import annotations

import ast
from typing import Any

from ..facts.source import CallFacts
from .effects import may_be_effect
from .expressions import dotted, string_of
from .notes import NOTED
from .reading import FunctionState, Reading, add

READS_KEY = {"get", "pop", "setdefault", "getattr", "hasattr"}
SETS_ATTRIBUTE = {"register_buffer", "register_parameter", "add_module", "register_module"}
_RECEIVER_CALLS = {"setattr", "hasattr", "getattr", "delattr", "__setattr__", "vars", *SETS_ATTRIBUTE}
_OWN_NAMES = ("__package__", "__name__")


_NO_EXPRESSIONS = {"ctx", "op", "ops", "id", "attr", "arg", "kind", "conversion", "is_async", "type_comment"}


_CHILDREN: dict[Any, tuple[str, ...]] = {ast.Lambda: ("body",)}  # the parameters of a lambda are no expressions


def _children_of(kind: Any) -> tuple[str, ...]:
    """The fields of a kind of node that hold expressions."""
    _CHILDREN[kind] = tuple(name for name in kind._fields if name not in _NO_EXPRESSIONS)
    return _CHILDREN[kind]


class ExpressionReader(Reading):
    """Reads expressions; the statements around them are read by the class built on this one."""

    def _expression(self, root: ast.expr) -> None:
        stack: list[Any] = [root]
        keys, state = self.facts.keys_read, self._function
        receiver = state.receiver if state else None
        while stack:
            node = stack.pop()
            kind = type(node)
            if kind is ast.Attribute:
                if node.attr not in keys:
                    keys[node.attr] = node.lineno
                value = node.value
                if state is not None and not (type(value) is ast.Name and value.id in state.plain):
                    state.keys.add(node.attr)
                if type(value) is ast.Name:
                    if state is not None and state.owner is not None and value.id == receiver:
                        owner = state.owner
                        if node.attr == "__dict__":
                            owner.dynamic = True
                        elif node.attr not in owner.self_reads and not self._attribute_guard:
                            owner.self_reads[node.attr] = node.lineno
                    elif value.id == "sys" and node.attr == "argv":
                        self._effect("argv", node.lineno, "sys.argv", node)
                else:
                    stack.append(value)
                continue
            if kind is ast.Name or node is None:
                continue
            if kind is ast.Constant:
                if type(node.value) is str and node.value.startswith(self._package):
                    self._module_name(node.value)
                continue
            if kind is ast.Call:
                self._call(node)
                stack.append(node.func)
                stack.extend(node.args)
                stack.extend([keyword.value for keyword in node.keywords])
                continue
            if kind is ast.Subscript:
                text = string_of(node.slice)
                if text is not None:
                    self._key(text, node.lineno)
            elif kind is ast.Compare:
                text = string_of(node.left)
                if text is not None and isinstance(node.ops[0], (ast.In, ast.NotIn)):
                    self._key(text, node.lineno)
                elif state is not None:
                    state.notes.compare(node)
            elif kind is ast.NamedExpr:
                self._target(node.target)
            for name in _CHILDREN.get(kind) or _children_of(kind):
                child = getattr(node, name, None)
                if type(child) is list:
                    stack.extend(child)
                elif child is not None:
                    stack.append(child)

    def _call(self, node: ast.Call) -> None:
        func, arguments, line = node.func, node.args, node.lineno
        callee = dotted(func)
        last = callee.rpartition(".")[2] if callee is not None else getattr(func, "attr", "")
        state = self._function
        if state is not None and last in NOTED:
            state.notes.call(node, callee, self._guard > 0, self._condition)
        keywords, double_star = self._keywords(node) if node.keywords else ([], [])
        if last in READS_KEY and arguments:
            self._keys_of_call(callee, last, arguments, line)
        if callee is None:
            return
        if last == "import_module" and callee in ("importlib.import_module", "import_module"):
            self._import_call(node)
        elif callee == "setattr" and len(arguments) > 1 and string_of(arguments[1]):
            self._outside_attribute(arguments[0], string_of(arguments[1]) or "")
        elif last in SETS_ATTRIBUTE and isinstance(func, ast.Attribute) and arguments:
            own = state is not None and dotted(func.value) == state.receiver
            self._outside_attribute(func.value, (not own and string_of(arguments[0])) or "?")
        if state is not None and state.owner is not None and last in _RECEIVER_CALLS:
            self._receiver_call(callee, last, node, state)
        if may_be_effect(callee, last):
            self._effect("call", line, callee, node)
        if callee in self._plain_builtins and not double_star:
            self._builtins_called.add(callee)
            return
        kinds: list[Any] = [type(argument) for argument in arguments]
        stars = kinds.count(ast.Starred)
        call = CallFacts(
            line=line,
            callee=state.modules.stands_for(callee) if state else callee,
            scope=self._scope_name,
            positional=len(kinds) - stars,
            keywords=keywords,
            names=[getattr(a, "id", "") for a in arguments] if kinds.count(ast.Name) > 1 else [],
            star=stars > 0,
            double_star=double_star,
            guarded=self._guard > 0,
        )
        if double_star and self._conditions:
            call.condition = self._condition()
        (state.calls if state is not None else self._module_calls).append(call)

    def _keywords(self, node: ast.Call) -> tuple[list[str], list[str]]:
        """The keywords of a call, and what it hands on with `**`."""
        keywords, double_star = [], []
        passed = self.facts.keys_passed
        for keyword in node.keywords:
            if keyword.arg is None:
                double_star.append(dotted(keyword.value) or "?")
            else:
                keywords.append(keyword.arg)
                passed.setdefault(keyword.arg, node.lineno)
        return keywords, double_star

    def _keys_of_call(self, callee: str | None, last: str, arguments: list[ast.expr], line: int) -> None:
        """The keys that `x.get("key")`, `getattr(x, "key")` and the like read."""
        if callee is None:
            self._key_argument(arguments[0], line)
            return
        method = "." in callee
        self._key_argument(arguments[-1 if method and last != "getattr" else min(1, len(arguments) - 1)], line)
        if len(arguments) > 1:
            self._key_argument(arguments[0 if method else 1], line)

    def _receiver_call(self, callee: str, last: str, node: ast.Call, state: FunctionState) -> None:
        """`setattr(self, ..)`, `hasattr(self, ..)`, `self.register_buffer("x", ..)`: attributes set by name."""
        owner = state.owner
        assert owner is not None
        first = node.args[0] if node.args else None
        if callee in ("setattr", "hasattr", "getattr", "delattr", "object.__setattr__") and len(node.args) > 1:
            if isinstance(first, ast.Name) and first.id == state.receiver:
                name = string_of(node.args[1])
                if name is not None and callee != "getattr":
                    add(owner.self_sets, name)
                elif name is None and callee in ("setattr", "object.__setattr__"):
                    owner.dynamic = True
        elif last in SETS_ATTRIBUTE and callee.partition(".")[0] == state.receiver:
            name = string_of(first)
            if name is not None:
                add(owner.self_sets, name)
            else:
                owner.dynamic = True
        elif callee == "vars" and isinstance(first, ast.Name) and first.id == state.receiver:
            owner.dynamic = True

    def _outside_attribute(self, receiver: ast.expr, name: str) -> None:
        """`model.layer.name = ...`: kept as `layer.name`."""
        add(self.facts.attrs_set, f"{(dotted(receiver) or '?').rsplit('.', 1)[-1]}.{name}")

    def _module_name(self, text: str) -> None:
        """A dotted name of the own package in a string constant."""
        if text.replace(".", "_").isidentifier():
            add(self.facts.named_modules, text)

    def _import_call(self, node: ast.Call) -> None:
        """`importlib.import_module("a.b")`, also in its relative form with `__package__` or `__name__`."""
        text = string_of(node.args[0]) if node.args else None
        level = len(text) - len(text.lstrip(".")) if text else 0
        if text is None or (level and dotted(node.args[1] if len(node.args) > 1 else None) not in _OWN_NAMES):
            return
        module = self._absolute(ast.ImportFrom(text[level:], [], level)) if level else text
        if module is not None:
            self._add_import(node.lineno, module, None, "")
            self.facts.imports[-1].dynamic = True

    def _key_argument(self, node: ast.expr, line: int) -> None:
        text = string_of(node)
        if text is not None:
            self._key(text, line)

    def _target(self, node: ast.expr) -> None:
        """Bind what an assignment target binds; its sub-expressions (indexes, receivers) are read as usual."""
        if isinstance(node, ast.Name):
            self._bind(node.id)
        elif isinstance(node, (ast.Tuple, ast.List)):
            for item in node.elts:
                self._target(item)
        elif isinstance(node, ast.Starred):
            self._target(node.value)
        elif isinstance(node, ast.Attribute):
            state = self._function
            if state and state.owner and isinstance(node.value, ast.Name) and node.value.id == state.receiver:
                add(state.owner.self_sets, node.attr)
            else:
                self._outside_attribute(node.value, node.attr)
                self._expression(node.value)
        else:
            self._expression(node)
