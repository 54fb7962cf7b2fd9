"""What judging the framework reads beside its Python: all scripts and documents, and the older stack's configs."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..facts.config import ConfigFacts
from ..facts.launch import DocFacts, ScriptFacts
from ..facts.source import ModuleFacts
from .other_stack import other_configs, spreading_modules
from .project import Project
from .targets import discover_framework_files
from .tree import tree_key


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

    key = tree_key(project.repo, project.package) if project.cache.kept else ""
    return project.cache.derived(FrameworkFiles, key, read)
