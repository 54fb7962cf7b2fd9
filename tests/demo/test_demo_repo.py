"""The demo repo is a complete, tidy target: what its files name exists, and its code has no static fault."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from pytest_mindspeed_migration import demo
from pytest_mindspeed_migration.demo import demo_repo
from pytest_mindspeed_migration.manifest import load_manifest

REPO = demo_repo()
CONFIG = REPO / "examples/internvl3_5/internvl3_5_config.yaml"
PYTHON_FILES = sorted(REPO.parent.rglob("*.py"))


def test_an_installation_without_the_repo_is_an_error_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "__file__", str(tmp_path / "__init__.py"))
    with pytest.raises(FileNotFoundError, match="lacks its demo repo"):
        demo_repo()


@pytest.mark.parametrize("path", PYTHON_FILES, ids=lambda path: path.relative_to(REPO.parent).as_posix())
def test_every_module_parses_and_says_what_it_is_for(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


def test_ruff_finds_no_unused_or_undefined_name() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--select=F", str(REPO.parent)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout


def test_the_code_needs_no_accelerator_package() -> None:
    imported = {
        name.split(".")[0]
        for path in PYTHON_FILES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in _imported(node)
    }
    assert not imported & {"torch_npu", "mindspeed", "megatron"}


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and node.module else []


def test_every_path_the_config_names_is_in_the_repo() -> None:
    config = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))
    data = config["data"]["dataset_param"]
    named = [
        *config["training"]["plugin"],
        config["model"]["model_name_or_path"],
        data["preprocess_parameters"]["model_name_or_path"],
        data["basic_parameters"]["dataset"],
        data["internvl3_5_extra"]["image_root"],
    ]
    assert [name for name in named if not (REPO / name).exists()] == []


def test_every_image_of_the_annotation_is_there() -> None:
    rows = yaml.safe_load((REPO / "data/internvl3_5/train.json").read_text(encoding="utf-8"))
    names = [name for row in rows for name in _as_list(row.get("image"))]
    assert len(names) >= 4
    assert [name for name in names if not (REPO / "data/internvl3_5/images" / name).is_file()] == []
    assert any("image" not in row for row in rows), "text-only rows are part of what the dataset has to handle"


def _as_list(value: str | list[str] | None) -> list[str]:
    return [value] if isinstance(value, str) else value or []


def test_the_manifest_is_valid_and_its_paths_exist() -> None:
    path = REPO / "examples/internvl3_5/migration.yaml"
    manifest = load_manifest(path)
    source = path.parent / manifest["source_repo_path"]
    assert (path.parent / manifest["target_repo_path"]).resolve() == REPO
    assert [name for name in manifest["source_entrypoints"].values() if not (source / name).is_file()] == []
    assert [name for name in manifest["runtime_assets"].values() if not (path.parent / name).exists()] == []


def test_the_launch_script_starts_the_trainer_with_this_config() -> None:
    text = (CONFIG.parent / "finetune_internvl3_5.sh").read_text(encoding="utf-8")
    named = re.findall(r"[\w./]+\.(?:py|yaml)", text)
    assert named == ["examples/internvl3_5/internvl3_5_config.yaml", "mindspeed_mm/fsdp/train/trainer.py"]
    assert [name for name in named if not (REPO / name).is_file()] == []
