"""Findings as SARIF 2.1.0, for code scanning and editors (`--migrate-sarif FILE`)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from .. import __version__
from ..atomic import indented, portable, write_atomic
from ..facts.target import FRAMEWORK

if TYPE_CHECKING:
    from ..catalogue import Catalogue
    from ..evidence.document import TargetResult

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT = "SRCROOT"
_LEVELS = {"P0": "error", "P1": "error", "P2": "warning"}


def write_sarif(results: Sequence[TargetResult], catalogue: Catalogue, lang: str, path: Path) -> None:
    """Write the findings of all targets that have a file; each once, with the targets it holds for. Raises OSError."""
    write_atomic(path, indented(portable(sarif(results, catalogue, lang))) + "\n")


def sarif(results: Sequence[TargetResult], catalogue: Catalogue, lang: str) -> dict[str, Any]:
    """The SARIF log, in which a contract is a rule."""
    order = {contract.id: place for place, contract in enumerate(catalogue.contracts)}
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for result in results:
        for record, finding in _findings(result):
            place = (finding["path"], finding["line"], finding["yaml_path"])
            key = (record["id"], finding["severity"], finding["message"], *place)
            if key not in found:
                found[key] = _result(record, finding, order[record["id"]])
            found[key]["properties"]["targets"].append(result.target.name)
            found[key]["level"] = _stronger(found[key]["level"], _level(record, finding))
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "pytest-mindspeed-migration",
                        "version": __version__,
                        "rules": [_rule(contract, lang) for contract in catalogue.contracts],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": list(found.values()),
            }
        ],
    }


def _findings(result: TargetResult) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    return (
        (record, finding)
        for record in result.records
        for finding in record["findings"]
        if finding.get("path") is not None
    )


def _rule(contract: Any, lang: str) -> dict[str, Any]:
    return {
        "id": contract.id,
        "shortDescription": {"text": contract.title[lang]},
        "fullDescription": {"text": contract.proves[lang]},
        "help": {"text": "\n".join(contract.fix[lang])},
        "defaultConfiguration": {"level": _LEVELS[contract.severity]},
        "properties": {"severity": contract.severity, "owner": contract.owner, "gate": contract.gate},
    }


def _result(record: dict[str, Any], finding: dict[str, Any], rule: int) -> dict[str, Any]:
    text = _message(finding)
    location: dict[str, Any] = {"artifactLocation": _artifact(finding["path"])}
    if finding["line"] is not None and finding["line"] > 0:
        location["region"] = {"startLine": finding["line"]}
    identity = [record["id"], finding["key"], finding["path"], finding["yaml_path"], finding["value"]]
    return {
        "ruleId": record["id"],
        "ruleIndex": rule,
        "level": _level(record, finding),
        "message": {"text": text},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"finding/v1": hashlib.sha256(repr(identity).encode("utf-8", "replace")).hexdigest()},
        "properties": {
            "targets": [],
            "yaml_path": finding["yaml_path"],
            "owner": finding["owner"],
            "fix": finding["fix"],
        },
    }


def _message(finding: dict[str, Any]) -> str:
    """The sentence, with the YAML path and all that the line of a report says after the place."""
    place = finding["path"] + (f":{finding['line']}" if finding["line"] is not None else "")
    text: str = finding["line_text"].removeprefix(place).lstrip(": ")
    return text or finding["message"]


def _artifact(path: str) -> dict[str, str]:
    """A file of the checkout relative to its root; another one by its address."""
    if path.startswith("/"):
        return {"uri": f"file://{quote(path)}"}
    return {"uri": quote(path), "uriBaseId": ROOT}


def _level(record: dict[str, Any], finding: dict[str, Any]) -> str:
    if finding["severity"] == "note":
        return "note"
    return "warning" if record["target"] == FRAMEWORK else _LEVELS[record["severity"]]


def _stronger(one: str, other: str) -> str:
    order = ("note", "warning", "error")
    return max(one, other, key=order.index)
