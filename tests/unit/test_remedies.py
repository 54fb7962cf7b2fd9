"""What a finding calls for: whose part it is, what is behind it, and the fix that its reader gets."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_mindspeed_migration.catalogue import load_catalogue
from pytest_mindspeed_migration.evidence.record import MOST_ACTIONS, record_of
from pytest_mindspeed_migration.evidence.routing import routes
from pytest_mindspeed_migration.facts.runtime import ProbeFacts, Raised, StepFacts
from pytest_mindspeed_migration.facts.target import FRAMEWORK
from pytest_mindspeed_migration.findings import Finding
from pytest_mindspeed_migration.messages import LANGUAGES, extras_of, known_keys, placeholders_in
from pytest_mindspeed_migration.outcomes import Verdict
from pytest_mindspeed_migration.remedies import OWNERS, STAGES, owner_of_place, remedy_of

CONTRACTS = load_catalogue().by_id
PLUGIN = "mindspeed_mm/fsdp/models/toy/toy.py"
CORE = "mindspeed_mm/fsdp/models/modelhub.py"
DATASET = "mindspeed_mm/fsdp/data/datasets/toy/toy.py"
EXTRAS = [key for key in sorted(known_keys()) if extras_of(key)]
TEXTS = ("cause", "fix", "fix_near")


def _key(path: str = "toy.yaml", **more: Any) -> Finding:
    return Finding("keys.ignored", path=path, line=3, yaml_path="model.odd", **more)


def _record(*findings: Finding, contract: str = "config.ignored_keys", **more: Any) -> dict[str, Any]:
    options: Any = SimpleNamespace(lang="en", levels=("static",), typed=(), errors=None, manifest=None)
    return record_of(Verdict(contract, "failed", findings, level="static", **more), CONTRACTS[contract], "toy", options)


@pytest.mark.parametrize("key", EXTRAS)
def test_what_stands_beside_a_sentence_is_known_and_in_both_languages(key: str) -> None:
    extras = extras_of(key)
    assert set(extras) <= {"owner", *TEXTS}
    assert extras.get("owner", "model") in OWNERS
    for part in TEXTS:
        if part in extras:
            assert set(extras[part]) == set(LANGUAGES)
            assert placeholders_in(extras[part]["en"]) == placeholders_in(extras[part]["zh"])
    assert "suggestion" not in placeholders_in(extras.get("fix", {}).get("en", "")), "there may be none"


@pytest.mark.parametrize(
    ("path", "owner"),
    [
        ("examples/toy/toy_config.yaml", "config"),
        ("examples/toy/README.md", "config"),
        ("examples/toy/finetune.sh", "config"),
        (PLUGIN, "model"),
        ("mindspeed_mm/fsdp/tasks/toy/train.py", "model"),
        (DATASET, "data"),
        (CORE, "framework"),
        ("mindspeed_mm/fsdp/data/data_utils/func_utils/template.py", "framework"),
        ("docs/zh/features/a.md", "framework"),
        ("", None),
    ],
)
def test_a_place_belongs_to_somebody(path: str, owner: str | None) -> None:
    assert owner_of_place(path) == owner


@pytest.mark.parametrize(
    ("message", "path", "contract", "target", "owner"),
    [
        ("names.undefined", PLUGIN, "code.names", "toy", "model"),
        ("names.undefined", DATASET, "code.names", "toy", "data"),
        ("names.undefined", CORE, "code.names", FRAMEWORK, "framework"),
        ("imports.module_missing", DATASET, "model.imports", "toy", "data"),
        ("cpu.raised", CORE, "model.build", "toy", "model"),
        ("cpu.raised", CORE, "verify.rehearsal", "toy", None),
        ("plans.recompute_keyword", "examples/toy/toy.yaml", "config.feature_plans", "toy", "model"),
        ("imports.expected_file", PLUGIN, "model.imports", "toy", "environment"),
        ("preflight.asset_missing", None, "preflight.assets", "toy", "environment"),
    ],
)
def test_the_owner_is_whose_part_would_be_changed(
    message: str, path: str | None, contract: str, target: str, owner: str | None
) -> None:
    anything = dict.fromkeys(("name", "module", "doc", "function", "where", "keyword"), "x")
    assert remedy_of(Finding(message, anything, path, 1), CONTRACTS[contract], target, "en").owner == owner


def test_the_fix_names_the_key_and_what_is_probably_meant() -> None:
    plain, near = _key(), _key(suggestion="add")
    contract = CONTRACTS["config.ignored_keys"]
    assert (
        remedy_of(plain, contract, "toy", "en").fix == "Delete model.odd, or read it in the code that it is meant for."
    )
    fix = remedy_of(near, contract, "toy", "zh").fix
    assert fix == "若 model.odd 本意是设置 add，请改用后者；否则删除 model.odd。"


def test_the_fixes_of_the_findings_take_the_place_of_the_contracts_own() -> None:
    record = _record(_key(), _key(), _key(severity="note", suggestion="add"))
    assert record["fix_actions"] == ["Delete model.odd, or read it in the code that it is meant for."]
    assert record["findings"][0]["fix"] == record["fix_actions"][0]
    assert record["findings"][0]["owner"] == "config"


def test_many_fixes_are_cut_where_they_stand_together() -> None:
    record = _record(*(Finding("keys.moved", yaml_path=f"model.k{n}", suggestion="features.k") for n in range(8)))
    assert len(record["fix_actions"]) == MOST_ACTIONS + 1
    assert record["fix_actions"][-1] == "3 more: each finding names its own"


def test_a_finding_without_a_fix_of_its_own_keeps_that_of_the_contract() -> None:
    where = {"path": "toy.yaml", "line": 3, "value": "x", "expected": "y"}
    record = _record(Finding("schema.choice", {"function": "f"}, **where), contract="config.types")
    assert record["findings"][0]["fix"] is None, "the place in the YAML is not known"
    assert record["fix_actions"] == list(CONTRACTS["config.types"].fix["en"])


def test_a_finding_that_says_its_fix_needs_no_triage() -> None:
    error = Raised("ModuleNotFoundError", "No module named 'odd'", [])
    steps = {"plugins": StepFacts("plugins", "error", error=error)}
    probe = ProbeFacts("plugins", "done", steps, request={"file": "probes/p.json"})
    own = Finding("cpu.package_missing", {"what": "w", "package": "odd"}, PLUGIN, 3, value="odd")
    record = _record(own, contract="model.imports", probes=(probe,))
    assert "diagnosis" not in record
    assert record["fix_actions"][0].startswith("Install odd in the target's interpreter")
    bare = _record(Finding("cpu.raised", {"what": "w", "error": "E", "text": "t"}), contract="model.imports")
    assert bare["fix_actions"] == list(CONTRACTS["model.imports"].fix["en"])


def test_a_failure_goes_to_the_owner_that_its_findings_have_in_common() -> None:
    args = {"module": "m", "doc": "d"}
    record = _record(Finding("imports.expected_file", args, PLUGIN, 1), contract="model.imports")
    assert routes([record])["model.imports"] == {"stage": "main", "because": "finding", "contract": "model.imports"}
    mixed = _record(
        Finding("imports.expected_file", args, PLUGIN, 1),
        Finding("imports.module_missing", args, PLUGIN, 2),
        contract="model.imports",
    )
    assert routes([mixed])["model.imports"]["stage"] == STAGES["model"]
