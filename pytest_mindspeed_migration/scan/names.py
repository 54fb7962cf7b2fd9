"""Undefined names, as ruff sees them: one subprocess over the files that were read, then a look at each place."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import UsageProblem
from ..facts.source import NameFacts
from ..findings import near
from .nodes import children

_RULES = UNDEFINED, BEFORE_ASSIGNMENT, STAR = "F821", "F823", "F405"
STAR_DETAIL = "star"
"""`NameFacts.detail` of a name that only a star import can provide: the check looks it up in the imported modules."""
UNREADABLE_DETAIL = "not UTF-8"
"""`NameFacts.detail` of a file that Python reads by its coding line and ruff does not read."""
DYNAMIC_DETAIL = "dynamic"
"""`NameFacts.detail` of a name that the file may create at run time through `globals()` or `exec`."""

_WRITES_NAMES = ("globals", "exec", "builtins")
"""Names without which no code makes module names at run time."""

_CHUNK = 2000
"""Files of one command line, whose length is limited."""
_TIMEOUT = 120
_MAX_BESIDE = 3
_SLIP = 0.8
_MAX_NAMES = 1_000
"""Names of one file that are kept: one with more is not mended name by name."""


class _Report(NamedTuple):
    """What ruff says of one name."""

    code: str
    name: str
    row: int
    column: int


class UndefinedNames:
    """The question which names of some files no scope binds. ruff works on it in a process of its own."""

    def __init__(self, repo: Path, paths: Sequence[str]) -> None:
        """Ask.

        Args:
            repo: folder the paths are relative to.
            paths: Python files.

        Raises:
            UsageProblem: when ruff is not installed or does not start; undefined names must not pass unseen.
        """
        self._repo = repo.resolve()
        chunks = [paths[start : start + _CHUNK] for start in range(0, len(paths), _CHUNK)]
        self._runs = [(chunk, _ruff(self._repo, chunk)) for chunk in chunks]

    def answer(self) -> dict[str, list[NameFacts]]:
        """The names by file. Raises UsageProblem when ruff does not answer."""
        repo, found = self._repo, dict[str, list[NameFacts]]()
        reports: dict[str, list[_Report]] = {}
        for chunk, run in self._runs:
            complete = _reports(repo, chunk, run, reports)
            if not complete:
                unread = [path for path in chunk if _other(repo / path)]
                found.update({path: [NameFacts("", 1, detail=UNREADABLE_DETAIL)] for path in unread})
        for path, items in reports.items():
            found[path] = list(islice(_names(repo / path, items), _MAX_NAMES))
        return found

    def close(self) -> None:
        """End ruff where nobody waits for the answer any more."""
        for _, run in self._runs:
            run.kill()
            for stream in (run.stdout, run.stderr):  # what ruff may have started itself still writes to them
                if stream is not None:
                    stream.close()
            run.wait()


def _other(full: Path) -> bool:
    """Whether a file is written in another encoding than UTF-8."""
    try:
        full.read_bytes().decode("utf-8")
    except ValueError:
        return True
    except OSError:
        pass
    return False


def _ruff(repo: Path, paths: Sequence[str]) -> subprocess.Popen[bytes]:
    command = [_binary(), "check", "--isolated", "--no-cache", "--ignore-noqa", "--exit-zero", "--no-fix"]
    command += ["--select", ",".join(_RULES), "--output-format", "json", "--", *paths]
    try:
        return subprocess.Popen(command, cwd=repo, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as error:
        raise UsageProblem("usage.ruff_failed", error=str(error)) from error


def _reports(repo: Path, paths: Sequence[str], run: subprocess.Popen[bytes], reports: dict[str, list[_Report]]) -> bool:
    """Add what ruff reports on these files by file; whether it read all of them."""
    known = set(paths)
    try:
        printed, complaints = run.communicate(timeout=_TIMEOUT)
        if run.returncode:  # with --exit-zero: what it has printed may be a part, or nothing
            raise subprocess.CalledProcessError(run.returncode, "ruff")
        for item in json.loads(printed, object_hook=_needed):
            path = os.path.relpath(item["filename"], repo)
            if item["code"] in _RULES and path in known:
                name = item["message"].split("`")[1]  # ruff writes the name between backquotes
                place = item["location"]
                reports.setdefault(path, []).append(_Report(item["code"], name, place["row"], place["column"]))
    except (OSError, subprocess.SubprocessError, ValueError, TypeError, LookupError) as error:
        raise UsageProblem("usage.ruff_failed", error=str(error)) from error
    return not complaints


def _needed(item: dict[str, Any]) -> dict[str, Any]:
    """What is read of a report, which is many times as large."""
    return {key: item[key] for key in ("code", "filename", "message", "location", "row", "column") if key in item}


def _binary() -> str:
    try:
        from ruff.__main__ import find_ruff_bin  # type: ignore[import-untyped]

        return str(find_ruff_bin())
    except (ImportError, FileNotFoundError):
        found = shutil.which("ruff")
        if found is None:
            raise UsageProblem("usage.ruff_missing") from None
        return found


def _names(full: Path, items: list[_Report]) -> Iterator[NameFacts]:
    try:
        source = full.read_bytes()
        lines = source.decode("utf-8-sig").split("\n")
        everywhere = any(word.encode() in source for word in _WRITES_NAMES)
        places = _Places(ast.parse(source), None if everywhere else {item.row for item in items})
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    seen: set[tuple[str, int]] = set()
    for item in items:
        name, line, characters = item.name, item.row, item.column - 1
        column = len(lines[line - 1][:characters].encode())  # an AST counts bytes
        if (name, line) in seen or (item.code == BEFORE_ASSIGNMENT and places.in_loop(line, column)):
            continue  # in a loop, an earlier round may have assigned it
        seen.add((name, line))
        detail = STAR_DETAIL if item.code == STAR else DYNAMIC_DETAIL if places.may_create(name) else ""
        beside = places.names_like(name, line, column)
        yield NameFacts(name, line, quoted=places.never_evaluated(line, column), detail=detail, beside=beside)


class _Places:
    """What stands at a line and column of a file: text that is never evaluated, the body of a loop, a function.

    With `rows`, only the module's statements on those lines are looked at.
    """

    def __init__(self, tree: ast.Module, rows: set[int] | None) -> None:
        self._lazy: list[ast.expr] = []
        self._loops: list[ast.AST] = []
        self._functions: list[ast.FunctionDef | ast.AsyncFunctionDef] = []
        self._strings: set[str] = set()
        self._dynamic = False
        postponed = any(
            isinstance(node, ast.ImportFrom) and node.module == "__future__" and _imports(node, "annotations")
            for node in tree.body
        )
        if rows is not None:
            tree.body = [node for node in tree.body if any(_first(node) <= row <= _last(node) for row in rows)]
        self._walk(tree, postponed, in_function=False)

    def _walk(self, root: ast.AST, postponed: bool, in_function: bool) -> None:
        for node in children(root):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.arg)) and postponed:
                annotation = node.annotation if isinstance(node, ast.arg) else node.returns
                if annotation is not None:
                    self._lazy.append(annotation)
            elif isinstance(node, ast.AnnAssign) and (postponed or in_function):
                self._lazy.append(node.annotation)
            elif isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
                self._loops.append(node)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                self._strings.add(node.value)
                if not isinstance(root, ast.JoinedStr):  # names in an f-string are evaluated
                    self._lazy.append(node)
            elif isinstance(node, ast.Name) and node.id in _WRITES_NAMES:
                self._dynamic = True
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self._functions.append(node)
            function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or (
                in_function and not isinstance(node, ast.ClassDef)
            )
            self._walk(node, postponed, function)

    def never_evaluated(self, line: int, column: int) -> bool:
        """Whether the place is in a string or in an annotation that Python does not evaluate."""
        return any(_holds(node, line, column) for node in self._lazy)

    def in_loop(self, line: int, column: int) -> bool:
        """Whether the place is in a loop."""
        return any(_holds(node, line, column) for node in self._loops)

    def names_like(self, name: str, line: int, column: int) -> list[str]:
        """Names that the functions around a place bind and that this one may be short for, or a slip of."""
        bound: set[str] = set()
        for function in self._functions:
            if _holds(function, line, column):
                bound.update(_bound(function))
        return sorted(other for other in bound if other != name and _alike(name, other))[:_MAX_BESIDE]

    def may_create(self, name: str) -> bool:
        """Whether the file writes module names at run time and holds a text that could be (part of) this one."""
        return self._dynamic and any(len(text) > 2 and text in name for text in self._strings)


def _first(node: ast.stmt) -> int:
    """The line a statement begins on, decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(item.lineno for item in decorators)])


def _last(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _imports(node: ast.ImportFrom, name: str) -> bool:
    return any(alias.name == name for alias in node.names)


def _bound(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """Names that a function binds, without its *args and **kwargs."""
    for node in ast.walk(function):
        if isinstance(node, ast.arguments):
            yield from (item.arg for item in (*node.posonlyargs, *node.args, *node.kwonlyargs))
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _alike(name: str, other: str) -> bool:
    words, others = name.strip("_").split("_"), other.strip("_").split("_")
    return others[-len(words) :] == words or near(name, [other], _SLIP) is not None


def _holds(node: Any, line: int, column: int) -> bool:
    start, end = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
    return bool(start <= (line, column) < end)
