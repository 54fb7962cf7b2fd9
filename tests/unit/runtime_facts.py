"""Facts that probes showed of real targets, and changes to them, as checks of level cpu look at them."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from pytest_mindspeed_migration.checks.registry import judge
from pytest_mindspeed_migration.checks.view import TargetView
from pytest_mindspeed_migration.facts import store
from pytest_mindspeed_migration.facts.codec import from_json
from pytest_mindspeed_migration.facts.runtime import ProbeFacts
from pytest_mindspeed_migration.facts.static import StaticFacts
from pytest_mindspeed_migration.findings import Finding
from pytest_mindspeed_migration.messages import LANGUAGES, finding_line

DATA = Path(__file__).parents[1] / "data"
TARGETS = {
    "qwen3_vl_moe": "qwen3vl_30B_config_v1",
    "qwen3_omni_moe": "qwen3omni",
    "qwen3_asr": "qwen3_asr",
    "qwen3_5": "qwen3_5_4B_config",
    "mimo_v25": "mimov2_5",
}


class Shown:
    """A target of real master with what the probe `model` showed of it; tests change both."""

    def __init__(self, family: str, recorded: str | None = None) -> None:
        text = (DATA / "runtime" / f"{recorded or family}.json").read_text(encoding="utf-8")
        self.steps: dict[str, Any] = json.loads(text)["steps"]
        facts = _master()
        target = facts.target(TARGETS[family])
        assert target.config is not None
        self._config = deepcopy(facts.configs[target.config])
        self._facts, self._target = facts, target

    def data(self, step: str) -> Any:
        """The facts of a step."""
        return self.steps[step]["data"]

    def fail(self, step: str, kind: str, text: str, *frames: dict[str, Any], **more: Any) -> None:
        """Let a step end with an exception, and nothing come after it."""
        names = list(self.steps)
        self.steps = {name: self.steps[name] for name in names[: names.index(step)]}
        error = {"type": kind, "message": text, "frames": list(frames), "chain": [], **more}
        self.steps[step] = {"name": step, "status": "error", "error": error, "data": {}}

    def set(self, dotted: str, value: Any) -> None:
        """Change a value of the config."""
        *parents, last = dotted.split(".")
        node: Any = self._config.data
        for name in parents:
            node = node.setdefault(name, {})
        node[last] = value

    @property
    def view(self) -> TargetView:
        """The target as checks see it."""
        path = self._config.path
        facts = replace(self._facts, configs={**self._facts.configs, path: deepcopy(self._config)})
        return TargetView(facts, self._target, probes=self)

    def facts(self, view: TargetView, probe: str) -> ProbeFacts:
        """What a check asks for."""
        steps = {name: {"seconds": 0.0, **step} for name, step in self.steps.items()}
        return from_json(ProbeFacts, {"probe": probe, "outcome": "done", "steps": steps})

    def judge(self, contract: str) -> list[Finding]:
        """The findings of a contract at level cpu; each can be told in both languages."""
        found = judge(contract, self.view, "cpu")
        for finding in found:
            assert all(finding_line(finding, lang) for lang in LANGUAGES)
        return found


def said(findings: list[Finding]) -> list[tuple[str, str, str | None]]:
    """Severity, text and place of findings."""
    return [(item.severity, item.message, item.yaml_path) for item in findings]


@cache
def _master() -> StaticFacts:
    return store.load(DATA / "facts" / "master.json")
