"""Reading a text file of the target repo without trusting it: size, kind and encoding are checked first."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path

MAX_BYTES = 5_000_000


@dataclass(frozen=True)
class TextProblem:
    """Why a file cannot be read as text: `unreadable`, `too_large`, `binary` or `not_utf8`."""

    kind: str
    detail: str
    line: int | None = None


def read_bytes(path: Path, limit: int = MAX_BYTES) -> bytes | TextProblem:
    """Return what a file holds, or why it is not read.

    Args:
        path: the file; a folder, a pipe or a symlink loop is a problem, not an error.
        limit: largest size that is read, in bytes.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            return TextProblem("unreadable", "not a regular file")
        if status.st_size > limit:
            return TextProblem("too_large", f"{status.st_size} bytes")
        return path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        return TextProblem("unreadable", getattr(error, "strerror", None) or str(error))


def read_text(path: Path, limit: int = MAX_BYTES, strict: bool = True) -> str | TextProblem:
    """Return the text of a file, or why there is none.

    Args:
        path, limit: as for `read_bytes`.
        strict: whether bytes that are not UTF-8 are a problem; a shell does not mind them.
    """
    raw = read_bytes(path, limit)
    if isinstance(raw, TextProblem):
        return raw
    if b"\0" in raw and not raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return TextProblem("binary", f"NUL byte at offset {raw.index(0)}")
    try:
        return raw.decode("utf-8", "strict" if strict else "replace")
    except UnicodeDecodeError as error:
        return TextProblem("not_utf8", f"byte 0x{raw[error.start]:02x}", raw.count(b"\n", 0, error.start) + 1)
