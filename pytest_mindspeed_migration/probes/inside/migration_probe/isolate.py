"""Runs a function in a forked child, so that what it leaves behind, a crash included, stays there."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from .covered import stop_in_child
from .describe import describe, print_error


def in_child(function: Callable[[], Any], repo: str, seconds: float) -> dict[str, Any]:
    """Call `function` in a forked child.

    Args:
        function: returns plain JSON.
        repo: root of the target repo.
        seconds: after which the child is killed.

    Returns:
        `value` when it returned; `error` (as `describe` gives it) when it raised; `ended` with an exit code, a signal
        (negative) or "timeout" when the child ended otherwise.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        stop_in_child()
        os.close(reading)
        _answer(function, repo, writing)
    os.close(writing)
    answer, timed_out = _read(reading, seconds)
    os.close(reading)
    if timed_out:
        os.kill(child, signal.SIGKILL)
    try:
        _, status = os.waitpid(child, 0)
    except ChildProcessError:  # the target ignores SIGCHLD: nobody is told how children ended
        status = 0
    if timed_out:
        return {"ended": "timeout"}
    try:
        found: dict[str, Any] = json.loads(answer)
    except ValueError:
        return {"ended": -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)}
    return found


def one_thread() -> None:
    """Keep torch from starting threads: a child that is forked afterwards would wait for them for ever, and
    threads that wait for little work spend more than the work takes.
    """
    torch = sys.modules.get("torch")
    with contextlib.suppress(Exception):  # one that imported in part, of which another step tells
        if torch is not None:
            torch.set_num_threads(1)


_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_MAX = -1, -2, -4  # source: malloc.h of glibc


def keep_memory() -> None:
    """Have the allocator of C keep what is freed, as far as it is glibc's.

    Large tensors would each be given back and asked for again, and the kernel clears every page that it gives: up to
    half of the time of a forward pass over a real vocabulary.
    """
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_MMAP_MAX, 0)
        mallopt(_M_TRIM_THRESHOLD, 1 << 30)
        mallopt(_M_TOP_PAD, 1 << 26)


def _answer(function: Callable[[], Any], repo: str, writing: int) -> None:
    code = 1
    process = os.getpid()
    try:
        try:
            answer = {"value": function()}
        except BaseException as error:
            print_error()
            answer = {"error": describe(error, repo)}
        if os.getpid() != process:  # forked by the target: its parent answers
            return
        with os.fdopen(writing, "w", encoding="utf-8") as stream:
            json.dump(answer, stream, default=str)
        code = 0
    finally:
        os._exit(code)


def _read(reading: int, seconds: float) -> tuple[bytes, bool]:
    parts: list[bytes] = []
    end = time.monotonic() + seconds
    while True:
        readable, _, _ = select.select([reading], [], [], max(0.0, end - time.monotonic()))
        if not readable:
            return b"".join(parts), True
        part = os.read(reading, 1 << 16)
        if not part:
            return b"".join(parts), False
        parts.append(part)
