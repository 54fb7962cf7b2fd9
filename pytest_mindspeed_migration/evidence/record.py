"""The record of one judged contract, as it travels on a test report from a worker to the controller."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..atomic import portable
from ..messages import finding_line, finding_text, text
from ..remedies import remedy_of
from ..report.coverage import merged

if TYPE_CHECKING:
    from ..catalogue import Contract
    from ..facts.runtime import ProbeFacts
    from ..findings import Finding
    from ..options import Options
    from ..outcomes import Verdict

_PRINTED_LINES = 40

MOST_ACTIONS = 5
"""Fixes of one contract that are listed together; each finding has its own."""

DATASETS = "data/datasets/"
"""Part of a path that tells a data plugin from a model plugin."""


def record_of(verdict: Verdict, contract: Contract, target: str, options: Options) -> dict[str, Any]:
    """Return the record of a verdict: plain JSON, texts in the language of the run."""
    recheck = recheck_command(contract, target, options)
    on_cpu = all(probe.request.get("stand_ins", True) for probe in verdict.probes)
    record: dict[str, Any] = {
        "id": contract.id,
        "target": target,
        "status": verdict.status,
        "level": "cpu" if verdict.level == "npu" and on_cpu else verdict.level,  # tried out, where nothing is decided
        "owner": owner_of(contract, verdict.findings),
        "gate": contract.gate,
        "severity": contract.severity,
        "reason": text(verdict.reason.key, verdict.reason.values, options.lang) if verdict.reason else None,
        "blocked_by": list(verdict.blocked_by),
        "findings": [published(finding, contract, target, options.lang) for finding in verdict.findings],
        "fix_actions": [],
        "recheck_command": recheck,
    }
    if verdict.level is not None:
        record["run"] = {
            "command": verdict.probes[-1].command if verdict.probes else recheck,
            "exit_code": 0 if verdict.status == "passed" else 1,
            "started": verdict.started,
            "duration": round(verdict.duration, 6),
            "device": None if not verdict.probes else "cpu" if on_cpu else "npu",
            "stand_ins": _told(verdict, "stand_ins"),
            "overrides": _told(verdict, "overrides"),
            "log": _log(record, verdict),
        }
        covered = merged(probe.coverage for probe in verdict.probes)
        if covered:
            record["coverage"] = covered
        diagnosis = _diagnosis(verdict, record, options)
        if diagnosis is not None:
            record["diagnosis"] = diagnosis
        if verdict.details is not None:
            record["details"] = verdict.details
        record["requests"] = {probe.request["file"]: probe.request for probe in verdict.probes}
    if verdict.status in ("failed", "unproven"):
        record["fix_actions"] = fix_actions(record, contract, options.lang)
    return dict(portable(record))


def fix_actions(record: Mapping[str, Any], contract: Contract, lang: str) -> list[str]:
    """What mends a failed contract: what triage says and what its findings ask for, else its own fix."""
    failing = [item for item in record["findings"] if item["severity"] == "error"]
    actions = list(dict.fromkeys(item["fix"] for item in failing if item["fix"]))
    if len(actions) > MOST_ACTIONS:
        more = text("report.more_fixes", {"count": len(actions) - MOST_ACTIONS}, lang)
        actions = [*actions[:MOST_ACTIONS], more]
    diagnosis = record.get("diagnosis", {})
    known = diagnosis.get("status") == "cause"
    if not failing or (not known and not all(item["fix"] for item in failing)):
        actions += contract.fix[lang]
    return [*diagnosis.get("fix", ()), *actions]


def _diagnosis(verdict: Verdict, record: Mapping[str, Any], options: Options) -> dict[str, Any] | None:
    """What triage says, unless every finding says itself what mends it."""
    failing = [item for item in record["findings"] if item["severity"] == "error"]
    if verdict.status != "failed" or not verdict.probes or (failing and all(item["fix"] for item in failing)):
        return None
    from ..error_dictionary import error_dictionary
    from .diagnosis import diagnosis_of

    return diagnosis_of(verdict, error_dictionary(options), options.lang)


def recheck_command(contract: Contract, target: str, options: Options) -> str:
    """The command line that judges just this contract again."""
    level = f"--migrate-level={options.levels[-1]}"
    words = ["pytest", f"--migrate-target={target}", level, *options.typed, "-k", contract.test_name]
    return " ".join(map(_quoted, words))


_quoted = lru_cache(shlex.quote)


def owner_of(contract: Contract, findings: tuple[Finding, ...]) -> str:
    """The migration stage that has to fix it; a contract on plugin code belongs to whose plugin it is in."""
    if contract.owner != "plugin":
        return contract.owner
    failing = [finding.path or "" for finding in findings if finding.fails] or [""]
    return "data" if all(DATASETS in path for path in failing) else "model"


def require_plain(value: Any, where: str = "record") -> None:
    """Check that a value is plain JSON, so that it arrives from a worker as it left.

    Raises:
        TypeError: naming the place of a value that is not.
    """
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"{where}: key {key!r} is not text")
            require_plain(item, f"{where}.{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            require_plain(item, f"{where}[{index}]")
    elif value is not None and type(value) not in (str, int, float, bool):
        raise TypeError(f"{where}: {type(value).__name__} is not plain JSON")


def published(finding: Finding, contract: Contract, target: str, lang: str) -> dict[str, Any]:
    """A finding as evidence.json has it, with the line that reports show."""
    remedy = remedy_of(finding, contract, target, lang)
    plain = {key: value for key, value in vars(finding).items() if key not in ("args", "message")}
    return {
        "key": finding.message,
        "message": finding_text(finding, lang),
        "line_text": finding_line(finding, lang),
        **plain,
        "owner": remedy.owner,
        "cause": remedy.cause,
        "fix": remedy.fix,
    }


def _log(record: dict[str, Any], verdict: Verdict) -> str:
    lines = [f"$ {record['recheck_command']}", f"{record['id']} on {record['target']}: {record['status']}"]
    lines.extend(f"{item['severity']}: {item['line_text']}" for item in record["findings"])
    if verdict.trace:
        lines.append(verdict.trace.rstrip())
    for probe in verdict.probes:
        lines.extend(_probe_log(probe, whole=verdict.status != "passed"))
    return "\n".join(lines) + "\n"


def _probe_log(probe: ProbeFacts, whole: bool) -> list[str]:
    """What a probe did and printed; of a passed contract, only the end of what it printed."""
    lines = [f"$ {probe.command}", f"{probe.probe}: {probe.outcome} after {probe.duration} s"]
    for step in probe.steps.values():
        lines.append(f"  {step.name}: {step.status} ({step.seconds} s)")
        if step.error is not None:
            from ..facts.runtime import raised_from  # what a run without probes need not import

            raised = [step.error, *map(raised_from, step.error.chain)]
            lines.extend(f"    {error.type}: {error.message}" for error in raised)
    printed = probe.log.splitlines()
    return [*lines, *(printed if whole else printed[-_PRINTED_LINES:])]


def _told(verdict: Verdict, name: str) -> list[str]:
    """What the steps of the probes say they used, each once."""
    steps = [step for probe in verdict.probes for step in probe.steps.values()]
    return list(dict.fromkeys(str(item) for step in steps for item in step.data.get(name) or []))
