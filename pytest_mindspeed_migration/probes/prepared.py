"""Interpreters that have imported the plugins of a target already: probes that need them are forked from one.

One is started for plugins that the probe `plugins` has imported without a failure, with what it saw as the key: targets
share it when their own imports, each of which really happened, gave the same. When it dies or hangs, its probe runs in
a clean child of the warm interpreter as it would have without it.
"""

from __future__ import annotations

import hashlib
import json
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..facts.runtime import ProbeFacts
from .limits import end_session

PROBES = ("model", "shrink", "batch", "data_errors", "errors")
"""Probes that begin by importing the plugins and ask nothing about the import itself."""


@dataclass(frozen=True)
class Wanted:
    """An interpreter with plugins imported.

    Attributes:
        key: what the plugins are and what their import did.
        request: imports them: that of the probe `plugins`.
    """

    key: str
    request: dict[str, Any]


def wanted(probe: str, plugins: ProbeFacts) -> Wanted | None:
    """What a probe may be forked from, None when it has to import the plugins itself.

    Args:
        probe: name of the probe.
        plugins: what the probe `plugins` showed of the same target.
    """
    step = plugins.steps.get("plugins")
    if probe not in PROBES or plugins.outcome != "done" or step is None or step.status != "ok":
        return None
    entries = step.data.get("entries") or []
    if not entries or any(entry["hidden"] for entry in entries):
        return None
    asked = plugins.request
    files = [file for entry in entries for file in entry["modules"]]
    same = [
        _digests(Path(asked["repo"]), files),
        entries,
        step.data.get("before"),
        step.data.get("after"),
        asked.get("trainer"),
        asked.get("boot"),
    ]
    if step.data.get("reads_arguments", True):  # what was imported may be that of this config alone
        same += [asked.get("config"), asked.get("overrides")]
    return Wanted(hashlib.sha256(json.dumps(same, sort_keys=True).encode()).hexdigest()[:16], asked)


def _digests(repo: Path, files: list[str]) -> list[str | None]:
    """What the files hold now: whoever edits a plugin during a run gets the new one."""
    found: list[str | None] = []
    for file in files:
        try:
            found.append(hashlib.sha256((repo / file).read_bytes()).hexdigest())
        except OSError:
            found.append(None)
    return found


def run_prepared(want: Wanted, address: str, folder: Path, run: Callable[[str], ProbeFacts]) -> ProbeFacts:
    """Run a probe in a child of the interpreter that is wanted, else of the warm one.

    Args:
        want: the interpreter.
        address: socket of the warm interpreter, which starts it.
        folder: of this run.
        run: runs the probe, given the socket of an interpreter.
    """
    place = f"{Path(address).parent}/{want.key}"
    leader = start(want, address, folder)
    if leader is None:
        return run(address)
    facts = run(place)
    if facts.outcome == "timeout" and not facts.steps:  # it hangs in an import that went well before
        end_session(leader)
    elif facts.outcome not in ("interpreter", "lost"):
        return facts
    return run(address)


def start(want: Wanted, address: str, folder: Path) -> int | None:
    """Have the interpreter that is wanted started, unless it is there; its process, None when it cannot be."""
    request = {**want.request, "work": str(folder / "work" / want.key)}
    place, log = f"{Path(address).parent}/{want.key}", folder / f"prepared-{want.key}.log"
    return _ask(address, {"key": want.key, "address": place, "log": str(log), "request": request})


def _ask(address: str, prepare: dict[str, Any]) -> int | None:
    """Its process, None when there is none and will be none."""
    line = b""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            connection.connect(address)
            connection.sendall(json.dumps({"prepare": prepare}).encode() + b"\n")
            while not line.endswith(b"\n"):
                part = connection.recv(4096)
                if not part:
                    return None
                line += part
        except OSError:
            return None
    pid = json.loads(line)["pid"]
    return None if pid is None else int(pid)
