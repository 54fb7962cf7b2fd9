"""Reads what a run over all targets needs in two processes at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

from ..helper import Helper
from .framework_files import FrameworkFiles, read_framework_files
from .names import UndefinedNames
from .project import Project, read_module
from .repo_paths import same_answers

SHARE = 0.48
"""Of the Python files, in bytes, that the helper reads: it reads scripts and documents too."""

WORTH = 300_000
"""Bytes of Python below which no helper is started."""


class Ahead:
    """The reading of the FSDP2 package, and of the files beside it, shared with a helper."""

    def __init__(self, project: Project) -> None:
        """Start the helper, unless little has changed since the last run."""
        self._project = project
        paths = project.below(project.core)
        self._fresh = {path: stamp for path in paths if (stamp := project.stamp_of_changed(path))}
        self._reads_framework = project.cache.result(FrameworkFiles, project.key) is None
        sizes = {path: size for path, (*_, size) in self._fresh.items()}
        self._theirs = _share(sizes)
        self._mine = self._fresh.keys() - self._theirs
        self._helper = Helper(self._work, alone=sum(sizes.values()) < WORTH)

    def modules(self) -> None:
        """Read this process's share and take the helper's."""
        project = self._project
        found = {path: read_module(project.repo / path, path) for path in self._mine}
        found.update(self._helper.take())
        project.take_ahead({path: (self._fresh[path], facts) for path, facts in found.items()}, named=self._fresh)

    def framework(self) -> FrameworkFiles:
        """What the helper has read beside the package."""
        if not self._reads_framework:  # what was kept of it turned out to be of no use
            return read_framework_files(self._project, {})
        found: FrameworkFiles
        found, stamps = self._helper.take()
        same_answers(self._project.repo, found.asked)  # notes the questions here too
        for path, stamp in stamps.items():
            if path not in self._project.modules:
                self._project.cache.keep_file(path, stamp, found.other_modules[path])
        return found

    def names(self) -> None:
        """Take the undefined names of all these files, which the helper has found; to be called last."""
        self._project.add_names(self._helper.take())

    def close(self) -> None:
        """End the helper."""
        self._helper.close()

    def _work(self) -> Iterator[Any]:
        project = self._project
        with closing(UndefinedNames(project.repo, sorted(self._fresh))) as names:
            yield {path: read_module(project.repo / path, path) for path in self._theirs}
            if self._reads_framework:
                more = read_framework_files(project, {})
                yield more, project.stamps_of(more.other_modules)
            yield names.answer()


def _share(sizes: dict[str, int]) -> set[str]:
    """Files that make up the helper's share, with large and small ones among them."""
    chosen: set[str] = set()
    total = taken = 0
    for path, size in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
        total += size
        if taken + size <= SHARE * total:
            chosen.add(path)
            taken += size
    return chosen
