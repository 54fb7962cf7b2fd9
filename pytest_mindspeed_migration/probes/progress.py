"""Shows how far a training run is while it goes on: each step to somebody at a terminal, a line now and then in CI."""

from __future__ import annotations

import json
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..messages import text

_NAME = "progress.jsonl"
_LOOK_SECONDS = 0.5
_TERMINAL_SECONDS = 1.0
_CI_SECONDS = 30.0


def note(folder: Path, target: str, said: dict[str, Any]) -> None:
    """Leave word of a step, from whichever process of the run waits for it."""
    with suppress(OSError), (folder / _NAME).open("a", encoding="utf-8") as stream:  # nothing depends on it
        stream.write(json.dumps({"target": target, **said}) + "\n")


class ProgressShown:
    """Writes what `note` leaves to the terminal, from a thread of the controller.

    Args:
        folder: of this run.
        reporter: pytest's terminal reporter, whose stream is not captured.
        lang: language of the lines.
    """

    def __init__(self, folder: Path, reporter: Any, lang: str) -> None:
        self._path = folder / _NAME
        self._reporter = reporter
        self._lang = lang
        self._every = _TERMINAL_SECONDS if reporter.isatty else _CI_SECONDS
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="migrate-progress", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Show nothing more."""
        self._stopped.set()
        self._thread.join(timeout=2)

    def _watch(self) -> None:
        read, shown = 0, -self._every
        while not self._stopped.wait(_LOOK_SECONDS):
            lines = self._lines()
            last = json.loads(lines[-1]) if len(lines) > read else None
            now = time.monotonic()
            if last is None or (now - shown < self._every and last["step"] < last["of"]):
                continue
            read, shown = len(lines), now
            loss = last.get("loss")
            values = {**last, "loss": "-" if loss is None else f"{loss:.4g}"}
            self._reporter.ensure_newline()
            self._reporter.write_line(text("session.progress", values, self._lang))

    def _lines(self) -> list[str]:
        try:
            return [line for line in self._path.read_text(encoding="utf-8").splitlines() if line.endswith("}")]
        except OSError:
            return []
