"""Artifacts of a small recorded target: YAML against its schema, Markdown against golden files in both languages.

`python tests/unit/test_artifacts.py` writes the golden files anew; read the difference before it is committed.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from pytest_mindspeed_migration.artifacts.mapping import mapping
from pytest_mindspeed_migration.artifacts.material import Material
from pytest_mindspeed_migration.artifacts.names import ARTIFACTS, DOCUMENTS, REPORTS
from pytest_mindspeed_migration.artifacts.write import write_artifacts
from pytest_mindspeed_migration.catalogue import load_catalogue
from pytest_mindspeed_migration.checks.view import TargetView
from pytest_mindspeed_migration.evidence.diagnosis import diagnosis_of
from pytest_mindspeed_migration.evidence.document import SCHEMA, TargetResult
from pytest_mindspeed_migration.evidence.record import fix_actions, published
from pytest_mindspeed_migration.facts import store
from pytest_mindspeed_migration.facts.assets import AssetFacts
from pytest_mindspeed_migration.facts.runtime import ProbeFacts, Raised, StepFacts
from pytest_mindspeed_migration.facts.static import StaticFacts
from pytest_mindspeed_migration.facts.target import ChangedFile, ChangeFacts
from pytest_mindspeed_migration.findings import Finding
from pytest_mindspeed_migration.messages import LANGUAGES, text
from pytest_mindspeed_migration.outcomes import Verdict
from pytest_mindspeed_migration.report.files import FAILED, REPORT, write_reports
from pytest_mindspeed_migration.triage import load_dictionary

DATA = Path(__file__).parents[1] / "data"
GOLDEN = DATA / "golden"
TARGET = "qwen3vl_30B_config_v1"
MANIFEST: dict[str, Any] = {
    "source_repo_path": "source",
    "model_identity": {"name": TARGET, "modality": ["image-text", "video"]},
    "source_entrypoints": {"model": "modeling.py", "dataset": ["a.py", "b.py"], "config": ["train.yaml", "run.sh"]},
    "constraints": {"editable_paths": ["examples/qwen3vl", "mindspeed_mm/fsdp/models/qwen3vl"]},
}
SOURCE = {
    "train.yaml": "learning_rate: 1.0e-5\nmodel_name_or_path: /home/data/Qwen3-VL-30B-A3B-Instruct\n"
    "lora: {r: 8}\nseed: 42\n",
    "run.sh": "torchrun train.py --per_device_train_batch_size 4 --weight-decay=0.5 --bf16\n",
    "arguments.py": "import argparse\nfrom dataclasses import dataclass, field\np = argparse.ArgumentParser()\n"
    'p.add_argument("-s", "--seed", default=1)\n@dataclass\nclass A:\n    max_steps: int = field(default=10)\n',
}


@cache
def _facts() -> StaticFacts:
    return store.load(DATA / "facts" / "master.json")


def _diagnosis(raised: str, lang: str) -> dict[str, Any]:
    """What triage says of a model that raised this while it was built."""
    kind, _, message = raised.partition(": ")
    step = StepFacts("model.build", "error", error=Raised(kind, message))
    verdict = Verdict("model.build", "failed", level="cpu", probes=(ProbeFacts("model", "done", {step.name: step}),))
    found = diagnosis_of(verdict, load_dictionary(), lang)
    assert found is not None
    return found


def _finding(message: str, contract: str, lang: str) -> dict[str, Any]:
    args = {"module": "mindspeed_mm.fsdp.models.qwen3vl.configuration", "doc": "examples/qwen3vl/README.md:7"}
    place = ("mindspeed_mm/fsdp/models/qwen3vl/x.py", 9)
    one = load_catalogue().by_id[contract]
    return published(Finding(message, args, *place), one, TARGET, lang)


def _records(lang: str) -> list[dict[str, Any]]:
    """One run of all contracts: most passed, some failed in several ways, one was blocked, the rest did not run."""
    catalogue = load_catalogue()
    nowhere = dict.fromkeys(("path", "line", "yaml_path", "value", "expected", "suggestion", "owner", "cause", "fix"))
    place = {"path": "mindspeed_mm/fsdp/models/qwen3vl/x.py", "line": 7, "value": "x", "suggestion": "y"}
    raised = {**nowhere, **place, "owner": "model", "key": "k", "message": "x is | not bound", "severity": "error",
              "line_text": "mindspeed_mm/fsdp/models/qwen3vl/x.py:7: x is | not bound"}  # fmt: skip
    told = {**nowhere, "key": "k", "message": "m", "line_text": "a note of the config", "severity": "note"}
    run = {"command": "pytest", "started": "2026-01-01T00:00:00+00:00", "duration": 0.1, "device": None,
           "stand_ins": [], "overrides": [], "log": {"path": None, "sha256": "0" * 64, "excerpt": ""}}  # fmt: skip
    oom = _diagnosis("RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB", lang)
    changes: dict[str, dict[str, Any]] = {
        "code.names": {"status": "failed", "findings": [raised]},
        "model.imports": {
            "status": "failed",
            "findings": [
                _finding("imports.expected_file", "model.imports", lang),
                _finding("imports.module_missing", "model.imports", lang),
            ],
        },
        "model.forward_loss": {"status": "failed", "level": "cpu", "findings": [raised], "diagnosis": oom},
        "data.collate": {
            "status": "failed",
            "level": "cpu",
            "findings": [raised],
            "diagnosis": _diagnosis("RuntimeError: the toy has gone", lang),
        },
        "verify.bad_config_errors": {"status": "failed", "level": "cpu", "findings": [raised]},
        "verify.rehearsal": {
            "status": "blocked",
            "blocked_by": ["model.forward_loss"],
            "reason": text("outcome.blocked", {"contracts": "model.forward_loss"}, lang),
        },
        "config.ignored_keys": {"findings": [told]},
        "model.build": {"level": "cpu"},
        "preflight.assets": {"status": "not_run", "reason": text("preflight.no_assets", {}, lang)},
    }
    records = []
    for contract in catalogue.of_subject("target"):
        change = changes.get(contract.id, {})
        status = change.get("status", "passed" if "static" in contract.levels or "level" in change else "not_run")
        level = change.get("level", "static") if status in ("passed", "failed") else None
        record = {
            "id": contract.id, "target": TARGET, "status": status, "level": level, "severity": contract.severity,
            "owner": "model" if contract.owner == "plugin" else contract.owner, "gate": contract.gate,
            "reason": text("outcome.level", {"levels": "cpu", "reached": "static"}, lang) if level is None else None,
            "blocked_by": [], "findings": [], "fix_actions": [],
            "recheck_command": f"pytest --migrate-target=t --migrate-level=static -k {contract.test_name}",
            **{key: value for key, value in change.items() if key not in ("status", "level")},
        }  # fmt: skip
        if status == "failed":
            record["fix_actions"] = fix_actions(record, contract, lang)
        if level is not None:
            record["run"] = {**run, "exit_code": int(status == "failed")}
        if level == "cpu":
            record["run"] = {**record["run"], "stand_ins": ["gloo in place of HCCL"], "device": "cpu"}
        records.append(record)
    return records


def material(lang: str, source: Path | None = None, base: bool = True) -> Material:
    files = [
        ChangedFile("examples/qwen3vl/qwen3vl_30B_config_v1.yaml", "modified", 3, 1),
        ChangedFile("mindspeed_mm/fsdp/models/qwen3vl/modeling_qwen3_vl_moe.py", "added", 120, 0),
        ChangedFile("mindspeed_mm/fsdp/train/trainer.py", "renamed", None, None, "mindspeed_mm/fsdp/train/old.py"),
    ]
    known = _facts()
    assets = {
        "manifest:runtime_assets.model_path": AssetFacts("ckpt/q", exists=True, readable=True, is_dir=True, size=9),
        "config:examples/qwen3vl/qwen3vl_30B_config_v1.yaml:data.dataset_param.basic_parameters.dataset": AssetFacts(
            "/home/data/x.json"
        ),
    }
    changes = ChangeFacts("main", "c" * 40, files) if base else None
    facts = replace(known, repo=replace(known.repo, changes=changes, commit="d" * 40, dirty=True), assets=assets)
    view = TargetView(facts, facts.target(TARGET), MANIFEST if source is not None else None)
    options: Any = type("Options", (), {"levels": ("static",)})
    records = _records(lang)
    commands = [{"timestamp": "2025-12-31T00:00:00+00:00"}]
    before = {"contracts": [{**record, "status": "passed"} for record in records], "commands": commands}
    before["contracts"] = [one for one in before["contracts"] if one["id"] != "code.names"] + [
        {"id": "code.names", "status": "failed", "level": "static"}
    ]
    result = TargetResult.of(view.target, facts.repo, records, load_catalogue(), [], options, before)
    return Material(result, view, load_catalogue(), lang, read=lambda names: facts, source_folder=source)


def _write(lang: str, folder: Path) -> None:
    (folder / "source").mkdir(parents=True)
    for name, content in SOURCE.items():
        (folder / "source" / name).write_text(content, encoding="utf-8")
    one = material(lang, folder)
    write_artifacts(one, folder)
    options: Any = type("Options", (), {"lang": lang})
    write_reports(one.result, folder, load_catalogue(), options)


@pytest.fixture(scope="module", params=LANGUAGES)
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp(request.param)
    _write(request.param, folder)
    return request.param, folder


@pytest.mark.parametrize("name", [*REPORTS, REPORT, FAILED])
def test_a_report_is_as_its_golden_file(written: tuple[str, Path], name: str) -> None:
    lang, folder = written
    assert (folder / name).read_text(encoding="utf-8") == (GOLDEN / lang / name).read_text(encoding="utf-8")


def _schema(name: str) -> Any:
    path = SCHEMA.parent / "artifacts" / f"{name.removesuffix('.yaml')}.schema.json"
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_matches_its_schema_and_its_golden_file(written: tuple[str, Path], name: str) -> None:
    lang, folder = written
    content = (folder / name).read_text(encoding="utf-8")
    jsonschema.Draft202012Validator.check_schema(_schema(name))
    jsonschema.Draft202012Validator(_schema(name)).validate(yaml.safe_load(content))
    assert content == (GOLDEN / lang / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_with_a_key_too_many_does_not(written: tuple[str, Path], name: str) -> None:
    document = yaml.safe_load((written[1] / name).read_text(encoding="utf-8"))
    assert not jsonschema.Draft202012Validator(_schema(name)).is_valid({**document, "more": 1})


def test_every_artifact_has_a_golden_file() -> None:
    for lang in LANGUAGES:
        assert sorted(path.name for path in (GOLDEN / lang).iterdir()) == sorted([*ARTIFACTS, REPORT, FAILED])


def test_without_manifest_and_base_nothing_is_made_up(tmp_path: Path) -> None:
    write_artifacts(material("en", base=False), tmp_path)
    for name in DOCUMENTS:
        document = yaml.safe_load((tmp_path / name).read_text(encoding="utf-8"))
        jsonschema.Draft202012Validator(_schema(name)).validate(document)
    changes = yaml.safe_load((tmp_path / "changeset_manifest.yaml").read_text(encoding="utf-8"))
    assert changes["files"] is None
    matrix = yaml.safe_load((tmp_path / "compatibility_matrix.yaml").read_text(encoding="utf-8"))
    assert [part["decision"] for part in matrix.values()] == [None, None, None]
    assert "source_entrypoints.config" in (tmp_path / "config_mapping_table.md").read_text(encoding="utf-8")


def test_a_migration_without_a_config_has_its_artifacts_too(tmp_path: Path) -> None:
    one = material("en")
    target = replace(one.view.target, name="toy", config=None, model_id=None, scripts=[], docs=[], manifest="m.yaml")
    facts = replace(one.view.facts, targets=[*one.view.facts.targets, target])
    view = TargetView(facts, target, {"model_identity": {"name": "toy", "modality": "audio"}})
    write_artifacts(replace(one, view=view), tmp_path)
    cases = (tmp_path / "similar_case_selection.md").read_text(encoding="utf-8")
    assert "| qwen3_asr | 1.00 | 1.00 | - | - | - |" in cases or "| cosyvoice3 | 1.00 | 1.00 | - | - | - |" in cases


def test_arguments_of_python_are_its_parser_and_its_dataclasses(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "arguments.py").write_text(SOURCE["arguments.py"], encoding="utf-8")
    one = material("en", tmp_path)
    manifest = {**MANIFEST, "source_entrypoints": {"config": "arguments.py"}}
    rows = mapping(replace(one, view=replace(one.view, manifest=manifest)))["rows"]
    assert [(row["argument"], row["value"], row["fields"], row["how"]) for row in rows] == [
        ("seed", "1", ["training.seed"], "same_name"),
        ("max_steps", "10", ["training.train_iters"], "known_name"),
    ]


def test_a_source_config_that_is_not_there_is_said_to_be_unread(tmp_path: Path) -> None:
    assert mapping(material("en", tmp_path))["files"] == [
        {"file": "train.yaml", "arguments": None},
        {"file": "run.sh", "arguments": None},
    ]


if __name__ == "__main__":
    import shutil
    import tempfile

    for language in sys.argv[1:] or LANGUAGES:
        with tempfile.TemporaryDirectory() as temporary:
            _write(language, Path(temporary) / "x")
            for artifact in (*ARTIFACTS, REPORT, FAILED):
                shutil.copy(Path(temporary) / "x" / artifact, GOLDEN / language / artifact)
