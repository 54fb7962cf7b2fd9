"""A second run over unchanged files judges nothing and says the same; whatever has changed is judged again."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from pytest_mindspeed_migration.demo import demo_repo

CONFIG = "examples/internvl3_5/internvl3_5_config.yaml"
CONFTEST = """
import sys
def pytest_sessionfinish(session):
    if not hasattr(session.config, "workerinput"):
        print("\\nchecks are loaded:", "pytest_mindspeed_migration.checks.registry" in sys.modules)
"""
ALL = ("--migrate-target=all", "--migrate-repo=repo")


@pytest.fixture
def repo(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the demo repo, judged once."""
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    folder = pytester.path / "repo"
    shutil.copytree(demo_repo(), folder)
    assert pytester.runpytest_subprocess(*ALL).ret == 0
    pytester.makeconftest(CONFTEST)
    return folder


def _files(pytester: pytest.Pytester) -> dict[str, bytes]:
    root = pytester.path / "migration-report"
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def _run(pytester: pytest.Pytester, *args: str) -> tuple[pytest.RunResult, bool]:
    """Run, and whether something was judged that was not kept before."""
    kept = next((pytester.path / ".pytest_cache/d/migrate-facts").glob("run-*.json"))
    before = json.loads(kept.read_text())["verdicts"]
    result = pytester.runpytest_subprocess(*ALL, *args)
    files = (pytester.path / ".pytest_cache/d/migrate-facts").glob("run-*.json")
    after = [json.loads(path.read_text())["verdicts"] for path in files]
    return result, before not in after


def _text(result: pytest.RunResult) -> str:
    """What a run says, without how long it took and how it compares with the run before."""
    without = re.sub(r"  since the run of .*\n(?:    .*\n)+", "", result.stdout.str())
    return re.sub(r" in [0-9.]+s", "", without)


def test_a_second_run_recalls_everything(pytester: pytest.Pytester, repo: Path, mode: tuple[str, ...]) -> None:
    first = _files(pytester)
    result, anew = _run(pytester, *mode)
    assert result.ret == 0
    assert not anew
    if mode != ("-n2",):
        result.stdout.fnmatch_lines(["checks are loaded: False"])
    assert _files(pytester) == first  # to the byte: with the times the contracts were judged at


def test_reports_that_are_gone_or_spoilt_are_written_again(pytester: pytest.Pytester, repo: Path) -> None:
    first = _files(pytester)
    report = pytester.path / "migration-report"
    (report / "internvl3_5/evidence.json").unlink()
    (report / "framework/verification_report.md").write_text("spoilt")
    (report / "summary.json").write_text("{}")
    _, anew = _run(pytester)
    assert not anew
    assert _files(pytester) == first
    shutil.rmtree(report)
    _run(pytester)
    assert _files(pytester) == first


def _edit(repo: Path) -> None:
    path = repo / CONFIG
    path.write_text(path.read_text().replace("model_id: internvl3_5", "model_id: internvl3_6"))


def _python(repo: Path) -> None:
    path = repo / "mindspeed_mm/fsdp/models/internvl3_5/modeling_internvl3_5.py"
    path.write_text(path.read_text().replace("internvl3_5", "internvl3_6"))


def _remove(repo: Path) -> None:
    shutil.rmtree(repo / "ckpt")


def _same_size_and_text(repo: Path) -> None:
    path = repo / CONFIG
    text = path.read_text()
    path.write_text(text.replace("model_id: internvl3_5", "model_id: internvl3_9"))


@pytest.mark.parametrize("change", [_edit, _python, _same_size_and_text])
def test_a_change_is_judged(pytester: pytest.Pytester, repo: Path, change: Any) -> None:
    change(repo)
    result, anew = _run(pytester)
    assert anew
    assert result.ret == 1
    result.stdout.fnmatch_lines(["FAILED *test_model_registration*"])


def test_a_path_of_a_config_that_appears_or_goes_is_looked_up_again(pytester: pytest.Pytester, repo: Path) -> None:
    _remove(repo)
    _, anew = _run(pytester)
    assert anew


def test_a_part_of_the_tests_is_kept_and_the_others_are_judged_when_asked_for(
    pytester: pytest.Pytester, repo: Path
) -> None:
    first = _files(pytester)
    result, anew = _run(pytester, "-k", "config_linkage")
    assert not anew
    result.assert_outcomes(passed=1, deselected=result.parseoutcomes()["deselected"])
    _run(pytester)
    assert _files(pytester) == first
    (repo / CONFIG).write_text((repo / CONFIG).read_text() + "# changed\n")
    _run(pytester, "-k", "config_linkage")
    result, anew = _run(pytester)
    assert anew  # what was left out before
    assert result.ret == 0


def test_another_language_has_its_own_memory(pytester: pytest.Pytester, repo: Path) -> None:
    _run(pytester, "--migrate-lang=zh")
    chinese = _files(pytester)
    _run(pytester)
    assert _files(pytester) != chinese
    _run(pytester, "--migrate-lang=zh")
    assert _files(pytester) == chinese


def test_checks_of_somebody_else_are_run_every_time(pytester: pytest.Pytester, repo: Path) -> None:
    pytester.makeconftest("""
        from pytest_mindspeed_migration.checks import registry
        from pytest_mindspeed_migration.findings import Finding
        @registry.check("config.linkage")
        def own(view):
            return [Finding("suite.test_error", {"error": "mine"})]
    """)
    assert pytester.runpytest_subprocess(*ALL).ret == 1
    pytester.makeconftest("")
    assert pytester.runpytest_subprocess(*ALL).ret == 0


def test_a_mark_of_somebody_else_counts_as_it_does_in_the_first_run(pytester: pytest.Pytester, repo: Path) -> None:
    pytester.makeconftest("""
        import pytest
        def pytest_collection_modifyitems(items):
            for item in items:
                if item.name == "test_config_linkage":
                    item.add_marker(pytest.mark.xfail(strict=True))
                if item.name == "test_config_types":
                    item.add_marker(pytest.mark.skip(reason="not mine"))
    """)
    texts = set()
    for _ in range(2):
        shutil.rmtree(pytester.path / ".pytest_cache", ignore_errors=True)
        for _ in range(2):
            result = pytester.runpytest_subprocess(*ALL, "-rA")
            assert result.ret == 1
            result.stdout.fnmatch_lines(["*XPASS(strict)*", "FAILED *test_config_linkage*"])
            texts.add(_text(result))
    assert len(texts) == 1


def test_fixtures_and_hooks_of_a_conftest_see_the_tests_of_a_rendered_suite(
    pytester: pytest.Pytester, repo: Path
) -> None:
    pytester.makeconftest("""
        import pytest
        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_makereport(item, call):
            report = yield
            assert item.function.__doc__ and item.module.__name__ and item.obj is not None
            assert item.fixturenames and item.funcargs is not None
            return report
    """)
    assert pytester.runpytest_subprocess(*ALL).ret == 0
    pytester.makeconftest("""
        import pytest
        @pytest.fixture(autouse=True, params=["a", "b"])
        def twice(request):
            yield
    """)
    result = pytester.runpytest_subprocess(*ALL, "-k", "config_linkage")
    result.assert_outcomes(passed=2, deselected=result.parseoutcomes()["deselected"])


def test_setup_show_names_the_fixture(pytester: pytest.Pytester, repo: Path) -> None:
    result = pytester.runpytest_subprocess(*ALL, "--setup-show", "-k", "config_linkage")
    result.stdout.fnmatch_lines(["*SETUP    F migration*", "*fixtures used: migration*"])


def test_memories_are_few(pytester: pytest.Pytester, repo: Path) -> None:
    for number in range(10):
        os.makedirs(pytester.path / f"m{number}", exist_ok=True)
        pytester.runpytest_subprocess(*ALL, f"--migrate-model-path=m{number}", "-k", "config_linkage")
    assert len(list((pytester.path / ".pytest_cache/d/migrate-facts").glob("run-*.json"))) == 8
