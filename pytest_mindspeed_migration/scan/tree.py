"""The targets of a repo, kept between runs."""

from __future__ import annotations

from collections.abc import Iterator

from ..helper import Helper
from .project import Project
from .repo_paths import questions, same_answers
from .stamps import outside
from .targets import EXAMPLES, Discovery, discover


class Search:
    """The search for the targets of a repo. While no file is added or removed, only what has changed is read again."""

    def __init__(self, project: Project, ahead: bool = False) -> None:
        """Start it.

        Args:
            project: the checkout, with what earlier runs have found.
            ahead: whether a helper may begin now, because there is something else to do before `result`.
        """
        self._repo, self._cache = project.repo, project.cache
        self._key, self._stamps = "", {}
        self._before: Discovery | None = None
        if self._cache.kept:
            self._key, stamps = project.stamps.names, project.stamps.of.items()
            self._stamps = {path: stamp for path, stamp in stamps if path.startswith(f"{EXAMPLES}/")}
            self._before = self._cache.result(Discovery, self._key)
            if self._before is not None and not same_answers(self._repo, self._before.asked):
                self._before = None
        self._helper = Helper(self._find, alone=not ahead or self._before is not None)

    @property
    def helped(self) -> bool:
        """Whether a helper is at work."""
        return self._helper.works

    def result(self) -> Discovery:
        """What was found."""
        found = self._before
        if found is None or found.stamps != self._stamps:
            found = self._helper.take()
            self._cache.keep_result(Discovery, self._key, found)
        same_answers(self._repo, found.asked)  # notes the questions here too, whoever has asked them
        return found

    def close(self) -> None:
        """End the helper."""
        self._helper.close()

    def _find(self) -> Iterator[Discovery]:
        with questions() as asked:
            found = discover(self._repo, self._stamps, self._before)
        found.asked.update(outside(asked))
        yield found
