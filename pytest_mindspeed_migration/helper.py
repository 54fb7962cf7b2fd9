"""A second process that works ahead, where the machine has a core for it.

The helper is a fork: it knows everything this process knows and needs no start. Only Linux has forks that are safe for
any program, and only while no other thread runs. Everywhere else, and when the helper dies, this process does the work
itself when the result is asked for, so that a helper never changes what comes out.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import IO, Any

END = object()
"""What `Helper.take` returns when the job has ended."""

_LENGTH = 8  # bytes of a number on the pipe


class Helper:
    """Runs a job that yields results, each taken with `take()`."""

    def __init__(self, job: Callable[[], Iterator[Any]], alone: bool = False) -> None:
        """Start the job.

        Args:
            job: yields what can be pickled; it changes nothing but its own results, and may be run twice.
            alone: whether this process does the work in any case.
        """
        self._job = job
        self._here: Iterator[Any] | None = None
        self._taken = 0
        self._process = 0
        if not alone and _can_fork():
            self._start()

    @property
    def works(self) -> bool:
        """Whether there is a second process."""
        return self._process != 0

    def take(self) -> Any:
        """The next result, `END` when there are no more."""
        if self._process:
            length = int.from_bytes(os.read(self._pipe, _LENGTH), "big")
            if length:
                self._taken += 1
                return pickle.loads(self._shared.read(length))
            if self._wait() == 0:
                self._here = iter(())
        if self._here is None:
            self._here = self._job()
            for _ in range(self._taken):
                next(self._here)
        return next(self._here, END)

    def finish(self) -> None:
        """Have the job done to its end, beyond the results that were taken."""
        while self.take() is not END:
            pass

    def close(self) -> None:
        """End the helper, whatever it is doing."""
        if self._process:
            with suppress(ProcessLookupError):
                os.kill(self._process, signal.SIGKILL)
            self._wait()

    def _wait(self) -> int:
        """The exit status of the process, once it has ended."""
        status = 1
        with suppress(ChildProcessError):
            _, status = os.waitpid(self._process, 0)
        self._process = 0
        os.close(self._pipe)
        self._shared.close()
        return status

    def _start(self) -> None:
        # A file takes results of any size without waiting for a reader; each process has a position of its own in it.
        try:
            results, name = tempfile.mkstemp()
            self._shared: IO[bytes] = open(name, "rb")  # noqa: SIM115
            os.unlink(name)
            self._pipe, ready = os.pipe()
            process = os.fork()
        except OSError:
            return
        if process:
            os.close(ready)
            os.close(results)
            self._process = process
            return
        status = 1
        try:
            gc.disable()  # what was there before will not become garbage here
            for result in self._job():
                payload = pickle.dumps(result, pickle.HIGHEST_PROTOCOL)
                view = memoryview(payload)
                while view:
                    view = view[os.write(results, view) :]
                os.write(ready, len(payload).to_bytes(_LENGTH, "big"))
            status = 0
        finally:  # also of an error or Ctrl-C: nothing of the run may go on in this process
            os._exit(status)


def _can_fork() -> bool:
    if sys.platform != "linux" or threading.active_count() > 1:
        return False
    return len(os.sched_getaffinity(0)) > 1
