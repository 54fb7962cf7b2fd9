"""Interpreters with plugins imported: who gets one, what it shares and what not, and what happens when it fails."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_framework import FakeRepo, Runner

from pytest_mindspeed_migration.facts.runtime import ProbeFacts
from pytest_mindspeed_migration.probes.client import run_probe
from pytest_mindspeed_migration.probes.limits import Limits
from pytest_mindspeed_migration.probes.prepared import Wanted, run_prepared, start, wanted

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="level cpu needs fork")

PLUGIN = """
import os, sys, time
with open({note!r}, "a") as stream:
    stream.write(f"{name} {{os.getpid()}} {{sorted(one for one in sys.modules if '.models.' in one)}}\\n")
{more}
from mindspeed_mm.fsdp.utils.register import model_register
model_register.register("{name}")(object)
"""


class Targets:
    """A checkout in which a config names its plugins: `examples/x/NAME.yaml`."""

    def __init__(self, root: Path) -> None:
        self.repo = FakeRepo(root / "repo")
        self.flag = root / "flag"
        self._note = root / "imports"
        self.repo.fault(
            f"import os, signal\n"
            f"    args.training.plugin = open(sys.argv[1]).read().split()[1:]\n"
            f"    if os.path.exists({str(self.flag)!r}) and open({str(self.flag)!r}).read() == 'kill':\n"
            f"        os.remove({str(self.flag)!r}); os.kill(os.getppid(), signal.SIGKILL)"
        )

    def plugin(self, name: str, more: str = "") -> None:
        """Write a plugin that leaves word when it is imported."""
        text = PLUGIN.format(note=str(self._note), name=name, more=more)
        self.repo.write(f"mindspeed_mm/fsdp/models/{name}/__init__.py", text)

    def config(self, target: str, *plugins: str) -> None:
        """Write a config."""
        names = " ".join(f"mindspeed_mm/fsdp/models/{name}" for name in plugins)
        self.repo.write(f"examples/x/{target}.yaml", f"plugin: {names}\n")

    def imports(self) -> list[list[str]]:
        """Plugin, process, and what other plugins were there, of each import so far."""
        return [line.split(" ", 2) for line in self._note.read_text().splitlines()]

    def run(self, runner: Runner, target: str, probe: str, seconds: float = 30) -> Callable[[str], ProbeFacts]:
        """Run a probe of a target in the interpreter behind a socket."""
        request = {**runner.request(probe), "config": f"examples/x/{target}.yaml", "target": target}
        request["work"] = str(runner.warm.folder / target)
        limits = Limits(seconds, 1 << 40)
        interpreter = runner.warm._interpreter

        def at(address: str) -> ProbeFacts:
            return run_probe(request, address, interpreter, limits, runner.warm.log_path, "out")

        return at

    def wanted(self, runner: Runner, target: str) -> Wanted | None:
        """What the probe `model` of a target may be forked from."""
        return wanted("model", self.run(runner, target, "plugins")(runner.warm.address))

    def model(self, runner: Runner, target: str, want: Wanted, seconds: float = 30) -> ProbeFacts:
        """The probe `model` of a target, by its prepared interpreter."""
        return run_prepared(want, runner.warm.address, runner.warm.folder, self.run(runner, target, "model", seconds))


@pytest.fixture
def targets(tmp_path: Path) -> Targets:
    found = Targets(tmp_path)
    for name in ("one", "two"):
        found.plugin(name)
        found.config(name, name)
    found.config("twin", "one")
    return found


def _pid(runner: Runner, want: Wanted) -> int:
    pid = start(want, runner.warm.address, runner.warm.folder)
    assert pid is not None
    return pid


def _gone(pid: int) -> bool:
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


def test_targets_with_the_same_plugins_share_an_import_and_no_others_see_it(targets: Targets) -> None:
    with targets.repo.interpreter() as runner:
        wants = {}
        for name in ("one", "twin", "two"):
            want = targets.wanted(runner, name)
            assert want is not None
            facts = targets.model(runner, name, want)
            assert (facts.outcome, facts.steps["plugins"].status) == ("done", "ok")
            wants[name] = want
        assert wants["one"].key == wants["twin"].key != wants["two"].key
        pids = {_pid(runner, want) for want in wants.values()}
    imports = targets.imports()
    # each target's own import, and one in each of the two interpreters
    assert sorted(name for name, *_ in imports) == ["one", "one", "one", "two", "two"]
    assert {int(pid) for _, pid, _ in imports} >= pids
    for name, _, there in imports:
        assert there == f"['mindspeed_mm.fsdp.models.{name}']", "a plugin of another target was there already"
    assert all(_gone(pid) for pid in pids), "an interpreter is left"


def test_a_plugin_that_was_edited_meanwhile_is_imported_anew(targets: Targets) -> None:
    with targets.repo.interpreter() as runner:
        plugins = targets.run(runner, "one", "plugins")(runner.warm.address)
        before = wanted("model", plugins)
        targets.plugin("one", "time.sleep(0)")
        after = wanted("model", plugins)
    assert before is not None
    assert after is not None
    assert before.key != after.key


def test_a_plugin_that_reads_the_command_line_is_shared_by_nobody(targets: Targets) -> None:
    targets.plugin("one", "len(sys.argv)")
    with targets.repo.interpreter() as runner:
        keys = [want.key for name in ("one", "twin") if (want := targets.wanted(runner, name)) is not None]
    assert len(set(keys)) == 2


def test_a_plugin_with_a_hidden_failure_or_an_error_is_imported_by_each_probe(targets: Targets) -> None:
    targets.config("absent", "one", "none")
    targets.plugin("bad", "raise ValueError")
    targets.config("bad", "bad")
    with targets.repo.interpreter() as runner:
        assert targets.wanted(runner, "absent") is None
        assert targets.wanted(runner, "bad") is None
        plugins = targets.run(runner, "one", "plugins")(runner.warm.address)
    assert wanted("plugins", plugins) is None
    assert wanted("plugin_errors", plugins) is None  # an imported plugin would hide that another one is missing


def test_an_interpreter_that_died_is_replaced(targets: Targets) -> None:
    with targets.repo.interpreter() as runner:
        want = targets.wanted(runner, "one")
        assert want is not None
        first = _pid(runner, want)
        os.kill(first, signal.SIGKILL)
        assert _gone(first)
        assert targets.model(runner, "one", want).outcome == "done"
        assert _pid(runner, want) != first


def test_a_probe_whose_prepared_interpreter_dies_under_it_runs_in_a_clean_child(targets: Targets) -> None:
    with targets.repo.interpreter() as runner:
        want = targets.wanted(runner, "one")
        assert want is not None
        first = _pid(runner, want)
        targets.model(runner, "one", want)
        targets.flag.write_text("kill")
        facts = targets.model(runner, "one", want)
        assert (facts.outcome, facts.steps["plugins"].status) == ("done", "ok")
        assert _gone(first)
    assert not targets.flag.exists()


@pytest.mark.parametrize(
    "what",
    ["time.sleep(60)", "os._exit(3)", "import threading; threading.Thread(target=time.sleep, args=(60,)).start()"],
    ids=["hangs", "exits", "starts a thread"],
)
def test_an_import_that_goes_wrong_the_second_time_costs_the_sharing_and_not_the_probe(
    targets: Targets, what: str
) -> None:
    targets.plugin("one", f"if os.path.exists({str(targets.flag)!r}): os.remove({str(targets.flag)!r}); {what}")
    with targets.repo.interpreter() as runner:
        want = targets.wanted(runner, "one")
        assert want is not None
        targets.flag.write_text("once")
        facts = targets.model(runner, "one", want, seconds=5)
        assert (facts.outcome, facts.steps["plugins"].status) == ("done", "ok")
        assert not targets.flag.exists()


def test_nothing_is_left_when_the_pytest_process_is_killed(targets: Targets) -> None:
    with targets.repo.interpreter() as runner:
        want = targets.wanted(runner, "one")
        assert want is not None
        pid = _pid(runner, want)
        server = runner.warm._process
        assert server is not None
        server.send_signal(signal.SIGTERM)  # what the kernel sends then
        server.wait(10)
        assert _gone(pid)


def test_a_probe_that_has_said_all_is_not_at_fault_when_its_interpreter_hangs_as_it_loads_for_the_next(
    targets: Targets,
) -> None:
    loads = "class AutoTokenizer:\n    def from_pretrained(folder): __import__('time').sleep(60)\n"
    targets.repo.write("transformers.py", f"{loads}AutoProcessor = AutoTokenizer\n")
    targets.repo.fault("import time; args.training.plugin = open(sys.argv[1]).read().split()[1:]; time.sleep(1)")
    call = {"asked": ["model", "a"], "folder": "a", "name": "AutoTokenizer", "arguments": ["a"], "options": {}}
    found: list[ProbeFacts] = []
    with targets.repo.interpreter() as runner:
        want = targets.wanted(runner, "one")
        assert want is not None
        _pid(runner, want)
        address = f"{Path(runner.warm.address).parent}/{want.key}"
        Path(f"{address}.loaded").write_text(json.dumps(call) + "\n", encoding="utf-8")
        asking = threading.Thread(target=lambda: found.append(targets.model(runner, "one", want, 4)))
        asking.start()
        time.sleep(0.5)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as another:
            another.connect(address)
            another.sendall(json.dumps({**runner.request("model"), "model_path": "b"}).encode() + b"\n")
            asking.join(20)
    assert found[0].outcome == "done"
