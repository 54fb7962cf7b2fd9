"""Each probe runs once a run, whichever processes ask for it: the first one runs it, the others read its facts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..atomic import write_atomic
from ..facts.codec import from_json, to_json
from ..facts.runtime import ProbeFacts

try:
    import fcntl
except ImportError:  # no cpu level where there is no fork either
    fcntl = None  # type: ignore[assignment]


def once(folder: Path, request: dict[str, Any], run: Callable[[], ProbeFacts]) -> ProbeFacts:
    """The facts of a request: of whoever asked first.

    Args:
        folder: shared by the processes of this run.
        request: what identifies the probe.
        run: runs it.
    """
    digest = hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()[:20]
    kept = folder / f"{request['probe']}-{digest}.json"
    with alone(folder / f"{digest}.lock"):
        if kept.exists():
            return from_json(ProbeFacts, json.loads(kept.read_text(encoding="utf-8")))
        facts = run()
        write_atomic(kept, json.dumps(to_json(facts)))
        return facts


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold a lock of this machine, by its file, as long as the block runs."""
    with path.open("w") as stream:  # closing it lets go of the lock
        fcntl.flock(stream.fileno(), fcntl.LOCK_EX)
        yield
