"""What artifacts are made of: the result of a target, its facts, and where to read the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..messages import text

if TYPE_CHECKING:
    from ..catalogue import Catalogue
    from ..checks.view import TargetView
    from ..evidence.document import TargetResult
    from ..facts.static import StaticFacts

Read = Callable[[Sequence[str]], "StaticFacts"]


@dataclass(frozen=True)
class Material:
    """One target.

    Attributes:
        read: facts with the plugins of the named targets, for a comparison with them.
        source_folder: where `source_repo_path` of the manifest counts from; None without a manifest.
    """

    result: TargetResult
    view: TargetView
    catalogue: Catalogue
    lang: str
    read: Read
    source_folder: Path | None = None

    @cached_property
    def records(self) -> dict[str, dict[str, Any]]:
        """The records by contract."""
        return {record["id"]: record for record in self.result.records}

    @property
    def manifest(self) -> dict[str, Any]:
        """The manifest of the target, empty when it has none."""
        return self.view.manifest or {}

    def text(self, key: str, values: Mapping[str, Any]) -> str:
        """A text of the message catalogue in the language of the run."""
        return text(key, values, self.lang)

    def details(self, contract: str) -> dict[str, Any] | None:
        """What a probe showed beside a contract."""
        details: dict[str, Any] | None = self.records.get(contract, {}).get("details")
        return details

    def entry(self, contract: str) -> dict[str, Any]:
        """A contract as artifacts show it: its state, where it was seen, and what was found."""
        record, one = self.records[contract], self.catalogue.by_id[contract]
        run = record.get("run")
        return {
            "id": contract,
            "title": one.title[self.lang],
            "status": record["status"],
            "status_text": self.text(f"status.{record['status']}", {}),
            "level": record["level"],
            "decided_at": one.decisive_level,
            "proven": self.proven(contract),
            "severity": record["severity"],
            "evidence": f"{contract}@{record['level']}" if run else None,
            "exit_code": run["exit_code"] if run else None,
            "reason": record["reason"],
            "errors": [item["line_text"] for item in record["findings"] if item["severity"] == "error"],
            "notes": [item["line_text"] for item in record["findings"] if item["severity"] == "note"],
        }

    def entries(self, contracts: Iterable[str]) -> list[dict[str, Any]]:
        """Those of the contracts that this target has."""
        return [self.entry(contract) for contract in contracts if contract in self.records]

    def proven(self, contract: str) -> bool:
        """Whether a contract passed where a pass decides."""
        record = self.records[contract]
        passed: bool = record["status"] == "passed"
        return passed and record["level"] == self.catalogue.by_id[contract].decisive_level

    def place(self, yaml_path: str) -> str | None:
        """File and line of a YAML path."""
        config = self.view.config
        if config is None or not config.has(yaml_path):
            return None
        line = config.line_of(yaml_path)
        return f"{config.path}:{line}" if line else config.path
