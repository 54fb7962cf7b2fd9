"""Steps of a probe: each is reported as it ends, so that a crash in one keeps what the earlier ones showed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .describe import describe, print_error

Send = Callable[[dict], None]  # type: ignore[type-arg]


class Steps:
    """Runs the steps of one probe and reports them.

    Args:
        send: takes one event as plain JSON.
        repo: root of the target repo.
    """

    def __init__(self, send: Send, repo: str) -> None:
        self._send = send
        self._repo = repo
        self._failed: set[str] = set()

    @contextmanager
    def step(self, name: str) -> Iterator[dict[str, Any]]:
        """One step: fill the dictionary with plain JSON facts; an exception of the target ends the step, not the probe.

        Whoever depends on a step asks `ok(name)` afterwards.
        """
        data: dict[str, Any] = {}
        self._send({"event": "begin", "name": name})
        started = time.perf_counter()
        process = os.getpid()
        error = None
        try:
            yield data
        except KeyboardInterrupt:
            raise
        except BaseException as raised:  # SystemExit too: a target that exits must not end the probe
            print_error()
            self._failed.add(name)
            error = describe(raised, self._repo)
        if os.getpid() != process:  # a process that the target forked comes back as well: one of them speaks
            os._exit(0)
        self._send(
            {
                "event": "step",
                "name": name,
                "status": "error" if error else "ok",
                "seconds": round(time.perf_counter() - started, 4),
                "error": error,
                "data": data,
            }
        )

    def say(self, event: dict[str, Any]) -> None:
        """Send an event of another kind, such as the progress within a long step."""
        self._send(event)

    def ok(self, *names: str) -> bool:
        """Whether none of these steps failed."""
        return not self._failed.intersection(names)
