"""Triage: what broke a run, read from its log. `read_text` and `read_log` are what the rest of the plugin calls."""

from __future__ import annotations

import io
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from .diagnose import Diagnosing
from .dictionary import Dictionary, load_dictionary
from .model import Alternative, Diagnosis, Folded, Place
from .scan import Scanner
from .windows import Windows

__all__ = ["Alternative", "Diagnosis", "Dictionary", "Folded", "Place", "load_dictionary", "read_log", "read_text"]


def read_text(text: str, dictionary: Dictionary | None = None) -> Diagnosis | None:
    """What broke the run that wrote `text`; None when nothing did.

    Args:
        text: a log, or the part of it that is known.
        dictionary: default is the one that ships.
    """
    return _read(io.BytesIO(text.encode("utf-8", "replace")), dictionary)


def read_log(path: Path, dictionary: Dictionary | None = None) -> Diagnosis | None:
    """What broke the run that wrote the file; None when nothing did. Files of any size are read in bounded memory.

    Raises:
        OSError: when the file cannot be read.
    """
    with path.open("rb") as source:
        return _read(source, dictionary)


def _read(source: BinaryIO, dictionary: Dictionary | None) -> Diagnosis | None:
    dictionary = dictionary or load_dictionary()
    scan = _scanner(dictionary).scan(source)
    return Diagnosing(dictionary, scan, Windows(source, scan.size)).verdict()


@lru_cache(maxsize=4)
def _scanner(dictionary: Dictionary) -> Scanner:
    return Scanner(dictionary)
