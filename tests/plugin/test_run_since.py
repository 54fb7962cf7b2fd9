"""A second run says what changed since the last one."""

from __future__ import annotations

from plugin_project import Project


def test_the_checklist_and_the_report_say_what_changed(project: Project) -> None:
    project.facts({"alpha": {"config.linkage": "error", "code.names": "error"}})
    first = project.run("--migrate-target=alpha")
    first.stdout.no_fnmatch_line("*since the run of*")
    project.facts({"alpha": {"code.names": "error", "data.registration": "error"}})
    project.run("--migrate-target=alpha", "-k", "code_names")
    second = project.run("--migrate-target=alpha")
    second.stdout.fnmatch_lines(
        [
            "*since the run of 20*",
            "    newly green: *config.linkage*",
            "    newly red: data.registration",
            "    still red: code.names",
        ]
    )
    report = project.read("alpha/verification_report.md")
    assert "## Since the run of 20" in report
    assert "- newly red: data.registration" in report
    third = project.run("--migrate-target=alpha")
    third.stdout.fnmatch_lines(["*since the run of 20*", "    no contract has changed", "    still red: *code.names*"])
    assert "## Since" not in project.read("alpha/verification_report.md")


def test_a_run_over_many_targets_names_only_the_changes(project: Project) -> None:
    names = [f"t{number}" for number in range(5)]
    project.facts({name: {} for name in names})
    project.run("--migrate-target=all")
    project.facts({name: {"code.names": "error"} if name == "t3" else {} for name in names})
    result = project.run("--migrate-target=all")
    result.stdout.fnmatch_lines(["t3 *1 failed*", "  newly red: code.names", "t4 *"])
    result.stdout.no_fnmatch_line("*since the run of*")
