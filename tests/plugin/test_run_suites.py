"""Generated suites that are kept in a repo, and values that try to become code in them."""

from __future__ import annotations

import ast

from plugin_project import Project

HOSTILE = [
    '"); import os; os.mkdir("owned") #',
    "'''\nimport os; os.mkdir('owned')\n'''",
    '"""\nimport os; os.mkdir("owned")\n"""',
    "{{ cycler.__init__.__globals__.os.mkdir('owned') }}{% for x in y %}",
    "\\",
    "line\u2028separator\x00null\ud800",
    "\n\n# migration-suite: {}\n",
]


def test_a_kept_suite_is_what_runs(project: Project, mode: tuple[str, ...]) -> None:
    project.facts()
    result = project.run("--migrate-target=alpha", "--migrate-generate=kept")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["wrote *test_migrate_alpha.py (alpha)", "run with: pytest *kept --migrate-facts=facts.json"]
    )
    assert [path.name for path in (project.path / "kept").iterdir()] == ["test_migrate_alpha.py"]
    result = project.run("kept", "-v", *mode)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*kept/test_migrate_alpha.py::test_config_linkage*"])
    result.stdout.no_fnmatch_line("*migrate-suite/*")
    assert project.statuses("alpha")["config.linkage"] == "passed"


def test_a_suite_folder_named_in_the_ini_file_runs_instead_of_a_fresh_one(project: Project) -> None:
    project.facts()
    project.run("--migrate-target=alpha", "--migrate-generate=kept")
    project.pytester.makeini("[pytest]\nmigrate_suite = kept\n")
    result = project.run("--migrate-target=all", "-v")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["kept/test_migrate_alpha.py::test_config_linkage*"])
    result.stdout.fnmatch_lines(["*migrate-suite/test_migrate_beta.py::test_config_linkage*"])
    result.stdout.no_fnmatch_line("*migrate-suite/test_migrate_alpha.py*")


def test_a_kept_suite_narrows_to_the_target_asked_for(project: Project) -> None:
    project.facts()
    project.run("--migrate-target=all", "--migrate-generate=kept")
    result = project.run("kept", "--migrate-target=beta", "-v")
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*test_migrate_alpha.py::*")
    assert not (project.path / "migration-report" / "alpha").exists()


def test_a_fact_that_moved_since_the_suite_was_written_fails_the_contract_that_states_it(project: Project) -> None:
    project.facts({"alpha": {}})
    project.run("--migrate-target=alpha", "--migrate-generate=kept")
    project.facts({"alpha": {}}, alpha="renamed")
    result = project.run("kept")
    assert result.ret == 1
    statuses = project.statuses("alpha")
    failed = {contract for contract, status in statuses.items() if status == "failed"}
    assert failed == {"model.registration", "config.linkage"}
    result.stdout.fnmatch_lines(["*written for another model_id*value: renamed, expected: alpha_id*"])


def test_a_kept_suite_whose_target_is_gone_fails_instead_of_ending_the_run(project: Project) -> None:
    project.facts()
    project.run("--migrate-target=all", "--migrate-generate=kept")
    project.facts({"beta": {}})
    result = project.run("kept")
    assert result.ret == 1
    assert project.statuses("beta")["config.linkage"] == "passed"
    assert project.statuses("alpha")["config.linkage"] == "blocked"


def test_a_kept_suite_from_another_catalogue_is_warned_of(project: Project) -> None:
    project.facts({"alpha": {}})
    project.run("--migrate-target=alpha", "--migrate-generate=kept")
    suite = project.path / "kept" / "test_migrate_alpha.py"
    source = suite.read_text(encoding="utf-8")
    start = source.index('"catalogue": "') + len('"catalogue": "')
    suite.write_text(source[:start] + "0" * 12 + source[start + 12 :], encoding="utf-8")
    result = project.run("kept", "-q")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["warning: the suite *another version of the contract catalogue*"])
    assert any("another version" in note for note in project.evidence("alpha")["notes"])


def test_a_kept_suite_without_any_option_says_what_it_needs(project: Project) -> None:
    project.facts({"alpha": {}})
    project.run("--migrate-target=alpha", "--migrate-generate=kept")
    result = project.pytester.runpytest_subprocess("kept", "-x")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*run it with --migrate-repo=PATH*"])


def test_a_renewed_fact_is_rendered_and_imported_even_within_one_second(project: Project) -> None:
    for name in ("aaaa", "bbbb", "cccc"):
        project.facts({"alpha": {}}, alpha=name)
        assert project.run("--migrate-target=alpha").ret == 0


def test_hostile_values_stay_values(project: Project) -> None:
    names = {f"h{number}": value for number, value in enumerate(HOSTILE)}
    project.facts({name: {"config.linkage": "error"} for name in names}, **names)
    assert project.run("--migrate-target=all", "--migrate-generate=kept").ret == 0
    for name, value in names.items():
        tree = ast.parse((project.path / "kept" / f"test_migrate_{name}.py").read_text(encoding="utf-8"))
        imports = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
        assert [ast.unparse(node) for node in imports] == ["import pytest"]
        assert value in {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert project.run("kept").ret == 1
    for name in names:
        assert project.statuses(name)["model.registration"] == "passed"
        assert project.read(f"{name}/verification_report.md").startswith("Not accepted")
    assert not list(project.path.rglob("owned"))
