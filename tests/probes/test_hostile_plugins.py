"""Code of the target that takes its process apart: the probe says what happened, and nothing is left behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fake_framework import FakeRepo

from pytest_mindspeed_migration.facts.runtime import ProbeFacts
from pytest_mindspeed_migration.probes.inside.migration_probe.rows import first_rows, write_rows

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="level cpu needs fork")

PLUGIN = "mindspeed_mm/fsdp/models/hostile"


def _run_plugin(root: Path, code: str, seconds: float = 30) -> ProbeFacts:
    repo = FakeRepo(root / "repo")
    repo.fault("", plugins=(PLUGIN,))
    repo.write(f"{PLUGIN}/__init__.py", code)
    with repo.interpreter() as runner:
        return runner.run(seconds=seconds)


@pytest.mark.parametrize(
    "code",
    [
        "import sys; sys.stdout = sys.stderr = None; raise ValueError('seen')",
        "import sys; sys.stdout.close(); sys.stderr.close(); raise ValueError('seen')",
        "import sys; sys.stdout = sys.stderr = object(); raise ValueError('seen')",
        "import os; os.close(1); os.close(2); raise ValueError('seen')",
        "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN); raise ValueError('seen')",
        "import sys; sys.path[:0] = [7, b'x', __import__('pathlib').Path('y')]; raise ValueError('seen')",
        "import os, tempfile\nos.chdir(tempfile.mkdtemp()); os.rmdir(os.getcwd())\n"
        "exec(compile(\"raise ValueError('seen')\", 'relative.py', 'exec'))",
        "import os, sys; sys.stderr.write('x' * 50_000_000); raise ValueError('seen')",
        "class Odd(ValueError):\n    def __str__(self): raise SystemExit\nOdd.__name__ = 'ValueError'\nraise Odd",
    ],
    ids=["streams gone", "streams closed", "streams replaced", "descriptors closed", "SIGCHLD ignored", "sys.path",
         "folder gone", "50 MB", "message exits"],
)  # fmt: skip
def test_what_a_plugin_does_to_its_process_does_not_hide_what_it_raises(tmp_path: Path, code: str) -> None:
    facts = _run_plugin(tmp_path, code)
    error = facts.steps["plugins"].error
    assert facts.outcome == "done", facts.log[-2000:]
    assert error is not None
    assert error.type == "ValueError"


def test_a_process_that_a_plugin_forked_does_not_answer_in_its_place(tmp_path: Path) -> None:
    facts = _run_plugin(tmp_path, "import os\nif not os.fork(): raise ValueError('of the child')\nos.wait()")
    assert facts.outcome == "done"
    assert facts.steps["plugins"].status == "ok"


def test_a_plugin_that_becomes_a_daemon_has_ended_early(tmp_path: Path) -> None:
    code = "import os, time\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\ntime.sleep(300)"
    facts = _run_plugin(tmp_path, code)
    assert (facts.outcome, facts.open_step, facts.exit_code) == ("exited", "plugins", 0)


def test_deep_recursion_is_told_quickly(tmp_path: Path) -> None:
    code = "import sys\nsys.setrecursionlimit(60_000)\ndef down(n): return down(n + 1)\ndown(0)"
    started = time.monotonic()
    facts = _run_plugin(tmp_path, code)
    assert facts.outcome in ("done", "signalled")
    assert time.monotonic() - started < 10
    assert len(facts.log) < 100_000


@pytest.mark.parametrize("code", ["signal.signal(signal.SIGCHLD, signal.SIG_IGN)", "pass"], ids=["ignored", "usual"])
def test_an_isolated_call_answers_whatever_the_target_did_to_signals_and_processes(code: str) -> None:
    inside = "pytest_mindspeed_migration.probes.inside.migration_probe.isolate"
    program = (
        f"import os, signal\nfrom {inside} import in_child\n{code}\n"
        "def forks():\n    if not os.fork(): return 'child'\n    os.wait() if signal.getsignal(signal.SIGCHLD) "
        "is not signal.SIG_IGN else None\n    return 'parent'\n"
        "print(in_child(forks, '/', 20))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "{'value': 'parent'}\n"


def test_rows_that_are_no_utf_8_are_copied_as_they_are(tmp_path: Path) -> None:
    rows = [{"text": "cut \ud83d emoji, é", "number": 1}]
    for array in (True, False):
        path = write_rows(rows, str(tmp_path / "rows.json"), array)
        assert list(first_rows(path, 8)) == rows
