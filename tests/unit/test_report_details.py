"""What a contract shows beside its verdict: kept as a file of its own, rendered in the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from runtime_facts import Shown

from pytest_mindspeed_migration.checks.registry import details_of
from pytest_mindspeed_migration.evidence.collector import Collector
from pytest_mindspeed_migration.messages import LANGUAGES
from pytest_mindspeed_migration.templates import environment

HEADINGS = {
    "en": ("## Modules and what the plans cover", "## Loaders"),
    "zh": ("## 模块树与计划覆盖", "## 加载函数签名"),
}


def _record(details: dict[str, Any]) -> dict[str, Any]:
    return {"id": "config.apply_modules", "target": "t", "findings": [], "details": details}


def test_details_are_a_file_beside_the_evidence_and_leave_with_the_next_run(tmp_path: Path) -> None:
    details = details_of("config.apply_modules", Shown("qwen3_vl_moe").view)
    assert details is not None
    collector = Collector(tmp_path)
    collector.add(_record(details))
    file = tmp_path / "t" / "details" / "config.apply_modules.json"
    assert json.loads(file.read_text(encoding="utf-8"))["parameters"] == 31_070_754_032
    assert collector.records("t")["config.apply_modules"]["details"]["file"] == "details/config.apply_modules.json"
    Collector(tmp_path).add({"id": "model.build", "target": "t", "findings": []})
    assert not file.exists()


def test_nothing_is_shown_of_what_did_not_run() -> None:
    shown = Shown("qwen3_vl_moe")
    shown.fail("model.build", "ValueError", "x")
    assert details_of("config.apply_modules", shown.view) is None
    assert details_of("config.parse", shown.view) is None


@pytest.mark.parametrize("lang", LANGUAGES)
def test_tree_and_loaders_are_sections_of_the_report(lang: str) -> None:
    view = Shown("qwen3_vl_moe").view
    template = environment(f"report/{lang}", "report").get_template("verification_report.md.j2")
    values: dict[str, Any] = {
        "first_line": "x",
        "target": {"name": "t", "config": None, "model_id": None},
        "repo": {"commit": None, "dirty": None},
        "environment": {"levels": ["cpu"]},
        "counts": {"passed": 0, "failed": 0, "blocked": 0, "unproven": 0, "not_run": 0},
        "is_framework": True,
        "gates": [],
        "rows": [],
        "failures": [],
        "notes": [],
        "unproven": [],
        "since_title": None,
        "since": [],
        "module_tree": details_of("config.apply_modules", view),
        "signatures": details_of("model.build", view),
        "fields": None,
        "trainings": [],
        "coverage": [],
    }
    text = template.render(values)
    assert all(heading in text for heading in HEADINGS[lang])
    layers = next(line for line in text.splitlines() if "`model.language_model.layers.{0-47}`" in line)
    assert "| 48 | 29,909,790,720 | 96.3% |" in layers
    assert "fsdp: `model.language_model.layers.{*}`" in layers
    plain = template.render({**values, "module_tree": None, "signatures": None})
    assert not any(heading in plain for heading in HEADINGS[lang])
