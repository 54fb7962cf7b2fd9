"""Package versions a text asks for: `pip install` arguments, requirements files, pins and tables in prose."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_SPEC = re.compile(
    r"([A-Za-z][\w.-]*)(?:\[[\w,. -]*\])?\s*((?:[=!~<>]=|[<>])\s*[\w.*+!-]+(?:\s*,\s*[=!~<>]+\s*[\w.*]+)*)"
)
_GIT = re.compile(r"(?:(?<![\w.-])([\w.-]+)\s*@\s*)?git\+\w+://\S+?/([\w.-]+?)(?:\.git)?(?:@([\w./-]+))?(?:#\S*)?$")
_PIN = re.compile(r"(?<![\w./-])([A-Za-z][\w-]*)\s?==\s?(\d[\w.]*)", re.ASCII)
_ROW = re.compile(
    r"^\s*\|\s*[`*\[]*([A-Za-z][\w-]*)[`*\]]*(?:\([^)]*\))?\s*\|\s*[`*]*((?:[=<>~]=)?\s*v?\d+\.\d+[\w.]*)[`*]*\s*\|"
)
MAX_LINE = 500
"""Longer lines are no requirements."""

_OTHER_NAMES = {"pytorch": "torch"}


def from_pip(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Package and specifier of each requirement among the arguments of `pip install`."""
    if "install" not in arguments:
        return
    for text in arguments:
        if not text.startswith("-"):
            yield from from_requirements_line(text)


def from_requirements_line(line: str) -> Iterator[tuple[str, str]]:
    """Package and specifier of a line of a requirements file; nothing for a package without a version."""
    line = line.split(" #")[0].split(";")[0].strip()
    if not line or line.startswith(("#", "-")) or len(line) > MAX_LINE:
        return
    if match := _GIT.search(line):
        if match[3]:
            yield _package(match[1] or match[2]), f"@{match[3]}"
    elif match := _SPEC.fullmatch(line):
        yield _package(match[1]), re.sub(r"\s", "", match[2])


def from_text(line: str, in_table: bool = False) -> Iterator[tuple[str, str]]:
    """Package and specifier that a line of prose states or, in a table of versions, a row."""
    if "==" in line:
        for match in _PIN.finditer(line):
            yield _package(match[1]), f"=={match[2].rstrip('.')}"
    if in_table and (row := _ROW.match(line)):
        version = re.sub(r"[\sv]", "", row[2])
        yield _package(row[1]), version if version[0] in "=<>~" else f"=={version}"


def _package(name: str) -> str:
    name = name.lower()
    return _OTHER_NAMES.get(name, name)
