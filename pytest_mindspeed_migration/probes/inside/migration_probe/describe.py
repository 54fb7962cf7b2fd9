"""An exception as plain JSON: type, message, the chain behind it and where it was raised."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections import deque
from typing import Any

MAX_TEXT = 8_000
MAX_CHAIN = 8
MAX_FRAMES = 40
MAX_PRINTED = 200  # frames of a traceback in the log: deep recursion has a million


def describe(error: BaseException, repo: str) -> dict[str, Any]:
    """Describe an exception.

    Args:
        error: what was raised.
        repo: root of the target repo; files below it are named relative to it.

    Returns:
        `type`, `message`, `frames` (outermost first), `chain` (what it was raised from, nearest first; the last one is
        the root), `missing` (module a ModuleNotFoundError names) and `code` (of a SystemExit).
    """
    return {**_one(error, repo), "chain": _chain(error, repo)}


def print_error() -> None:
    """Print the exception that is being handled to the log, whatever the target has done to `sys.stderr`."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(BaseException):
            stream.flush()
    with contextlib.suppress(BaseException):
        text = traceback.format_exc(limit=-MAX_PRINTED).encode("utf-8", "backslashreplace")
        while text:
            text = text[os.write(2, text) :]


def _one(error: BaseException, repo: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "type": type(error).__name__,
        "message": _text(error),
        "frames": _frames(error, repo),
    }
    if isinstance(error, ModuleNotFoundError) and error.name:
        found["missing"] = error.name
    if isinstance(error, SystemExit):
        found["code"] = error.code if error.code is None or isinstance(error.code, int) else str(error.code)
    return found


def _chain(error: BaseException, repo: str) -> list[dict[str, Any]]:
    chain: list[dict[str, Any]] = []
    seen = {id(error)}
    current: BaseException | None = error
    while current is not None and len(chain) < MAX_CHAIN:
        following = current.__cause__
        if following is None and not current.__suppress_context__:
            following = current.__context__
        if following is None or id(following) in seen:
            break
        seen.add(id(following))
        chain.append(_one(following, repo))
        current = following
    return chain


def _text(error: BaseException) -> str:
    try:
        text = str(error)
    except BaseException as broken:  # code of the target, which may do anything
        text = f"<{type(broken).__name__} while printing the message>"
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + "..."


def _frames(error: BaseException, repo: str) -> list[dict[str, Any]]:
    own = os.path.dirname(os.path.abspath(__file__))
    frames = []
    of_target = (one for one in traceback.walk_tb(error.__traceback__) if not one[0].f_code.co_filename.startswith(own))
    for frame, line in deque(of_target, maxlen=MAX_FRAMES):
        name = frame.f_code.co_name
        frames.append({"file": relative(frame.f_code.co_filename, repo), "line": line, "function": name})
    if isinstance(error, SyntaxError) and error.filename:
        frames.append({"file": relative(error.filename, repo), "line": error.lineno or 0, "function": ""})
    return frames[-MAX_FRAMES:]


def relative(path: str, repo: str) -> str:
    """A path relative to the target repo when it lies below it, else from the folder of its package on."""
    if not path.startswith("<"):
        with contextlib.suppress(OSError):  # the working directory may be gone
            path = os.path.abspath(path)
    root = os.path.join(repo, "")
    if path.startswith(root):
        return path[len(root) :].replace(os.sep, "/")
    folders = [os.path.join(item, "") for item in sys.path if item and isinstance(item, str)]
    for entry in sorted(folders, key=len, reverse=True):
        if path.startswith(entry):
            return path[len(entry) :].replace(os.sep, "/")
    return path
