"""evidence.json: assembled from the records of a target, validated, published whole or not at all."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .. import __version__
from ..atomic import indented, write_atomic
from ..report.acceptance import Acceptance, assess
from .redact import redact_all
from .routing import routes
from .since import Since, keeping_last, since

if TYPE_CHECKING:
    from ..catalogue import Catalogue
    from ..facts.static import RepoFacts, TargetFacts
    from ..options import Options

SCHEMA_VERSION = "1.0"
SCHEMA = Path(__file__).resolve().parent.parent / "schemas" / "evidence.schema.json"


@dataclass(frozen=True)
class TargetResult:
    """Everything a run says about one target: what reports are made of."""

    target: TargetFacts
    records: Sequence[dict[str, Any]]
    acceptance: Acceptance
    head: dict[str, Any]
    notes: Sequence[str]
    since: Since | None = None  # the run before; None when there was none

    @classmethod
    def of(
        cls,
        target: TargetFacts,
        repo: RepoFacts,
        records: Sequence[dict[str, Any]],
        catalogue: Catalogue,
        notes: Sequence[str],
        options: Options,
        before: Mapping[str, Any] | None = None,
    ) -> TargetResult:
        """Assess the records of a target, from which secrets have been taken already (`Collector`).

        Args:
            before: the evidence of the run before (`since.previous`).
        """
        acceptance = assess(records, catalogue)
        head: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "target": {"name": target.name, "config": target.config, "model_id": target.model_id},
            "repo": {"commit": repo.commit, "dirty": repo.dirty},
            "environment": {**_environment(), "catalogue": catalogue.digest, "levels": list(options.levels)},
            "summary": _summary(acceptance),
        }
        route = routes(records)
        routed = [{**one, "routing": route[one["id"]]} if one["id"] in route else one for one in records]
        changes = since(before, records) if before is not None else None
        return cls(target, keeping_last(before, routed), acceptance, redact_all(head), notes, changes)

    @property
    def summary(self) -> dict[str, Any]:
        """The state of the gates, as evidence.json has it."""
        summary: dict[str, Any] = self.head["summary"]
        return summary

    @cached_property
    def document(self) -> dict[str, Any]:
        """The content of evidence.json."""
        return {
            **self.head,
            "commands": [_command(record) for record in self.records if "run" in record],
            "tests": [_test(record) for record in self.records],
            "contracts": [_contract(record) for record in self.records],
            "notes": [*redact_all(list(self.notes)), *_notes(self.records)],
        }

    def digest(self) -> str:
        """Digest of everything that evidence and reports are made from."""
        parts = [self.head, self.records, list(self.notes)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def publish(result: TargetResult, folder: Path) -> None:
    """Validate and write `evidence.json`.

    Raises:
        ValueError: when the document does not match its schema: a mistake in this package.
        OSError: when the folder cannot be written.
    """
    validate(result.document)
    write_atomic(folder / "evidence.json", indented(result.document) + "\n")


def validate(document: Mapping[str, Any]) -> None:
    """Check a document against `schemas/evidence.schema.json`; ValueError names the first place that differs."""
    from .schema import MismatchError, check

    try:
        check(document, schema())
    except MismatchError as mismatch:
        raise ValueError(f"evidence.json does not match its schema: {mismatch}") from None


@cache
def schema() -> dict[str, Any]:
    """The JSON Schema of evidence.json."""
    value: dict[str, Any] = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return value


@cache
def _environment() -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "pytest": pytest.__version__,
        "pytest_mindspeed_migration": __version__,
    }


def _summary(acceptance: Acceptance) -> dict[str, Any]:
    gates = {gate.name: gate for gate in acceptance.gates}
    return {
        "accepted": acceptance.accepted,
        "functional": gates["functional"].status,
        "reliability": gates["reliability"].status,
        "distributed_e2e_run_once": gates["distributed_e2e"].status,
        "evidence": gates["evidence"].status,
        "failed": [contract for gate in acceptance.gates for contract in gate.failed],
        "missing": [contract for gate in acceptance.gates for contract in gate.missing],
    }


def _command(record: Mapping[str, Any]) -> dict[str, Any]:
    run = record["run"]
    return {
        "name": _command_name(record),
        "command": run["command"],
        "exit_code": run["exit_code"],
        "timestamp": run["started"],
        "duration": run["duration"],
        "level": record["level"],
        "device": run.get("device"),
        "stand_ins": run.get("stand_ins", []),
        "overrides": run.get("overrides", []),
        "log": {"path": run["log"]["path"], "sha256": run["log"]["sha256"]},
        "log_excerpt": run["log"]["excerpt"],
    }


def _command_name(record: Mapping[str, Any]) -> str:
    return f"{record['id']}@{record['level']}"


def _test(record: Mapping[str, Any]) -> dict[str, Any]:
    evidence = _command_name(record) if "run" in record else record["reason"] or ""
    return {"name": record["id"], "status": record["status"], "evidence": evidence}


def _contract(record: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in record.items() if key not in ("run", "requests", "details", "coverage")}
    kept["findings"] = [
        {key: value for key, value in item.items() if key != "line_text"} for item in record["findings"]
    ]
    if "details" in record:
        kept["details"] = record["details"]["file"]
    return {**kept, "evidence": [_command_name(record)] if "run" in record else []}


def _notes(records: Sequence[Mapping[str, Any]]) -> list[str]:
    return [
        f"{record['id']}: {item['line_text']}"
        for record in records
        for item in record["findings"]
        if item["severity"] == "note"
    ]
