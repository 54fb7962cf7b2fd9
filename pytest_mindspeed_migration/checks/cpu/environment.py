"""`preflight.environment`: whether the target's interpreter can run the framework, and has what the target asks for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from ...facts.runtime import Raised
from ...findings import Finding, Level
from ..registry import check
from ..view import TargetView
from .steps import ended, finding_of, first_line, place_of

_PROBE = "environment"

_DECISIVE = ("torch", "torch-npu", "transformers", "mindspeed")
"""Packages whose version changes what the framework's code does; another version of any other one is a note."""

# How a load of torch_npu fails, by the root of the exception chain; source: the issues of Ascend/pytorch.
_NPU_CAUSES = (
    ("environment.npu_symbol", re.compile(r"undefined symbol: (?P<detail>\S+)")),
    (
        "environment.npu_library",
        re.compile(r"(?P<detail>lib(?:hccl|ascend\w*|acl\w*|ge_\w+|runtime|graph|register|platform|opapi)[\w.]*)"),
    ),
    ("environment.npu_partial", re.compile(r"has no attribute '(?P<detail>_autoload)'")),
)


@check("preflight.environment", level="cpu")
def framework_imports(view: TargetView) -> list[Finding]:
    """torch, transformers and the framework's trainer import in the target's interpreter."""
    probe = view.probe(_PROBE)
    step = probe.steps.get("boot")
    if step is None or step.status != "ok":
        return [ended(probe, "import torch, transformers")]
    found: list[Finding] = []
    for name, item in step.data["imports"].items():
        if item["error"] is None:
            continue
        error = Raised(**item["error"])
        found.append(_npu_finding(error) if _about_npu(error) else _import_finding(view, name, error))
        break  # what is imported afterwards fails for the same reason
    return found


@check("preflight.environment", level="cpu")
def versions_are_those_asked_for(view: TargetView) -> list[Finding]:
    """What README, requirements and pyproject of the target ask for is installed in that version."""
    probe = view.probe(_PROBE)
    step = probe.steps.get("interpreter")
    if step is None or step.status != "ok":
        return []
    installed: dict[str, str] = step.data["packages"]
    found = []
    for package, specifier, path, line, level in _asked(view, step.data["requirements"]):
        have = installed.get(package)
        if have is None or not _violates(have, specifier):
            continue
        if _same_minor(have, specifier):
            level = "note"
        found.append(
            Finding(
                "environment.version",
                {"package": package},
                path=path,
                line=line,
                value=have,
                expected=specifier,
                severity=level,
            )
        )
    return found


@check("preflight.environment", level="cpu")
def torch_npu_loads(view: TargetView) -> list[Finding]:
    """Where torch_npu is installed it loads; without a device that is a note, since nothing here uses it."""
    probe = view.probe(_PROBE)
    step = probe.steps.get("torch_npu")
    if step is None or step.status == "ok":
        return []
    if step.error is None:
        return [ended(probe, "import torch_npu")]
    finding = _npu_finding(step.error)
    pair = _pair(probe.steps["interpreter"].data["packages"]) if "interpreter" in probe.steps else None
    return [pair, finding] if pair else [finding]


def _import_finding(view: TargetView, name: str, error: Raised) -> Finding:
    """An import that fails because the framework was written for another version says which one it asks for."""
    root = error.root
    named = re.search(r"cannot import name '(?P<name>\w+)' from '(?P<module>[\w.]+)'", root.message)
    step = view.probe(_PROBE).steps.get("interpreter")
    if named is None or step is None or step.status != "ok":
        return finding_of(error, f"import {name}")
    package = named["module"].split(".")[0]
    asked = [item for item in _asked(view, step.data["requirements"]) if item[0] == package]
    path, line = place_of(error)
    wanted = f"{package}{asked[0][1]} ({asked[0][2]}:{asked[0][3]})" if asked else None
    args = {"what": f"import {name}", "name": named["name"], "module": named["module"], "package": package}
    return Finding(
        "environment.name_gone", args, path=path, line=line, value=step.data["packages"].get(package), expected=wanted
    )


def _about_npu(error: Raised) -> bool:
    texts = [error.message, error.root.message]
    return any("torch_npu" in text or "Failed to load the backend extension" in text for text in texts)


def _npu_finding(error: Raised) -> Finding:
    root = error.root
    for key, pattern in _NPU_CAUSES:
        found = pattern.search(root.message)
        if found:
            return Finding(key, {"detail": found["detail"]}, value=first_line(root.message))
    if root.missing is not None:
        return Finding("cpu.package_missing", {"what": "torch_npu", "package": root.missing}, value=root.missing)
    return Finding("environment.npu_other", {"error": root.type, "text": first_line(root.message)})


def _pair(packages: dict[str, str]) -> Finding | None:
    """torch and torch_npu belong together by version; source: the version table of Ascend/pytorch."""
    torch, npu = packages.get("torch"), packages.get("torch-npu")
    if torch is None or npu is None:
        return None
    wanted = re.match(r"\d+\.\d+\.\d+", torch)
    if wanted is None or npu.startswith(wanted[0]):
        return None
    return Finding("environment.npu_pair", {"torch": torch}, value=npu, expected=wanted[0])


def _asked(view: TargetView, repo: list[dict[str, object]]) -> Iterator[tuple[str, str, str, int | None, Level]]:
    """Package, specifier, file and line of what is asked for; the target's own documents come first and count."""
    own = set()
    for doc in view.docs:
        for package, specifier in doc.requirements.items():
            name = package.lower().replace("_", "-")
            own.add(name)
            level: Level = "error" if name in _DECISIVE else "note"
            yield name, specifier, doc.path, doc.requirement_lines.get(package), level
    for item in repo:
        if item["package"] not in own:
            yield str(item["package"]), str(item["specifier"]), str(item["file"]), int(str(item["line"])), "note"


def _same_minor(version: str, specifier: str) -> bool:
    """Whether the version asked for differs in its patch number alone."""
    asked = re.fullmatch(r"[=~]=\s*(\d+\.\d+)(?:\.\w+)*", specifier.strip())
    return asked is not None and re.match(re.escape(asked[1]) + r"(?!\d)", version) is not None


def _violates(version: str, specifier: str) -> bool:
    """Whether a version is none the specifier allows; a specifier that names a commit cannot be compared."""
    try:
        return not SpecifierSet(specifier).contains(Version(version).public, prereleases=True)
    except (InvalidSpecifier, InvalidVersion):
        return False
