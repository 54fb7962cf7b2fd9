"""Writes text files whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_atomic(path: Path, text: str) -> None:
    """Write a text file through a temporary file beside it and a rename. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(encode(text))
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def encode(text: str) -> bytes:
    """The bytes `write_atomic` writes: UTF-8, with lone surrogates escaped as JSON and Python escape them."""
    return text.encode("utf-8", "backslashreplace")
