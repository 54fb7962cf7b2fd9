"""The checks of launch scripts, config text, assets and preflight: pure functions, so facts are written by hand."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_mindspeed_migration.checks import config_text, launch, preflight
from pytest_mindspeed_migration.checks.view import FRAMEWORK, TargetView
from pytest_mindspeed_migration.facts.assets import AssetFacts
from pytest_mindspeed_migration.facts.config import ConfigFacts, YamlProblem
from pytest_mindspeed_migration.facts.launch import CommandFacts, CopyInstruction, DocFacts, PathReference, ScriptFacts
from pytest_mindspeed_migration.facts.static import RepoFacts, StaticFacts, TargetFacts
from pytest_mindspeed_migration.findings import Finding
from pytest_mindspeed_migration.messages import finding_line

CONFIG = "examples/toy/toy_config.yaml"
SCRIPT = "examples/toy/run.sh"
README = "examples/toy/README.md"
TRAINER = "mindspeed_mm/fsdp/train/trainer.py"
MANIFEST: dict[str, Any] = {"model_identity": {"name": "toy"}}


def view_of(
    data: dict[str, Any] | None = None,
    script: ScriptFacts | None = None,
    doc: DocFacts | None = None,
    manifest: dict[str, Any] | None = None,
    target: str = "toy",
    **facts: Any,
) -> TargetView:
    config = ConfigFacts(CONFIG, data or {}, problems=facts.pop("problems", []))
    toy = TargetFacts("toy", CONFIG, "examples/toy", scripts=[SCRIPT] if script else [], docs=[README] if doc else [])
    static = StaticFacts(
        targets=[toy],
        configs={CONFIG: config},
        scripts={SCRIPT: script} if script else {},
        docs={README: doc} if doc else {},
        **facts,
    )
    return TargetView(static, toy if target == "toy" else TargetFacts(FRAMEWORK, None), manifest)


def said(findings: list[Finding]) -> list[tuple[str, str]]:
    for finding in findings:
        assert finding_line(finding, "en") != finding_line(finding, "zh")
    return [(finding.severity, finding.message) for finding in findings]


def start(**command: Any) -> ScriptFacts:
    return ScriptFacts(SCRIPT, commands=[CommandFacts(3, "torchrun", TRAINER, CONFIG, **command)])


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("config", "launch.config_missing"),
        ("trainer", "launch.program_missing"),
        ("script", "launch.script_missing"),
        ("data", "launch.file_missing"),
    ],
)
def test_a_missing_file_of_a_script_is_an_error_with_its_line(kind: str, message: str) -> None:
    script = start()
    script.references = [PathReference("examples/toy/gone", 7, False, kind), PathReference("unknown", 8, None)]
    (finding,) = launch.scripts_start_what_exists(view_of(script=script))
    assert (finding.message, finding.severity, finding.path, finding.line) == (message, "error", SCRIPT, 7)
    said([finding])


def test_a_near_yaml_in_the_same_folder_is_suggested() -> None:
    script = start()
    script.references = [PathReference("examples/toy/toy_cfg.yaml", 4, False, "config")]
    (finding,) = launch.scripts_start_what_exists(view_of(script=script))
    assert finding.suggestion == CONFIG


def test_a_file_that_the_readme_has_the_user_copy_in_is_not_missing() -> None:
    script = start()
    script.references = [PathReference("mindspeed_mm/fsdp/models/toy/core/x.json", 4, False, "data")]
    doc = DocFacts(README, copies=[CopyInstruction("mindspeed_mm/fsdp/models/toy", ["core"], 9)])
    assert launch.scripts_start_what_exists(view_of(script=script, doc=doc)) == []


def test_a_target_without_script_gets_a_note() -> None:
    assert said(launch.scripts_start_what_exists(view_of())) == [("note", "launch.no_script")]


def test_the_framework_judges_scripts_of_no_target_only() -> None:
    script = start()
    script.references = [PathReference("examples/toy/gone.json", 7, False, "data")]
    view = view_of(script=script, target=FRAMEWORK)
    assert launch.scripts_start_what_exists(view) == []
    view.facts.targets[0].scripts = []
    assert said(launch.scripts_start_what_exists(view)) == [("error", "launch.file_missing")]
    script.external = True
    assert launch.scripts_start_what_exists(view) == []


def test_a_dead_path_in_a_readme_is_an_error_of_the_framework_and_a_note_of_the_target() -> None:
    doc = DocFacts(README, references=[PathReference("examples/toy/gone.sh", 5, False, "script")])
    assert said(launch.documents_name_what_exists(view_of(doc=doc, target=FRAMEWORK))) == [("error", "launch.doc_path")]
    assert said(launch.documents_name_what_exists(view_of(doc=doc))) == [("note", "launch.doc_path")]


def test_a_log_that_is_read_elsewhere_than_written_is_an_error() -> None:
    script = start()
    script.log_writes = {"logs/train_${t}.log": 5}
    script.log_reads = {"${t}.log": 9, "logs/train_${t}.log": 8}
    (finding,) = launch.logs_are_read_where_written(view_of(script=script))
    assert (finding.severity, finding.line, finding.expected) == ("error", 9, "logs/train_${t}.log")
    said([finding])


@pytest.mark.parametrize(
    ("values", "expected"),
    [(["0", "0"], ("note", "launch.option_repeated")), (["0", "1"], ("error", "launch.option_conflict"))],
)
def test_a_repeated_option_fails_only_with_different_values(values: list[str], expected: tuple[str, str]) -> None:
    script = start(repeated_options={"--node_rank": values})
    assert said(launch.launcher_options_are_single(view_of(script=script))) == [expected]


@pytest.mark.parametrize(("size", "found"), [("16", []), ("8", [("note", "launch.world_size")]), ("$X", [])])
def test_world_size_is_compared_with_the_ranks_that_start(size: str, found: list[tuple[str, str]]) -> None:
    script = start(options={"--nproc_per_node": "8", "--nnodes": "2"})
    script.variables = {"WORLD_SIZE": size}
    assert said(launch.world_size_is_consistent(view_of(script=script))) == found


@pytest.mark.parametrize(("others", "found"), [(2, []), (3, [("note", "launch.env_missing")])])
def test_an_export_that_all_others_have_is_missed(others: int, found: list[tuple[str, str]]) -> None:
    view = view_of(script=start())
    for number in range(others):
        other = start()
        other.path = f"examples/o{number}/run.sh"
        other.environment = {"NON_MEGATRON": "true", f"ONLY_{number}": "1"}
        view.facts.scripts[other.path] = other
        view.facts.targets.append(TargetFacts(f"o{number}", None, scripts=[other.path]))
    stray = start()
    stray.path = "examples/no_target/run.sh"  # of no target: not counted, whatever it exports
    view.facts.scripts[stray.path] = stray
    assert said(launch.environment_is_what_others_set(view)) == found


YAML_KINDS = [
    "unreadable",
    "too_large",
    "binary",
    "not_utf8",
    "tabs",
    "syntax",
    "empty",
    "root_not_mapping",
    "several_documents",
    "duplicate_anchor",
    "undefined_alias",
    "recursive_alias",
    "alias_bomb",
    "nesting",
    "unknown_tag",
    "duplicate_key",
    "unhashable_key",
    "bad_merge",
    "bad_scalar",
]


@pytest.mark.parametrize("kind", YAML_KINDS)
def test_every_fault_of_a_yaml_is_an_error_with_a_text(kind: str) -> None:
    view = view_of(problems=[YamlProblem(kind, 4, "detail")])
    (finding,) = config_text.yaml_is_taken_as_written(view)
    assert (finding.severity, finding.path, finding.line) == ("error", CONFIG, 4)
    said([finding])


@pytest.mark.parametrize(("detail", "severity"), [("on (bool)", "error"), ("1 (int)", "note")])
def test_a_key_that_is_no_text_fails_when_its_meaning_is_lost(detail: str, severity: str) -> None:
    view = view_of(problems=[YamlProblem("key_not_text", 4, detail, fatal=False)])
    assert said(config_text.yaml_is_taken_as_written(view)) == [(severity, "config_parse.key_not_text")]


def test_a_target_without_yaml_is_told_which_to_write() -> None:
    view = TargetView(StaticFacts(), TargetFacts("toy", None, manifest="migration.yaml"))
    (finding,) = config_text.yaml_is_taken_as_written(view)
    assert finding.expected == "examples/toy/toy_config.yaml"
    said([finding])


FORM = {
    "model": {"model_name_or_path": "<local_path>/Toy", "model_id": "toy", "attn": "{*}"},
    "data": {"dataset_dir": "/path/to/data", "dataset": "toy_precomputed", "cache_dir": "/path/to/cache"},
    "training": {"load": "./ckpt/Toy-xxB", "save": "/path/to/save"},
}


@pytest.mark.parametrize(
    ("manifest", "severity"), [(None, "note"), (MANIFEST, "error"), ({"runtime_assets": {}}, "note")]
)
def test_placeholders_fail_a_migration_and_are_notes_of_a_shipped_example(
    manifest: dict[str, Any] | None, severity: str
) -> None:
    findings = config_text.paths_are_filled_in(view_of(FORM, manifest=manifest))
    assert [finding.yaml_path for finding in findings] == [
        "model.model_name_or_path",
        "data.dataset_dir",
        "training.load",
    ]
    assert said(findings) == [(severity, "config_assets.placeholder")] * 3


def test_a_path_that_is_not_there_is_judged_from_the_asset_facts() -> None:
    data = {"model": {"model_name_or_path": "/ckpt/toy", "processor_path": "/ckpt/toy", "hub_path": "org/name"}}
    key = f"config:{CONFIG}:model.model_name_or_path"
    view = view_of(data, manifest=MANIFEST, assets={key: AssetFacts("/ckpt/toy")})
    assert said(config_text.paths_are_filled_in(view)) == [("error", "config_assets.missing")]
    view.facts.assets[key] = AssetFacts("/ckpt/toy", exists=True, readable=True, size=1)
    assert config_text.paths_are_filled_in(view) == []


def test_a_manifest_path_that_the_config_does_not_open_is_noted() -> None:
    manifest = {**MANIFEST, "runtime_assets": {"model_path": "/ckpt/toy", "dataset_path": ["/data/a.jsonl"]}}
    data = {"model": {"model_name_or_path": "/ckpt/toy/"}, "data": {"dataset": "/data/b.jsonl"}}
    (finding,) = config_text.manifest_paths_are_used(view_of(data, manifest=manifest))
    assert (finding.severity, finding.expected) == ("note", "/data/a.jsonl")
    said([finding])


def test_preflight_repo_wants_the_fsdp2_backend() -> None:
    problem = view_of(repo=RepoFacts(problem="not_mindspeed_mm"))
    assert said(preflight.repo_is_a_checkout(problem)) == [("error", "preflight.not_mindspeed_mm")]
    files = ["mindspeed_mm/fsdp/utils/register.py", TRAINER]
    (finding,) = preflight.repo_is_a_checkout(view_of(files=files))
    assert finding.path == "mindspeed_mm/fsdp/models/modelhub.py"


@pytest.mark.parametrize(
    ("path", "asset", "message"),
    [
        ("/path/to/ckpt", None, "preflight.asset_placeholder"),
        ("/ckpt", AssetFacts("/ckpt"), "preflight.asset_missing"),
        ("/ckpt", AssetFacts("/ckpt", problem="Permission denied"), "preflight.path_problem"),
        ("/ckpt", AssetFacts("/ckpt", exists=True, size=3), "preflight.path_unreadable"),
        ("/ckpt", AssetFacts("/ckpt", exists=True, is_dir=True, readable=True), "preflight.path_empty"),
        ("/ckpt", AssetFacts("/ckpt", exists=True, readable=True, size=3), None),
    ],
)
def test_preflight_assets_judges_what_the_manifest_names(
    path: str, asset: AssetFacts | None, message: str | None
) -> None:
    manifest = {"runtime_assets": {"model_path": path}}
    assets = {"manifest:runtime_assets.model_path": asset} if asset else {}
    findings = preflight.assets_are_there(view_of(manifest=manifest, assets=assets))
    assert [f.message for f in findings if f.fails] == ([message] if message else [])
    assert said([f for f in findings if not f.fails]) == [("note", "preflight.asset_not_named")] * 2


def test_preflight_entrypoints_are_looked_up_in_the_source_repo() -> None:
    manifest = {**MANIFEST, "source_repo_path": "/src", "source_entrypoints": {"train": "train.py", "model": ["a.py"]}}
    assets = {
        "manifest:source_repo_path": AssetFacts("/src", exists=True, is_dir=True, readable=True, size=2),
        "manifest:source_entrypoints.train": AssetFacts("train.py", exists=True, readable=True, size=2),
        "manifest:source_entrypoints.model[0]": AssetFacts("a.py", line=9),
    }
    (finding,) = preflight.entrypoints_are_there(view_of(manifest=manifest, assets=assets))
    assert (finding.message, finding.yaml_path, finding.line) == (
        "preflight.source_missing",
        "source_entrypoints.model[0]",
        9,
    )
    said([finding])


@pytest.mark.parametrize(
    ("patterns", "messages"),
    [
        (["examples/toy", "mindspeed_mm/fsdp/models/toy"], []),
        (["examples/**", "mindspeed_mm/fsdp/models/*"], []),
        (["examples/toy"], ["preflight.outside_editable"]),
        (["."], ["preflight.editable_everything"] + ["preflight.outside_editable"] * 2),
        (["../other", "examples", "mindspeed_mm/fsdp/models"], ["preflight.editable_outside_repo"]),
        (["examples", "mindspeed_mm/fsdp"], ["preflight.editable_core"]),
    ],
)
def test_editable_paths_are_sane_and_hold_the_targets_files(patterns: list[str], messages: list[str]) -> None:
    manifest = {**MANIFEST, "constraints": {"editable_paths": patterns, "no_core_modification": True}}
    view = view_of({"training": {"plugin": ["mindspeed_mm/fsdp/models/toy"]}}, manifest=manifest)
    assert [message for _, message in said(preflight.target_stays_where_it_may(view))] == messages


def test_a_plugin_that_other_targets_use_is_not_a_change_of_this_one() -> None:
    manifest = {**MANIFEST, "constraints": {"editable_paths": ["examples"]}}
    view = view_of({"training": {"plugin": ["mindspeed_mm/fsdp/data/datasets/shared"]}}, manifest=manifest)
    assert said(preflight.target_stays_where_it_may(view)) == [("error", "preflight.outside_editable")]
    other = "examples/other/other.yaml"
    view.facts.configs[other] = ConfigFacts(other, view.config.data if view.config else None)
    view.facts.targets.append(TargetFacts("other", other))
    assert preflight.target_stays_where_it_may(view) == []


def test_a_source_repo_that_is_not_there_is_not_looked_for_inside_itself() -> None:
    manifest = {**MANIFEST, "source_repo_path": "../src", "source_entrypoints": {"train": "train.py"}}
    assets = {"manifest:source_repo_path": AssetFacts("../src")}
    view = view_of(manifest=manifest, assets=assets)
    assert said(preflight.entrypoints_are_there(view)) == [("error", "preflight.asset_missing")]


@pytest.mark.parametrize(("name", "meant"), [("NNODE", "NNODES"), ("MASTER_ADDR", None), ("NNODES", None)])
def test_a_variable_of_the_launch_command_is_the_one_the_script_sets(name: str, meant: str | None) -> None:
    script = start(options={"--nnodes": f"${{{name}}}"})
    script.variables = {"NNODES": "2", "NODE_RANK": "0", "MASTER_PORT": "6000"}
    findings = launch.variables_of_the_command_are_set(view_of(script=script))
    assert [finding.suggestion for finding in findings] == ([meant] if meant else [])
    script.variables["NNODES"] = f"${{{name}}}"
    assert launch.variables_of_the_command_are_set(view_of(script=script)) == []
    said(findings)


@pytest.mark.parametrize(("pattern", "near"), [("examples/new", None), ("exampels/toy", "examples/toy")])
def test_an_editable_folder_still_to_be_made_gets_no_suggestion(pattern: str, near: str | None) -> None:
    manifest = {**MANIFEST, "constraints": {"editable_paths": [pattern, "examples"]}}
    assets = {"manifest:constraints.editable_paths[0]": AssetFacts(pattern)}
    view = view_of(manifest=manifest, assets=assets, files=["examples/README.md", "examples/toy/a.py"])
    (finding,) = preflight.target_stays_where_it_may(view)
    assert (finding.message, finding.suggestion) == ("preflight.editable_missing", near)


@pytest.mark.parametrize(
    ("pattern", "path", "inside"),
    [
        ("examples", "examples/toy/x.yaml", True),
        ("examples/", "examples/toy", True),
        ("examples/*/x.yaml", "examples/toy/x.yaml", True),
        ("examples/to", "examples/toy", False),
        ("mindspeed_mm/fsdp/models/toy/**", "mindspeed_mm/fsdp/models/toy", True),
    ],
)
def test_an_editable_path_covers_what_lies_below_it(pattern: str, path: str, inside: bool) -> None:
    assert preflight.covers(pattern, path) is inside


def test_a_file_run_by_its_path_alone_that_is_not_executable_is_an_error() -> None:
    script = ScriptFacts(SCRIPT, not_executable={"examples/toy/prepare.py": 5})
    (finding,) = launch.programs_can_be_run(view_of(script=script))
    assert said([finding]) == [("error", "launch.not_executable")]
    assert (finding.where, finding.value) == (f"{SCRIPT}:5", "examples/toy/prepare.py")
