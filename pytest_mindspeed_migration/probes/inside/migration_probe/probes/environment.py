"""What the interpreter is: versions, devices, and whether torch_npu loads."""

from __future__ import annotations

import importlib
import os
import platform
import re
import sys
from importlib import metadata
from typing import Any

from ..steps import Steps

_PINNED = re.compile(r"""\s*["']([A-Za-z0-9_.-]+)(?:\[[^\]]*\])?\s*([=<>!~]=?[^"';]+)["']\s*,?\s*$""")


def probe(request: dict[str, Any], steps: Steps) -> None:
    """Steps: `interpreter` (versions of everything installed), `torch_npu` (when installed), `devices`."""
    with steps.step("interpreter") as data:
        data.update(
            python=platform.python_version(),
            executable=sys.executable,
            platform=platform.platform(),
            packages=_versions(),
            requirements=_asked_for(request["repo"]),
        )
    installed = _installed("torch_npu")
    if installed:
        with steps.step("torch_npu") as data:
            data["version"] = installed
            importlib.import_module("torch_npu")
    if "torch" in sys.modules:
        with steps.step("devices") as data:
            torch = sys.modules["torch"]
            npu = getattr(torch, "npu", None)
            data["npu"] = int(npu.device_count()) if npu is not None else 0
            data["cuda"] = int(torch.cuda.device_count())


def _asked_for(repo: str) -> list[dict[str, Any]]:
    """What the checkout's pyproject.toml pins."""
    try:
        with open(os.path.join(repo, "pyproject.toml"), encoding="utf-8") as stream:
            lines = stream.read().splitlines()
    except (OSError, ValueError):
        return []
    found = []
    for number, line in enumerate(lines, 1):
        pinned = _PINNED.match(line)
        if pinned:
            package = pinned.group(1).lower().replace("_", "-")
            found.append({"package": package, "specifier": pinned.group(2), "file": "pyproject.toml", "line": number})
    return found


def _versions() -> dict[str, str]:
    found: dict[str, str] = {}
    for one in metadata.distributions():
        name = one.metadata["Name"]
        if name:
            found.setdefault(name.lower().replace("_", "-"), one.version)
    return found


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
