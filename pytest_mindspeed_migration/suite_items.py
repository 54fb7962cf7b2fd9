"""Collects suites that were rendered for this run without importing them.

The tests of such a file are known from its text. They become the same `pytest.Function` items, with the same names,
lines and docstrings, as an import would give. Whatever could tell the difference (a file somebody has edited, fixtures
and hooks of others that shape the collection) makes pytest collect the file in its usual way.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

_HEAD = re.compile(
    r'(?:"[^\n]*"|\'[^\n]*\')\n# migration-suite: \{[^\n]*\}\n#[^\n]*\n\nimport pytest\n\n'
    r'pytestmark = pytest\.mark\.migration_target\((?P<target>"[^\n]*"|\'[^\n]*\')\)\n'
)
_TEST = re.compile(
    r"(?:\n\n# [^\n]*\n)?\n\n"
    r"def (?P<name>test_\w+)\(migration\):\n"
    r'    """(?P<doc>[^\n"\\]*)"""\n'
    r"    migration\.verify\((?:"
    r'"(?P<contract>[\w.]+)"|\n        "(?P<stating>[\w.]+)",\n(?P<stated>(?:        \w+=[^\n]+,\n)+)    '
    r")\)\n"
)
_HOOKS = ("pytest_generate_tests", "pytest_pycollect_makeitem", "pytest_fixture_setup", "pytest_fixture_post_finalizer")
"""Hooks by which others take part in how the tests of a module are made and get their fixtures."""


@dataclass(frozen=True)
class SuiteTest:
    """One test of a rendered suite: the contract it judges, the facts it states, the 1-based line of its `def`."""

    name: str
    contract: str
    doc: str
    line: int
    stated: dict[str, Any] = field(default_factory=dict)


def read_tests(text: str) -> tuple[str, list[SuiteTest]] | None:
    """The target and the tests of a file that holds exactly what the template renders, None for any other file."""
    head = _HEAD.match(text)
    if head is None:
        return None
    tests = []
    position, line = head.end(), text.count("\n", 0, head.end()) + 1
    try:
        target = ast.literal_eval(head["target"])
        while position < len(text):
            found = _TEST.match(text, position)
            if found is None:
                return None
            before = text.count("\n", position, found.start("name"))
            stated = dict(_stated(found["stated"] or ""))
            tests.append(
                SuiteTest(found["name"], found["contract"] or found["stating"], found["doc"], line + before, stated)
            )
            line += before + text.count("\n", found.start("name"), found.end())
            position = found.end()
    except (ValueError, SyntaxError):
        return None
    if len({test.name for test in tests}) != len(tests):
        return None
    return target, tests


def _stated(lines: str) -> Iterator[tuple[str, Any]]:
    for line in lines.splitlines():
        name, _, value = line.strip().removesuffix(",").partition("=")
        yield name, ast.literal_eval(value)


class SuiteModule(pytest.Module):
    """A rendered suite. Its module is imported only when somebody asks for it."""

    target = ""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """The tests of the file as items."""
        found = self._tests()
        if found is None:
            yield from super().collect()
            return
        target, tests = found
        shared: Any = None
        items = []
        for test in tests:
            if self.funcnamefilter(test.name):
                function = _function(test, self.path)
                item = SuiteFunction.from_parent(self, name=test.name, callobj=function, fixtureinfo=shared)
                shared = item._fixtureinfo
                item.test = test
                items.append(item)
        if shared is not None and not _plain_fixtures(shared):
            yield from super().collect()
            return
        self._ALLOW_MARKERS = False  # the mark is here already, when the module is imported after all
        self.add_marker(pytest.mark.migration_target(target))
        self.target = target
        yield from items

    @cached_property
    def place(self) -> str:
        """The path of the file from the rootdir."""
        return self.session._node_location_to_relpath(self.path)

    @cached_property
    def ihook(self) -> Any:
        """The hooks for this file, which are those for each of its tests."""
        return super().ihook

    def __repr__(self) -> str:
        return f"<Module {self.name}>"

    def _tests(self) -> tuple[str, list[SuiteTest]] | None:
        if not all(only_listens(self.ihook, name) for name in _HOOKS):
            return None
        try:
            return read_tests(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None


class SuiteFunction(pytest.Function):
    """A test of a rendered suite; it knows what it judges and needs no fixture but `migration`."""

    test: SuiteTest

    def __repr__(self) -> str:
        return f"<Function {self.name}>"

    def setup(self) -> None:
        """Make the one fixture; nobody listens to fixtures being made (`SuiteModule` has looked)."""
        if self.config.getoption("setupshow", False):
            super().setup()
            return
        from .session import migration_of

        self.funcargs["migration"] = migration_of(self)

    @property
    def suite(self) -> SuiteModule:
        """The suite the test is in."""
        assert isinstance(self.parent, SuiteModule)
        return self.parent

    @property
    def ihook(self) -> Any:
        """The hooks for the file of the test."""
        return self.suite.ihook

    @cached_property
    def location(self) -> tuple[str, int | None, str]:
        """Where the test stands, with the path from the rootdir, which is the same for all tests of a file."""
        return self.suite.place, self.test.line - 1, self.name

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the test stands, as pytest would find it out from its code."""
        return self.path, self.test.line - 1, self.name


def _plain_fixtures(info: Any) -> bool:
    """Whether the tests get our own `migration` and no other fixture, such as one that a conftest uses for all."""
    definitions = info.name2fixturedefs.get("migration", ())
    own = len(definitions) == 1 and definitions[0].func.__module__ == f"{__package__}.plugin"
    return own and set(info.names_closure) <= {"migration", "request"}


def only_listens(hooks: Any, name: str, own: tuple[object, ...] = ()) -> bool:
    """Whether nobody but pytest, and our `own` plugins, implements a hook."""
    return all(
        implementation.plugin in own or implementation.function.__module__.startswith("_pytest.")
        for implementation in getattr(hooks, name).get_hookimpls()
    )


def _function(test: SuiteTest, path: Path) -> FunctionType:
    """The function that the text of the test defines, at the same line of the same file."""

    def judge(migration: Any) -> None:
        """Stands where the docstring of the text stands."""
        migration.verify(test.contract, **test.stated)

    code = judge.__code__.replace(co_filename=str(path), co_name=test.name, co_firstlineno=test.line)
    function = FunctionType(code, {"__name__": path.stem}, test.name, None, judge.__closure__)
    function.__doc__ = test.doc
    function.__module__ = path.stem
    return function
