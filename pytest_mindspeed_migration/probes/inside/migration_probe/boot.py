"""What every probe needs imported: torch, transformers and the framework. Paid once in a warm interpreter."""

from __future__ import annotations

import importlib
import os
import sys
import time
from typing import Any

from .describe import describe

_DONE: dict[str, Any] = {}


def boot(request: dict[str, Any]) -> dict[str, Any]:
    """Import the modules a run needs, each once; what fails is recorded and not raised.

    Args:
        request: `repo` (root of the target repo) and `modules` (import names, in order).

    Returns:
        By import name: `seconds`, `version` when the module has one, `file`, and `error` when the import failed.
    """
    repo = request.get("repo", "")
    if repo and os.path.isdir(repo):
        os.chdir(repo)
    for name in request.get("modules", []):
        if name not in _DONE:
            _DONE[name] = _import(name, repo)
    return dict(_DONE)


def failed() -> dict[str, Any]:
    """The imports that failed, by name."""
    return {name: found["error"] for name, found in _DONE.items() if found["error"]}


def _import(name: str, repo: str) -> dict[str, Any]:
    print(f"importing {name}", flush=True)  # an import that takes the interpreter down is named in its log
    started = time.perf_counter()
    error = None
    try:
        importlib.import_module(name)
    except BaseException as raised:  # the import of a target may do anything
        if isinstance(raised, KeyboardInterrupt):
            raise
        error = describe(raised, repo)
    module = sys.modules.get(name)
    return {
        "seconds": round(time.perf_counter() - started, 3),
        "version": _version(module),
        "file": getattr(module, "__file__", None),
        "error": error,
    }


def _version(module: Any) -> str | None:
    version = getattr(module, "__version__", None)
    return str(version) if version is not None else None
