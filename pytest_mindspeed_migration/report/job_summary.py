"""The summary of a CI job: appended to the file that `GITHUB_STEP_SUMMARY` names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..atomic import encode
from ..evidence.redact import redact
from ..facts.target import FRAMEWORK
from ..messages import text
from ..templates import environment
from .texts import counts, diagnosis_line, finding_cause, first_line, labelled, symptom

if TYPE_CHECKING:
    from ..evidence.document import TargetResult

MOST = 50
"""Failures that are shown; a summary of more than a megabyte is dropped by its reader."""


def append_summary(results: Sequence[TargetResult], lang: str, path: Path) -> None:
    """Append a table of the targets, what failed, and what changed since the last run. Raises OSError."""
    with path.open("ab") as stream:
        stream.write(encode(redact(summary(results, lang))))


def summary(results: Sequence[TargetResult], lang: str) -> str:
    """The summary as Markdown."""
    failures: list[dict[str, Any]] = [
        {
            "target": result.target.name,
            "id": record["id"],
            "severity": record["severity"],
            "stage": text(f"owner.{record['routing']['stage']}", {}, lang),
            "symptom": symptom(record, lang),
            "cause": diagnosis_line(record["diagnosis"], lang) if "diagnosis" in record else finding_cause(record),
            "recheck": record["recheck_command"],
        }
        for result in results
        if result.target.name != FRAMEWORK
        for record in result.records
        if record["status"] in ("failed", "unproven")
    ]
    rows = [
        {
            "name": result.target.name,
            "line": first_line(result, lang),
            "counts": counts(result.records),
            "news": [
                labelled(f"since.{kind}", ", ".join(contracts), lang)
                for kind, contracts in (result.since.news if result.since is not None else {}).items()
            ],
        }
        for result in results
    ]
    template = environment(f"report/{lang}", "report").get_template("job_summary.md.j2")
    return template.render(rows=rows, failures=failures[:MOST], more=max(0, len(failures) - MOST))
