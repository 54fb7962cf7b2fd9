"""A target repo and the migration targets in it, as far as a run names them."""

from __future__ import annotations

from dataclasses import dataclass, field

FRAMEWORK = "framework"
"""Name of the pseudo-target that judges the framework itself and plugins no config uses."""


@dataclass
class ChangedFile:
    """A file that differs from the base: `action` is added, modified, deleted or renamed (then `before` is its old
    path); lines `added` and `removed`, None where they cannot be counted."""

    path: str
    action: str
    added: int | None = None
    removed: int | None = None
    before: str | None = None


@dataclass
class ChangeFacts:
    """What a migration changed: `base` as asked for, the `commit` it is compared with, and the files that differ."""

    base: str
    commit: str
    files: list[ChangedFile] = field(default_factory=list)


@dataclass
class RepoFacts:
    """Identity of the target repo. `problem` is set when the folder is not a MindSpeed-MM checkout."""

    commit: str | None = None
    dirty: bool | None = None
    package: str = "mindspeed_mm"
    problem: str | None = None
    changes: ChangeFacts | None = None  # against a base revision, when one is named


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
