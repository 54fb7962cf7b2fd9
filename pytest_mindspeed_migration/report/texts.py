"""Sentences that several reports share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..facts.target import FRAMEWORK
from ..messages import text

if TYPE_CHECKING:
    from ..evidence.document import TargetResult
    from ..evidence.since import Since
    from .acceptance import Gate

STATUSES = ("passed", "failed", "blocked", "unproven", "not_run")


def first_line(result: TargetResult, lang: str) -> str:
    """Accepted or not, and what is missing."""
    if result.target.name == FRAMEWORK:
        return text("report.framework_line", {}, lang)
    if result.acceptance.accepted:
        return text("report.accepted_line", {}, lang)
    separator = "；" if lang == "zh" else "; "
    open_gates = [gate_line(gate, lang) for gate in result.acceptance.gates if gate.status != "passed"]
    return text("report.not_accepted_line", {"missing": separator.join(open_gates)}, lang)


def gate_line(gate: Gate, lang: str) -> str:
    """The state of a gate in a few words."""
    numbers = {
        "failed": len(gate.failed) - len(gate.blocked),
        "blocked": len(gate.blocked),
        "missing": len(gate.missing),
    }
    counted = [text(f"report.number_{name}", {"count": count}, lang) for name, count in numbers.items() if count]
    values = {"gate": text(f"gate.{gate.name}", {}, lang), "numbers": ("，" if lang == "zh" else ", ").join(counted)}
    return text(f"report.gate_{gate.status}", values, lang)


def labelled(key: str, value: str, lang: str) -> str:
    """`next: do this`, with the colon of the language."""
    return joined(text(key, {}, lang), value, lang)


def joined(name: str, value: str, lang: str) -> str:
    """`name: value`, with the colon of the language."""
    return f"{name}{'：' if lang == 'zh' else ': '}{value}"


def counts(records: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """How many contracts have which status."""
    found = Counter(record["status"] for record in records)
    return {status: found[status] for status in STATUSES}


def diagnosis_line(diagnosis: Mapping[str, Any], lang: str) -> str:
    """The root cause that triage found, or that it is unknown."""
    confidence = text(f"triage.confidence_{diagnosis['confidence']}", {}, lang)
    return text(f"diagnosis.{diagnosis['status']}", {**diagnosis, "confidence": confidence}, lang)


def finding_cause(record: Mapping[str, Any]) -> str | None:
    """What is behind the first error, where the catalogue knows more than its sentence says."""
    causes = (item["cause"] for item in record["findings"] if item["severity"] == "error")
    return next((cause for cause in causes if cause), None)


def could_be_lines(diagnosis: Mapping[str, Any], lang: str) -> list[str]:
    """Causes that look alike, and what would tell them apart."""
    return [
        text(
            "diagnosis.could_be",
            {"text": other["text"], "owner": text(f"triage.owner_{other['owner']}", {}, lang), "tell": other["if"]},
            lang,
        )
        for other in diagnosis["could_be"]
    ]


def routing_line(record: Mapping[str, Any], lang: str) -> str:
    """The stage a failure goes to, and why."""
    routing = record["routing"]
    owner = record.get("diagnosis", {}).get("owner")
    if routing["because"] == "finding":
        owner = next(item["owner"] for item in record["findings"] if item["severity"] == "error")
    values = {
        "contract": routing["contract"],
        "owner": text(f"triage.owner_{owner}", {}, lang) if owner else "",
    }
    stage = text(f"owner.{routing['stage']}", {}, lang)
    why = text(f"routing.{routing['because']}", values, lang)
    return f"{stage}（{why}）" if lang == "zh" else f"{stage} ({why})"


def since_lines(since: Since | None, lang: str) -> list[str]:
    """What changed since the last run, a line a kind; nothing when there was no run before."""
    if since is None:
        return []
    lines = [labelled(f"since.{kind}", ", ".join(contracts), lang) for kind, contracts in since.kinds.items()]
    return lines if since.news else [text("since.same", {}, lang), *lines]


def since_title(since: Since, lang: str) -> str:
    """Which run it is compared with."""
    return text("since.title", {"before": (since.before or "-")[:19].replace("T", " ")}, lang)


def symptom(record: Mapping[str, Any], lang: str) -> str:
    """The first error with its place, and how many there are besides; without one, why the contract has its status."""
    errors = [item["line_text"] for item in record["findings"] if item["severity"] == "error"]
    if not errors:
        return str(record["reason"] or "")
    return str(errors[0]) + (text("report.and_more", {"count": len(errors) - 1}, lang) if errors[1:] else "")
