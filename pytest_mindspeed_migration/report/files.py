"""The report files of a target, and the overview of several."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..atomic import write_atomic
from ..evidence.redact import redact
from ..facts.target import FRAMEWORK
from ..messages import text
from ..remedies import STAGES
from ..templates import environment
from . import coverage
from .curve import loss_curve
from .texts import (
    could_be_lines,
    counts,
    diagnosis_line,
    finding_cause,
    first_line,
    gate_line,
    routing_line,
    since_lines,
    since_title,
    symptom,
)

if TYPE_CHECKING:
    from ..catalogue import Catalogue
    from ..evidence.document import TargetResult
    from ..options import Options

_TRAININGS = ("verify.rehearsal", "verify.distributed_e2e")

EVIDENCE = "evidence.json"
REPORT = "verification_report.md"
FAILED = "failed_cases.md"
OVERVIEW = ("summary.json", "compatibility_matrix.yaml")
# Contracts that make up a line of compatibility_matrix.yaml, by part of the migration.
_MATRIX = {
    "model": ("model.registration", "model.from_pretrained", "model.from_config", "model.forward_loss"),
    "data": ("data.registration", "data.fields", "data.collate", "data.path_types"),
    "config": ("config.linkage", "config.strict_extra", "config.apply_modules"),
}


def write_reports(result: TargetResult, folder: Path, catalogue: Catalogue, options: Options) -> None:
    """Write `verification_report.md`, and `failed_cases.md` when something failed. Raises OSError."""
    values = _values(result, catalogue, options)
    for name, picture in _pictures(values["trainings"], options.lang):
        write_atomic(folder / name, picture)
    _render(REPORT, values, folder / REPORT, options.lang)
    if values["failures"]:
        _render(FAILED, values, folder / FAILED, options.lang)
    else:
        (folder / FAILED).unlink(missing_ok=True)


def write_overview(results: Sequence[TargetResult], out: Path, options: Options) -> None:
    """Write `summary.json` and `compatibility_matrix.yaml` over all targets. Raises OSError."""
    import yaml

    summary = {
        "schema_version": "1.0",
        "targets": [
            {
                "name": result.target.name,
                "config": result.target.config,
                "counted": result.target.name != FRAMEWORK,
                "accepted": result.acceptance.accepted,
                "summary": result.summary,
                "counts": counts(result.records),
            }
            for result in results
        ],
    }
    write_atomic(out / OVERVIEW[0], redact(json.dumps(summary, ensure_ascii=False, indent=2)) + "\n")
    matrix = {result.target.name: _matrix(result) for result in results if result.target.name != FRAMEWORK}
    write_atomic(out / OVERVIEW[1], yaml.safe_dump(matrix, allow_unicode=True, sort_keys=False, width=120))


def _matrix(result: TargetResult) -> dict[str, dict[str, str]]:
    status = {record["id"]: record["status"] for record in result.records}
    return {
        part: {contract.partition(".")[2]: status.get(contract, "not_run") for contract in contracts}
        for part, contracts in _MATRIX.items()
    }


def _values(result: TargetResult, catalogue: Catalogue, options: Options) -> dict[str, Any]:
    lang = options.lang
    rows = []
    for record, published in zip(result.records, result.document["contracts"], strict=True):
        contract = catalogue.by_id[record["id"]]
        run = record.get("run")
        rows.append(
            {
                **published,
                "area": contract.area,
                "title": contract.title[lang],
                "why": contract.why[lang],
                "undecided": record["status"] == "passed" and record["level"] != contract.decisive_level,
                "symptom": symptom(record, lang),
                "status_text": text(f"status.{record['status']}", {}, lang),
                "owner_text": text(f"owner.{record['owner']}", {}, lang),
                "gate_text": text(f"gate.{record['gate']}", {}, lang),
                "run": run,
                "cause": diagnosis_line(record["diagnosis"], lang) if "diagnosis" in record else None,
                "could_be": could_be_lines(record["diagnosis"], lang) if "diagnosis" in record else [],
                "finding_cause": finding_cause(record),
                "route": routing_line(record, lang) if "routing" in record else None,
                "common_fixes": _common_fixes(record),
                "errors": [
                    {**item, "owner_text": _owner_text(item, record, lang)}
                    for item in published["findings"]
                    if item["severity"] == "error"
                ],
                "hints": [item for item in published["findings"] if item["severity"] == "note"],
            }
        )
    present = dict.fromkeys(row["area"] for row in rows)
    details = {record["id"]: record["details"] for record in result.records if "details" in record}
    return {
        "module_tree": details.get("config.apply_modules"),
        "signatures": details.get("model.build"),
        "fields": details.get("model.forward_inputs"),
        "trainings": [
            {**details[name], "title": catalogue.by_id[name].title[lang], "picture": _picture_name(name, details[name])}
            for name in _TRAININGS
            if name in details
        ],
        "coverage": coverage.rows(coverage.merged(one["coverage"] for one in result.records if "coverage" in one)),
        "first_line": first_line(result, lang),
        "target": result.document["target"],
        "repo": result.document["repo"],
        "environment": result.document["environment"],
        "notes": result.document["notes"],
        "is_framework": result.target.name == FRAMEWORK,
        "gates": [
            {
                "line": gate_line(gate, lang),
                "name": text(f"gate.{gate.name}", {}, lang),
                "status": text(f"status.{gate.status}", {}, lang),
                "passed": gate.passed,
                "failed": [contract for contract in gate.failed if contract not in gate.blocked],
                "blocked": len(gate.blocked),
                "missing": gate.missing,
            }
            for gate in result.acceptance.gates
        ],
        "areas": [
            {"title": catalogue.area_titles[area][lang], "rows": [row for row in rows if row["area"] == area]}
            for area in present
        ],
        "rows": rows,
        "failures": [row for row in rows if row["status"] in ("failed", "unproven")],
        "unproven": [row for row in rows if row["status"] in ("blocked", "not_run", "unproven")],
        "counts": counts(result.records),
        "since_title": since_title(result.since, lang) if result.since is not None and result.since.news else None,
        "since": since_lines(result.since, lang),
    }


def _common_fixes(record: dict[str, Any]) -> list[str]:
    """What is to be done beside what each finding asks for."""
    own = {item["fix"] for item in record["findings"] if item["severity"] == "error"}
    return [action for action in record["fix_actions"] if action not in own]


def _owner_text(item: dict[str, Any], record: dict[str, Any], lang: str) -> str | None:
    """Whose part a finding is, where that is not the stage its contract goes to."""
    stage = STAGES.get(item["owner"] or "")
    if stage is None or not item["fix"] or stage == record.get("routing", {}).get("stage", stage):
        return None
    return text(f"triage.owner_{item['owner']}", {}, lang)


def _picture_name(contract: str, details: dict[str, Any]) -> str | None:
    losses = [step["loss"] for step in details["steps"] if isinstance(step["loss"], float)]
    return f"loss_{contract.partition('.')[2]}.svg" if len(losses) > 1 else None


def _pictures(trainings: Sequence[dict[str, Any]], lang: str) -> Iterator[tuple[str, str]]:
    """Name and content of the picture of each training run that has a curve."""
    titles = (text("report.curve_step", {}, lang), text("report.curve_loss", {}, lang))
    for training in trainings:
        steps = [(step["iteration"], step["loss"]) for step in training["steps"] if isinstance(step["loss"], float)]
        picture = loss_curve(steps, titles)
        if picture is not None and training["picture"] is not None:
            yield training["picture"], picture


def _render(name: str, values: dict[str, Any], path: Path, lang: str) -> None:

    rendered = environment(f"report/{lang}", "report").get_template(f"{name}.j2").render(values)
    write_atomic(path, rendered)
