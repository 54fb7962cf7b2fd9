"""What judging the framework reads beside its Python: all scripts and documents, and the older stack's configs."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path

from ..facts.config import ConfigFacts
from ..facts.launch import DocFacts, ScriptFacts
from ..facts.source import ModuleFacts
from .other_stack import other_configs, spreading_modules
from .project import Project
from .targets import FOLDERS_OF_DOCS, discover_framework_files

_SKIPPED = {"__pycache__"}


@dataclass
class FrameworkFiles:
    """Facts that do not depend on the targets of a run."""

    scripts: dict[str, ScriptFacts] = field(default_factory=dict)
    docs: dict[str, DocFacts] = field(default_factory=dict)
    other_configs: dict[str, ConfigFacts] = field(default_factory=dict)
    other_modules: dict[str, ModuleFacts] = field(default_factory=dict)


def framework_files(project: Project, scripts: dict[str, ScriptFacts]) -> FrameworkFiles:
    """Read them, or take them from the cache when no file of the repo has been added, removed or changed.

    Args:
        project: the repo with its cache.
        scripts: launch scripts of the targets, which may start configs of the older stack too.
    """

    def read() -> FrameworkFiles:
        more = discover_framework_files(project.repo)
        configs = other_configs(project.repo, {**scripts, **more.scripts}, project.core)
        return FrameworkFiles(more.scripts, more.docs, configs, spreading_modules(project, configs))

    key = _tree_key(project.repo, project.package) if project.cache.kept else ""
    return project.cache.derived(FrameworkFiles, key, read)


def _tree_key(repo: Path, package: str) -> str:
    """Identity of the tree by names, sizes and times: references of documents depend on what else exists."""
    digest = hashlib.sha256()
    tops = [package, *FOLDERS_OF_DOCS]
    for top in ["", *sorted(set(tops))]:
        for folder, folders, names in os.walk(repo / top):
            folders[:] = sorted(name for name in folders if top and name not in _SKIPPED)
            for name in sorted(names):
                try:
                    status = os.stat(os.path.join(folder, name))
                except OSError:
                    continue
                digest.update(f"{folder}/{name}\0{status.st_size}\0{status.st_mtime_ns}\n".encode("utf-8", "replace"))
    return digest.hexdigest()
