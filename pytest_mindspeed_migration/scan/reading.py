"""The state of one walk over a file: where it is, what guards it, and what it has found so far."""

from __future__ import annotations

import ast
import builtins

from ..facts.source import CallFacts, ClassFacts, FunctionFacts, ImportFacts, ModuleFacts
from .children import LocalModules
from .effects import effect_of
from .expressions import source_text
from .notes import FunctionNotes

_BUILTINS = frozenset(dir(builtins))
_NONE = frozenset[str]()


class FunctionState:
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


class Reading:
    """Base of the reader: the position in the file and the facts collected, without any walking."""

    def __init__(self, path: str, name: str, is_package: bool, builtin_calls: bool = False) -> None:
        self.facts = ModuleFacts(path=path, name=name, is_package=is_package)
        self._plain_builtins = _NONE if builtin_calls else _BUILTINS
        self._builtins_called: set[str] = set()  # and not kept
        self._scope: list[str] = []
        self._scope_name = ""  # of the innermost class or function, with those around it
        self._class: ClassFacts | None = None
        self._function: FunctionState | None = None
        self._conditions: list[tuple[ast.expr, bool]] = []  # tests around the statement, with the outcome they need
        self._tests: dict[ast.expr, str] = {}  # their source texts, as far as they were asked for
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

    def _condition(self) -> str | None:
        """The tests around the current statement as source text; made only where it is kept, since it is slow."""
        texts = []
        for test, needed in self._conditions:
            text = self._tests.get(test)
            if text is None:
                text = self._tests[test] = source_text(test)
            texts.append(text if needed else f"not ({text})")
        return " and ".join(texts) or None

    def _enter(self, name: str) -> None:
        """Into a class or function."""
        self._scope.append(name)
        self._scope_name = ".".join(self._scope)

    def _leave(self) -> None:
        self._scope.pop()
        self._scope_name = ".".join(self._scope)

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


def add(names: list[str], name: str) -> None:
    """Append a name that is not there yet."""
    if name not in names:
        names.append(name)
