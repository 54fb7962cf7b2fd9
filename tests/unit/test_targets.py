"""`scan.targets`: which YAML files are targets, what they are called, what belongs to them."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_mindspeed_migration.errors import UsageProblem
from pytest_mindspeed_migration.facts.config import ConfigFacts
from pytest_mindspeed_migration.facts.static import TargetFacts
from pytest_mindspeed_migration.scan.cache import ScanCache
from pytest_mindspeed_migration.scan.project import Project
from pytest_mindspeed_migration.scan.repo_paths import questions
from pytest_mindspeed_migration.scan.targets import Discovery, discover, discover_framework_files, match
from pytest_mindspeed_migration.scan.tree import Search
from pytest_mindspeed_migration.scan.yaml_tree import read_config

PLAN = "parallel:\n  fsdp_plan:\n    apply_modules: [a]\nmodel:\n  model_id: {}\n"
TRAINER = "mindspeed_mm/fsdp/train/trainer.py"


def write(repo: Path, rel: str, text: str | bytes = "") -> None:
    path = repo / rel
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    write(tmp_path, TRAINER)
    write(tmp_path, "examples/solo/solo_config.yaml", PLAN.format("solo_model"))
    write(tmp_path, "examples/solo/run.sh", f"torchrun --nproc_per_node 8 {TRAINER} examples/solo/solo_config.yaml\n")
    write(tmp_path, "examples/solo/README.md", "hello\n")
    write(tmp_path, "examples/solo/requirements.txt", "transformers==5.2.0\n")
    write(tmp_path, "examples/fsdp2/many/many_4B_config.yaml", PLAN.format("many"))
    write(tmp_path, "examples/fsdp2/many/many_9B_config.yaml", PLAN.format("many"))
    write(tmp_path, "examples/legacy/fsdp2_config.yaml", "sharding_size: 8\n")
    return tmp_path


def names(repo: Path) -> list[str]:
    return [target.name for target in discover(repo).targets]


def test_targets_are_named_by_folder_or_by_stem_where_a_folder_holds_several(repo: Path) -> None:
    assert names(repo) == ["many_4B_config", "many_9B_config", "solo"]


def test_a_target_has_its_scripts_trainer_documents_and_model_id(repo: Path) -> None:
    found = discover(repo)
    (solo,) = [target for target in found.targets if target.name == "solo"]
    assert solo.scripts == ["examples/solo/run.sh"]
    assert (solo.trainer, solo.model_id) == (TRAINER, "solo_model")
    assert found.docs["examples/solo/requirements.txt"].requirements == {"transformers": "==5.2.0"}
    assert solo.docs == ["examples/solo/README.md", "examples/solo/requirements.txt"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
def test_a_byte_order_mark_does_not_hide_a_target(repo: Path, encoding: str) -> None:
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    write(repo, "examples/marked/marked.yaml", (mark + PLAN.format("marked")).encode(encoding))
    assert "marked" in names(repo)


def test_a_yaml_nobody_may_read_is_a_target_that_says_so(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    locked = repo / "examples/locked/locked.yaml"
    write(repo, "examples/locked/locked.yaml", PLAN.format("locked"))
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != locked)
    read = Path.read_bytes

    def refuse(path: Path) -> bytes:
        if path == locked:
            raise PermissionError(13, "Permission denied")
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", refuse)
    found = discover(repo)
    assert "locked" in [target.name for target in found.targets]
    (problem,) = found.configs["examples/locked/locked.yaml"].problems
    assert (problem.kind, problem.detail) == ("unreadable", "Permission denied")


def test_a_script_elsewhere_that_starts_the_config_belongs_to_it(repo: Path) -> None:
    write(repo, "examples/all/go.sh", f"CONFIG=examples/solo/solo_config.yaml\ntorchrun {TRAINER} $CONFIG\n")
    (solo,) = [target for target in discover(repo).targets if target.name == "solo"]
    assert solo.scripts == ["examples/all/go.sh", "examples/solo/run.sh"]


def test_a_script_with_a_wrong_yaml_goes_to_the_config_beside_it(repo: Path) -> None:
    write(repo, "examples/solo/run.sh", f"torchrun {TRAINER} examples/solo/solo_cfg.yaml\n")
    (solo,) = [target for target in discover(repo).targets if target.name == "solo"]
    assert solo.scripts == ["examples/solo/run.sh"]


def test_folders_of_one_name_give_different_targets(repo: Path) -> None:
    write(repo, "examples/fsdp2/solo/config.yaml", PLAN.format("x"))
    write(repo, "examples/fsdp2/solo2/all.yaml", PLAN.format("y"))
    assert names(repo) == ["many_4B_config", "many_9B_config", "solo-config", "solo-solo_config", "solo2"]


@pytest.mark.parametrize("reserved", ["all", "framework"])
def test_reserved_words_are_no_target_names(repo: Path, reserved: str) -> None:
    write(repo, f"examples/{reserved}/c.yaml", PLAN.format("x"))
    assert f"{reserved}-c" in names(repo)


@pytest.mark.parametrize(
    "bad",
    [
        b"parallel:\n  fsdp_plan:\n\tapply_modules: []\n",
        b"parallel: &A\n  fsdp_plan: &A {}\n",
        b"parallel:\n  fsdp_plan: \xff\xfe\n",
        b"parallel:\n  fsdp_plan:\n" + b"#" * 50_000_000,
        b"parallel:\n  fsdp_plan: \0\n",
    ],
)
def test_a_broken_config_is_a_target_with_problems_and_does_not_hide_the_others(repo: Path, bad: bytes) -> None:
    write(repo, "examples/broken/broken.yaml", bad)
    found = discover(repo)
    assert [target.name for target in found.targets] == ["broken", "many_4B_config", "many_9B_config", "solo"]
    assert found.configs["examples/broken/broken.yaml"].problems


def test_a_config_that_leaves_the_plan_to_its_defaults_is_known_by_its_plugins(repo: Path) -> None:
    write(repo, "examples/bare/bare.yaml", "parallel:\n  recompute: false\ntraining:\n  plugin: [a/b]\n")
    write(repo, "examples/other/other.yaml", "training:\n  lr: 1\nplugin: [a/b]\n")
    assert names(repo) == ["bare", "many_4B_config", "many_9B_config", "solo"]


def test_pipes_loops_and_other_files_do_not_disturb(repo: Path) -> None:
    os.mkfifo(repo / "examples/pipe.yaml")
    os.symlink("self.yaml", repo / "examples/self.yaml")
    os.symlink("..", repo / "examples/solo/up")
    write(repo, "examples/list.yaml", "- fsdp_plan\n")
    write(repo, "examples/elf.yaml", b"\x7fELF\0" * 100)
    write(repo, "examples/prose.yaml", "text: parallel fsdp_plan\n")
    assert names(repo) == ["many_4B_config", "many_9B_config", "solo"]


def test_a_repo_without_examples_has_no_targets(tmp_path: Path) -> None:
    assert discover(tmp_path).targets == []
    assert discover_framework_files(tmp_path / "none").docs == {}


def test_hostile_names_cannot_leave_the_output_folder(repo: Path) -> None:
    write(repo, 'examples/evil "); import os\n{{ 7 }}/x.yaml', PLAN.format("x"))
    found = names(repo)
    assert len(found) == 4
    assert all(re.fullmatch(r"\w[\w.-]*", name) for name in found)


@pytest.fixture
def targets() -> list[TargetFacts]:
    return [
        TargetFacts("qwen3_5_4B_config", "examples/qwen3_5/qwen3_5_4B_config.yaml", "examples/qwen3_5", "qwen3_5"),
        TargetFacts("qwen3_5_9B_config", "examples/qwen3_5/qwen3_5_9B_config.yaml", "examples/qwen3_5", "qwen3_5"),
        TargetFacts("funasr", "examples/funasr/fun_config.yaml", "examples/funasr", "fun_asr_nano"),
        TargetFacts("starting", None, manifest="migration.yaml"),
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("funasr", "funasr"),
        ("FunASR", "funasr"),
        ("fun_config", "funasr"),
        ("fun-asr.nano", "funasr"),
        ("qwen3.5-4b", "qwen3_5_4B_config"),
        ("qwen3_5_9B_config", "qwen3_5_9B_config"),
        ("starting", "starting"),
    ],
)
def test_a_name_matches_folder_stem_or_model_id(targets: list[TargetFacts], name: str, expected: str) -> None:
    assert match(name, targets).name == expected


@pytest.mark.parametrize(
    ("name", "key", "said"),
    [
        ("qwen3.5", "usage.target_ambiguous", "qwen3_5_4B_config, qwen3_5_9B_config"),
        ("funnasr", "usage.target_unknown_near", "did you mean funasr?"),
        ("zzz", "usage.target_unknown", "zzz"),
        ("examples/funasr", "usage.target_is_path", "is a path"),
        ("..\\funasr", "usage.target_is_path", "is a path"),
    ],
)
def test_other_names_are_one_sentence(targets: list[TargetFacts], name: str, key: str, said: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        match(name, targets)
    assert caught.value.key == key
    assert said in caught.value.render()
    assert caught.value.render("zh") != caught.value.render("en")


def test_framework_files_are_read_outside_the_targets(repo: Path) -> None:
    write(repo, "docs/zh/guide.md", "see examples/solo/none.sh\n")
    write(repo, "examples/legacy/old.sh", "python pretrain.py\n")
    found = discover_framework_files(repo)
    assert "examples/legacy/old.sh" in found.scripts
    assert [ref.exists for ref in found.docs["docs/zh/guide.md"].references] == [False]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("examples/solo/solo_config.yaml", PLAN.format("other")),
        ("examples/solo/solo_config.yaml", "no: target\n"),
        ("examples/solo/solo_config.yaml", "\0"),
        ("examples/solo/solo_config.yaml", None),
        ("examples/all/free.yaml", PLAN.format("free")),
        ("examples/all/go.sh", f"torchrun {TRAINER} examples/many/many_4B_config.yaml\n"),
        ("examples/all/go.sh", None),
        ("examples/solo/README.md", "see `examples/solo/gone.yaml`\n"),
        ("examples/solo/requirements.txt", "transformers==4.57.1\n"),
        ("examples/new/new.yaml", PLAN.format("new")),
        ("mindspeed_mm/fsdp/tool.py", "print()\n"),
        ("tools/run.sh", None),
        ("tools/other.sh", "ls\n"),
    ],
)
def test_what_is_read_again_after_a_change_gives_what_reading_all_gives(
    repo: Path, tmp_path: Path, path: str, text: str | None
) -> None:
    write(repo, "examples/all/free.yaml", "no: target\n")
    write(repo, "examples/all/go.sh", "torchrun pretrain.py examples/solo/solo_config.yaml\n")
    write(repo, "examples/solo/README.md", "`mindspeed_mm/fsdp/tool.py`, `tools/run.sh`\n\n    bash tools/run.sh\n")
    write(repo, "tools/run.sh", "true\n")

    def found() -> Discovery:
        with questions():
            search = Search(Project(repo, cache=ScanCache(tmp_path / "kept" / "cache.json")))
            result = search.result()
        search._cache.save()
        return replace(result, stamps={}, asked={})

    found()
    for _ in range(2):  # what was found after the change is kept in its turn
        if text is None:
            (repo / path).unlink(missing_ok=True)
        else:
            write(repo, path, text)
        assert found() == discover(repo)


def test_after_a_change_only_the_changed_file_is_read(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = ScanCache(tmp_path / "kept" / "cache.json")
    Search(Project(repo, cache=cache)).result()
    cache.save()
    write(repo, "examples/solo/solo_config.yaml", PLAN.format("other"))
    read: list[str] = []

    def note(repo: Path, rel: str) -> ConfigFacts:
        read.append(rel)
        return read_config(repo, rel)

    for name, function in (("yaml_tree.read_config", note), ("shell.read_script", None), ("docs.read_doc", None)):
        monkeypatch.setattr(f"pytest_mindspeed_migration.scan.{name}", function)
    found = Search(Project(repo, cache=ScanCache(tmp_path / "kept" / "cache.json"))).result()
    assert read == ["examples/solo/solo_config.yaml"]
    assert [target.model_id for target in found.targets if target.name == "solo"] == ["other"]


def test_a_change_that_leaves_size_and_time_of_a_file_is_seen(repo: Path, tmp_path: Path) -> None:
    """As `cp -p`, an archive of files that all have one time, or a clock that was set back leave them."""
    path, cache = repo / "examples/solo/solo_config.yaml", tmp_path / "kept" / "cache.json"
    write(repo, "examples/solo/solo_config.yaml", PLAN.format("first"))
    before = path.stat()
    for model_id in ("first", "other"):
        write(repo, "examples/solo/solo_config.yaml", PLAN.format(model_id))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        search = Search(Project(repo, cache=ScanCache(cache)))
        assert [target.model_id for target in search.result().targets if target.name == "solo"] == [model_id]
        search._cache.save()
    assert path.stat().st_size == before.st_size
