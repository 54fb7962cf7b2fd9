"""Which file of the target repo a path means that a script or a document writes down."""

from __future__ import annotations

import os
import posixpath
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

REPO_NAME = "MindSpeed-MM"
"""Name under which documents clone the target repo; what follows it in a path is relative to the repo."""

MAX_PATH = 1_000
"""Longer paths are not followed."""

MAX_NESTING = 50
"""Folders inside each other that are looked into."""

_KIND_AND_EXECUTE_BITS = 0o170111
_asked: list[dict[str, int]] = []

_PLACEHOLDER = re.compile(
    r"[<>${}*?\[\]\x1f]|\.\.\.|(?<![a-z])x{2,}(?![a-z])|(?<![a-z])xb(?![a-z])|(?<![a-z])x{2,}b(?![a-z])"
    r"|path[/_]to|your[_-]|(?<![a-z])n?umb(?![a-z])|local_path",
    re.IGNORECASE,
)
# Names a guide invents for its example (`my_model.yaml`); in a script of the repo they are names like any other.
_INVENTED = re.compile(r"(?:^|[/_])(?:custom|my|new|model_name|model_id)(?=[/_.])", re.IGNORECASE)


@lru_cache(maxsize=8192)
def is_placeholder(path: str, prose: bool = False) -> bool:
    """Whether the path is a pattern for the reader to fill in (`qwen3vl_xxB.sh`, `/path/to/x`, `<name>`, `*.json`).

    Args:
        path: as written.
        prose: it stands in a document, where an invented name (`my_model.yaml`) is one to fill in too.
    """
    return _PLACEHOLDER.search(path) is not None or (prose and _INVENTED.search(path) is not None)


def resolve(path: str, cwd: str | None) -> str | None:
    """The repo-relative form of a path, None when it lies outside the repo or cannot be known.

    Args:
        path: as written, after expansion of variables.
        cwd: folder of the repo the reader is in, "" for the root, None when that is unknown.
    """
    if len(path) + len(cwd or "") > MAX_PATH:
        return None
    parts = path.split("/")
    if REPO_NAME in parts[:-1]:
        after = parts[len(parts) - parts[::-1].index(REPO_NAME) :]
        return _inside(posixpath.normpath("/".join(after)) if after else "")
    if path.startswith(("/", "~")) or cwd is None or not path:
        return None
    return _inside(posixpath.normpath(posixpath.join(cwd, path)))


def _inside(path: str) -> str | None:
    if path == ".":
        return ""
    return None if path == ".." or path.startswith(("../", "/")) else path


def files_below(repo: Path, folder: str) -> Iterator[str]:
    """Files below a folder of the repo, sorted by folder.

    Links to folders are not followed, so no loop can catch the walk; hidden folders, compiled files and what is nested
    deeper than any code are left out.
    """
    for parent, folders, names in os.walk(repo / folder):
        rel = os.path.relpath(parent, repo).replace(os.sep, "/")
        deep = rel.count("/") >= MAX_NESTING
        folders[:] = [] if deep else sorted(f for f in folders if not f.startswith(".") and f != "__pycache__")
        for name in sorted(names):
            yield f"{rel}/{name}"


@contextmanager
def questions() -> Iterator[dict[str, int]]:
    """Collects the paths that are asked for meanwhile, with the answers, which `same_answers` compares."""
    asked: dict[str, int] = {}
    _asked.append(asked)
    try:
        yield asked
    finally:
        _asked.pop()  # they are nested


def same_answers(repo: Path, asked: dict[str, int]) -> bool:
    """Whether every question would be answered now as it was then."""
    return all(_mode(repo, rel) == mode for rel, mode in asked.items())


def _mode(repo: Path, rel: str) -> int:
    """Kind and execute bits of a file or folder; 0 when there is none, as for a symlink loop or an impossible name."""
    if _asked and rel in _asked[-1]:
        return _asked[-1][rel]
    try:
        mode = os.stat(os.path.join(repo, rel)).st_mode & _KIND_AND_EXECUTE_BITS
    except (OSError, ValueError):
        mode = 0
    for asked in _asked:
        asked[rel] = mode
    return mode


def exists(repo: Path, rel: str) -> bool:
    """Whether the repo has that file or folder."""
    return _mode(repo, rel) != 0


def is_folder(repo: Path, rel: str) -> bool:
    """Whether the repo has that folder."""
    return stat.S_ISDIR(_mode(repo, rel))


def is_file(repo: Path, rel: str) -> bool:
    """Whether the repo has that regular file."""
    return stat.S_ISREG(_mode(repo, rel))


def lacks_execute_bit(repo: Path, rel: str) -> bool:
    """Whether the path is a file that nobody may execute; on file systems without that bit no file is."""
    mode = _mode(repo, rel)
    return stat.S_ISREG(mode) and not mode & (stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)


def is_there(repo: Path, rel: str) -> bool | None:
    """Whether the repo has that file; None for a file at the root of a checkout that has only some of the folders."""
    if exists(repo, rel):
        return True
    return None if "/" not in rel and not _has_root_programs(repo) else False


@lru_cache(maxsize=8)
def _has_root_programs(repo: Path) -> bool:
    try:
        return any(name.endswith(".py") for name in os.listdir(repo))
    except OSError:
        return False


def is_top_folder(repo: Path, name: str) -> bool:
    """Whether a folder of that name is at the root of the repo; hidden ones do not count."""
    return name not in ("", "..") and not name.startswith(".") and is_folder(repo, name)
