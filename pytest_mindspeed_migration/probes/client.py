"""Runs one probe in the warm interpreter, within limits, and turns what it sent into facts."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shlex
import socket
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ..evidence.redact import MASK, redact
from ..facts.runtime import Outcome, ProbeFacts, StepFacts, step_from
from .limits import Limits, end_session, session_memory
from .warm import RUNNER, Interpreter

_TICK = 0.25  # seconds between looks at the limits
_LOG_PART = 200_000  # bytes of a log's beginning and end that are kept


def run_probe(
    request: dict[str, Any],
    address: str,
    interpreter: Interpreter,
    limits: Limits,
    boot_log: Path,
    evidence: str,
    progress: Callable[[dict[str, Any]], None] = lambda said: None,
) -> ProbeFacts:
    """Run a probe to its end.

    Args:
        request: what it is asked; `log` is where it prints to.
        address: socket of the warm interpreter.
        interpreter: for the command that runs the probe by hand.
        limits: it is killed, with all it started, when it goes over one of them.
        boot_log: what the interpreter printed while it started.
        progress: called with what a long step says of how far it is.
        evidence: folder of reports, below which the request is kept as `file`.

    Raises:
        KeyboardInterrupt: after the probe was killed.
    """
    session = _Conversation(request, address, limits, boot_log, progress)
    try:
        session.hold()
    finally:
        session.end()
    kept = {name: value for name, value in request.items() if name not in ("log", "work", "shared", "run")}
    return ProbeFacts(
        probe=request["probe"],
        outcome=session.outcome,
        steps=session.steps,
        command=by_hand(interpreter, f"{evidence}/{request['file']}"),
        request=kept,
        exit_code=session.exit_code,
        signal=session.signal,
        started=session.started,
        duration=round(time.perf_counter() - session.clock, 3),
        log=session.log(),
        coverage=session.coverage,
    )


def by_hand(interpreter: Interpreter, request: str) -> str:
    """The command line that runs a probe without this plugin, its request being a file beside the evidence.

    Values that are secrets are masked before they are quoted: afterwards nobody can tell where they end.
    """
    variables = [_without_secret(name, value) for name, value in sorted(interpreter.shown.items())]
    return shlex.join(["env", *variables, interpreter.python, str(RUNNER), request])


def _without_secret(name: str, value: str) -> str:
    word = f"{name}={value}"
    return word if redact(word) == word else f"{name}={MASK}"


class _Conversation:
    def __init__(
        self,
        request: dict[str, Any],
        address: str,
        limits: Limits,
        boot_log: Path,
        progress: Callable[[dict[str, Any]], None],
    ) -> None:
        self._progress = progress
        self._request = request
        self._address = address
        self._limits = limits
        self._boot_log = boot_log
        self._log = Path(request["log"])
        self._child: int | None = None
        self._socket: socket.socket | None = None
        self.steps: dict[str, StepFacts] = {}
        self.outcome: Outcome = "interpreter"
        self.exit_code: int | None = None
        self.signal: int | None = None
        self.coverage: dict[str, dict[str, list[int]]] = {}
        self._finished = False
        self.started = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        self.clock = time.perf_counter()

    def hold(self) -> None:
        """Send the request and take events until the probe has ended or a limit ends it."""
        if not self._connect():
            return
        assert self._socket is not None
        pending = b""
        while True:
            if over := self._over_limit():
                self.outcome = "lost" if self._finished else over  # its interpreter is what does not answer
                return
            readable, _, _ = select.select([self._socket], [], [], _TICK)
            if not readable:
                continue
            part = self._receive()
            if not part:  # whoever would tell how the probe ended has ended before it
                if self._child is not None:
                    self.outcome = "lost"
                return
            *lines, pending = (pending + part).split(b"\n")
            for line in lines:
                if self._take(line):
                    return

    def end(self) -> None:
        """Kill what is left of the probe."""
        if self._socket is not None:
            self._socket.close()
        if self._child is not None:
            end_session(self._child)

    def log(self) -> str:
        """What the probe printed; what the interpreter printed, when no probe could start."""
        return read_log(self._log) or (read_log(self._boot_log) if self._child is None else "")

    def _connect(self) -> bool:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:  # the socket listens from before the imports on: when nobody does, the interpreter is gone
            self._socket.connect(self._address)
            self._socket.sendall(json.dumps(self._request).encode() + b"\n")
        except OSError:
            return False
        return True

    def _receive(self) -> bytes:
        assert self._socket is not None
        try:
            return self._socket.recv(1 << 16)
        except OSError:
            return b""

    def _over_limit(self) -> Outcome | None:
        if time.perf_counter() - self.clock > self._limits.seconds:
            return "timeout"
        if self._child is not None:
            if session_memory(self._child) > self._limits.memory:
                return "memory"
            with contextlib.suppress(OSError):
                if self._log.stat().st_size > self._limits.output:
                    return "output"
        return None

    def _take(self, line: bytes) -> bool:
        """Take one event; True when it was the last."""
        try:
            event = json.loads(line)
        except ValueError:  # the probe ended in the middle of a line
            return False
        kind = event.get("event")
        if kind == "started":
            self._child = event["pid"]
        elif kind == "begin":
            self.steps[event["name"]] = StepFacts(event["name"], "open")
        elif kind == "step":
            self.steps[event["name"]] = step_from(event)
        elif kind == "progress":
            self._progress(event)
        elif kind == "coverage":
            self.coverage = event["lines"]
        elif kind == "end":
            self._finished = True
        elif kind == "exit":
            self.exit_code, self.signal = event["code"], event["signal"]
            if self.signal is not None:
                self.outcome = "signalled"
            else:
                self.outcome = "done" if self._finished and self.exit_code == 0 else "exited"
            return True
        return False


def read_log(path: Path) -> str:
    """A log as text, without its middle when it is long. Bytes that are no UTF-8 are shown as escapes."""
    try:
        size = path.stat().st_size
        with path.open("rb") as stream:
            head = stream.read(_LOG_PART)
            if size <= 2 * _LOG_PART:
                return (head + stream.read()).decode("utf-8", "backslashreplace")
            stream.seek(-_LOG_PART, os.SEEK_END)
            tail = stream.read()
    except OSError:
        return ""
    left_out = f"\n... ({size - 2 * _LOG_PART} bytes) ...\n"
    return head.decode("utf-8", "backslashreplace") + left_out + tail.decode("utf-8", "backslashreplace")
