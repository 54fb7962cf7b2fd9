"""Importing the plugins of a config as the framework does, and seeing what it hides.

The framework prints a ModuleNotFoundError of a plugin and goes on (`fsdp/utils/register.py`), and
`pkgutil.walk_packages` drops every ImportError of a sub-package without a word.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from .describe import describe, relative


def import_plugins(entries: list[str], import_plugin: Any, repo: str) -> list[dict[str, Any]]:
    """Import plugin entries one by one with the framework's own function.

    Args:
        entries: `training.plugin` of the config.
        import_plugin: the framework's function, as the trainer knows it.
        repo: root of the target repo.

    Returns:
        One item an entry: `entry`, `modules` (files of the repo that were imported), `hidden` (imports that failed
        without ending the import, and where) and `registered` (ids by register that it added).
    """
    done = []
    for entry in entries:
        before, known = registered(import_plugin), set(sys.modules)
        hidden: list[dict[str, Any]] = []
        with _watched(hidden, repo):
            import_plugin([entry])
        done.append(
            {
                "entry": entry,
                "modules": _files(known, repo),
                "hidden": hidden,
                "registered": {
                    name: sorted(set(ids) - set(before.get(name, [])))
                    for name, ids in registered(import_plugin).items()
                },
            }
        )
    return done


_READS = (
    "__getitem__", "__iter__", "__len__", "__contains__", "__eq__", "__add__", "__reversed__", "__repr__",
    "__getattribute__",
)  # fmt: skip
"""What reads a list; the last is asked for `copy`, `index` and the like."""


def _noting(name: str, read: list[str]) -> Any:
    """The method of a list by that name, which notes that it was called."""
    method = getattr(list, name)

    def noting(*arguments: Any) -> Any:
        read.append(name)
        return method(*arguments)

    return noting


@contextmanager
def arguments_read() -> Iterator[list[str]]:
    """Note whether code reads `sys.argv` while it holds: what it imports may depend on the config then."""
    read: list[str] = []
    before = sys.argv
    noted: Any = type("Noted", (list,), {name: _noting(name, read) for name in _READS})
    sys.argv = noted(before)
    read.clear()
    try:
        yield read
    finally:
        if type(sys.argv) is noted:
            sys.argv = before
        else:
            read.append("replaced")


def registered(import_plugin: Any) -> dict[str, list[str]]:
    """Ids by register: registers are the objects in the module of `import_plugin` that hold a mapping of ids."""
    module = sys.modules[import_plugin.__module__]
    found = {}
    for name, value in vars(module).items():
        if type(value).__module__ == module.__name__ and hasattr(value, "__dict__"):
            mappings = [held for held in vars(value).values() if isinstance(held, dict)]
            if len(mappings) == 1:
                found[name] = [str(key) for key in mappings[0]]
    return found


def _files(known: set[str], repo: str) -> list[str]:
    files = set()
    for name in set(sys.modules) - known:
        path = getattr(sys.modules[name], "__file__", None)
        if path and path.startswith(repo.rstrip("/") + "/"):
            files.add(relative(path, repo))
    return sorted(files)


@contextmanager
def _watched(hidden: list[dict[str, Any]], repo: str) -> Iterator[None]:
    """Note every import that the target's code asks for and that fails, whether or not somebody hides it.

    What a foreign package tries and does without (`requests` looks for chardet) is no matter of the target's.
    """
    original, builtin = importlib.import_module, __import__
    root = repo.rstrip("/") + "/"

    def note(name: str, error: BaseException) -> None:
        if not any(item["module"] == name for item in hidden):
            caller = sys._getframe(2)
            by = {"file": relative(caller.f_code.co_filename, repo), "line": _handler(caller)}
            hidden.append({"module": name, "error": describe(error, repo), "by": by})

    def import_module(name: str, package: Any = None) -> Any:
        try:
            return original(name, package)
        except ImportError as error:
            if sys._getframe(1).f_code.co_filename.startswith(root):
                note(name, error)
            raise

    def import_package(name: str, *rest: Any, **options: Any) -> Any:
        try:
            return builtin(name, *rest, **options)
        except ImportError as error:
            note(name, error)
            raise

    importlib.import_module = import_module
    pkgutil.__dict__["__import__"] = import_package
    try:
        yield
    finally:
        importlib.import_module = original
        del pkgutil.__dict__["__import__"]


def _handler(frame: FrameType) -> int:
    """The line where a frame takes an exception of the line it is at; that line itself when nothing there takes it."""
    line = frame.f_lineno
    try:
        with open(frame.f_code.co_filename, encoding="utf-8") as stream:
            tree = ast.parse(stream.read())
    except (OSError, ValueError, SyntaxError):
        return line
    handled = [node for node in ast.walk(tree) if isinstance(node, ast.Try) and node.handlers]
    around = [node for node in handled if node.body[0].lineno <= line <= (node.body[-1].end_lineno or 0)]
    return max(around, key=lambda node: node.lineno).handlers[0].lineno if around else line
