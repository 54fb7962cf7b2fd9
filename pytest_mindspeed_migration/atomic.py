"""Text as it is written to files, whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from contextlib import suppress
from json.encoder import encode_basestring as _quoted
from pathlib import Path
from typing import Any


def write_atomic(path: Path, text: str) -> None:
    """Write a text file through a temporary file beside it and a rename. Raises OSError; never replaces a device."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EEXIST, "exists and is no regular file", str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(encode(text))
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:  # Ctrl-C, too, even when the file has its name by then: that must not become an OSError
        with suppress(OSError):
            os.unlink(name)
        raise


def encode(text: str) -> bytes:
    """The bytes `write_atomic` writes: UTF-8, with lone surrogates escaped as JSON and Python escape them."""
    return text.encode("utf-8", "backslashreplace")


def indented(value: Any, margin: str = "\n") -> str:
    """Plain JSON as `json.dumps(value, ensure_ascii=False, indent=2)` writes it, in a third of the time."""
    if isinstance(value, str):
        return _quoted(value)
    inside = margin + "  "
    if isinstance(value, dict) and value:
        members = [f"{_quoted(key)}: {indented(item, inside)}" for key, item in value.items()]
        return f"{{{inside}{f',{inside}'.join(members)}{margin}}}"
    if isinstance(value, list) and value:
        items = [indented(item, inside) for item in value]
        return f"[{inside}{f',{inside}'.join(items)}{margin}]"
    return json.dumps(value)


def portable(value: Any) -> Any:
    """Plain values with every text as `write_atomic` would write it: what another process and any terminal can take."""
    if isinstance(value, str):
        return value if value.isascii() else encode(value).decode("utf-8")
    if isinstance(value, dict):
        return {portable(key): portable(item) for key, item in value.items()}
    return [portable(item) for item in value] if isinstance(value, list) else value
