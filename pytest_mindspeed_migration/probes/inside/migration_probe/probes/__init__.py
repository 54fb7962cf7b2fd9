"""One module a probe; each has `probe(request, steps)`."""

from __future__ import annotations

import importlib
import os
import shutil
import tempfile
from typing import Any

from ..boot import boot
from ..covered import Measured
from ..isolate import keep_memory, one_thread
from ..loaded_once import asked
from ..steps import Send, Steps

NAMES = ("environment", "plugins", "model", "shrink", "batch", "data_errors", "errors", "plugin_errors", "rehearsal")


def run(request: dict[str, Any], send: Send) -> None:
    """Run the probe that a request names and send its events."""
    name = request["probe"]
    if name not in NAMES:
        raise ValueError(f"no probe is called {name!r}")
    steps = Steps(send, request["repo"])
    asked(request)
    kept = request.get("work")
    work = kept or tempfile.mkdtemp(prefix="migration-probe-")
    os.makedirs(work, exist_ok=True)
    request = {**request, "work": work}
    try:
        with steps.step("boot") as data:
            data["imports"] = boot(request["boot"])
            os.chdir(request["repo"])
        if name != "rehearsal":
            keep_memory()
            one_thread()  # what a probe computes is small: threads that wait for each other cost more than they bring
        measured = Measured(request["repo"], request.get("cover", []), request.get("run"))
        measured.start()
        importlib.import_module(f"{__name__}.{name}").probe(request, steps)
        lines = measured.lines(statements_too=name == "plugins")  # once for a target is enough
        if lines is not None:
            send({"event": "coverage", "lines": lines})
    finally:
        if not kept:
            shutil.rmtree(work, ignore_errors=True)
    send({"event": "end"})
