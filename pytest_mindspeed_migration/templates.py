"""The Jinja2 environment of `generators/`: undefined names are errors, and values are quoted for where they land."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from jinja2.bccache import Bucket

from .compiled import FOLDER, may_write
from .messages import shown
from .resources import resource_dir


class _Compiled(jinja2.FileSystemBytecodeCache):
    """Keeps compiled templates; of another version of Jinja, or of this module, none is used."""

    def __init__(self) -> None:
        changed = Path(__file__).stat().st_mtime_ns
        super().__init__(str(FOLDER), f"template-{jinja2.__version__}-{changed:x}-%s.cache")

    def dump_bytecode(self, bucket: Bucket) -> None:
        if may_write():
            with suppress(OSError):
                super().dump_bytecode(bucket)


@cache
def environment(*folders: str) -> jinja2.Environment:
    """Return the environment for templates below the given folders of `generators/`, searched in that order."""
    root = resource_dir("generators")
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader([root / folder for folder in folders]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        bytecode_cache=_Compiled(),
        autoescape=False,  # Python and Markdown, not HTML: the filters below quote
    )
    env.filters.update(literal=literal, code=code, cell=cell)
    return env


def literal(value: Any) -> str:
    """A value as Python source: its `repr`, with double quotes where that changes nothing else.

    Raises:
        TypeError: for a value that is no plain literal.
    """
    if isinstance(value, str):
        quoted = repr(value)
        return f'"{quoted[1:-1]}"' if quoted[0] == "'" and '"' not in quoted else quoted
    if value is None or isinstance(value, (bool, int)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(literal(item) for item in value) + "]"
    raise TypeError(f"{type(value).__name__} cannot be written as a literal")


def code(value: Any) -> str:
    """A value as a Markdown code span, whatever backticks, newlines or table bars it holds."""
    text = shown(re.sub(r"\s+", " ", str(value)).strip()).replace("|", "\\|")
    if not text:
        return ""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    if not longest:
        return f"`{text}`"
    fence = "`" * (longest + 1)
    return f"{fence} {text} {fence}"


def cell(value: Any) -> str:
    """Text for one line of Markdown: no line breaks, no table bars, no HTML."""
    text = shown(re.sub(r"\s+", " ", str(value)).strip())
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")
