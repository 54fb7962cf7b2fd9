"""The error dictionary of a run: the one that ships, with those of the user in front."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import UsageProblem

if TYPE_CHECKING:
    from .options import Options
    from .triage import Dictionary


def error_dictionary(options: Options) -> Dictionary:
    """The dictionary that ships, with those of the manifests and of the command line in front.

    Raises:
        UsageProblem: when a file cannot be read or is malformed; names the file, the entry and the key.
    """
    from .target_repo import manifests_of

    given = manifests_of(options).given if options.manifests else []
    files = [one.folder / one.data["errors"] for one in given if one.folder is not None and "errors" in one.data]
    return _extended((*files, *([options.errors] if options.errors else [])))


@cache
def _extended(files: tuple[Path, ...]) -> Dictionary:
    from .triage.dictionary import DictionaryError, load_dictionary

    dictionary = load_dictionary()
    try:
        for file in files:
            dictionary = dictionary.extended(file)
    except DictionaryError as error:
        raise UsageProblem("usage.errors_file", file=error.file, place=error.place, detail=error.detail) from error
    return dictionary
