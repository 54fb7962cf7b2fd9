"""What the target's code says in a warning of its log instead of raising it."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .describe import relative


@contextmanager
def warned(repo: str) -> Iterator[list[dict[str, Any]]]:
    """Collect warnings while it holds: `text`, and the place in the repo that gave it (`by`: `file`, `line`).

    Records are taken where they are made, since a target may replace the handlers.
    """
    kept: list[dict[str, Any]] = []
    root = repo.rstrip("/") + "/"
    made = logging.getLogRecordFactory()

    def make(*args: Any, **options: Any) -> logging.LogRecord:
        record = made(*args, **options)
        if record.levelno >= logging.WARNING:
            by = _place(root)
            if by is not None:
                kept.append({"text": record.getMessage(), "by": by})
        return record

    logging.setLogRecordFactory(make)
    try:
        yield kept
    finally:
        logging.setLogRecordFactory(made)


def _place(root: str) -> dict[str, Any] | None:
    frame = sys._getframe(2)
    while frame is not None and not frame.f_code.co_filename.startswith(root):
        frame = frame.f_back  # type: ignore[assignment]
    return None if frame is None else {"file": relative(frame.f_code.co_filename, root), "line": frame.f_lineno}
