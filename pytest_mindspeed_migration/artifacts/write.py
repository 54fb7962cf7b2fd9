"""Writes the artifacts of a target: Markdown from templates, YAML from plain values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from ..atomic import portable, write_atomic
from ..evidence.redact import redact
from ..messages import text
from ..report.texts import STATUSES, first_line, gate_line
from ..templates import environment
from . import chain, interfaces, mapping, registers, similar
from .material import Material
from .names import REPORTS

MODEL_GROUPS = {
    "registration": ("model.registration", "model.imports"),
    "signatures": ("model.from_pretrained", "model.from_config", "model.build", "model.checkpoint_keys"),
    "outputs": ("model.forward_inputs", "model.forward_loss"),
    "tokens": ("model.special_tokens",),
    "code": ("code.names", "code.calls", "code.import_effects"),
}
SIGNATURE_CONTRACTS = MODEL_GROUPS["signatures"]
DATASET_CONTRACTS = ("data.registration", "data.path_types", "data.sample_schema", "data.errors")
FIELD_CONTRACTS = ("data.fields", "data.collate", "data.labels", "data.modal_alignment", *MODEL_GROUPS["outputs"])
LINK_CONTRACTS = (
    "config.linkage", "model.registration", "data.registration", "config.strict_extra", "config.ignored_keys",
    "config.launch_script",
)  # fmt: skip
GATE_ORDER = ("functional", "reliability", "distributed_e2e", "evidence")

DOCUMENTS: dict[str, Callable[[Material], dict[str, Any]]] = {
    "compatibility_matrix.yaml": registers.compatibility_matrix,
    "contract_matrix.yaml": registers.contract_matrix,
    "changeset_manifest.yaml": registers.changeset,
    "risk_register.yaml": registers.risk_register,
    "preflight_risk_register.yaml": registers.preflight_risks,
    "next_actions.yaml": registers.next_actions,
}


def write_artifacts(material: Material, folder: Path) -> None:
    """Write all artifacts of a target. Raises OSError."""
    documents = {name: portable(make(material)) for name, make in DOCUMENTS.items()}
    for name, document in documents.items():
        write_atomic(folder / name, redact(yaml_text(document)))
    values = _values(material, documents)
    for name in REPORTS:
        template = environment(f"report/{material.lang}", "report").get_template(f"{name}.j2")
        write_atomic(folder / name, redact(template.render(values)))


def yaml_text(document: Any) -> str:
    """A document as YAML, every list and mapping written out."""
    text: str = yaml.dump(document, Dumper=_Plain, allow_unicode=True, sort_keys=False, width=120)
    return text


class _Plain(yaml.SafeDumper):
    """Without anchors: the same list may stand in several places."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _values(material: Material, documents: dict[str, Any]) -> dict[str, Any]:
    result, lang = material.result, material.lang
    return {
        "target": result.head["target"],
        "repo": result.head["repo"],
        "levels": result.head["environment"]["levels"],
        "first_line": first_line(result, lang),
        "source_repo": material.manifest.get("source_repo_path"),
        "status_names": {status: text(f"status.{status}", {}, lang) for status in STATUSES},
        "modality": (material.manifest.get("model_identity") or {}).get("modality"),
        "groups": [
            {"title": material.text(f"artifact.group_{name}", {}), "entries": material.entries(contracts)}
            for name, contracts in MODEL_GROUPS.items()
        ],
        "signatures": interfaces.signatures(material),
        "fields": interfaces.fields(material),
        "dataset": interfaces.dataset(material),
        "links": interfaces.links(material),
        "mapping": mapping.mapping(material),
        "chain": chain.chain(material),
        "similar": similar.similar(material),
        "signature_entries": material.entries(SIGNATURE_CONTRACTS),
        "dataset_entries": material.entries(DATASET_CONTRACTS),
        "field_entries": material.entries(FIELD_CONTRACTS),
        "link_entries": material.entries(LINK_CONTRACTS),
        "gates": [
            {"line": gate_line(gate, lang), "status": gate.status, "failed": gate.failed, "missing": gate.missing}
            for gate in sorted(result.acceptance.gates, key=lambda gate: GATE_ORDER.index(gate.name))
        ],
        "commands": [command for command in result.document["commands"] if command["level"] != "static"],
        "judged": sum("run" in record for record in result.records),
        "matrix": documents["compatibility_matrix.yaml"],
        "changeset": documents["changeset_manifest.yaml"],
        "risks": documents["risk_register.yaml"]["risks"],
        "actions": documents["next_actions.yaml"]["actions"],
    }
