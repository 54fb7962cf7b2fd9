"""The warm interpreter of a run: started by the controller, used by every process of the run."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

RUNNER = Path(__file__).parent / "inside" / "run_probe.py"
_START_SECONDS = 30
_STOP_SECONDS = 5
_LONGEST_FOLDER = 85  # the path of a Unix socket may have 103 bytes, 18 of which are its name
_SHORT_FOLDER = "/tmp"
_FRAME = re.compile(r'^ +File "([^"]+)", line (\d+)', re.MULTILINE)


@dataclass(frozen=True)
class Interpreter:
    """Which interpreter runs probes, and in which environment.

    Attributes:
        python: path of the interpreter.
        environment: its whole environment.
        shown: the part of it that a user needs to run a probe by hand.
        boot: what the warm interpreter imports: `repo` and `modules`.
    """

    python: str
    environment: dict[str, str]
    shown: dict[str, str]
    boot: dict[str, Any]


class InterpreterError(Exception):
    """The interpreter cannot be started: what it or the system `said`, and its exit code when it had come up."""

    def __init__(self, said: str, code: int | None = None) -> None:
        super().__init__(said)
        self.said = said
        self.code = code


class WarmInterpreter:
    """Starts the server of `inside/run_probe.py --serve` and ends it with everything it started."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter
        self.folder = Path(tempfile.mkdtemp(prefix="migrate-"))
        self._socket_folder = self.folder
        if len(os.fsencode(self.folder)) > _LONGEST_FOLDER:
            self._socket_folder = Path(tempfile.mkdtemp(prefix="migrate-", dir=_SHORT_FOLDER))
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None

    @property
    def address(self) -> str:
        """Path of the Unix socket that takes requests."""
        return str(self._socket_folder / "s")

    @property
    def log_path(self) -> Path:
        """What the interpreter printed while it imported."""
        return self.folder / "boot.log"

    def start(self) -> None:
        """Start it; the imports go on in the background.

        Raises:
            InterpreterError: when it cannot be started, with what it said.
        """
        environment = {**self._interpreter.environment, "MIGRATION_PROBE_BOOT": json.dumps(self._interpreter.boot)}
        self._log = self.log_path.open("wb")
        try:
            self._process = subprocess.Popen(
                [self._interpreter.python, str(RUNNER), "--serve", self.address],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:  # ValueError: a name or value that no environment can hold
            raise InterpreterError(str(error)) from error
        self._await_socket()

    def _await_socket(self) -> None:
        """The server listens before it imports anything, so this takes as long as an empty interpreter."""
        assert self._process is not None
        give_up = time.monotonic() + _START_SECONDS
        while not os.path.exists(self.address):
            if self._process.poll() is not None or time.monotonic() > give_up:
                said = self.log_path.read_text(encoding="utf-8", errors="backslashreplace")
                raise InterpreterError(last_words(said), self._process.poll())
            time.sleep(0.005)

    def stop(self) -> None:
        """End it and its children, and remove its folder."""
        self.end()
        for folder in {self.folder, self._socket_folder}:
            shutil.rmtree(folder, ignore_errors=True)

    def end(self) -> None:
        """End it and its children; what they wrote stays."""
        if self._process is not None and self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_STOP_SECONDS)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        if self._log is not None:
            self._log.close()


def last_words(said: str) -> str:
    """The last line that an interpreter printed, with the place of the last frame when it is that of a traceback."""
    lines = [line for line in said.splitlines() if line.strip()]
    if not lines:
        return ""
    frames = _FRAME.findall(said)
    place = f" ({frames[-1][0]}:{frames[-1][1]})" if frames else ""
    return lines[-1].strip() + place
