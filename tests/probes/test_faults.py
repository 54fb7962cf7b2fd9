"""Whatever the target's code does to its interpreter is an outcome, with evidence and without leftovers."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from fake_framework import FakeRepo

from pytest_mindspeed_migration.checks.cpu.steps import ended
from pytest_mindspeed_migration.messages import text
from pytest_mindspeed_migration.probes.client import by_hand
from pytest_mindspeed_migration.probes.limits import session_processes
from pytest_mindspeed_migration.probes.warm import Interpreter

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="level cpu needs fork")


@pytest.fixture
def repo(tmp_path: Path) -> FakeRepo:
    return FakeRepo(tmp_path / "repo")


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_probe_that_ends_well_gives_its_steps(repo: FakeRepo) -> None:
    with repo.interpreter() as runner:
        facts = runner.run()
    assert facts.outcome == "done"
    assert [(step.name, step.status) for step in facts.steps.values()] == [
        ("boot", "ok"),
        ("config", "ok"),
        ("plugins", "ok"),
    ]


@pytest.mark.parametrize(
    ("code", "outcome", "detail"),
    [
        ("import os; os._exit(3)", "exited", 3),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "signalled", signal.SIGSEGV),
        ("import time; time.sleep(60)", "timeout", None),
        ("import time; keep = bytearray(600_000_000); time.sleep(60)", "memory", None),
        ("[print('x' * 1_000_000) for _ in range(10**6)]", "output", None),
    ],
    ids=["os._exit", "segfault", "hang", "memory", "output"],
)
def test_an_interpreter_that_goes_down_says_in_which_step_and_how(
    repo: FakeRepo, code: str, outcome: str, detail: int | None
) -> None:
    repo.fault(code)
    with repo.interpreter() as runner:
        facts = runner.run(seconds=4, memory=300_000_000, output=50_000_000)
        assert (facts.outcome, facts.open_step) == (outcome, "config")
        assert detail in (facts.exit_code, facts.signal, None)
        again = runner.run("environment")
        assert again.steps["interpreter"].status == "ok", "the next probe is not disturbed"


@pytest.mark.parametrize("code", ["sys.exit('enough')", "raise KeyError('model')"], ids=["sys.exit", "exception"])
def test_an_exception_ends_its_step_and_not_the_probe(repo: FakeRepo, code: str) -> None:
    repo.fault(code)
    with repo.interpreter() as runner:
        facts = runner.run()
    error = facts.steps["config"].error
    assert facts.outcome == "done"
    assert error is not None
    assert error.frames[-1]["file"] == "mindspeed_mm/fsdp/train/trainer.py"
    assert "enough" in f"{error.code} {error.message}" or error.type == "KeyError"


def test_output_that_is_no_text_is_in_the_log_and_disturbs_nothing(repo: FakeRepo) -> None:
    repo.fault(r"""sys.stdout.buffer.write(b'\xff\xfe{"event": "end"}\n'); sys.stdout.flush()""")
    with repo.interpreter() as runner:
        facts = runner.run()
    assert facts.outcome == "done"
    assert r"\xff\xfe" in facts.log


def test_nothing_is_left_of_a_probe_that_started_processes(repo: FakeRepo) -> None:
    note = repo.root / "pids"
    repo.fault(
        "import os, subprocess, time\n"
        "    quiet = subprocess.Popen(['sleep', '300'])\n"
        "    daemon = subprocess.Popen(['sleep', '300'], start_new_session=True)\n"
        f"    open({str(note)!r}, 'w').write(f'{{quiet.pid}} {{daemon.pid}}')\n"
        "    os._exit(0)"
    )
    with repo.interpreter() as runner:
        runner.run()
        pids = [int(pid) for pid in note.read_text().split()]
        time.sleep(0.3)
        assert [pid for pid in pids if _alive(pid)] == []


def test_a_client_that_goes_away_takes_its_probe_along(repo: FakeRepo) -> None:
    repo.fault("import time; time.sleep(60)")
    with repo.interpreter() as runner:
        program = (
            "import json, socket, sys, time\n"
            "one = socket.socket(socket.AF_UNIX)\n"
            "one.connect(sys.argv[1])\n"
            "one.sendall(sys.argv[2].encode() + b'\\n')\n"
            "print(json.loads(one.makefile().readline())['pid'], flush=True); time.sleep(60)"
        )
        request = json.dumps(runner.request())
        client = subprocess.Popen([sys.executable, "-c", program, runner.warm.address, request], stdout=subprocess.PIPE)
        assert client.stdout is not None
        probe = int(client.stdout.readline())
        assert _alive(probe)
        client.kill()
        client.wait()
        client.stdout.close()
        time.sleep(0.5)
        assert not _alive(probe)


def test_an_interpreter_that_dies_while_it_imports_is_an_outcome_with_its_last_words(repo: FakeRepo) -> None:
    repo.write("mindspeed_mm/fsdp/train/trainer.py", "import os; print('last words', flush=True); os._exit(9)")
    with repo.interpreter() as runner:
        facts = runner.run()
    assert facts.outcome == "interpreter"
    assert "last words" in facts.log
    assert "importing mindspeed_mm.fsdp.train.trainer" in facts.log


@pytest.mark.parametrize("how", ["stopped", "orphaned"])
def test_the_end_of_a_run_is_the_end_of_its_probes_and_of_all_they_started(repo: FakeRepo, how: str) -> None:
    note = repo.root / "pids"
    repo.fault(
        "import os, subprocess, time\n"
        "    started = [subprocess.Popen(['sleep', '300'], start_new_session=own) for own in (False, True)]\n"
        f"    open({str(note)!r}, 'w').write(' '.join(str(one.pid) for one in started) + f' {{os.getpid()}}.')\n"
        "    time.sleep(60)"
    )
    with repo.interpreter() as runner:
        worker = threading.Thread(target=runner.run, daemon=True)
        worker.start()
        while not (note.exists() and note.read_text().endswith(".")):
            time.sleep(0.05)
        server = runner.warm._process
        assert server is not None
        pids = [int(pid) for pid in note.read_text().rstrip(".").split()]
        assert all(_alive(pid) for pid in pids)
        if how == "orphaned":  # what the kernel sends when the pytest process is killed
            server.send_signal(signal.SIGTERM)
            server.wait(10)
            assert [pid for pid in pids if _alive(pid)] == []
    assert [pid for pid in [*pids, server.pid] if _alive(pid)] == []
    assert session_processes(server.pid) == []
    worker.join(5)


def test_the_recorded_command_gives_the_same_facts_by_hand(repo: FakeRepo, tmp_path: Path) -> None:
    repo.fault("", plugins=("mindspeed_mm/fsdp/models/one", "mindspeed_mm/fsdp/models/none"))
    repo.write("mindspeed_mm/fsdp/models/one/__init__.py", "")
    repo.write(
        "mindspeed_mm/fsdp/models/one/model.py",
        "from mindspeed_mm.fsdp.utils.register import model_register\nmodel_register.register('one')(object)",
    )
    with repo.interpreter() as runner:
        facts = runner.run()
    request = tmp_path / "out/x/probes/plugins.json"
    request.parent.mkdir(parents=True)
    request.write_text(json.dumps(facts.request), encoding="utf-8")
    words = shlex.split(facts.command)
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    by_hand = {event["name"]: event["data"] for event in map(json.loads, done.stdout.splitlines()) if "data" in event}
    plugins = facts.steps["plugins"].data
    assert by_hand["plugins"] == plugins
    assert plugins["after"] == {"model_register": ["one"]}
    (hidden,) = plugins["entries"][1]["hidden"]
    assert (hidden["module"], hidden["by"]) == (
        "mindspeed_mm.fsdp.models.none",
        {"file": "mindspeed_mm/fsdp/utils/register.py", "line": 16},
    )


def test_a_plugin_may_read_the_command_line_of_the_trainer(repo: FakeRepo) -> None:
    repo.fault("", plugins=("mindspeed_mm/fsdp/models/one",))
    repo.write(
        "mindspeed_mm/fsdp/models/one/__init__.py",
        "import sys\nfrom mindspeed_mm.fsdp.utils.register import model_register\n"
        "model_register.register(open(sys.argv[1]).read().strip())(object)",
    )
    with repo.interpreter() as runner:
        facts = runner.run()
    assert facts.steps["plugins"].data["after"] == {"model_register": ["model: {}"]}


def test_the_recorded_command_is_quoted_for_a_shell(tmp_path: Path) -> None:
    odd = 'it\'s $(touch gone) `x` "q"\n{{ y }} é'
    shown = {"A": odd, "ODD NAME;": "1", "EMPTY": ""}
    command = by_hand(Interpreter("/opt/my python/bin/python", {}, shown, {}), "out dir/x/probes/model.json")
    words = shlex.split(command)
    assert words[:4] == ["env", f"A={odd}", "EMPTY=", "ODD NAME;=1"]
    assert words[4] == "/opt/my python/bin/python"
    assert words[6] == "out dir/x/probes/model.json"
    said = subprocess.run(f"echo {command}", shell=True, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert said.stdout == " ".join(words) + "\n"
    assert list(tmp_path.iterdir()) == []


def test_the_recorded_command_holds_no_secret_however_it_is_quoted() -> None:
    shown = {"DB_PASSWORD": 'hun\'ter2 "x" y', "HF_TOKEN": "hf_abcdefghijklmnopqrst", "RANK": "0"}
    command = by_hand(Interpreter("python", {}, shown, {}), "model.json")
    assert shlex.split(command)[:4] == ["env", "DB_PASSWORD=***", "HF_TOKEN=***", "RANK=0"]


def test_a_probe_whose_interpreter_is_killed_is_lost_and_not_called_never_started(repo: FakeRepo) -> None:
    repo.fault("import os, signal, time; os.kill(os.getppid(), signal.SIGKILL); time.sleep(60)")
    with repo.interpreter() as runner:
        facts = runner.run()
    assert (facts.outcome, facts.open_step) == ("lost", "config")
    how = ended(facts, "the config").args["how"]
    assert "was killed" in text(how["key"], how["args"])
