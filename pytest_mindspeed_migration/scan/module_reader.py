"""Reads one Python file of the target into `ModuleFacts`: one walk over its AST, which is dropped afterwards."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..facts.source import (
    CallFacts,
    ClassFacts,
    FunctionFacts,
    ImportFacts,
    ModuleFacts,
)
from .binding import module_level_gaps
from .children import LocalModules, children_of
from .effects import effect_of
from .expressions import FunctionNode, annotations_of, dotted, signature_of, string_of
from .fields import fields_of, pydantic_extra
from .notes import FunctionNotes, condition_flags
from .registrations import collator_table, decorator_registration, statement_registration
from .validation import validation_of

READS_KEY = {"get", "pop", "setdefault", "getattr", "hasattr"}
SETS_ATTRIBUTE = {"register_buffer", "register_parameter", "add_module", "register_module"}
_OWN_NAMES = ("__package__", "__name__")
ATTRIBUTE_ERRORS = {"AttributeError", "Exception", "BaseException"}
IMPORT_ERRORS = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException", "AttributeError", "NameError"}


class _Function:
    """State of the function being read."""

    def __init__(self, facts: FunctionFacts, receiver: str | None, owner: ClassFacts | None) -> None:
        self.facts = facts
        self.receiver = receiver  # name of `self`, when this is a method or nested in one
        self.owner = owner
        self.locals: set[str] = set()
        self.definitions: set[str] = set()  # nested functions and imports: callable by name
        self.calls: list[CallFacts] = []
        self.keys: set[str] = set()
        self.plain: set[str] = set()  # names whose attributes are no configuration keys: the receiver, foreign modules
        self.modules = LocalModules()
        self.notes = FunctionNotes(facts)


class ModuleReader:
    """Walks one parsed file. `read()` returns its facts; an instance serves one file."""

    def __init__(self, path: str, name: str, is_package: bool) -> None:
        self.facts = ModuleFacts(path=path, name=name, is_package=is_package)
        self._scope: list[str] = []
        self._class: ClassFacts | None = None
        self._function: _Function | None = None
        self._conditions: list[tuple[ast.expr, bool]] = []  # tests around the statement, with the outcome they need
        self._guard = 0  # depth of `if`/`try` that make what is inside conditional
        self._attribute_guard = 0  # depth of `try` that survives a missing attribute
        self._import_guard = 0  # depth of `try` that survives a failing import
        self._type_checking = 0
        self._bound: dict[str, int] = {}
        self._self_values: dict[str, ast.expr | None] = {}  # self.x of the class -> value, None when assigned twice
        self._strings: dict[str, str] = {}  # module-level NAME = "text"
        self._foreign: set[str] = set()  # modules imported as `import x`
        self._module_calls: list[CallFacts] = []
        self._package = name.partition(".")[0] + "."

    def read(self, tree: ast.Module) -> ModuleFacts:
        """Read the whole module."""
        for statement in tree.body:
            self._statement(statement)
        facts = self.facts
        facts.names = sorted(self._bound)
        facts.rebound = sorted(name for name, count in self._bound.items() if count > 1)
        facts.calls.extend(self._module_calls)
        facts.unbound = module_level_gaps(tree)
        return facts

    # statements

    def _statement(self, node: ast.stmt) -> None:
        handler = _HANDLERS.get(type(node))
        if handler is not None:
            handler(self, node)
        else:
            self._children(node)

    def _body(self, statements: list[ast.stmt]) -> None:
        returns = 0
        for statement in statements:
            self._statement(statement)
            if isinstance(statement, ast.If) and isinstance(statement.body[-1], ast.Return):
                self._guard += 1  # what follows only runs when this early return does not
                returns += 1
        self._guard -= returns

    def _children(self, node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                self._statement(child)
            elif isinstance(child, (ast.expr, ast.withitem, ast.match_case, ast.excepthandler)):
                if isinstance(child, ast.expr):
                    self._expression(child)
                else:
                    self._children(child)

    def _bind(self, name: str) -> None:
        if self._function is not None:
            self._function.locals.add(name)
        elif self._class is not None:
            if name not in self._class.class_attrs:
                self._class.class_attrs.append(name)
        elif not self._type_checking:
            self._bound[name] = self._bound.get(name, 0) + 1
        else:
            self._bound.setdefault(name, 1)

    @contextmanager
    def _guarded(self, condition: tuple[ast.expr, bool] | None = None) -> Iterator[None]:
        self._guard += 1
        if condition is not None:
            self._conditions.append(condition)
        try:
            yield
        finally:
            self._guard -= 1
            if condition is not None:
                self._conditions.pop()

    def _function_def(self, node: FunctionNode) -> None:
        for decorator in node.decorator_list:
            self._expression(decorator)
        for default in [*node.args.defaults, *[d for d in node.args.kw_defaults if d is not None]]:
            self._expression(default)
        self._bind(node.name)
        outer_function, outer_class = self._function, self._class
        if outer_function is not None:
            outer_function.definitions.add(node.name)
        self._scope.append(node.name)
        decorators = [text for text in map(_decorator_text, node.decorator_list) if text]
        facts = FunctionFacts(
            qualname=".".join(self._scope),
            line=node.lineno,
            end=node.end_lineno or node.lineno,
            signature=signature_of(node),
            decorators=decorators,
            annotations=annotations_of(node),
        )
        self.facts.functions.append(facts)
        for argument in [*facts.signature.params, *facts.signature.kwonly]:
            self.facts.keys_passed.setdefault(argument, node.lineno)
        registration = decorator_registration(node, self._strings)
        if registration is not None:
            registration.guarded = self._guard > 0
            self.facts.registrations.append(registration)
        receiver, owner = (outer_function.receiver, outer_function.owner) if outer_function else (None, None)
        if outer_class is not None and outer_function is None and "staticmethod" not in decorators:
            receiver, owner = next(iter(facts.signature.params), None), outer_class
            if node.name == "__getattr__":
                outer_class.dynamic = True
        state = _Function(facts, receiver, owner)
        state.locals.update(facts.signature.params, facts.signature.kwonly)
        state.locals.update(n for n in (facts.signature.varargs, facts.signature.varkw) if n)
        state.plain = {receiver, *self._foreign} if receiver else self._foreign
        outer_guard, outer_conditions, outer_import_guard = self._guard, self._conditions, self._import_guard
        self._function, self._class, self._guard, self._conditions, self._import_guard = state, None, 0, [], 0
        self._body(node.body)
        state.notes.finish()
        self._function, self._class = outer_function, outer_class
        self._guard, self._conditions, self._import_guard = outer_guard, outer_conditions, outer_import_guard
        self._scope.pop()
        facts.keys = sorted(state.keys)
        self._keep_calls(state, outer_function)

    def _keep_calls(self, state: _Function, outer: _Function | None) -> None:
        hidden = state.locals - state.definitions
        for call in state.calls:
            root = call.callee.split(".", 1)[0].removesuffix("[]")
            if root not in hidden or root == state.receiver:
                (self.facts.calls if outer is None else outer.calls).append(call)

    def _class_def(self, node: ast.ClassDef) -> None:
        for expression in [*node.decorator_list, *node.bases, *[k.value for k in node.keywords]]:
            self._expression(expression)
        self._bind(node.name)
        if self._function is not None:
            self._function.definitions.add(node.name)
        self._scope.append(node.name)
        facts = ClassFacts(
            qualname=".".join(self._scope),
            line=node.lineno,
            bases=[dotted(base.value if isinstance(base, ast.Subscript) else base) or "?" for base in node.bases],
            decorators=[text for text in map(_decorator_text, node.decorator_list) if text],
            config_extra=pydantic_extra(node),
            fields=fields_of(node),
            validation=validation_of(node),
        )
        if any(keyword.arg == "metaclass" for keyword in node.keywords):
            facts.bases.append("?")
        self.facts.classes.append(facts)
        registration = decorator_registration(node, self._strings)
        if registration is not None:
            registration.guarded = self._guard > 0
            self.facts.registrations.append(registration)
        outer_class, outer_function = self._class, self._function
        outer_values, self._self_values = self._self_values, {}
        self._class, self._function = facts, None
        self._body(node.body)
        facts.flags = condition_flags([c.condition for c in facts.children if c.condition], self._self_values)
        self._class, self._function, self._self_values = outer_class, outer_function, outer_values
        self._scope.pop()

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            bound = alias.asname or alias.name.split(".", 1)[0]
            self._add_import(node.lineno, alias.name, None, bound)

    def _import_from(self, node: ast.ImportFrom) -> None:
        module = self._absolute(node)
        if module is None or module == "__future__":
            return
        for alias in node.names:
            self._add_import(node.lineno, module, alias.name, alias.asname or alias.name)

    def _absolute(self, node: ast.ImportFrom) -> str | None:
        if not node.level:
            return node.module
        parts = self.facts.name.split(".")
        drop = node.level - (1 if self.facts.is_package else 0)
        if drop >= len(parts):
            return None
        base = parts[: len(parts) - drop] if drop else parts
        return ".".join([*base, node.module] if node.module else base)

    def _add_import(self, line: int, module: str, name: str | None, bound: str) -> None:
        function = self._function.facts.qualname if self._function else None
        scope = (
            "type_checking" if self._type_checking else "function" if function else "class" if self._class else "module"
        )
        tolerated = self._import_guard > 0
        guarded = tolerated or self._guard > 0
        self.facts.imports.append(
            ImportFacts(line, module, name, bound, scope, guarded, function, tolerated)  # type: ignore[arg-type]
        )
        if bound not in ("", "*"):
            self._bind(bound)
            if self._function is not None:
                self._function.definitions.add(bound)
        if scope != "type_checking":
            self._effect("npu_import", line, module, node=None)

    def _assign(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> None:
        targets: list[ast.expr] = node.targets if isinstance(node, ast.Assign) else [node.target]
        value = node.value
        if value is not None:
            self._expression(value)
        if isinstance(node, ast.AnnAssign) and self._function is None:
            self._expression(node.annotation)
        for target in targets:
            self._target(target)
            self._note_assignment(target, value, node.lineno)
        if self._function is None and self._class is None and value is not None:
            self._module_assignment(targets, value)

    def _module_assignment(self, targets: list[ast.expr], value: ast.expr) -> None:
        name = targets[0].id if len(targets) == 1 and isinstance(targets[0], ast.Name) else None
        text = string_of(value)
        if name and text is not None:
            self._strings[name] = text
        callee = dotted(value.func) if name and isinstance(value, ast.Call) else None
        if name and callee:
            self.facts.instances[name] = callee
        found = statement_registration(value, self._strings) + (collator_table(name, value) if name else [])
        for registration in found:
            registration.guarded = self._guard > 0
        self.facts.registrations.extend(found)

    def _note_assignment(self, target: ast.expr, value: ast.expr | None, line: int) -> None:
        state = self._function
        if state is None or value is None:
            return
        state.notes.assign(target, value, line, self._guard > 0)
        if isinstance(target, ast.Name):
            sources = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
            names = [source.id for source in sources if isinstance(source, ast.Name)]
            if names:
                state.facts.aliases.setdefault(target.id, []).extend(names)
            state.modules.assign(target.id, value)
        elif isinstance(target, ast.Attribute):
            text = dotted(target)
            if text is None:
                return
            root, _, rest = text.partition(".")
            if state.owner is not None and root == state.receiver and "." not in rest:
                condition = self._condition()
                method = state.facts.qualname.rsplit(".", 1)[-1]
                state.owner.children.extend(children_of(rest, value, state.modules, line, condition, method))
                self._self_values[rest] = None if rest in self._self_values else value
            elif root not in state.locals or root in state.definitions:
                state.facts.patches.append(text)

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
                _add(state.owner.self_sets, node.attr)
            else:
                self._outside_attribute(node.value, node.attr)
                self._expression(node.value)
        else:
            self._expression(node)

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        self._expression(node.iter)
        self._target(node.target)
        if self._function is not None:
            self._function.modules.loop(node.target, node.iter, self._function.receiver)
            self._function.notes.loop(node.target, node.iter)
        with self._guarded():
            self._body(node.body)
        self._body(node.orelse)

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            self._expression(item.context_expr)
            if item.optional_vars is not None:
                self._target(item.optional_vars)
        self._body(node.body)

    def _if(self, node: ast.If) -> None:
        self._expression(node.test)
        if dotted(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            self._type_checking += 1
            self._body(node.body)
            self._type_checking -= 1
            self._body(node.orelse)
            return
        if self._function is not None:
            self._function.notes.branch(node)
        with self._guarded((node.test, True)):
            self._body(node.body)
        with self._guarded((node.test, False)):
            self._body(node.orelse)

    def _condition(self) -> str | None:
        """The tests around the current statement as source text; made only where it is kept, since it is slow."""
        texts = [ast.unparse(test) if needed else f"not ({ast.unparse(test)})" for test, needed in self._conditions]
        return " and ".join(texts) or None

    def _return(self, node: ast.Return) -> None:
        if node.value is not None:
            self._expression(node.value)
        if self._function is not None:
            self._function.notes.returned(node)

    def _while(self, node: ast.While) -> None:
        self._expression(node.test)
        with self._guarded():
            self._body(node.body)
        self._body(node.orelse)

    def _try(self, node: Any) -> None:
        survives = any(_catches_import_error(handler) for handler in node.handlers)
        conditional = any(not isinstance(handler.body[-1], ast.Raise) for handler in node.handlers)
        missing = any(_catches(handler, ATTRIBUTE_ERRORS) for handler in node.handlers)
        self._import_guard += survives
        self._attribute_guard += missing
        self._guard += conditional
        self._body(node.body)
        self._guard -= conditional
        self._attribute_guard -= missing
        self._import_guard -= survives
        with self._guarded():
            for handler in node.handlers:
                if handler.name:
                    self._bind(handler.name)
                self._body(handler.body)
            self._body(node.orelse)
        self._body(node.finalbody)

    def _expr_statement(self, node: ast.Expr) -> None:
        self._expression(node.value)
        if self._function is None and self._class is None:
            found = statement_registration(node.value, self._strings)
            for registration in found:
                registration.guarded = self._guard > 0
            self.facts.registrations.extend(found)
        elif self._function is not None:
            self._function.modules.append(node.value)

    # expressions

    def _expression(self, root: ast.expr) -> None:
        stack: list[ast.AST] = [root]
        keys, state = self.facts.keys_read, self._function
        receiver = state.receiver if state else None
        while stack:
            node = stack.pop()
            kind = type(node)
            if kind is ast.Attribute:
                assert isinstance(node, ast.Attribute)
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
            if kind is ast.Name:
                continue
            if kind is ast.Constant:
                assert isinstance(node, ast.Constant)
                if type(node.value) is str and node.value.startswith(self._package):
                    self._module_name(node.value)
                continue
            if kind is ast.Call:
                assert isinstance(node, ast.Call)
                self._call(node)
            elif kind is ast.Subscript:
                assert isinstance(node, ast.Subscript)
                text = string_of(node.slice)
                if text is not None:
                    self._key(text, node.lineno)
            elif kind is ast.Compare:
                assert isinstance(node, ast.Compare)
                text = string_of(node.left)
                if text is not None and isinstance(node.ops[0], (ast.In, ast.NotIn)):
                    self._key(text, node.lineno)
                elif state is not None:
                    state.notes.compare(node)
            elif kind is ast.NamedExpr:
                assert isinstance(node, ast.NamedExpr)
                self._target(node.target)
            stack.extend(
                child
                for name in node._fields
                for value in (getattr(node, name, None),)
                for child in (value if type(value) is list else (value,))
                if isinstance(child, (ast.expr, ast.keyword, ast.comprehension))
            )

    def _call(self, node: ast.Call) -> None:
        callee = dotted(node.func)
        facts = self.facts
        if self._function is not None:
            self._function.notes.call(node, callee, self._guard > 0, self._condition)
        for keyword in node.keywords:
            if keyword.arg:
                facts.keys_passed.setdefault(keyword.arg, node.lineno)
        if callee is None:
            if isinstance(node.func, ast.Attribute) and node.func.attr in READS_KEY and node.args:
                self._key_argument(node.args[0], node.lineno)
            return
        last = callee.rsplit(".", 1)[-1]
        if last in READS_KEY and node.args:
            self._key_argument(
                node.args[-1 if "." in callee and last != "getattr" else min(1, len(node.args) - 1)], node.lineno
            )
            if len(node.args) > 1:
                self._key_argument(node.args[0 if "." in callee else 1], node.lineno)
        state = self._function
        if last == "import_module" and callee in ("importlib.import_module", "import_module"):
            self._import_call(node)
        elif callee == "setattr" and len(node.args) > 1 and string_of(node.args[1]):
            self._outside_attribute(node.args[0], string_of(node.args[1]) or "")
        elif last in SETS_ATTRIBUTE and isinstance(node.func, ast.Attribute) and node.args:
            own = state is not None and dotted(node.func.value) == state.receiver
            self._outside_attribute(node.func.value, (not own and string_of(node.args[0])) or "?")
        if state is not None and state.owner is not None:
            self._receiver_call(callee, last, node, state)
        self._effect("call", node.lineno, callee, node)
        call = CallFacts(
            line=node.lineno,
            callee=state.modules.stands_for(callee) if state else callee,
            scope=".".join(self._scope),
            positional=sum(not isinstance(a, ast.Starred) for a in node.args),
            keywords=[k.arg for k in node.keywords if k.arg],
            names=[a.id if isinstance(a, ast.Name) else "" for a in node.args] if _two_names(node.args) else [],
            star=any(isinstance(a, ast.Starred) for a in node.args),
            double_star=[dotted(k.value) or "?" for k in node.keywords if k.arg is None],
            guarded=self._guard > 0,
        )
        if call.double_star and self._conditions:
            call.condition = self._condition()
        (state.calls if state is not None else self._module_calls).append(call)

    def _receiver_call(self, callee: str, last: str, node: ast.Call, state: _Function) -> None:
        """`setattr(self, ..)`, `hasattr(self, ..)`, `self.register_buffer("x", ..)`: attributes set by name."""
        owner = state.owner
        assert owner is not None
        first = node.args[0] if node.args else None
        if callee in ("setattr", "hasattr", "getattr", "delattr", "object.__setattr__") and len(node.args) > 1:
            if isinstance(first, ast.Name) and first.id == state.receiver:
                name = string_of(node.args[1])
                if name is not None and callee != "getattr":
                    _add(owner.self_sets, name)
                elif name is None and callee in ("setattr", "object.__setattr__"):
                    owner.dynamic = True
        elif last in SETS_ATTRIBUTE and callee.partition(".")[0] == state.receiver:
            name = string_of(first)
            if name is not None:
                _add(owner.self_sets, name)
            else:
                owner.dynamic = True
        elif callee == "vars" and isinstance(first, ast.Name) and first.id == state.receiver:
            owner.dynamic = True

    def _outside_attribute(self, receiver: ast.expr, name: str) -> None:
        """`model.layer.name = ...`: kept as `layer.name`."""
        _add(self.facts.attrs_set, f"{(dotted(receiver) or '?').rsplit('.', 1)[-1]}.{name}")

    def _module_name(self, text: str) -> None:
        """A dotted name of the own package in a string constant."""
        if text.replace(".", "_").isidentifier():
            _add(self.facts.named_modules, text)

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

    def _key(self, text: str, line: int) -> None:
        self.facts.keys_read.setdefault(text, line)
        if self._function is not None:
            self._function.keys.add(text)

    def _effect(self, trigger: str, line: int, detail: str, node: ast.AST | None) -> None:
        effect = effect_of(trigger, detail, node)
        if effect is None:
            return
        effect.line = line
        effect.guarded = self._guard > 0 or self._import_guard > 0 or self._type_checking > 0
        effect.function = self._function.facts.qualname if self._function else None
        self.facts.effects.append(effect)


def _two_names(arguments: list[ast.expr]) -> bool:
    return sum(isinstance(argument, ast.Name) for argument in arguments) > 1


def _add(names: list[str], name: str) -> None:
    if name not in names:
        names.append(name)


def _decorator_text(node: ast.expr) -> str | None:
    return dotted(node.func) if isinstance(node, ast.Call) else dotted(node)


def _catches_import_error(handler: ast.ExceptHandler) -> bool:
    """Whether the handler survives a failing import: one that ends in `raise` only changes the message."""
    return not isinstance(handler.body[-1], ast.Raise) and _catches(handler, IMPORT_ERRORS)


def _catches(handler: ast.ExceptHandler, errors: set[str]) -> bool:
    if handler.type is None:
        return True
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any((dotted(t) or "").rsplit(".", 1)[-1] in errors for t in types)


_HANDLERS: dict[type[ast.AST], Callable[[ModuleReader, Any], None]] = {
    ast.FunctionDef: ModuleReader._function_def,
    ast.AsyncFunctionDef: ModuleReader._function_def,
    ast.ClassDef: ModuleReader._class_def,
    ast.Import: ModuleReader._import,
    ast.ImportFrom: ModuleReader._import_from,
    ast.Assign: ModuleReader._assign,
    ast.AnnAssign: ModuleReader._assign,
    ast.AugAssign: ModuleReader._assign,
    ast.For: ModuleReader._for,
    ast.AsyncFor: ModuleReader._for,
    ast.With: ModuleReader._with,
    ast.AsyncWith: ModuleReader._with,
    ast.If: ModuleReader._if,
    ast.While: ModuleReader._while,
    ast.Return: ModuleReader._return,
    ast.Try: ModuleReader._try,
    ast.Expr: ModuleReader._expr_statement,
}
if hasattr(ast, "TryStar"):
    _HANDLERS[ast.TryStar] = ModuleReader._try
