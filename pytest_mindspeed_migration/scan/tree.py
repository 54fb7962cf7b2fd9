"""The targets of a repo, kept between runs."""

from __future__ import annotations

from collections.abc import Iterator

from ..helper import Helper
from .project import Project
from .repo_paths import questions, same_answers
from .stamps import outside
from .targets import Discovery, discover


class Search:
    """The search for the targets of a repo: in the cache when nothing in the repo has changed, else anew."""

    def __init__(self, project: Project, ahead: bool = False) -> None:
        """Start it.

        Args:
            project: the checkout, with what earlier runs have found.
            ahead: whether a helper begins now, because there is something else to do before `result`.
        """
        self._repo, self._cache, self._key = project.repo, project.cache, project.key
        self._helper = Helper(self._find, alone=not ahead or self._cache.holds(Discovery, self._key))

    @property
    def helped(self) -> bool:
        """Whether a helper is at work."""
        return self._helper.works

    def result(self) -> Discovery:
        """What was found."""

        def holds(found: Discovery) -> bool:
            return same_answers(self._repo, found.asked)

        found = self._cache.derived(Discovery, self._key, self._helper.take, holds)
        holds(found)  # notes the questions here too, whoever has asked them
        return found

    def close(self) -> None:
        """End the helper."""
        self._helper.close()

    def _find(self) -> Iterator[Discovery]:
        with questions() as asked:
            found = discover(self._repo)
        found.asked = outside(asked)
        yield found
