"""Which tests a command line runs, and what wrong use is answered with."""

from __future__ import annotations

import shutil
import sys

import pytest
from plugin_project import Project

from pytest_mindspeed_migration.demo import demo_repo

OWN = "def test_own():\n    pass\n"


def test_without_an_option_the_plugin_is_inert(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_own=OWN)
    result = pytester.runpytest_subprocess("-v")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*migration*checklist*")
    result.stdout.no_fnmatch_line("migration:*")
    assert not list(pytester.path.glob("*migrat*"))
    assert not list((pytester.path / ".pytest_cache").rglob("*migrat*"))


def test_without_an_option_nothing_but_the_options_is_imported(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_own=OWN)
    code = (
        "import sys, pytest\n"
        "assert pytest.main(['-q']) == 0\n"
        "own = {name.partition('.')[2] for name in sys.modules if name.startswith('pytest_mindspeed_migration')}\n"
        "assert own == {'', 'plugin', 'options', 'errors'}, own\n"
        "assert not {'yaml', 'jinja2', 'jsonschema'} & set(sys.modules)\n"
    )
    assert pytester.run(sys.executable, "-c", code).ret == 0


def test_a_target_alone_runs_the_migration_suite_and_not_the_projects_own_tests(
    project: Project, mode: tuple[str, ...]
) -> None:
    project.facts({"alpha": {}})
    project.pytester.makepyfile(test_own="def test_own():\n    raise SystemExit('needs an NPU')\n")
    project.pytester.makeini("[pytest]\ntestpaths = .\n")
    result = project.run("--migrate-target=alpha", "-v", *mode)
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*test_own*")
    result.stdout.no_fnmatch_line("testpaths*")


def test_paths_on_the_command_line_run_along_with_the_suite(project: Project, mode: tuple[str, ...]) -> None:
    project.facts({"alpha": {}})
    project.pytester.makepyfile(test_own=OWN)
    result = project.run("--migrate-target=alpha", "test_own.py", "-v", *mode)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*test_own*"])
    assert project.statuses("alpha")["config.linkage"] == "passed"


def test_the_recheck_command_runs_that_contract_alone(project: Project) -> None:
    project.facts({"alpha": {"config.linkage": "error"}})
    result = project.run("--migrate-target=alpha", "--migrate-level=static", "-k", "test_config_linkage")
    result.assert_outcomes(failed=1, deselected=result.parseoutcomes()["deselected"])
    statuses = project.statuses("alpha")
    assert [name for name, status in statuses.items() if status != "not_run"] == ["config.linkage"]


def test_levels_are_markers(project: Project) -> None:
    project.facts({"alpha": {}})
    result = project.run("--migrate-target=alpha", "-m", "not static", "--strict-markers")
    outcomes = result.parseoutcomes()
    assert "passed" not in outcomes
    assert outcomes["skipped"] > 5


def test_collecting_only_writes_no_report(project: Project) -> None:
    project.facts({"alpha": {}})
    result = project.run("--migrate-target=alpha", "--collect-only", "-q")
    result.stdout.fnmatch_lines(["*test_migrate_alpha.py::test_config_linkage"])
    assert not (project.path / "migration-report").exists()


def test_names_match_as_users_write_them(project: Project) -> None:
    project.facts({"Alpha-2.5": {}, "beta": {}})
    result = project.run("--migrate-target=alpha_2_5")
    assert result.ret == 0
    assert project.statuses("Alpha-2.5")["config.linkage"] == "passed"


def test_ini_keys_do_what_the_options_do(project: Project) -> None:
    project.facts({"alpha": {}})
    project.pytester.makeini("[pytest]\nmigrate_target = alpha\nmigrate_out = reports\nmigrate_lang = zh\n")
    assert project.run().ret == 0
    report = (project.path / "reports" / "alpha" / "verification_report.md").read_text(encoding="utf-8")
    assert report.startswith("未验收")


def test_an_ini_key_that_names_a_repo_does_not_disturb_other_tests(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nmigrate_repo = elsewhere\n")
    pytester.makepyfile(test_own=OWN)
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*migration checklist*")
    assert not list((pytester.path / ".pytest_cache").rglob("*migrat*"))


def test_the_id_of_a_generated_test_can_be_given_as_pytest_prints_it(project: Project) -> None:
    project.facts()
    project.run("--migrate-target=alpha")
    test = ".pytest_cache/d/migrate-suite/test_migrate_alpha.py::test_config_linkage"
    project.run(test).assert_outcomes(passed=1)
    project.run(test, "--migrate-target=all").assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--migrate-target=alpah"], "*alpah*alpha*"),
        (["--migrate-target=no/such/path"], "*no/such/path*"),
        (["--migrate-target="], "*names no target*"),
        (["--migrate-target=alpha", "--migrate-level=cpu"], "*level cpu is not available*"),
        (["--migrate-target=alpha", "--migrate-level=statik"], "*--migrate-level=statik*(static?)*"),
        (["--migrate-target=alpha", "--migrate-lang=fr"], "*--migrate-lang=fr*en, zh*"),
        (["--migrate-target=alpha", "--migrate-repo=nowhere"], "*nowhere is not a folder*"),
        (["--migrate-target=alpha", "--migrate-out="], "*--migrate-out needs a path*"),
        (["--migrate-target=alpha", "--migrate-manifest=none.yaml"], "*none.yaml*"),
        (["--migrate-target=alpha", "--migrate-export-facts=conftest.py/x"], "*cannot be written*"),
        (["--migrate-manifest=none.yaml"], "*none.yaml*"),
        (["--migrate-require-accepted"], "*nothing to judge*--migrate-target*"),
        (["--migrate-explain=config.linkaje"], "*config.linkaje (config.linkage?)*"),
        (["--migrate-target=alpha", "--migrate-facts=conftest.py"], "*is not an export of facts*"),
        (["--migrate-target=alpha", "--migrate-facts=absent.json"], "*absent.json cannot be read*"),
    ],
)
def test_wrong_use_is_one_sentence_and_the_usage_exit_code(project: Project, args: list[str], message: str) -> None:
    project.facts({"alpha": {}})
    result = project.run(*args)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    errors = [line for line in result.stderr.lines if line.strip()]
    assert len(errors) == 1, errors
    result.stderr.fnmatch_lines([f"ERROR: {message}"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_a_manifest_alone_judges_the_migration_it_names_and_no_other(project: Project) -> None:
    project.facts()
    (project.path / "migration.yaml").write_text("model_identity: {name: my_vlm}\n", encoding="utf-8")
    result = project.run("--migrate-manifest=migration.yaml", "--migrate-generate=kept")
    assert result.ret == 0
    assert [path.name for path in (project.path / "kept").iterdir()] == ["test_migrate_my_vlm.py"]
    project.run("--migrate-manifest=migration.yaml")
    assert [path.name for path in (project.path / "migration-report").iterdir()] == ["my_vlm"]
    assert project.evidence("my_vlm")["target"]["name"] == "my_vlm"


def test_an_unknown_target_names_the_way_to_start_a_migration(project: Project) -> None:
    project.facts({"alpha": {}})
    project.run("--migrate-target=my_vlm").stderr.fnmatch_lines(["ERROR: *my_vlm*--migrate-manifest=FILE*"])


def test_an_export_of_another_format_is_refused(project: Project) -> None:
    (project.path / "facts.json").write_text('{"format": 999}', encoding="utf-8")
    result = project.run("--migrate-target=alpha")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *format 999*"])


def test_no_checkout_is_one_sentence(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_subprocess("--migrate-target=alpha")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: no MindSpeed-MM checkout*--migrate-repo=demo*"])


def test_list_shows_targets_and_contracts_and_runs_nothing(project: Project) -> None:
    project.facts()
    result = project.run("--migrate-list")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*alpha*examples/alpha/alpha.yaml*", "*beta*", "*model.imports*P0*static,cpu*"])
    result.stdout.no_fnmatch_line("*collected*")


@pytest.mark.parametrize(("lang", "word"), [("en", "What it proves."), ("zh", "证明什么。")])
def test_explain_says_what_a_contract_proves_and_how_to_fix_it(project: Project, lang: str, word: str) -> None:
    project.facts()
    result = project.run("--migrate-explain=config.linkage", f"--migrate-lang={lang}")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["# config.linkage*", f"*{word}*"])


def test_exported_facts_give_the_same_statuses(project: Project) -> None:
    project.facts({"alpha": {"config.linkage": "error"}})
    project.run("--migrate-target=alpha", "--migrate-export-facts=again.json")
    before = project.statuses("alpha")
    result = project.pytester.runpytest_subprocess("--migrate-facts=again.json", "--migrate-target=alpha")
    assert result.ret == 1
    assert project.statuses("alpha") == before


def test_a_folder_of_configs_replaces_those_of_an_export(project: Project) -> None:
    project.facts({"alpha": {"config.linkage": "error"}})
    folder = project.path / "other" / "examples" / "alpha"
    folder.mkdir(parents=True)
    (folder / "alpha.yaml").write_text("model: {model_id: a}\nparallel:\n  fsdp_plan: {}\n", encoding="utf-8")
    assert project.run("--migrate-target=alpha").ret == 1
    assert project.run("--migrate-target=alpha", "--migrate-repo=other").ret == 0
    assert project.evidence("alpha")["target"]["model_id"] == "a"


def test_the_checkout_may_be_named_by_the_manifest_alone(pytester: pytest.Pytester) -> None:
    place = pytester.path / "there"
    place.mkdir()
    manifest = place / "migration.yaml"
    manifest.write_text(f"target_repo_path: {demo_repo()}\nmodel_identity: {{name: internvl3_5}}\n", encoding="utf-8")
    result = pytester.runpytest_subprocess("--migrate-manifest=there/migration.yaml", "--migrate-level=static")
    assert result.ret == 0
    result.stdout.fnmatch_lines([f"*{demo_repo()}*"])
    (pytester.path / "mindspeed_mm" / "fsdp").mkdir(parents=True)
    result = pytester.runpytest_subprocess("--migrate-manifest=there/migration.yaml", "--migrate-level=static")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *migration.yaml is for the checkout *--migrate-repo=PATH"])
    shutil.rmtree(pytester.path / "mindspeed_mm")
    manifest.write_text("target_repo_path: nowhere\nmodel_identity: {name: internvl3_5}\n", encoding="utf-8")
    result = pytester.runpytest_subprocess("--migrate-manifest=there/migration.yaml", "--migrate-level=static")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: no MindSpeed-MM checkout*"])


def test_a_manifest_nobody_asks_for_is_not_read(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nmigrate_manifest = gone.yaml\n")
    pytester.makepyfile("def test_own(): pass")
    pytester.runpytest_subprocess().assert_outcomes(passed=1)
