"""The YAML artifacts: matrices of contracts, the changeset, risks, and what to do next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any

from ..analysis.hub import dataset_of, model_of
from ..analysis.plugins import in_plugin_space
from ..catalogue import AREAS
from ..checks.preflight import covers
from ..evidence.routing import FAILING
from ..report.texts import joined
from .material import Material

_PARTS = {
    "model": {
        "from_pretrained": "model.from_pretrained",
        "_from_config": "model.from_config",
        "build": "model.build",
        "special_tokens": "model.special_tokens",
        "forward_loss": "model.forward_loss",
    },
    "data": {
        "path_type": "data.path_types",
        "sample_schema": "data.sample_schema",
        "fields": "data.fields",
        "collate": "data.collate",
        "labels": "data.labels",
    },
    "config": {
        "model_id": "model.registration",
        "dataset_type": "data.registration",
        "training_plugin": "config.linkage",
        "strict_vs_extra": "config.strict_extra",
        "apply_modules": "config.apply_modules",
        "launch_script": "config.launch_script",
    },
}
_LEVELS = {"P0": "high", "P1": "medium", "P2": "low"}


def compatibility_matrix(material: Material) -> dict[str, Any]:
    """By part of the migration: where it comes from, where it lives here, how its contracts stand, what was changed."""
    view = material.view
    model, data = model_of(view), dataset_of(view)
    source = material.manifest.get("source_entrypoints") or {}
    config = view.target.config
    parts: dict[str, dict[str, Any]] = {
        "model": {
            "source_entry": source.get("model"),
            "target_plugin": [entry for entry in view.plugins if "/datasets/" not in f"/{entry}/".replace(".", "/")],
            "registration": {"model_id": view.target.model_id, "at": f"{model.path}:{model.line}" if model else None},
        },
        "data": {
            "source_entry": source.get("dataset"),
            "target_plugin": [entry for entry in view.plugins if "/datasets/" in f"/{entry}/".replace(".", "/")],
            "registration": {
                "dataset_type": view.config.string("data.dataset_param.dataset_type") if view.config else None,
                "at": f"{data.path}:{data.line}" if data else None,
            },
        },
        "config": {
            "source_entry": source.get("config") or source.get("train"),
            "target_config": config,
            "launch_scripts": list(view.target.scripts),
        },
    }
    for name, part in parts.items():
        part["contracts"] = {
            key: material.records[contract]["status"]
            for key, contract in _PARTS[name].items()
            if contract in material.records
        }
        part["decision"] = _decision(material, name)
    return parts


def _decision(material: Material, part: str) -> dict[str, list[str]] | None:
    """Files of a part that were changed or made for the migration, and plugins that it takes as they are.

    None without a base revision: nobody can tell then.
    """
    changes = material.view.facts.repo.changes
    if changes is None:
        return None
    adapted = [file.path for file in changes.files if _part(material, file.path) == part]
    data = "/datasets/"
    plugins = [entry for entry in material.view.plugins if (data in f"/{entry}/") == (part == "data")]
    reused = [entry for entry in plugins if not any(covers(entry, path) for path in adapted)]
    return {"reuse": reused if part != "config" else [], "adapt": adapted}


def contract_matrix(material: Material) -> dict[str, Any]:
    """Every contract of the target by area."""
    areas: dict[str, dict[str, Any]] = {}
    for area in AREAS:
        inside = [contract for contract in material.catalogue.contracts if contract.area == area]
        entries = {
            contract.id.partition(".")[2]: {
                "status": entry["status"],
                "level": entry["level"],
                "decided_at": entry["decided_at"],
                "proven": entry["proven"],
                "evidence": entry["evidence"],
                "requires": list(contract.requires),
            }
            for contract in inside
            for entry in material.entries([contract.id])
        }
        if entries:
            areas[area] = entries
    target = material.view.target
    return {"target": target.name, "model_id": target.model_id, "contracts": areas}


def changeset(material: Material) -> dict[str, Any]:
    """What differs from the base revision; `files` is null when none was named."""
    changes = material.view.facts.repo.changes
    if changes is None:
        return {"base": None, "base_commit": None, "files": None, "note": material.text("artifact.no_base", {})}
    patterns = (material.manifest.get("constraints") or {}).get("editable_paths")
    return {
        "base": changes.base,
        "base_commit": changes.commit,
        "head_commit": material.result.head["repo"]["commit"],
        "files": [
            {
                "path": file.path,
                "action": file.action,
                "before": file.before,
                "lines_added": file.added,
                "lines_removed": file.removed,
                "part": _part(material, file.path),
                "editable": any(covers(pattern, file.path) for pattern in patterns) if patterns is not None else None,
            }
            for file in changes.files
        ],
    }


def _part(material: Material, path: str) -> str:
    """The part of the migration that a file belongs to, by where it lies."""
    package = material.view.facts.repo.package
    if in_plugin_space(path, package):
        return "data" if "/data/datasets/" in path else "model"
    if path.startswith(f"{package}/"):
        return "framework"
    if path.startswith("examples/"):
        return "config" if PurePosixPath(path).suffix in (".yaml", ".yml", ".json", ".sh") else "example"
    return "other"


def risk_register(material: Material) -> dict[str, Any]:
    """What may still go wrong: open contracts, what was only tried on stand-ins, code that nothing ran, notes."""
    risks = [*_of_contracts(material, material.records), *_of_runs(material), *_of_notes(material, material.records)]
    return {"risks": _numbered(risks)}


def preflight_risks(material: Material) -> dict[str, Any]:
    """What the checks before the work say: the preflight contracts, and what their notes warn of."""
    names = [name for name in material.records if name.startswith("preflight.")]
    return {"risks": _numbered([*_of_contracts(material, names), *_of_notes(material, names)])}


def _numbered(risks: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    order = ("high", "medium", "low")
    ordered = sorted(risks, key=lambda risk: order.index(risk["level"]))
    return [{"id": f"R{number}", **risk} for number, risk in enumerate(ordered, 1)]


def _of_contracts(material: Material, names: Iterable[str]) -> Iterator[dict[str, Any]]:
    """A risk for each failure; one for all that the same level decides, and one for all with the same open need."""
    together: dict[tuple[str, str, str], list[str]] = {}
    for entry in material.entries(names):
        if entry["proven"]:
            continue
        if entry["status"] in FAILING:
            seen = (entry["errors"] or [entry["reason"] or entry["title"]])[0]
            actions = material.records[entry["id"]]["fix_actions"]
            stage = _stage(material.records[entry["id"]])
            description = joined(entry["title"], seen, material.lang)
            yield _risk([entry], _LEVELS[entry["severity"]], description, actions, stage)
        else:
            undecided = entry["status"] == "passed"
            level = "low" if undecided or entry["severity"] == "P2" else "medium"
            together.setdefault((level, _open(material, entry), _way(material, entry)), []).append(entry["id"])
    for (level, description, way), contracts in together.items():
        entries = material.entries(contracts)
        yield _risk(entries, level, description, [way], "verification")


def _open(material: Material, entry: dict[str, Any]) -> str:
    """Why a contract that did not fail is not proven."""
    if entry["status"] == "passed":
        return material.text("artifact.undecided", {"level": entry["level"], "decided": entry["decided_at"]})
    return entry["reason"] or material.text(f"status.{entry['status']}", {})


def _way(material: Material, entry: dict[str, Any]) -> str:
    """What it takes to prove it."""
    if entry["status"] == "blocked":
        blockers = ", ".join(material.records[entry["id"]]["blocked_by"])
        return material.text("artifact.unblock", {"contracts": blockers})
    level = _further_level(material, entry)
    return material.text("artifact.run_level", {"level": level}) if level else material.text("artifact.judge_it", {})


def _further_level(material: Material, entry: dict[str, Any]) -> str | None:
    """The level it takes; None when this run went as far, or came to one of its levels and found nothing to judge."""
    levels = material.result.head["environment"]["levels"]
    idle = entry["status"] == "not_run" and set(levels) & set(material.catalogue.by_id[entry["id"]].levels)
    return None if idle or entry["decided_at"] in levels else entry["decided_at"]


def _of_runs(material: Material) -> Iterator[dict[str, Any]]:
    """What a judgement was made with that is not what runs on devices."""
    used: dict[str, list[str]] = {}
    for record in material.records.values():
        for kind in ("stand_ins", "overrides"):
            for item in (record.get("run") or {}).get(kind) or ():
                used.setdefault(material.text(f"artifact.{kind}", {"item": item}), []).append(record["id"])
    for description, contracts in used.items():
        mitigation = [material.text("artifact.run_level", {"level": "npu"})]
        yield _risk(material.entries(contracts), "low", description, mitigation, "verification")


def _of_notes(material: Material, names: Iterable[str]) -> Iterator[dict[str, Any]]:
    for entry in material.entries(names):
        for note in entry["notes"]:
            stage = _stage(material.records[entry["id"]])
            yield _risk([entry], "low", note, [material.text("artifact.look_at_it", {})], stage)


def _risk(
    entries: list[dict[str, Any]], level: str, description: str, mitigation: list[str], owner: str
) -> dict[str, Any]:
    return {
        "level": level,
        "description": description,
        "mitigation": mitigation,
        "owner": owner,
        "contracts": [entry["id"] for entry in entries],
        "evidence": [entry["evidence"] for entry in entries if entry["evidence"]],
    }


def next_actions(material: Material) -> dict[str, Any]:
    """What to do, in order: what failed, the worst and the most waited for first; then what was not judged."""
    waiting: dict[str, list[str]] = {}
    for record in material.records.values():
        for blocker in record["blocked_by"]:
            waiting.setdefault(blocker, []).append(record["id"])
    failed = [record for record in material.records.values() if record["status"] in FAILING]
    failed.sort(key=lambda record: (record["severity"], -len(waiting.get(record["id"], ()))))
    actions = [
        {
            "kind": "fix",
            "contracts": [record["id"]],
            "stage": _stage(record),
            "because": _because(material, record),
            "do": record["fix_actions"],
            "command": record["recheck_command"],
            "unblocks": waiting.get(record["id"], []),
        }
        for record in failed
    ]
    actions += _judging(material, waiting)
    accepted = material.result.acceptance.accepted
    return {"accepted": accepted, "actions": [{"order": number, **one} for number, one in enumerate(actions, 1)]}


def _judging(material: Material, waiting: dict[str, list[str]]) -> Iterator[dict[str, Any]]:
    """What was not judged where it is decided: together, by what that takes."""
    levels = material.result.head["environment"]["levels"]
    together: dict[tuple[str, str, str], list[str]] = {}
    for entry in material.entries(material.records):
        if not entry["proven"] and entry["status"] in ("passed", "not_run"):
            further = _further_level(material, entry)
            level, needs = (further, "") if further else (levels[-1], _open(material, entry))
            together.setdefault((level, needs, _way(material, entry)), []).append(entry["id"])
    for (level, needs, way), contracts in together.items():
        command = material.records[contracts[0]]["recheck_command"].rpartition(" -k ")[0]
        yield {
            "kind": "judge",
            "contracts": contracts,
            "stage": "verification",
            "because": needs or material.text("artifact.level_decides", {"level": level}),
            "do": [way],
            "command": command.replace(f"--migrate-level={levels[-1]}", f"--migrate-level={level}"),
            "unblocks": [name for contract in contracts for name in waiting.get(contract, ())],
        }


def _because(material: Material, record: dict[str, Any]) -> str:
    route = record["routing"]
    return material.text(f"because.{route['because']}", {"contract": route["contract"]})


def _stage(record: dict[str, Any]) -> str:
    stage: str = record["routing"]["stage"] if "routing" in record else record["owner"]
    return stage
