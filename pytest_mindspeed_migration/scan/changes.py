"""What a migration changed: the files of the checkout that differ from a base revision, as git tells them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..errors import UsageProblem
from ..facts.target import ChangedFile, ChangeFacts

_ACTIONS = {"A": "added", "M": "modified", "T": "modified", "D": "deleted", "R": "renamed", "C": "added"}
_MOST_SIZED = 2_000  # new files that are read to count their lines


def changes_since(repo: Path, base: str, leave_out: tuple[str, ...] = ()) -> ChangeFacts:
    """Files that differ between the base and the working tree, with those that git does not know yet.

    The base is where the current branch left `base`: what others have changed there since is not the migration's.

    Args:
        repo: the checkout, or a folder of one.
        base: a revision.
        leave_out: paths below `repo` that are no part of the change, such as the reports of this package.

    Raises:
        UsageProblem: when this is no git checkout or git does not know the revision.
    """
    commit = _git(repo, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{base}^{{commit}}")
    if commit is None:
        raise UsageProblem("usage.base", base=base, path=str(repo))
    fork = _git(repo, "merge-base", commit, "HEAD") or commit
    files = [*_tracked(repo, fork), *_untracked(repo)]
    kept = [file for file in files if not any(_below(file.path, folder) for folder in leave_out)]
    return ChangeFacts(base=base, commit=fork, files=sorted(kept, key=lambda file: file.path))


def _tracked(repo: Path, fork: str) -> Iterator[ChangedFile]:
    sizes = {}
    fields = iter((_git(repo, "diff", "--relative", "--numstat", "-z", "--no-renames", fork, "--") or "").split("\0"))
    for field in fields:
        added, _, rest = field.partition("\t")
        removed, _, path = rest.partition("\t")
        if path:
            sizes[path] = (_number(added), _number(removed))
    fields = iter((_git(repo, "diff", "--relative", "--name-status", "-z", "-M", fork, "--") or "").split("\0"))
    for status in fields:
        if not status:
            continue
        path = next(fields)
        before = None
        if status[0] in "RC":
            before, path = path, next(fields)
        added_lines, removed_lines = sizes.get(path, (None, None))
        yield ChangedFile(path, _ACTIONS.get(status[0], "modified"), added_lines, removed_lines, before)


def _untracked(repo: Path) -> Iterator[ChangedFile]:
    names = (_git(repo, "ls-files", "--others", "--exclude-standard", "-z") or "").split("\0")
    for number, path in enumerate(filter(None, names)):
        yield ChangedFile(path, "added", _lines(repo / path) if number < _MOST_SIZED else None, 0)


def _lines(path: Path) -> int | None:
    try:
        return None if path.is_symlink() or not path.is_file() else path.read_bytes().count(b"\n")
    except OSError:
        return None


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/") or "__pycache__" in path


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() else None  # "-" of a binary file


def inside(repo: Path, paths: Iterable[Path | None]) -> tuple[str, ...]:
    """Those of the paths that lie in the checkout, relative to it."""
    root, found = repo.resolve(), []
    for path in paths:
        if path is not None and path.resolve().is_relative_to(root) and path.resolve() != root:
            found.append(path.resolve().relative_to(root).as_posix())
    return tuple(found)


def _git(repo: Path, *arguments: str) -> str | None:
    command = ["git", "-C", str(repo), "-c", "core.quotePath=false", *arguments]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=60, errors="backslashreplace")
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return run.stdout.rstrip("\n") if run.returncode == 0 else None
