"""The demo's migration as files that go on a checkout: what is copied, what is refused, what nothing is done to."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_mindspeed_migration.demo import demo_repo
from pytest_mindspeed_migration.demo.overlay import PATHS, apply_overlay, main, overlay_files
from pytest_mindspeed_migration.errors import UsageProblem

CONFIG = "examples/internvl3_5/internvl3_5_config.yaml"
PLUGINS = ("mindspeed_mm/fsdp/models/internvl3_5", "mindspeed_mm/fsdp/data/datasets/internvl3_5")

# What the migration may import of MindSpeed-MM: each of these is there in the real one, and nothing else was tried.
INTERFACES = {
    "mindspeed_mm.fsdp.data.data_utils.func_utils.convert": {"IGNORE_INDEX", "DataArguments", "DatasetAttr"},
    "mindspeed_mm.fsdp.data.data_utils.func_utils.model_args": {"ProcessorArguments"},
    "mindspeed_mm.fsdp.params.model_args": {"ModelArguments"},
    "mindspeed_mm.fsdp.utils.register": {"data_register", "model_register"},
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder that looks like a checkout, with a file of its own."""
    (tmp_path / "repo/mindspeed_mm/fsdp").mkdir(parents=True)
    (tmp_path / "repo/mindspeed_mm/fsdp/own.py").write_text("own", encoding="utf-8")
    return tmp_path / "repo"


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_migration_is_copied_as_it_is_and_nothing_else_changes(checkout: Path) -> None:
    new = apply_overlay(checkout)
    found = files_of(checkout)
    assert found.pop("mindspeed_mm/fsdp/own.py") == b"own"
    assert found == {name: (demo_repo() / name).read_bytes() for name in overlay_files()}
    assert new == sorted(found)


def test_every_named_folder_is_in_the_demo_and_brings_files() -> None:
    files = overlay_files()
    assert [path for path in PATHS if not any(name.startswith(f"{path}/") for name in files)] == []
    assert not [name for name in files if "__pycache__" in name]
    assert {CONFIG, "examples/internvl3_5/migration.yaml", "examples/internvl3_5/finetune_internvl3_5.sh"} <= set(files)


def test_a_second_time_there_is_nothing_to_do(checkout: Path) -> None:
    apply_overlay(checkout)
    before = files_of(checkout)
    assert apply_overlay(checkout) == []
    assert files_of(checkout) == before


def test_what_is_missing_is_put_back(checkout: Path) -> None:
    apply_overlay(checkout)
    (checkout / CONFIG).unlink()
    assert apply_overlay(checkout) == [CONFIG]


@pytest.mark.parametrize("content", [b"mine", b""], ids=["other text", "empty"])
def test_a_file_that_says_something_else_is_refused_and_nothing_is_written(checkout: Path, content: bytes) -> None:
    (checkout / CONFIG).parent.mkdir(parents=True)
    (checkout / CONFIG).write_bytes(content)
    before = files_of(checkout)
    with pytest.raises(UsageProblem, match=CONFIG):
        apply_overlay(checkout)
    assert files_of(checkout) == before


def test_a_folder_in_the_place_of_a_file_is_refused(checkout: Path) -> None:
    (checkout / CONFIG).mkdir(parents=True)
    with pytest.raises(UsageProblem, match=CONFIG):
        apply_overlay(checkout)
    assert not (checkout / PLUGINS[0]).exists()


def test_a_file_in_the_place_of_a_folder_is_refused(checkout: Path) -> None:
    (checkout / "data").write_text("a file", encoding="utf-8")
    with pytest.raises(UsageProblem, match=r"data/internvl3_5/images/blue\.png"):
        apply_overlay(checkout)
    assert not (checkout / PLUGINS[0]).exists()


def test_a_link_that_leads_out_of_the_checkout_is_refused(checkout: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (checkout / "data").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageProblem, match=r"data/internvl3_5/train\.json"):
        apply_overlay(checkout)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_long_list_of_refused_files_is_cut(checkout: Path) -> None:
    for name in overlay_files():
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text("other", encoding="utf-8")
    with pytest.raises(UsageProblem) as refused:
        apply_overlay(checkout)
    assert f"({len(overlay_files())})" in str(refused.value)
    assert len(str(refused.value)) < 800


@pytest.mark.parametrize("name", ["", "absent", "mindspeed_mm"])
def test_a_folder_that_is_no_checkout_is_refused(checkout: Path, name: str) -> None:
    folder = checkout.parent / name if name != "mindspeed_mm" else checkout / name
    with pytest.raises(UsageProblem, match="has no mindspeed_mm/fsdp"):
        apply_overlay(folder)


def test_the_command_says_what_it_did_and_what_comes_next(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(checkout)]) == 0
    said = capsys.readouterr().out
    assert f"{len(overlay_files())} files" in said
    assert f"--migrate-manifest={checkout / 'examples/internvl3_5/migration.yaml'}" in said


@pytest.mark.parametrize(("lang", "word"), [("en", "nothing was written"), ("zh", "未写入")])
def test_the_command_refuses_with_a_sentence(
    checkout: Path, capsys: pytest.CaptureFixture[str], lang: str, word: str
) -> None:
    (checkout / CONFIG).parent.mkdir(parents=True)
    (checkout / CONFIG).write_text("mine", encoding="utf-8")
    assert main([str(checkout), f"--lang={lang}"]) == 4
    assert word in capsys.readouterr().err


def test_a_disk_that_fills_up_is_named_leaves_no_half_file_and_can_be_tried_again(
    checkout: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Path.write_bytes

    def full(self: Path, data: bytes) -> int:
        if CONFIG.rpartition("/")[2] in self.name:
            write(self, data[:10])
            raise OSError(28, "No space left on device", str(self))
        return write(self, data)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", full)
        assert main([str(checkout)]) == 4
    assert "No space left on device" in capsys.readouterr().err
    assert not list((checkout / CONFIG).parent.glob("*config*"))
    assert main([str(checkout)]) == 0
    assert set(overlay_files()) <= set(files_of(checkout))


def test_it_runs_as_a_module(checkout: Path) -> None:
    command = [sys.executable, "-m", "pytest_mindspeed_migration.demo.overlay", str(checkout)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (checkout / CONFIG).is_file()


def test_the_migration_imports_only_interfaces_that_the_real_framework_has() -> None:
    used: dict[str, set[str]] = {}
    for name in overlay_files():
        if name.endswith(".py"):
            for node in ast.walk(ast.parse((demo_repo() / name).read_text(encoding="utf-8"))):
                assert not isinstance(node, ast.Try) or not _imports(node), f"{name}: an import that depends on luck"
                module = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
                if module.startswith("mindspeed_mm") and "internvl3_5" not in module:
                    used.setdefault(module, set()).update(alias.name for alias in node.names)
    assert used == INTERFACES


def _imports(node: ast.Try) -> bool:
    return any(isinstance(inner, (ast.Import, ast.ImportFrom)) for inner in ast.walk(node))
