"""What is worked out of this package's own files, kept where Python keeps its compiled modules.

It is made anew when the file, or what works it out, has changed. Where nothing can be written, or Python is told not to
write compiled modules, nothing is kept.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from .atomic import write_atomic

FOLDER = Path(__file__).resolve().parent / "__pycache__"


def kept(source: Path, name: str) -> Any:
    """What `keep` has kept of a file as it is now, None when there is nothing."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        data = json.loads((FOLDER / name).read_bytes())
        if data["of"] == _stamp(source):
            return data["value"]
    return None


def keep(source: Path, name: str, value: Any) -> None:
    """Keep what was worked out of a file, if it is plain JSON."""
    if may_write():
        with suppress(OSError, ValueError, TypeError):
            text = json.dumps({"of": _stamp(source), "value": value})
            if json.loads(text)["value"] == value:
                write_atomic(FOLDER / name, text)


def may_write() -> bool:
    """Whether compiled files are to be written, and can be."""
    return not sys.dont_write_bytecode and FOLDER.is_dir() and os.access(FOLDER, os.W_OK)


def _stamp(source: Path) -> list[Any]:
    status = source.stat()
    return [str(source), status.st_mtime_ns, status.st_size]
