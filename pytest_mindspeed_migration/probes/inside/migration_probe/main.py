"""Command line of the probes."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from .probes import run
from .server import serve


def main(arguments: list[str]) -> int:
    """Serve probes, or run one by hand."""
    if len(arguments) == 2 and arguments[0] == "--serve":
        serve(arguments[1])
        return 0
    if len(arguments) != 1:
        print("usage: run_probe.py REQUEST.json | --serve SOCKET", file=sys.stderr)
        return 2
    with open(arguments[0], encoding="utf-8") as stream:
        request = json.load(stream)
    return by_hand(request)


def by_hand(request: dict[str, Any]) -> int:
    """Run one probe in this process; its facts go to what was stdout, all other output to stderr."""
    facts = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    failed = []

    def send(event: dict[str, Any]) -> None:
        if event.get("status") == "error":
            failed.append(event["name"])
        facts.write(json.dumps(event, ensure_ascii=True, default=str) + "\n")
        facts.flush()

    run(request, send)
    return 1 if failed else 0
