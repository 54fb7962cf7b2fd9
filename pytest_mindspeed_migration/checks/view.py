"""What a check sees: one target, its config, and the facts of its repo, with the analyses derived from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Protocol

from ..facts.assets import AssetFacts
from ..facts.config import ConfigFacts
from ..facts.launch import DocFacts, ScriptFacts
from ..facts.static import StaticFacts
from ..facts.target import FRAMEWORK, TargetFacts
from .registry import NothingToJudge

if TYPE_CHECKING:
    from ..facts.runtime import ProbeFacts
    from ..outcomes import Verdict

__all__ = ["FRAMEWORK", "MODEL_KEY", "TargetView"]

MODEL_KEY = "model.model_name_or_path"
"""Where a config names the model folder."""


class Probes(Protocol):
    """Where a view gets runtime facts from."""

    def facts(self, view: TargetView, probe: str) -> ProbeFacts:
        """The facts of a probe."""
        ...


@dataclass(frozen=True)
class TargetView:
    """One target with the facts of its repo. Built once per target; checks read it and change nothing."""

    facts: StaticFacts
    target: TargetFacts
    manifest: dict[str, Any] | None = None
    probes: Probes | None = field(default=None, compare=False, repr=False)
    judged: Callable[[str], Verdict] | None = field(default=None, compare=False, repr=False)  # of another contract
    manifest_key: str = "manifest"  # before the colon of the keys of its paths in `facts.assets`
    manifest_folder: Path | None = None  # that relative paths of the manifest count from

    def probe(self, name: str) -> ProbeFacts:
        """What a probe showed of this target; it is executed when nobody in this run has asked for it.

        Raises:
            NothingToJudge: when this run has no interpreter for probes, or the target lacks what the probe needs.
        """
        if self.probes is None:
            raise NothingToJudge("cpu.no_interpreter")
        return self.probes.facts(self, name)

    def manifest_asset(self, key: str) -> AssetFacts | None:
        """What is at a path of the manifest, by its dotted key; None when nobody looked."""
        return self.facts.assets.get(f"{self.manifest_key}:{key}")

    @property
    def is_framework(self) -> bool:
        """Whether this is the pseudo-target for the framework itself."""
        return self.target.name == FRAMEWORK

    @property
    def config(self) -> ConfigFacts | None:
        """The target's YAML, None when it has none yet."""
        return self.facts.configs.get(self.target.config) if self.target.config else None

    @property
    def absent_model_folder(self) -> str | None:
        """The model folder that manifest, command line or config name, when it is not on this machine."""
        given = ((self.manifest or {}).get("runtime_assets") or {}).get("model_path")
        if isinstance(given, str):
            asset = self.manifest_asset("runtime_assets.model_path")
            return given if asset is not None and not asset.exists else None
        written = self.config.string(MODEL_KEY) if self.config else None
        asset = self.facts.assets.get(f"config:{self.target.config}:{MODEL_KEY}")
        return written if asset is None or not asset.exists else None  # of a name on a hub, nothing is looked up

    @property
    def scripts(self) -> list[ScriptFacts]:
        """Launch scripts that start this target's config."""
        return [self.facts.scripts[path] for path in self.target.scripts if path in self.facts.scripts]

    @property
    def docs(self) -> list[DocFacts]:
        """READMEs of this target's folder."""
        return [self.facts.docs[path] for path in self.target.docs if path in self.facts.docs]

    @property
    def plugins(self) -> list[str]:
        """`training.plugin` entries as written."""
        value = self.config.get("training.plugin") if self.config else None
        entries = value if isinstance(value, list) else [value] if isinstance(value, str) else []
        return [str(PurePosixPath(entry)) for entry in entries if isinstance(entry, str)]
