"""What a run reports for contracts that pass, fail, are blocked, do not run, or end green without evidence."""

from __future__ import annotations

import sys

import pytest
from plugin_project import Project


def test_a_failing_contract_fails_its_test_with_places_fix_and_recheck_and_no_traceback(
    project: Project, mode: tuple[str, ...]
) -> None:
    project.facts({"alpha": {"config.linkage": "error"}})
    result = project.run("--migrate-target=alpha", *mode)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "config.linkage: model_id, dataset_type and plugin agree [[]P0, owner: config migration]",
            "  examples/alpha/alpha.yaml:7 a.b: the test itself failed: config.linkage is wrong "
            "(value: seen, expected: wanted; did you mean near?)",
            "  fix: *",
            "  recheck: pytest --migrate-target=alpha --migrate-level=static --migrate-facts=facts.json "
            "-k test_config_linkage",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*session.py*")
    assert project.statuses("alpha")["config.linkage"] == "failed"


def test_a_contract_is_blocked_by_the_one_it_requires_in_every_process_alike(
    project: Project, mode: tuple[str, ...]
) -> None:
    project.facts({"alpha": {"preflight.repo": "error"}})
    result = project.run("--migrate-target=alpha", "-rs", *mode)
    assert result.ret == 1
    statuses = project.statuses("alpha")
    assert statuses["preflight.repo"] == "failed"
    assert statuses["code.names"] == "blocked"
    contract = next(one for one in project.evidence("alpha")["contracts"] if one["id"] == "code.names")
    assert contract["blocked_by"] == ["preflight.repo"]
    assert contract["evidence"] == []
    result.stdout.fnmatch_lines(["SKIPPED * code.names: blocked by preflight.repo, which did not pass"])


def test_contracts_of_other_levels_and_without_a_check_do_not_run_and_say_why(project: Project) -> None:
    project.facts({"alpha": {}})
    result = project.run("--migrate-target=alpha")
    assert result.ret == 0
    reasons = {one["id"]: one["reason"] for one in project.evidence("alpha")["contracts"]}
    assert "needs level cpu" in reasons["model.build"]
    assert "no check" in reasons["config.types"]
    assert reasons["config.parse"] is None


def test_a_note_is_shown_and_does_not_fail(project: Project) -> None:
    project.facts({"alpha": {"config.assets": "note"}})
    result = project.run("--migrate-target=alpha")
    assert result.ret == 0
    assert project.statuses("alpha")["config.assets"] == "passed"
    assert any("config.assets is wrong" in note for note in project.evidence("alpha")["notes"])
    assert "config.assets is wrong" in project.read("alpha/verification_report.md")


def test_a_check_that_breaks_fails_its_own_contract_and_leaves_the_traceback_in_the_log(project: Project) -> None:
    project.facts({"alpha": {"code.calls": "raise"}})
    result = project.run("--migrate-target=alpha")
    assert result.ret == 1
    statuses = project.statuses("alpha")
    assert [contract for contract, status in statuses.items() if status == "failed"] == ["code.calls"]
    result.stdout.fnmatch_lines(["*internal error of the check*RuntimeError: broken check*"])
    result.stdout.no_fnmatch_line("*Traceback*")
    (command,) = [one for one in project.evidence("alpha")["commands"] if one["name"] == "code.calls@static"]
    log = project.path / "migration-report" / "alpha" / (command["log"]["path"] or "evidence.json")
    assert "Traceback" in log.read_text(encoding="utf-8")


def test_a_green_test_without_evidence_counts_as_failed(project: Project, mode: tuple[str, ...]) -> None:
    project.facts({"alpha": {}})
    project.run("--migrate-target=alpha", "--migrate-generate=suite")
    suite = project.path / "suite" / "test_migrate_alpha.py"
    source = suite.read_text(encoding="utf-8")
    call = '    migration.verify("code.names")\n'
    assert call in source
    suite.write_text(source.replace(call, "    assert True\n"), encoding="utf-8")
    result = project.run("suite", *mode)
    assert result.ret == 1
    assert project.statuses("alpha")["code.names"] == "unproven"
    result.stdout.fnmatch_lines(["*ended green without recording evidence*"])


def test_a_test_that_fails_by_itself_after_verifying_is_not_called_passed(project: Project) -> None:
    project.facts({"alpha": {}})
    project.run("--migrate-target=alpha", "--migrate-generate=suite")
    suite = project.path / "suite" / "test_migrate_alpha.py"
    source = suite.read_text(encoding="utf-8")
    call = '    migration.verify("code.names")\n'
    suite.write_text(source.replace(call, call + "    assert 1 == 2\n"), encoding="utf-8")
    assert project.run("suite").ret == 1
    assert project.statuses("alpha")["code.names"] == "failed"


def test_a_static_run_is_never_accepted_and_the_first_line_says_what_is_missing(project: Project) -> None:
    project.facts({"alpha": {}})
    assert project.run("--migrate-target=alpha").ret == 0
    first = project.read("alpha/verification_report.md").splitlines()[0]
    assert first.startswith("Not accepted: functional gate incomplete (")
    assert "distributed end-to-end run not run" in first
    assert project.run("--migrate-target=alpha", "--migrate-require-accepted").ret == 1


def test_framework_findings_are_reported_with_all_and_fail_only_when_asked_for_by_name(
    project: Project, mode: tuple[str, ...]
) -> None:
    project.facts()
    result = project.run("--migrate-target=all", *mode)
    assert result.ret == 0
    assert project.statuses("framework")["framework.schema_readers"] == "failed"
    result.stdout.fnmatch_lines(["framework: Framework findings: reported, not counted against a migration."])
    assert project.run("--migrate-target=framework", *mode).ret == 1


def test_the_target_judged_never_brings_torch_into_the_process(project: Project) -> None:
    project.facts({"alpha": {}})
    code = (
        "import sys, pytest\n"
        "code = pytest.main(['--migrate-facts=facts.json', '--migrate-target=alpha', '-q'])\n"
        "assert code == 0, code\n"
        "loaded = {'torch', 'transformers', 'torch_npu', 'jsonschema'} & set(sys.modules)\n"
        "assert not loaded, loaded\n"
    )
    result = project.pytester.run(sys.executable, "-c", code)
    assert result.ret == 0, result.stderr.str()


@pytest.mark.parametrize(
    ("lang", "line"), [("en", "alpha: Not accepted: *"), ("zh", "alpha：未验收：功能门禁未通过*")], ids=["en", "zh"]
)
def test_the_checklist_names_what_failed_the_next_action_and_the_recheck(
    project: Project, lang: str, line: str
) -> None:
    project.facts({"alpha": {"config.linkage": "error", "preflight.repo": None}})
    result = project.run("--migrate-target=alpha", f"--migrate-lang={lang}")
    result.stdout.fnmatch_lines([line, "*config.linkage[ （]*P0*", "*alpha.yaml:7 a.b*", "*-k test_config_linkage*"])


def test_many_targets_get_a_line_each_and_only_failing_contracts_are_listed(project: Project) -> None:
    targets = {f"t{number}": {} for number in range(5)}
    project.facts({**targets, "t5": {"config.linkage": "error"}})
    result = project.run("--migrate-target=all", "-q")
    out = result.stdout.str()
    assert out.count("33 passed") or out.count(" passed, 0 failed") == 5
    assert out.count("[failed] config.linkage") == 1
    assert "not run: preflight" not in out


def test_what_one_failure_holds_up_is_one_line_that_names_the_cause(project: Project) -> None:
    project.facts({"alpha": {"preflight.repo": "error"}})
    out = project.run("--migrate-target=alpha").stdout
    out.fnmatch_lines(
        ["*functional gate failed (1 failing, * blocked, * not proven); reliability gate failed (* blocked*"]
    )
    (line,) = [line for line in out.lines if "[blocked]" in line]
    assert "until preflight.repo passes: " in line
    assert "model.from_pretrained" in line


def test_a_recheck_counts_what_it_left_out_and_says_so(project: Project) -> None:
    project.facts({"alpha": {}})
    out = project.run("--migrate-target=alpha", "-k", "test_config_linkage").stdout
    out.fnmatch_lines(["  * not selected in this run; *without -k*"])
    out.no_fnmatch_line("*not run: preflight*")


def test_each_contract_with_notes_has_a_line_in_the_checklist_of_few_targets(project: Project) -> None:
    project.facts({"alpha": {"config.assets": "note", "code.names": "note"}})
    out = project.run("--migrate-target=alpha").stdout
    notes = [line.split(":")[0] for line in out.lines if line.startswith("  [note] ")]
    assert notes == ["  [note] config.assets", "  [note] code.names"]


def test_a_failed_case_names_its_place_and_how_many_there_are(project: Project) -> None:
    project.facts({"alpha": {"config.linkage": "error"}})
    project.run("--migrate-target=alpha")
    assert "- symptom: examples/alpha/alpha.yaml:7 a.b: " in project.read("alpha/failed_cases.md")


def test_the_report_marks_what_passed_below_the_level_that_decides(project: Project) -> None:
    project.facts({"alpha": {}})
    project.run("--migrate-target=alpha")
    report = project.read("alpha/verification_report.md")
    assert "| config.parse | passed | static* |" in report
    assert "| config.linkage | passed | static |" in report
