"""Faults planted in a real torchrun of two ranks: each is an outcome with its cause, and nothing is left running.

`MIGRATE_DEMO_PYTHON` names an interpreter with torch.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from pytest_mindspeed_migration.checks.cpu.training import verdict_of
from pytest_mindspeed_migration.facts.training import TrainingSeen, training_from
from pytest_mindspeed_migration.findings import Finding
from pytest_mindspeed_migration.probes.warm import RUNNER
from pytest_mindspeed_migration.triage import load_dictionary, read_text

PYTHON = os.environ.get("MIGRATE_DEMO_PYTHON")
pytestmark = pytest.mark.skipif(PYTHON is None, reason="MIGRATE_DEMO_PYTHON names no interpreter with torch")

STEPS = 5
ENGINE = """
import os

class TrainEngine:
    def training_log(self, iteration, loss_dict, grad_norm):
        if os.environ["RANK"] == "0":
            values = f"learning rate: 1.0E-03 | loss: {loss_dict['loss']:.6E} | grad norm: {grad_norm:.3f}"
            print(f"iteration {iteration}/5 | {values} |", flush=True)
"""

TRAINER = """
import os, sys, time
import torch, torch.distributed as dist
from mindspeed_mm.engine import TrainEngine

if __name__ == "__main__":
    rank = int(os.environ["RANK"])
    dist.init_process_group("gloo")
    engine = TrainEngine()
    for step in range(1, 6):
        value, norm = 6.0 - 0.1 * step, 1.0
        # FAULT
        total = torch.tensor([float(value)])
        dist.all_reduce(total)
        engine.training_log(step, {"loss": total.item() / 2}, norm)
    dist.destroy_process_group()
"""

SITE = """
import os, sys
if os.environ.get("NO_PORT") and "torch.distributed.run" in sys.orig_argv:
    import torch.distributed
    def store(*args, **options):
        raise torch.distributed.DistNetworkError(os.environ["NO_PORT"])
    torch.distributed.TCPStore = store
"""

KILL = "if rank == 1 and step == 3: os.kill(os.getpid(), 9)"
RAISE = "if rank == 1 and step == 3: raise ValueError('shape of rank 1')"
DEADLOCK = "if rank == 1 and step == 3: time.sleep(600)"
LEAVE = "if rank == 1 and step == 3: os._exit(0)"
NAN = "value = float('nan') if step >= 3 else value"
ZERO = "value = 0.0"
CONSTANT = "value = 2.5"
NO_GRADIENT = "norm = 0.0"
NOISE = "print(('x' * 1000 + '\\n') * 100_000) if rank == 1 and step == 2 else None"
DIFFER = "norm = 1.0 + rank"
FULL_DISK = "if rank == 0 and step == 2: raise OSError(28, 'No space left on device')"
SHORT = "if step == 4: break"


class Run:
    """One run of the trainer with a fault in it."""

    def __init__(
        self, folder: Path, fault: str, step_seconds: float = 60, nproc: int = 2, options: tuple[str, ...] = ()
    ) -> None:
        repo = folder / "repo"
        (repo / "mindspeed_mm").mkdir(parents=True)
        (repo / "mindspeed_mm/trainer.py").write_text(TRAINER.replace("# FAULT", fault), encoding="utf-8")
        (repo / "mindspeed_mm/engine.py").write_text(ENGINE, encoding="utf-8")
        (repo / "c.yaml").write_text("{}\n", encoding="utf-8")
        (repo / "sitecustomize.py").write_text(SITE, encoding="utf-8")
        self.work = folder / "work"
        request = {
            "probe": "rehearsal",
            "repo": str(repo),
            "config": "c.yaml",
            "trainer": "mindspeed_mm/trainer.py",
            "overrides": {},
            "boot": {"repo": str(repo), "modules": []},
            "work": str(self.work),
            "launch": {
                "nproc": nproc,
                "options": list(options),
                "environment": {},
                "small": False,
                "every_expert": False,
            },
            "steps": STEPS,
            "start_seconds": 200,
            "step_seconds": step_seconds,
            "stand_ins": True,
        }
        (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": str(repo), "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
        assert PYTHON is not None
        command = [PYTHON, str(RUNNER), str(folder / "request.json")]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
        events = [json.loads(line) for line in done.stdout.splitlines()]
        self.progress = [event for event in events if event["event"] == "progress"]
        (step,) = [event for event in events if event["event"] == "step" and event["name"] == "train"]
        assert step["status"] == "ok", done.stderr
        self.data: dict[str, Any] = step["data"]
        self.seen: TrainingSeen = training_from(self.data, STEPS, step_seconds)
        self.findings: list[Finding] = verdict_of(self.seen, "mindspeed_mm")

    def left_running(self) -> list[int]:
        """Ranks of this run that are still there."""
        time.sleep(0.5)
        pids = [int(path.read_text()) for path in self.work.rglob("pid-*")]
        stats = [Path(f"/proc/{pid}/stat") for pid in pids]
        states = [stat.read_text().rpartition(")")[2].split()[0] if stat.exists() else "" for stat in stats]
        return [pid for pid, state in zip(pids, states, strict=True) if state not in ("", "Z")]


def test_a_run_that_trains_gives_its_steps_and_no_finding(tmp_path: Path) -> None:
    run = Run(tmp_path, "")
    assert run.findings == []
    assert [round(step.loss or 0, 3) for step in run.seen.steps] == [5.9, 5.8, 5.7, 5.6, 5.5]
    assert [step.lr for step in run.seen.steps] == [0.001] * STEPS, "read from the printed line"
    assert run.data["exit_code"] == 0
    assert run.progress[-1] == {"event": "progress", "step": 5, "of": 5, "loss": pytest.approx(5.5)}


@pytest.mark.parametrize(
    ("fault", "message", "args"),
    [
        (KILL, "training.signalled", {"rank": 1, "step": 2, "signal": 9}),
        (RAISE, "training.raised", {"rank": 1, "step": 2}),
        (LEAVE, "training.left_early", {"rank": 1, "step": 2}),
        (NAN, "training.not_finite", {"name": "loss", "step": 3}),
        (ZERO, "training.zero", {}),
        (CONSTANT, "training.constant", {"steps": 5}),
        (NO_GRADIENT, "training.no_gradient", {}),
        (DIFFER, "training.ranks_differ", {"name": "grad norm", "rank": 1, "step": 1}),
        (FULL_DISK, "training.raised", {"rank": 0, "step": 1}),
        (SHORT, "training.too_few", {"step": 3, "expected": 5}),
    ],
    ids=["kill", "raise", "leave", "nan", "zero", "constant", "no-gradient", "differ", "full-disk", "short"],
)
def test_each_fault_is_the_cause_that_is_named(tmp_path: Path, fault: str, message: str, args: dict[str, Any]) -> None:
    run = Run(tmp_path, fault)
    (finding,) = run.findings
    assert finding.message == message
    assert {name: finding.args[name] for name in args} == args
    assert run.left_running() == []


def test_a_rank_that_stands_still_is_killed_and_each_rank_says_where_it_stood(tmp_path: Path) -> None:
    run = Run(tmp_path, DEADLOCK, step_seconds=6)
    assert run.seen.stopped == "hang"
    assert {finding.message for finding in run.findings} == {"training.hang"}
    places = {finding.args["rank"]: (finding.path, finding.args["step"]) for finding in run.findings}
    assert places == {0: ("mindspeed_mm/trainer.py", 2), 1: ("mindspeed_mm/trainer.py", 2)}
    assert "all_reduce" in run.seen.ranks[0].stack
    assert run.left_running() == []


def test_a_rank_that_prints_a_hundred_megabytes_disturbs_nothing(tmp_path: Path) -> None:
    run = Run(tmp_path, NOISE)
    assert run.findings == []
    assert len(run.seen.steps) == STEPS


def _diagnosed(run: Run) -> str | None:
    found = read_text(run.seen.launcher, load_dictionary())
    return found.entry if found is not None else None


def test_a_port_that_is_taken_is_named_and_no_rank_is_accused(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = ("--nnodes", "1", "--master-addr", "127.0.0.1", "--master-port", str(taken.getsockname()[1]))
        run = Run(tmp_path, "", options=place)
    (finding,) = run.findings
    assert (finding.message, finding.args["code"]) == ("training.not_started", 1)
    assert "EADDRINUSE" in finding.args["text"]
    assert _diagnosed(run) == "rendezvous_port"
    assert [rank.began for rank in run.seen.ranks] == [False, False]
    assert run.left_running() == []


def test_a_machine_without_a_free_port_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The words of torch 2.7 and 2.13 where `net.ipv4.ip_local_port_range` has no port left."""
    words = (
        "The client socket has failed to connect to any network address of (localhost, 0). "
        "The client socket has failed to connect to 127.0.0.1:43315 (errno: 99 - Cannot assign requested address)."
    )
    monkeypatch.setenv("NO_PORT", words)
    run = Run(tmp_path, "")
    (finding,) = run.findings
    assert finding.message == "training.not_started"
    assert words in finding.args["text"]
    assert _diagnosed(run) == "ports_exhausted"
    assert run.left_running() == []


def test_two_runs_at_once_do_not_meet(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(lambda name: Run(tmp_path / name, ""), ["one", "two"]))
    assert [run.findings for run in runs] == [[], []]
