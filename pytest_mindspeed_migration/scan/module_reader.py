"""Reads one Python file of the target into `ModuleFacts`: one walk over its AST, which is dropped afterwards."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from ..facts.source import ClassFacts, FunctionFacts, ModuleFacts
from .autograd import autograd_of
from .binding import module_level_gaps
from .children import children_of
from .choices import choices
from .expression_reader import ExpressionReader
from .expressions import FunctionNode, annotations_of, dotted, signature_of, string_of
from .fields import fields_of, pydantic_extra
from .nodes import children
from .notes import condition_flags
from .reading import FunctionState
from .recursion import endless_calls
from .registrations import collator_table, decorator_registration, statement_registration
from .results import attributes_of_results, returned
from .validation import validation_of

ATTRIBUTE_ERRORS = {"AttributeError", "Exception", "BaseException"}
IMPORT_ERRORS = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException", "AttributeError", "NameError"}


class ModuleReader(ExpressionReader):
    """Walks one parsed file. `read()` returns its facts; an instance serves one file.

    Calls of builtins (a quarter of all) are left out, unless `builtin_calls`: nothing is judged about them. A file that
    gives such a name another meaning (`binds_builtins`) has to be read with them.
    """

    def binds_builtins(self) -> bool:
        """Whether a builtin that is called somewhere may mean something else there; to be asked after `read()`."""
        facts = self.facts
        names = [item.qualname for item in facts.functions] + [item.qualname for item in facts.classes]
        defined = {name.rpartition(".")[2] for name in names}
        imported = {item.bound for item in facts.imports}
        return "*" in imported or not self._builtins_called.isdisjoint({*defined, *imported, *facts.names})

    def read(self, tree: ast.Module) -> ModuleFacts:
        """Read the whole module."""
        for statement in tree.body:
            self._statement(statement)
        facts = self.facts
        facts.names = sorted(self._bound)
        facts.rebound = sorted(name for name, count in self._bound.items() if count > 1)
        facts.calls.extend(self._module_calls)
        facts.unbound = module_level_gaps(tree) + endless_calls(tree, facts.calls)
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
        for child in children(node):
            if isinstance(child, ast.stmt):
                self._statement(child)
            elif isinstance(child, (ast.expr, ast.withitem, ast.match_case, ast.excepthandler)):
                if isinstance(child, ast.expr):
                    self._expression(child)
                else:
                    self._children(child)

    def _function_def(self, node: FunctionNode) -> None:
        for decorator in node.decorator_list:
            self._expression(decorator)
        for default in [*node.args.defaults, *[d for d in node.args.kw_defaults if d is not None]]:
            self._expression(default)
        self._bind(node.name)
        outer_function, outer_class = self._function, self._class
        if outer_function is not None:
            outer_function.definitions.add(node.name)
        self._enter(node.name)
        decorators = [text for text in map(_decorator_text, node.decorator_list) if text]
        facts = FunctionFacts(
            qualname=self._scope_name,
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
        state = FunctionState(facts, receiver, owner)
        state.locals.update(facts.signature.params, facts.signature.kwonly)
        state.locals.update(n for n in (facts.signature.varargs, facts.signature.varkw) if n)
        state.plain = {receiver, *self._foreign} if receiver else self._foreign
        outer_guard, outer_conditions, outer_import_guard = self._guard, self._conditions, self._import_guard
        self._function, self._class, self._guard, self._conditions, self._import_guard = state, None, 0, [], 0
        self._body(node.body)
        state.notes.finish()
        self._function, self._class = outer_function, outer_class
        self._guard, self._conditions, self._import_guard = outer_guard, outer_conditions, outer_import_guard
        self._leave()
        facts.keys = sorted(state.keys)
        if facts.compares:
            facts.choices = choices(node, facts.compares)
        if node.name == "forward":
            facts.returned = returned(node)
        if any(call.double_star and call.callee.endswith("model") for call in state.calls):
            facts.result_reads = attributes_of_results(node)
        self._keep_calls(state, outer_function)

    def _keep_calls(self, state: FunctionState, outer: FunctionState | None) -> None:
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
        self._enter(node.name)
        facts = ClassFacts(
            qualname=self._scope_name,
            line=node.lineno,
            bases=[dotted(base.value if isinstance(base, ast.Subscript) else base) or "?" for base in node.bases],
            decorators=[text for text in map(_decorator_text, node.decorator_list) if text],
            config_extra=pydantic_extra(node),
            fields=fields_of(node),
            validation=validation_of(node),
        )
        facts.autograd = autograd_of(node, facts.bases)
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
        self._leave()

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
        if self._function is None and value is not None:
            if self._class is None:
                self._module_assignment(targets, value)
            elif isinstance(targets[0], ast.Name) and (text := dotted(value)) is not None:
                self._class.class_aliases[targets[0].id] = text

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

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        self._expression(node.iter)
        self._target(node.target)
        if self._function is not None:
            self._function.modules.loop(node.target, node.iter, self._function.receiver)
            self._function.notes.loop(node.target, node.iter)
        self._guard += 1
        self._body(node.body)
        self._guard -= 1
        self._body(node.orelse)

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            self._expression(item.context_expr)
            if item.optional_vars is not None:
                self._target(item.optional_vars)
        self._body(node.body)

    def _if(self, node: ast.If) -> None:
        self._expression(node.test)
        test = node.test
        if dotted(test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            self._type_checking += 1
            self._body(node.body)
            self._type_checking -= 1
            self._body(node.orelse)
            return
        if self._function is not None:
            self._function.notes.branch(node)
        self._guard += 1
        self._conditions.append((test, True))
        self._body(node.body)
        self._conditions[-1] = (test, False)
        self._body(node.orelse)
        self._conditions.pop()
        self._guard -= 1

    def _return(self, node: ast.Return) -> None:
        if node.value is not None:
            self._expression(node.value)
        if self._function is not None:
            self._function.notes.returned(node)

    def _while(self, node: ast.While) -> None:
        self._expression(node.test)
        self._guard += 1
        self._body(node.body)
        self._guard -= 1
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
        self._guard += 1
        for handler in node.handlers:
            if handler.name:
                self._bind(handler.name)
            self._body(handler.body)
        self._body(node.orelse)
        self._guard -= 1
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
