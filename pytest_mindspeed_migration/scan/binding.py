"""Definite assignment at module level: names bound on one branch only and used, unconditionally, at import.

A typical case is an availability guard (`if is_x_available(): from x import f` with an `else` that forgets `f`) and a
module-level use of `f` below it: importing the plugin ends in NameError where x is missing. Linters do not report it.
"""

from __future__ import annotations

import ast
import builtins

from ..facts.source import NameFacts
from .expressions import dotted
from .nodes import children

_BUILTINS = frozenset(dir(builtins)) | {"__file__", "__name__", "__doc__", "__path__", "__spec__", "__package__"}
_LEAVES = (ast.Raise, ast.Return, ast.Continue, ast.Break)


def module_level_gaps(tree: ast.Module) -> list[NameFacts]:
    """Names that may be unbound where module-level code uses them."""
    walker = _Walker()
    walker.block(tree.body)
    return walker.gaps


class _Walker:
    def __init__(self) -> None:
        self.bound: set[str] = set()
        self.maybe: dict[str, int] = {}  # name -> line of the binding that happens only sometimes
        self.gaps: list[NameFacts] = []
        self.conditional = 0

    def block(self, statements: list[ast.stmt]) -> bool:
        """Walk a block; True when it never reaches its end."""
        ends = False
        for statement in statements:
            ends = self.statement(statement) or ends
        return ends

    def statement(self, node: ast.stmt) -> bool:
        if isinstance(node, _LEAVES):
            return True
        if isinstance(node, ast.If):
            self.use(node.test)
            self._branches([node.body, node.orelse])
        elif isinstance(node, ast.Try):
            self._try(node)
        elif isinstance(node, (ast.For, ast.While)):
            self.use(node.iter if isinstance(node, ast.For) else node.test)
            if isinstance(node, ast.For):
                self._target(node.target)  # an empty loop at module level is not worth a report
            self._branches([node.body, []])
            self.block(node.orelse)
        elif isinstance(node, ast.With):
            for item in node.items:
                self.use(item.context_expr)
                if item.optional_vars is not None:
                    self._target(item.optional_vars)
            return self.block(node.body)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for expression in [*node.decorator_list, *node.args.defaults, *[d for d in node.args.kw_defaults if d]]:
                self.use(expression)
            self.bound.add(node.name)
        elif isinstance(node, ast.ClassDef):
            for expression in [*node.decorator_list, *node.bases]:
                self.use(expression)
            self.bound.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                self.bound.add((alias.asname or alias.name).split(".", 1)[0])
        elif isinstance(node, ast.Assign):
            self.use(node.value)
            for target in node.targets:
                self._target(target)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self.use(node.value)
                self._target(node.target)
        elif isinstance(node, ast.AugAssign):
            self.use(node.value)
        elif isinstance(node, ast.Expr):
            self.use(node.value)
            if isinstance(node.value, ast.Call) and dotted(node.value.func) in ("sys.exit", "exit", "quit"):
                return True
        elif isinstance(node, ast.Delete):
            for target in node.targets:
                self.bound.discard(dotted(target) or "")
        return False

    def use(self, node: ast.expr) -> None:
        """Report names of an expression that is evaluated at import, unless it stands under a condition itself."""
        if self.conditional:
            return
        stack: list[ast.AST] = [node]
        while stack:
            item = stack.pop()
            if isinstance(
                item, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.IfExp, ast.BoolOp)
            ):
                continue
            if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load):
                name = item.id
                if name in self.maybe and name not in self.bound and name not in _BUILTINS:
                    detail = str(self.maybe[name])
                    self.gaps.append(NameFacts(name, item.lineno, kind="maybe_unbound", detail=detail))
                    self.bound.add(name)
            stack.extend(children(item))

    def _branches(self, blocks: list[list[ast.stmt]]) -> None:
        before = set(self.bound)
        outcomes: list[set[str]] = []
        for block in blocks:
            self.bound = set(before)
            self.conditional += 1
            leaves = self.block(block)
            self.conditional -= 1
            if not leaves:
                outcomes.append(self.bound)
            self._sometimes(self.bound - before, block)
        self.bound = set.intersection(*outcomes) if outcomes else before

    def _try(self, node: ast.Try) -> None:
        before = set(self.bound)
        self.conditional += 1
        leaves = self.block(node.body) or self.block(node.orelse)
        outcomes = [] if leaves else [self.bound]
        self._sometimes(self.bound - before, node.body)
        for handler in node.handlers:
            self.bound = set(before)
            if not self.block(handler.body):
                outcomes.append(self.bound)
            self._sometimes(self.bound - before, handler.body)
        self.conditional -= 1
        self.bound = set.intersection(*outcomes) if outcomes else before
        self.block(node.finalbody)

    def _sometimes(self, names: set[str], block: list[ast.stmt]) -> None:
        for name in names:
            self.maybe.setdefault(name, block[0].lineno if block else 0)

    def _target(self, node: ast.expr) -> None:
        if isinstance(node, ast.Name):
            self.bound.add(node.id)
        elif isinstance(node, (ast.Tuple, ast.List)):
            for item in node.elts:
                self._target(item)
        elif isinstance(node, ast.Starred):
            self._target(node.value)
