"""Runs on what nobody should hand in: the answer is one sentence or a finding, with pytest's exit code."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from plugin_project import Project

from pytest_mindspeed_migration.demo import demo_repo


def test_a_test_that_fails_before_it_judges_is_reported_with_the_others(project: Project) -> None:
    project.facts({"alpha": {}})
    project.run("--migrate-target=alpha", "--migrate-generate=suites")
    path = project.path / "suites" / "test_migrate_alpha.py"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('migration.verify("code.names")', 'raise OSError("x")'), encoding="utf-8")
    result = project.run("suites")
    assert result.ret == 1
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
    assert "code.names" in project.read("alpha/failed_cases.md")


def test_paths_that_are_no_text_travel_to_workers_and_back(project: Project, mode: tuple[str, ...]) -> None:
    facts = project.facts({"alpha": {"config.linkage": "error"}})
    text = facts.read_text(encoding="utf-8").replace("examples/alpha/alpha.yaml", "examples/alpha/\\udcff.yaml")
    facts.write_text(text, encoding="utf-8")
    result = project.run("--migrate-target=alpha", *mode)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*examples/alpha/\\udcff.yaml:7 a.b: *"])
    assert project.statuses("alpha")["config.linkage"] == "failed"


@pytest.mark.parametrize("path", ["/" + "a" * 5000, "/" + "a/" * 3000, "~nobody-of-that-name/x", "/dev/null"])
def test_an_impossible_repo_is_one_sentence(pytester: pytest.Pytester, path: str) -> None:
    result = pytester.runpytest_subprocess("--migrate-target=all", f"--migrate-repo={path}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --migrate-repo: * is not a folder"])


def test_a_cache_nobody_can_read_is_left_alone(pytester: pytest.Pytester) -> None:
    first = pytester.runpytest_subprocess("--migrate-target=all", "--migrate-repo=demo")
    kept = list((pytester.path / ".pytest_cache" / "d" / "migrate-facts").glob("*.json"))
    assert len(kept) == 5  # what was read, what follows from it, and what was judged
    for spoil in (lambda path: path.write_text("[" * 100_000), lambda path: (path.unlink(), os.mkfifo(path))):
        for path in kept:
            spoil(path)
        result = pytester.runpytest_subprocess("--migrate-target=all", "--migrate-repo=demo", timeout=60)
        assert result.ret == first.ret == 0


def test_workers_recall_nothing_of_a_checkout_that_has_changed(pytester: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    repo = shutil.copytree(demo_repo(), pytester.path / "repo")
    run = ("--migrate-target=internvl3_5", f"--migrate-repo={repo}", "--migrate-level=static", "-p", "xdist", "-n1")
    assert pytester.runpytest_subprocess(*run).ret == 0
    config = repo / "examples" / "internvl3_5" / "internvl3_5_config.yaml"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("model_id: internvl3_5", "model_id: no_such"), encoding="utf-8")
    for _ in range(2):  # judged, then recalled
        result = pytester.runpytest_subprocess(*run)
        assert result.ret == 1
        result.stdout.fnmatch_lines(["*no_such*"])


@pytest.mark.parametrize("remembered", [True, False])
def test_a_suite_in_the_cache_that_a_checkout_came_with_is_not_run(pytester: pytest.Pytester, remembered: bool) -> None:
    run = ("--migrate-target=all", "--migrate-repo=demo", "--migrate-level=static")
    pytester.runpytest_subprocess(*run)
    cache = pytester.path / ".pytest_cache" / "d"
    with (cache / "migrate-suite" / "test_migrate_internvl3_5.py").open("a", encoding="utf-8") as stream:
        stream.write("open('taken', 'w')\n")
    if not remembered:
        shutil.rmtree(cache / "migrate-facts")
    assert pytester.runpytest_subprocess(*run).ret == 0
    assert not (pytester.path / "taken").exists()


def test_lists_are_shown_on_a_terminal_that_knows_ascii_only(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    result = pytester.runpytest_subprocess("--migrate-list", "--migrate-repo=demo", "--migrate-lang=zh")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*\\u*", "  internvl3_5 *"])


def test_a_file_of_the_user_is_not_overwritten_by_a_generated_suite(project: Project) -> None:
    project.facts({"alpha": {}})
    mine = project.path / "suites" / "test_migrate_alpha.py"
    mine.parent.mkdir()
    mine.write_text("# mine\n", encoding="utf-8")
    result = project.run("--migrate-target=alpha", "--migrate-generate=suites")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *suites cannot be written: *exists and is no generated suite*"])
    assert mine.read_text(encoding="utf-8") == "# mine\n"


def test_an_interrupt_while_results_are_written_is_one_sentence(project: Project) -> None:
    project.facts({"alpha": {}})
    conftest = Path("conftest.py")
    conftest.write_text(
        conftest.read_text(encoding="utf-8")
        + "\nfrom pytest_mindspeed_migration.evidence import document\n"
        + "def interrupted(*_):\n    raise KeyboardInterrupt\n"
        + "document.publish = interrupted\n",
        encoding="utf-8",
    )
    result = project.run("--migrate-target=alpha")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["interrupted while the results were written to *"])
    assert "Traceback" not in result.stdout.str() + result.stderr.str()
    assert (project.path / "migration-report" / "alpha" / "evidence.jsonl").is_file()


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes with names")
def test_a_pipe_among_the_tests_is_not_waited_for(pytester: pytest.Pytester) -> None:
    os.mkfifo(pytester.mkdir("suites") / "test_migrate_x.py")
    result = pytester.runpytest_subprocess("suites", "--migrate-repo=demo", timeout=60)
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_folders_without_end_stop_neither_the_first_run_nor_one_from_the_cache(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = pytester.path / "repo"
    shutil.copytree(demo_repo(), repo)
    monkeypatch.chdir(repo / "examples")
    for _ in range(1200):  # a path longer than the system takes can only be made step by step
        os.mkdir("d")
        os.chdir("d")
    monkeypatch.chdir(pytester.path)
    for _ in range(2):
        result = pytester.runpytest_subprocess("--migrate-target=all", f"--migrate-repo={repo}")
        assert result.ret == 0
    subprocess.run(["rm", "-rf", str(repo)], check=True)
