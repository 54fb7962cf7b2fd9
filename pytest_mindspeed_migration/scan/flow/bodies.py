"""Function bodies on demand: only the functions the configuration reaches are parsed again, each once."""

from __future__ import annotations

import ast
from pathlib import Path

from ...facts.source import FunctionFacts
from ..expressions import FunctionNode


class Bodies:
    """Source of single functions of the target repo."""

    def __init__(self, repo: Path) -> None:
        self._repo = repo
        self._lines: dict[str, list[str]] = {}
        self._parsed: dict[tuple[str, str], FunctionNode | None] = {}

    def function(self, path: str, facts: FunctionFacts) -> FunctionNode | None:
        """The AST of one function, with the line numbers of its file; None when it cannot be read."""
        key = (path, facts.qualname)
        if key not in self._parsed:
            self._parsed[key] = self._parse(path, facts)
        return self._parsed[key]

    def _parse(self, path: str, facts: FunctionFacts) -> FunctionNode | None:
        lines = self._read(path)[facts.line - 1 : facts.end]
        if not lines:
            return None
        indented = lines[0][:1] in (" ", "\t")
        if indented:  # a body of its own, on the line before, keeps both the indentation and the line numbers
            lines = ["if 1:", *lines]
        text = "\n" * (facts.line - (2 if indented else 1)) + "\n".join(lines)
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            return None
        node = tree.body[0]
        if isinstance(node, ast.If):
            node = node.body[0]
        return node if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else None

    def _read(self, path: str) -> list[str]:
        if path not in self._lines:
            try:
                text = (self._repo / path).read_text(encoding="utf-8", errors="replace")
            except OSError:
                text = ""
            self._lines[path] = text.split("\n")
        return self._lines[path]
