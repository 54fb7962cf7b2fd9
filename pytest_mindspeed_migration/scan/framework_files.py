"""What judging the framework reads beside its Python: all scripts and documents, and the older stack's configs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..facts.config import ConfigFacts
from ..facts.launch import DocFacts, ScriptFacts
from ..facts.source import ModuleFacts
from .other_stack import other_configs, spreading_modules
from .project import Project
from .repo_paths import questions, same_answers
from .stamps import outside
from .targets import discover_framework_files

if TYPE_CHECKING:
    from .ahead import Ahead


@dataclass
class FrameworkFiles:
    """Facts that do not depend on the targets of a run."""

    scripts: dict[str, ScriptFacts] = field(default_factory=dict)
    docs: dict[str, DocFacts] = field(default_factory=dict)
    other_configs: dict[str, ConfigFacts] = field(default_factory=dict)
    other_modules: dict[str, ModuleFacts] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)  # files elsewhere that it depends on: `repo_paths.questions`


def framework_files(project: Project, scripts: dict[str, ScriptFacts], ahead: Ahead | None = None) -> FrameworkFiles:
    """Read them, or take them from the cache when no file of the repo has been added, removed or changed.

    Args:
        project: the repo with its cache.
        scripts: launch scripts of the targets, which may start configs of the older stack too.
        ahead: who reads them already.
    """

    kept = project.cache.result(FrameworkFiles, project.key)
    if kept is not None and same_answers(project.repo, kept.asked):
        return kept
    found = ahead.framework() if ahead is not None else read_framework_files(project, scripts)
    project.cache.keep_result(FrameworkFiles, project.key, found)
    return found


def read_framework_files(project: Project, scripts: dict[str, ScriptFacts]) -> FrameworkFiles:
    """Read them; `scripts` are those the repo has besides its own examples and tests."""
    with questions() as asked:
        more = discover_framework_files(project.repo)
        configs = other_configs(project.repo, {**scripts, **more.scripts}, project.core)
    modules = spreading_modules(project, configs)
    return FrameworkFiles(more.scripts, more.docs, configs, modules, outside(asked))
