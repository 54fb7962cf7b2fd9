"""Runs of the plugin at level cpu, on a framework and a torch of a few lines."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from fake_framework import FakeRepo

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="level cpu needs fork")

CONFIG = """\
parallel:
  fsdp_plan:
    apply_modules: ["layers.{*}"]
model: {model_id: one}
data: {dataset_param: {dataset_type: one}}
training:
  plugin: [mindspeed_mm/fsdp/models/one]
"""


class CpuProject:
    """A folder to run pytest in, with a checkout and stubs of torch and transformers in it."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.path = pytester.path
        self._pytester = pytester
        self.repo = FakeRepo(self.path / "repo")
        self.repo.write("examples/x/x.yaml", CONFIG)
        self.repo.write("mindspeed_mm/fsdp/models/modelhub.py", "")
        self.repo.write("mindspeed_mm/fsdp/models/one/__init__.py", "")
        self.repo.write(
            "mindspeed_mm/fsdp/models/one/model.py",
            "from mindspeed_mm.fsdp.utils.register import model_register\nmodel_register.register('one')(object)",
        )
        for name in ("torch", "transformers"):
            self.repo.write(f"../packages/{name}.py", "__version__ = '2.7.1'\n")
        self.trace("")

    def trace(self, more: str) -> None:
        """Note each start of the trainer's start-up code, then do `more`."""
        note = f"open({str(self.path / 'starts')!r}, 'a').write('started ')"
        self.repo.fault(f"{note}\n    {more}", plugins=("mindspeed_mm/fsdp/models/one",))

    def arguments(self, *more: str) -> list[str]:
        """Command line of a run."""
        return ["--migrate-target=x", "--migrate-repo=repo", "--migrate-pythonpath=packages", *more]

    def run(self, *more: str) -> pytest.RunResult:
        """Run pytest in a process of its own."""
        return self._pytester.runpytest_subprocess(*self.arguments(*more))

    def contracts(self) -> dict[str, dict[str, Any]]:
        """The contracts of evidence.json by id."""
        text = (self.path / "migration-report/x/evidence.json").read_text(encoding="utf-8")
        return {one["id"]: one for one in json.loads(text)["contracts"]}


@pytest.fixture
def project(pytester: pytest.Pytester) -> CpuProject:
    return CpuProject(pytester)


def test_a_run_goes_to_level_cpu_where_the_interpreter_has_torch(project: CpuProject) -> None:
    project.run("-k", "registration or imports or parse or environment")
    found = {name: (one["status"], one["level"]) for name, one in project.contracts().items() if one["level"] == "cpu"}
    assert found["config.parse"] == ("passed", "cpu")
    assert found["model.imports"] == ("passed", "cpu")
    assert found["model.registration"] == ("passed", "cpu")
    assert found["preflight.environment"] == ("passed", "cpu")


@pytest.mark.parametrize("way", [("-p", "no:xdist"), ("-n3",)], ids=["no-xdist", "n3"])
def test_a_probe_runs_once_in_a_run_and_its_outcomes_are_the_same_everywhere(
    project: CpuProject, way: tuple[str, ...]
) -> None:
    if way == ("-n3",):
        pytest.importorskip("xdist")
    project.run(*way, "-k", "registration or imports or parse")
    assert (project.path / "starts").read_text() == "started "
    cpu = {name for name, one in project.contracts().items() if one["level"] == "cpu"}
    assert cpu == {"config.parse", "model.imports", "model.registration"}


def test_the_request_of_a_probe_is_kept_beside_the_evidence_and_the_command_names_it(project: CpuProject) -> None:
    project.run("-k", "registration")
    evidence = json.loads((project.path / "migration-report/x/evidence.json").read_text(encoding="utf-8"))
    (command,) = [one for one in evidence["commands"] if one["name"] == "model.registration@cpu"]
    assert command["device"] == "cpu"
    words = command["command"].split()
    request = json.loads((project.path / words[-1]).read_text(encoding="utf-8"))
    assert (request["probe"], request["config"]) == ("plugins", "examples/x/x.yaml")
    done = subprocess.run(words, cwd=project.path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_an_import_that_the_framework_hides_fails_the_contract(project: CpuProject) -> None:
    project.repo.write("mindspeed_mm/fsdp/models/one/model.py", "import nowhere_to_be_found\n")
    project.run("-k", "imports")
    found = project.contracts()["model.imports"]
    assert found["status"] == "failed"
    assert "nowhere_to_be_found" in found["findings"][0]["message"]
    assert (found["findings"][0]["path"], found["findings"][0]["line"]) == ("mindspeed_mm/fsdp/models/one/model.py", 1)


@pytest.mark.parametrize("repo", ["packages/../repo", "link"])
def test_a_hidden_import_is_seen_however_the_checkout_is_named(project: CpuProject, repo: str) -> None:
    (project.path / "link").symlink_to("repo")
    computed = "import importlib\nimportlib.import_module('_'.join(['no', 'where']))\n"  # which no reader can see
    project.repo.write("mindspeed_mm/fsdp/models/one/__init__.py", computed)
    project.run("-k", "imports", f"--migrate-repo={repo}")
    found = project.contracts()["model.imports"]
    assert (found["status"], found["level"]) == ("failed", "cpu")
    assert found["findings"][0]["value"] == "no_where"


def test_what_comes_after_a_failed_step_is_blocked_by_the_contract_that_judges_it(project: CpuProject) -> None:
    project.trace("raise KeyError('model.model_id')")
    project.run("-k", "parse or registration")
    found = project.contracts()
    assert found["config.parse"]["status"] == "failed"
    note = found["model.registration"]["findings"][-1]
    assert (note["severity"], found["model.registration"]["level"]) == ("note", "static")
    assert "config.parse" in note["message"]


@pytest.mark.parametrize("name", ["a'b\"c\n{{ x }} {y} $(z) `w` é", "x" * 5000, "a\0b"], ids=["odd", "long", "nul"])
def test_values_of_the_config_that_are_no_names_are_taken_as_text(project: CpuProject, name: str) -> None:
    quoted = json.dumps(name)
    odd = f"model: {{model_id: {quoted}, model_name_or_path: {quoted}}}"
    plugins = f"plugin: [mindspeed_mm/fsdp/models/one, {quoted}]"
    config = CONFIG.replace("model: {model_id: one}", odd).replace("dataset_type: one", f"dataset_type: {quoted}")
    project.repo.write("examples/x/x.yaml", config.replace("plugin: [mindspeed_mm/fsdp/models/one]", plugins))
    result = project.run()
    shown = result.stdout.str() + result.stderr.str()
    assert "internal error" not in shown
    assert "INTERNALERROR" not in shown
    assert result.ret == 1
    assert project.contracts()["model.registration"]["status"] == "failed"


def test_static_runs_nothing_of_the_target(project: CpuProject) -> None:
    project.run("--migrate-level=static")
    assert not (project.path / "starts").exists()
    assert {one["level"] for one in project.contracts().values()} == {"static", None}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--migrate-level=cpu", "--migrate-python=/nowhere/python"), "*level cpu is not available*/nowhere/python*"),
        (("--migrate-python=no-such-python",), "*level cpu is not available*no-such-python*"),
        (("--migrate-timeout=soon",), "*--migrate-timeout=soon*seconds*"),
        (("--migrate-level=npu",), "*level npu is not available*"),
    ],
)
def test_what_was_asked_for_by_name_and_is_not_there_is_a_usage_error(
    project: CpuProject, options: tuple[str, ...], message: str
) -> None:
    result = project.run(*options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])
    assert "Traceback" not in result.stderr.str()


def test_without_torch_auto_stays_static_and_cpu_says_why(pytester: pytest.Pytester) -> None:
    project = CpuProject(pytester)
    (project.path / "packages/torch.py").unlink()
    result = project.run("--migrate-level=cpu")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*torch is not installed*"])
    project.run()
    assert {one["level"] for one in project.contracts().values()} == {"static", None}


def test_ctrl_c_ends_the_probe_and_keeps_what_was_proven(project: CpuProject) -> None:
    project.trace("import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(120)")
    command = [sys.executable, "-m", "pytest", "-p", "no:xdist", *project.arguments()]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has background jobs ignore Ctrl-C
    try:
        process = subprocess.Popen(
            command, cwd=project.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
    finally:
        signal.signal(signal.SIGINT, before)
    note = project.repo.root / "pid"
    for _ in range(200):
        if note.exists() and note.read_text():
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 2
    time.sleep(0.3)
    stat = Path(f"/proc/{note.read_text()}/stat")
    assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"
    found = project.contracts()
    assert found["preflight.repo"]["level"] == "static"
    assert found["config.parse"]["status"] == "not_run"


def test_a_hanging_target_is_killed_at_the_time_limit(project: CpuProject) -> None:
    project.trace("import time; time.sleep(120)")
    project.run("--migrate-timeout=2", "-k", "parse")
    found = project.contracts()["config.parse"]
    assert found["status"] == "failed"
    assert "killed after" in found["findings"][0]["message"]
    assert Path(project.path / "migration-report/x/logs").exists() or found["evidence"]


def test_a_run_that_stops_while_the_next_target_is_probed_leaves_no_files(
    project: CpuProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = project.path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    for name in "yz":
        project.repo.write(f"examples/{name}/{name}.yaml", CONFIG)
    project.trace("__import__('time').sleep(1)")
    conftest = "import time\ndef pytest_unconfigure(): time.sleep(0.5)\n"  # what still runs has time to write
    (project.path / "conftest.py").write_text(conftest, encoding="utf-8")
    project.run("-p", "no:xdist", "--migrate-target=all", "-x")
    assert [path.name for path in temporary.iterdir() if path.name.startswith("migrate-")] == []
