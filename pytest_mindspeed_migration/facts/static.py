"""All static facts of one target repo, and the targets found in it."""

from __future__ import annotations

from dataclasses import dataclass, field

from .assets import AssetFacts
from .config import ConfigFacts
from .flow import FlowFacts
from .launch import DocFacts, ScriptFacts
from .source import ModuleFacts

FORMAT = 1


@dataclass
class RepoFacts:
    """Identity of the target repo. `problem` is set when the folder is not a MindSpeed-MM checkout."""

    commit: str | None = None
    dirty: bool | None = None
    package: str = "mindspeed_mm"
    problem: str | None = None


@dataclass
class TargetFacts:
    """One migration target: a config, its launch scripts, and the names it answers to."""

    name: str
    config: str | None  # path of its YAML; None when only a manifest exists yet
    folder: str | None = None
    model_id: str | None = None
    scripts: list[str] = field(default_factory=list)
    docs: list[str] = field(default_factory=list)
    trainer: str | None = None  # program the launch script starts, relative to the repo
    manifest: str | None = None


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
