"""Repos made to break the reader: each file is read or reported, in little time, and so are the others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_mindspeed_migration.analysis.index import MAX_BASES, Ref, index_of
from pytest_mindspeed_migration.catalogue import load_catalogue
from pytest_mindspeed_migration.checks.view import FRAMEWORK, TargetView
from pytest_mindspeed_migration.facts.config import ConfigFacts
from pytest_mindspeed_migration.facts.static import StaticFacts, TargetFacts
from pytest_mindspeed_migration.findings import near
from pytest_mindspeed_migration.outcomes import Judge
from pytest_mindspeed_migration.scan.other_stack import spreading_modules
from pytest_mindspeed_migration.scan.project import MAX_BYTES, Project, read_module
from pytest_mindspeed_migration.scan.repo_paths import MAX_NESTING, files_below
from pytest_mindspeed_migration.scan.requirements import from_requirements_line
from pytest_mindspeed_migration.scan.static import scan
from pytest_mindspeed_migration.scan.targets import discover

FOLDER = "mindspeed_mm/fsdp/models/toy"
PLAN = "parallel:\n  fsdp_plan:\n    apply_modules: [a]\n"


def _scan(repo: Path, **files: str) -> StaticFacts:
    (repo / FOLDER).mkdir(parents=True)
    for name, text in files.items():
        (repo / FOLDER / f"{name}.py").write_text(text, encoding="utf-8")
    facts = StaticFacts()
    project = Project(repo)
    project.read(project.files)
    facts.files, facts.modules = project.files, project.modules
    return facts


def _judge_all(facts: StaticFacts) -> None:
    judge = Judge(load_catalogue(), TargetView(facts, TargetFacts(FRAMEWORK, None)), ("static",))
    assert [trace for one in load_catalogue().contracts if (trace := judge.verdict(one.id).trace)] == []


def _linear(facts: StaticFacts, module: str, name: str) -> tuple[list[str], list[str]]:
    chain, foreign = index_of(facts).linear(Ref("class", f"{FOLDER.replace('/', '.')}.{module}", name))
    return [item.qualname for _, item in chain], foreign


def test_a_pipe_a_folder_and_a_large_file_named_like_code_are_reported(tmp_path: Path) -> None:
    (tmp_path / "large.py").write_text("x = 1\n" * (MAX_BYTES // 6 + 1), encoding="utf-8")
    (tmp_path / "folder.py").mkdir()
    os.mkfifo(tmp_path / "pipe.py")
    os.symlink("loop.py", tmp_path / "loop.py")
    for name in ("large.py", "folder.py", "pipe.py", "loop.py"):
        assert read_module(tmp_path / name, name).syntax_error is not None, name


def test_bases_come_in_lookup_order_each_once_with_the_foreign_ones(tmp_path: Path) -> None:
    facts = _scan(
        tmp_path, m="class A(N): ...\nclass B(A, L): ...\nclass C(A, O[int]): ...\nclass D(B, C, object): ...\n"
    )
    assert _linear(facts, "m", "D") == (["D", "B", "A", "C"], ["N", "L", "O"])


def test_a_class_that_is_its_own_base_has_a_base_nobody_knows(tmp_path: Path) -> None:
    facts = _scan(tmp_path, m="class A(B): ...\nclass B(C): ...\nclass C(A): ...\nclass S(S): ...\nclass M(M.X): ...\n")
    assert _linear(facts, "m", "A") == (["A", "B", "C"], ["?"])
    assert _linear(facts, "m", "S") == (["S"], ["?"])
    _judge_all(facts)


@pytest.mark.parametrize(
    "line",
    ["class C{0}(C{1}):\n  def f(self): super().f(); self.g{0}()\n", "class C{0}(C{1}.X.Y): ...\n"],
    ids=["bases", "members of bases"],
)
def test_an_endless_line_of_bases_is_followed_for_a_while(tmp_path: Path, line: str) -> None:
    facts = _scan(tmp_path, m="class C0: ...\n" + "".join(line.format(n, n - 1) for n in range(1, 1500)))
    chain, foreign = _linear(facts, "m", "C1499")
    assert len(chain) <= MAX_BASES
    assert foreign != []
    _judge_all(facts)


def test_bases_over_a_thousand_files_do_not_exhaust_the_stack(tmp_path: Path) -> None:
    files = {f"s{n}": f"from .s{n + 1} import C{n + 1}\nclass C{n}(C{n + 1}): ...\n" for n in range(1200)}
    facts = _scan(tmp_path, **files)
    chain, foreign = _linear(facts, "s0", "C0")
    assert chain[:2] == ["C0", "C1"]
    assert foreign == ["?"]
    _judge_all(facts)


def test_a_file_of_undefined_names_keeps_some_of_them(tmp_path: Path) -> None:
    facts = _scan(tmp_path, m="".join(f"f{n}(a)\n" for n in range(5000)))
    assert len(facts.modules[f"{FOLDER}/m.py"].unbound) == 1000


def test_names_of_files_need_be_no_text(tmp_path: Path) -> None:
    for folder, name, text in (
        (FOLDER.encode(), b"e\xff.py", "undefined()\n"),
        (b"examples/b\xff", b"c\xff.yaml", PLAN),
        (b"examples/b\xff", b"run\xff.sh", "torchrun trainer.py\n"),
    ):
        os.makedirs(os.fsencode(tmp_path) + b"/" + folder, exist_ok=True)
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + folder + b"/" + name)).write_text(text, encoding="utf-8")
    assert [target.name for target in discover(tmp_path).targets] == ["b_"]
    project = Project(tmp_path)
    project.read(project.files)
    assert project.files == [f"{FOLDER}/e\udcff.py"]


def test_a_pipe_among_the_code_of_the_other_stack_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "mindspeed_mm" / "old").mkdir(parents=True)
    os.mkfifo(tmp_path / "mindspeed_mm" / "old" / "pipe.py")
    (tmp_path / "mindspeed_mm" / "old" / "m.py").write_text("f(**model)\n", encoding="utf-8")
    found = spreading_modules(Project(tmp_path), {"c": ConfigFacts("c", {"model": {"a": 1}})})
    assert list(found) == ["mindspeed_mm/old/m.py"]


@pytest.mark.parametrize("model_id", ["[x]", "{x: 1}", "3", '""', '"\\x00"', "nobody_registers_this"])
def test_one_target_is_scanned_whatever_it_names(tmp_path: Path, model_id: str) -> None:
    (tmp_path / FOLDER).mkdir(parents=True)
    (tmp_path / FOLDER / "m.py").write_text("r.register('nobody_registers_this')\n", encoding="utf-8")
    os.mkfifo(tmp_path / FOLDER / "pipe.py")
    (tmp_path / "examples" / "toy").mkdir(parents=True)
    text = f"{PLAN}model:\n  model_id: {model_id}\ndata:\n  dataset_param:\n    dataset_type: [{{}}]\n"
    (tmp_path / "examples" / "toy" / "toy.yaml").write_text(text, encoding="utf-8")
    facts = scan(tmp_path, ["toy"])
    assert [target.name for target in facts.targets] == ["toy"]
    assert (f"{FOLDER}/m.py" in facts.modules) is (model_id == "nobody_registers_this")


def test_folders_without_end_are_left_out(tmp_path: Path) -> None:
    deep = tmp_path / "examples" / "/".join("d" * (MAX_NESTING + 10))
    deep.mkdir(parents=True)
    (deep / "x.yaml").write_text(PLAN, encoding="utf-8")
    (tmp_path / "examples" / "x.yaml").write_text(PLAN, encoding="utf-8")
    assert list(files_below(tmp_path, "examples")) == ["examples/x.yaml"]


@pytest.mark.parametrize("line", ["torch==" + "9" * 200_000, "a" * 200_000, "a @ " * 50_000 + "git+", "a," * 100_000])
def test_a_requirement_without_end_costs_no_time(line: str) -> None:
    assert list(from_requirements_line(line)) == []


def test_a_name_is_not_near_itself_nor_is_one_without_end() -> None:
    assert near("lr", ["lr"]) is None
    assert near("learning_rate", ["learning_rate", "learning_rates"]) == "learning_rates"
    assert near("x" * 100_000, ["x" * 100_001]) is None
