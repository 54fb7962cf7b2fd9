"""Starts the target's trainer under torchrun, watches its steps, and brings back what each rank did."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from .trainlog import step_of

RANK_PROGRAM = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "run_rank.py")
_LOOK_SECONDS = 0.25
_STACK_SECONDS = 1.5
_OUTPUT_LIMIT = 1 << 30
_TAIL = 60_000
_LAUNCHER = "torchrun.log"


class Launch:
    """One distributed run.

    Args:
        request: `repo`, `trainer`, `launch` (nproc, torchrun options, environment), `start_seconds` (longest wait for
            the first step), `step_seconds` (for another one), `steps` (how many are expected) and `stand_ins` (whether
            to use them).
        config: path of the YAML the trainer is started with.
        out: folder the ranks write to.
    """

    def __init__(self, request: dict[str, Any], config: str, out: str) -> None:
        self._request = request
        self._out = out
        self._logs = os.path.join(out, "logs")
        self.program = os.path.join(out, "rank.json")
        with open(self.program, "w", encoding="utf-8") as stream:
            json.dump(
                {
                    "repo": request["repo"],
                    "trainer": request["trainer"],
                    "config": config,
                    "out": out,
                    "stand_ins": request["stand_ins"],
                },
                stream,
            )
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def command(self) -> list[str]:
        """The command line: each rank's output goes to a file of its own, and no port is fixed."""
        options = self._request["launch"]["options"] or ["--standalone", "--nnodes", "1"]
        nproc = str(self._request["launch"]["nproc"])
        logs = ["--redirects", "3", "--log-dir", self._logs]
        torchrun = [sys.executable, "-m", "torch.distributed.run", *options, "--nproc-per-node", nproc, *logs]
        return [*torchrun, RANK_PROGRAM, self.program]

    def run(self, progress: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        """Run to the end; plain JSON, one item a rank in `ranks`."""
        started = time.time()
        said = os.path.join(self._out, _LAUNCHER)
        with open(said, "wb") as stream:
            self._process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, env=self._environment()
            )
        stopped = self._watch(progress)
        numbers = range(self._request["launch"]["nproc"])
        stacks = self._stacks() if stopped == "hang" else {}
        ends = {rank: self._json(f"end-{rank}.json") for rank in numbers}  # before it is this process that ends them
        self._end()
        ranks = [self._rank(rank, ends[rank], stacks.get(rank)) for rank in numbers]
        return {
            "nproc": self._request["launch"]["nproc"],
            "exit_code": self._process.returncode,
            "stopped": stopped,
            "seconds": round(time.time() - started, 3),
            "launcher": _tail(self._read(_LAUNCHER)),
            "ranks": ranks,
            "stand_ins": list(dict.fromkeys(name for rank in ranks for name in rank["stand_ins"])),
        }

    def _environment(self) -> dict[str, str]:
        """torchrun gives each rank its place; what this process had as one of one rank must not reach them."""
        own = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
        environment = {name: value for name, value in os.environ.items() if name not in own}
        environment.update(self._request["launch"].get("environment", {}))
        environment.setdefault("OMP_NUM_THREADS", "1")
        return environment

    def _watch(self, progress: Callable[[dict[str, Any]], None]) -> str | None:
        assert self._process is not None
        last, seen = time.monotonic(), -1
        while self._process.poll() is None:
            time.sleep(_LOOK_SECONDS)
            steps = self._steps(0)
            if len(steps) != seen:
                last, seen = time.monotonic(), len(steps)
                if steps:
                    progress({"step": len(steps), "of": self._request["steps"], "loss": _loss(steps[-1])})
            limit = self._request["step_seconds" if seen > 0 else "start_seconds"]
            if time.monotonic() - last > limit:
                return "hang"
            if _size(self._logs) > _OUTPUT_LIMIT:
                return "output"
        return None

    def _steps(self, rank: int) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._read(f"steps-{rank}.jsonl").splitlines() if line.endswith("}")]

    def _stacks(self) -> dict[int, str]:
        """Where each rank stands, by its own report."""
        ranks = range(self._request["launch"]["nproc"])
        for rank in ranks:
            pid = self._json(f"pid-{rank}")
            if pid:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGUSR1)
        time.sleep(_STACK_SECONDS)
        return {rank: self._read(f"stack-{rank}.txt") for rank in ranks}

    def _end(self) -> None:
        """End torchrun; ranks die with their parents, and the warm interpreter ends what is left."""
        assert self._process is not None
        if self._process.poll() is None:
            for rank in range(self._request["launch"]["nproc"]):
                pid = self._json(f"pid-{rank}")
                if pid:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            self._process.kill()
            self._process.wait()

    def _rank(self, rank: int, end: Any, stack: str | None) -> dict[str, Any]:
        printed = self._printed(rank)
        return {
            "rank": rank,
            "began": bool(self._read(f"pid-{rank}")),
            "end": end,
            "error": self._json(f"error-{rank}.json"),
            "observed": self._steps(rank),
            "logged": [step for step in map(step_of, printed.splitlines()) if step is not None],
            "stand_ins": self._json(f"standins-{rank}.json") or [],
            "stack": stack,
            "printed": _tail(printed),
        }

    def _printed(self, rank: int) -> str:
        """What a rank printed: the log lines of its steps are in it, whatever else was printed between them."""
        text = []
        for path in sorted(glob.glob(os.path.join(self._logs, "*", "attempt_0", str(rank), "*.log"))):
            with contextlib.suppress(OSError), open(path, "rb") as stream:
                stream.seek(max(0, os.path.getsize(path) - (_OUTPUT_LIMIT >> 3)))
                text.append(stream.read().decode("utf-8", "backslashreplace"))
        return "\n".join(text)

    def _json(self, name: str) -> Any:
        text = self._read(name)
        return json.loads(text) if text else None

    def _read(self, name: str) -> str:
        try:
            with open(os.path.join(self._out, name), encoding="utf-8", errors="backslashreplace") as stream:
                return stream.read()
        except OSError:
            return ""


def _loss(step: dict[str, Any]) -> float | None:
    """The loss among what a trainer logs: a number, or a mapping of losses by name."""
    for name in ("loss_dict", "loss"):
        value = step.get(name)
        if isinstance(value, dict):
            value = value.get("loss")
        if isinstance(value, (int, float)):
            return float(value)
    return None


def _size(folder: str) -> int:
    total = 0
    for base, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.path.getsize(os.path.join(base, name))
    return total


def _tail(text: str) -> str:
    return text if len(text) <= _TAIL else f"... ({len(text) - _TAIL} characters)\n" + text[-_TAIL:]
