"""Exports, targets named by users and manifests, and configs laid over an export."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_mindspeed_migration.errors import UsageProblem
from pytest_mindspeed_migration.facts import store
from pytest_mindspeed_migration.facts.config import ConfigFacts
from pytest_mindspeed_migration.facts.launch import PathReference, ScriptFacts
from pytest_mindspeed_migration.facts.static import StaticFacts, TargetFacts
from pytest_mindspeed_migration.manifests import Manifest, Manifests, read_manifests
from pytest_mindspeed_migration.scan.overlay import overlay
from pytest_mindspeed_migration.target_repo import select, view_of

KNOWN = [TargetFacts("alpha", "a.yaml", model_id="a"), TargetFacts("beta", "b.yaml", model_id="b")]
OPTIONS = SimpleNamespace(facts="facts.json", demo=False, repo=None)


def test_an_export_comes_back_as_it_was(tmp_path: Path) -> None:
    facts = StaticFacts(configs={"a": ConfigFacts("a", {"x": [1, "\ud800", "é", None, 1.5]}, {"x": 3})}, targets=KNOWN)
    store.save(facts, tmp_path / "deep" / "facts.json")
    assert store.load(tmp_path / "deep" / "facts.json") == facts
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["facts.json"]


def test_an_export_keeps_the_order_of_keys(tmp_path: Path) -> None:
    facts = StaticFacts(configs={"a": ConfigFacts("a", {"z": {"y": 1, "b": 2}, "a": 3})})
    store.save(facts, tmp_path / "facts.json")
    data = store.load(tmp_path / "facts.json").configs["a"].data
    assert data is not None
    assert [*data, *data["z"]] == ["z", "a", "y", "b"]


@pytest.mark.parametrize(
    ("content", "key"),
    [
        (b"", "usage.facts_not_json"),
        (b"\xff\xfe", "usage.facts_not_json"),
        (b"[" * 100_000, "usage.facts_not_json"),
        (b"[]", "usage.facts_format"),
        (b"{}", "usage.facts_format"),
        (b'{"format": 1, "colour": "red"}', "usage.facts_not_json"),
        (b'{"format": 1, "targets": 3}', "usage.facts_not_json"),
        (b'{"format": true}', "usage.facts_format"),
        (b'{"format": 1, "targets": [{"name": 1, "config": null}]}', "usage.facts_not_json"),
        (b'{"format": 1, "targets": [{"name": "a"}]}', "usage.facts_not_json"),
        (b'{"format": 1, "files": ["a", null]}', "usage.facts_not_json"),
        (b'{"format": 1, "configs": {"a": {"path": "a", "data": []}}}', "usage.facts_not_json"),
        (b'{"format": 1, "configs": {"a": {"path": "a", "data": {}, "lines": {"b": "3"}}}}', "usage.facts_not_json"),
        (b'{"format": 1, "modules": {"a": {"path": "a", "syntax_error": [1]}}}', "usage.facts_not_json"),
    ],
)
def test_what_is_no_export_is_one_sentence(tmp_path: Path, content: bytes, key: str) -> None:
    path = tmp_path / "facts.json"
    path.write_bytes(content)
    with pytest.raises(UsageProblem) as caught:
        store.load(path)
    assert caught.value.key == key
    assert str(path) in caught.value.render("en")


def test_an_export_of_the_wrong_shape_names_the_place(tmp_path: Path) -> None:
    (tmp_path / "facts.json").write_text('{"format": 1, "targets": [{"name": "a", "config": 3}]}', encoding="utf-8")
    with pytest.raises(UsageProblem) as caught:
        store.load(tmp_path / "facts.json")
    assert "StaticFacts.targets.config is not str" in caught.value.render("en")


def test_a_pipe_is_neither_waited_for_nor_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageProblem) as caught:
        store.load(tmp_path / "pipe")
    assert caught.value.key == "usage.facts_unreadable"
    with pytest.raises(OSError, match="no regular file"):
        store.save(StaticFacts(), tmp_path / "pipe")
    assert [(path.name, path.is_fifo()) for path in tmp_path.iterdir()] == [("pipe", True)]


def test_a_save_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    facts = StaticFacts(configs={"a": ConfigFacts("a", {"x": object()})})
    with pytest.raises(TypeError):
        store.save(facts, tmp_path / "facts.json")
    assert list(tmp_path.iterdir()) == []


def test_all_is_every_target_and_the_framework_last() -> None:
    assert [one.name for one in select(KNOWN, ("all",), Manifests(), OPTIONS)] == ["alpha", "beta", "framework"]
    assert [one.name for one in select(KNOWN, ("b", "alpha"), Manifests(), OPTIONS)] == ["alpha", "beta"]
    assert [one.name for one in select(KNOWN, ("framework",), Manifests(), OPTIONS)] == ["framework"]


def test_all_of_nothing_is_a_usage_problem() -> None:
    with pytest.raises(UsageProblem) as caught:
        select([], ("all",), Manifests(), OPTIONS)
    assert caught.value.key == "usage.no_targets"


def _manifests(*names: str, line: bool = False) -> Manifests:
    given = [
        Manifest({"model_identity": {"name": name}}, f"/x/{name}.yaml", f"{name}.yaml", f"manifest[{number}]")
        for number, name in enumerate(names)
    ]
    return Manifests(given, Manifest({"runtime_assets": {"model_path": "/m"}}) if line else None)


def test_a_manifest_makes_a_target_before_there_is_a_config() -> None:
    (target,) = select(KNOWN, ("gamma",), _manifests("gamma"), OPTIONS)
    assert (target.name, target.config, target.manifest) == ("gamma", None, "gamma.yaml")
    (target,) = select(KNOWN, ("alpha",), _manifests("Alpha"), OPTIONS)
    assert (target.config, target.manifest) == ("a.yaml", "Alpha.yaml")


def test_each_of_several_manifests_belongs_to_the_target_it_names() -> None:
    manifests = _manifests("alpha", "gamma", line=True)
    known = [*KNOWN, TargetFacts("other", "o.yaml")]
    alpha, other, gamma = select(known, ("alpha", "other", "gamma"), manifests, OPTIONS)
    assert view_of(StaticFacts(), alpha, manifests, alone=False).manifest == {"model_identity": {"name": "alpha"}}
    seen = view_of(StaticFacts(), gamma, manifests, alone=False)
    assert (seen.manifest_key, str(seen.manifest_folder)) == ("manifest[1]", "/x")
    assert view_of(StaticFacts(), other, manifests, alone=True).manifest == {"runtime_assets": {"model_path": "/m"}}


def test_two_manifests_of_one_target_are_a_usage_problem() -> None:
    with pytest.raises(UsageProblem) as caught:
        select(KNOWN, ("alpha",), _manifests("alpha", "Alpha"), OPTIONS)
    assert caught.value.key == "usage.manifests_same_target"
    assert (caught.value.values["first"], caught.value.values["second"]) == ("alpha.yaml", "Alpha.yaml")


def test_manifests_of_one_run_are_for_one_checkout_and_one_environment(tmp_path: Path) -> None:
    def written(name: str, more: str) -> Path:
        path = tmp_path / f"{name}.yaml"
        path.write_text(f"model_identity: {{name: {name}}}\n{more}\n", encoding="utf-8")
        return path

    here, same = written("a", "target_repo_path: ."), written("b", f"target_repo_path: {tmp_path}")
    assert [one.name for one in read_manifests([here, same, here], {}, None).given] == ["a", "b"]
    with pytest.raises(UsageProblem) as caught:
        read_manifests([here, written("c", "target_repo_path: elsewhere")], {}, None)
    assert caught.value.key == "usage.manifests_repos"
    slow, quick = written("d", "environment: {python: p1}"), written("e", "environment: {python: p2}")
    assert read_manifests([here, slow], {}, None).environment() == {"python": "p1"}
    with pytest.raises(UsageProblem) as caught:
        read_manifests([slow, quick], {}, None).environment()
    assert caught.value.key == "usage.manifests_environment"


def test_paths_of_the_command_line_hold_for_every_target_and_a_manifest_only_for_its_own(tmp_path: Path) -> None:
    path = tmp_path / "migration.yaml"
    path.write_text("model_identity: {name: alpha}\nruntime_assets: {model_path: /own, image_root: /i}\n")
    manifests = read_manifests([path], {"model_path": "/m"}, None)
    own = TargetFacts("alpha", "a.yaml", manifest=str(path))
    seen = view_of(StaticFacts(), own, manifests, alone=False).manifest
    assert seen is not None
    assert seen["runtime_assets"] == {"model_path": "/m", "image_root": "/i"}
    other = view_of(StaticFacts(), KNOWN[1], manifests, alone=False).manifest
    assert other == {"runtime_assets": {"model_path": "/m"}}
    without = read_manifests([path], {}, None)
    assert view_of(StaticFacts(), KNOWN[1], without, alone=False).manifest is None
    assert view_of(StaticFacts(), TargetFacts("framework", None), manifests, alone=True).manifest is None


def test_configs_laid_over_an_export_replace_and_add_targets(tmp_path: Path) -> None:
    folder = tmp_path / "examples" / "alpha"
    folder.mkdir(parents=True)
    (folder / "alpha.yaml").write_text("model: {model_id: new}\nparallel: {fsdp_plan: {}}\n", encoding="utf-8")
    (folder / "run.sh").write_text("torchrun mindspeed_mm/fsdp/train/trainer.py examples/alpha/alpha.yaml\n", "utf-8")
    old = {"model": {"model_id": "old"}, "parallel": {"fsdp_plan": {}}}
    facts = StaticFacts(
        files=["mindspeed_mm/fsdp/train/trainer.py"],
        configs={name: ConfigFacts(name, old) for name in ("examples/alpha/alpha.yaml", "examples/beta/beta.yaml")},
        scripts={
            "examples/beta/run.sh": ScriptFacts("examples/beta/run.sh", references=[PathReference("x", 1, False)])
        },
    )
    merged = overlay(facts, tmp_path)
    assert {target.name: target.model_id for target in merged.targets} == {"alpha": "new", "beta": "old"}
    assert merged.targets[0].scripts == ["examples/alpha/run.sh"]
    references = {one.path: one.exists for one in merged.scripts["examples/alpha/run.sh"].references}
    assert references["mindspeed_mm/fsdp/train/trainer.py"] is not False
    assert json.loads(json.dumps(merged.files)) == facts.files


def test_a_manifest_whose_name_several_targets_answer_to_is_refused() -> None:
    known = [TargetFacts(name, f"examples/vlm/{name}.yaml", folder="examples/vlm") for name in ("vlm_4b", "vlm_9b")]
    manifests = Manifests([Manifest({"model_identity": {"name": "vlm"}}, "/m/migration.yaml", "migration.yaml")])
    with pytest.raises(UsageProblem) as problem:
        select(known, ("all",), manifests, options=None)  # type: ignore[arg-type]
    assert problem.value.key == "usage.target_ambiguous"
