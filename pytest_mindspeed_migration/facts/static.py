"""All static facts of one target repo."""

from __future__ import annotations

from dataclasses import dataclass, field

from .assets import AssetFacts
from .config import ConfigFacts
from .flow import FlowFacts
from .launch import DocFacts, ScriptFacts
from .source import ModuleFacts
from .target import RepoFacts, TargetFacts

__all__ = ["FORMAT", "RepoFacts", "StaticFacts", "TargetFacts"]

FORMAT = 1


@dataclass
class StaticFacts:
    """What a scan leaves behind. Loading an export gives the same findings as scanning the repo."""

    format: int = FORMAT
    repo: RepoFacts = field(default_factory=RepoFacts)
    targets: list[TargetFacts] = field(default_factory=list)
    configs: dict[str, ConfigFacts] = field(default_factory=dict)
    scripts: dict[str, ScriptFacts] = field(default_factory=dict)
    docs: dict[str, DocFacts] = field(default_factory=dict)
    assets: dict[str, AssetFacts] = field(default_factory=dict)  # by where the path is written
    modules: dict[str, ModuleFacts] = field(default_factory=dict)  # by path
    other_configs: dict[str, ConfigFacts] = field(default_factory=dict)  # of the older, Megatron-style stack
    other_modules: dict[str, ModuleFacts] = field(default_factory=dict)  # its code that takes sections apart
    flow: FlowFacts = field(default_factory=FlowFacts)
    files: list[str] = field(default_factory=list)  # every .py below the package, for import resolution

    def target(self, name: str) -> TargetFacts:
        """The target of that exact name; KeyError when there is none."""
        for target in self.targets:
            if target.name == name:
                return target
        raise KeyError(name)
