"""The targets of a repo, kept between runs."""

from __future__ import annotations

from pathlib import Path

from .cache import ScanCache
from .repo_paths import questions, same_answers
from .stamps import PACKAGE, outside, tree_key
from .targets import Discovery, discover


def discovered(repo: Path, cache: ScanCache) -> Discovery:
    """The targets of a repo with their files: as kept when nothing in the repo has changed, else discovered anew."""

    def find() -> Discovery:
        with questions() as asked:
            found = discover(repo)
        found.asked = outside(asked)
        return found

    key = tree_key(repo, PACKAGE) if cache.kept else ""
    return cache.derived(Discovery, key, find, lambda found: same_answers(repo, found.asked))
