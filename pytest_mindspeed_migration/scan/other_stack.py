"""Configs of the older Megatron-style stack, and the code of it that takes their sections apart.

The same example folders hold configs of both stacks. A key that the FSDP2 loader knows may be an unexpected keyword for
the older one, which hands whole sections on as keyword arguments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..facts.config import ConfigFacts
from ..facts.launch import ScriptFacts
from ..facts.source import ModuleFacts
from .project import Project
from .repo_paths import is_file
from .yaml_tree import read_config

_SPREAD = re.compile(rb"\*\*([a-z_]\w*)\s*[,)]")


def other_configs(repo: Path, scripts: dict[str, ScriptFacts], core: str) -> dict[str, ConfigFacts]:
    """The YAMLs that launch scripts hand to a program outside the FSDP2 package (`core`, with a final "/")."""
    paths = {
        command.config
        for script in scripts.values()
        for command in script.commands
        if command.program and command.config and not command.program.startswith(core)
    }
    return {path: read_config(repo, path) for path in sorted(paths) if is_file(repo, path)}


def spreading_modules(project: Project, configs: dict[str, ConfigFacts]) -> dict[str, ModuleFacts]:
    """Modules outside the FSDP2 package that call something with `**<section>`, and what they import."""
    sections = {name for config in configs.values() for name in _sections(config.data)}
    outside = [path for path in project.files if not path.startswith(project.core)] if sections else []
    callers = [
        path for path in outside if any(match.decode() in sections for match in _SPREAD.findall(project.source(path)))
    ]
    return project.read_beside(callers)


def _sections(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            if isinstance(value, dict) and isinstance(key, str):
                yield key
                yield from _sections(value)
