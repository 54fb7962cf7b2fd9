"""A target repo and the migration targets in it, as far as a run names them."""

from __future__ import annotations

from dataclasses import dataclass, field

FRAMEWORK = "framework"
"""Name of the pseudo-target that judges the framework itself and plugins no config uses."""


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
