"""A small export of facts and checks whose answers a test decides: runs of the plugin without any scan."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_mindspeed_migration.facts import store
from pytest_mindspeed_migration.facts.config import ConfigFacts
from pytest_mindspeed_migration.facts.static import RepoFacts, StaticFacts, TargetFacts

# In the project under test: every static contract gets a check that answers what the config's `wishes` say.
CONFTEST = """
import os
from pytest_mindspeed_migration.catalogue import load_catalogue
from pytest_mindspeed_migration.checks import areas, registry
from pytest_mindspeed_migration.findings import Finding

areas.load = lambda level: ()

def answer(contract, wish, path):
    if wish == "raise":
        raise RuntimeError("broken check")
    if wish == "die":
        os._exit(3)
    if wish in ("error", "note"):
        yield Finding("suite.test_error", {"error": contract + " is wrong"}, path=path, line=7, yaml_path="a.b",
                      value="seen", expected="wanted", suggestion="near", severity=wish)

def add(contract):
    @registry.check(contract)
    def judge(view):
        if view.is_framework:
            return list(answer(contract, "error" if contract.startswith("framework.") else None, "core.py"))
        wish = (view.config.data.get("wishes") or {}).get(contract)
        return list(answer(contract, wish, view.target.config))

for one in load_catalogue().contracts:
    if "static" in one.levels and one.id != "config.types":
        add(one.id)
"""


class Project:
    """A folder to run pytest in, with an export of facts in it."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path = pytester.path
        pytester.makeconftest(CONFTEST)

    def facts(self, targets: dict[str, dict[str, str]] | None = None, **model_ids: str) -> Path:
        """Write `facts.json` with these targets; a target's dict says how its contracts answer."""
        targets = {"alpha": {}, "beta": {}} if targets is None else targets
        facts = StaticFacts(repo=RepoFacts(commit="c0ffee" * 6, dirty=False))
        for name, wishes in targets.items():
            config = f"examples/{name}/{name}.yaml"
            model_id = model_ids.get(name, f"{name}_id")
            facts.targets.append(TargetFacts(name, config, f"examples/{name}", model_id))
            facts.configs[config] = ConfigFacts(config, {"model": {"model_id": model_id}, "wishes": wishes})
        store.save(facts, self.path / "facts.json")
        return self.path / "facts.json"

    def run(self, *args: str | Path) -> pytest.RunResult:
        """Run pytest on the export in a process of its own."""
        return self.pytester.runpytest_subprocess("--migrate-facts=facts.json", *args)

    def read(self, path: str) -> str:
        """A file of the reports."""
        return (self.path / "migration-report" / path).read_text(encoding="utf-8")

    def evidence(self, target: str) -> dict[str, Any]:
        """evidence.json of a target."""
        document: dict[str, Any] = json.loads(self.read(f"{target}/evidence.json"))
        return document

    def statuses(self, target: str) -> dict[str, str]:
        """Status by contract."""
        return {contract["id"]: contract["status"] for contract in self.evidence(target)["contracts"]}

    def normalised(self) -> dict[str, str]:
        """All files a run left, without what differs from one run to the next."""
        files = {}
        root = self.path / "migration-report"
        for path in sorted(root.rglob("*")):
            if path.is_file():
                text = path.read_text(encoding="utf-8")
                text = re.sub(r'"timestamp": "[^"]*"', '"timestamp": "-"', text)
                files[path.relative_to(root).as_posix()] = re.sub(r'"duration": [0-9.e-]+', '"duration": 0', text)
        return files
