"""What a rehearsal costs against the bare torchrun, and how much sooner a broken config is diagnosed.

    python scripts/bench_rehearsal.py --repo CHECKOUT --python PYTHON --pythonpath MINDSPEED --target NAME \
        --model-path FOLDER --dataset-path FILE --image-root FOLDER [--rounds 3]

Runs the rehearsal, then torchrun on the very config and ranks that it used. Then plants the ten mistakes of
`planted_defects.py`, one at a time: the time until `pytest --migrate-level=static` prints the line that names the
mistake, and until the first rank of the trainer fails, which is before torchrun ends. Both have seen the checkout
before; the trainer has the small model of the rehearsal, which it builds and loads in no time. Shown are medians.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from planted_defects import DEFECTS, Defect, Migration

_UNBUFFERED = {**os.environ, "PYTHONUNBUFFERED": "1"}  # as on a terminal, where each line is shown at once


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("repo", "python", "pythonpath", "target", "model-path", "dataset-path", "image-root"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        bench = Bench(options, Path(name))
        bench.cost()
        bench.diagnoses()


class Bench:
    """One run of the benchmark, on a copy of the checkout."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self._options = options
        self._folder = folder
        self._repo = folder / "repo"
        shutil.copytree(options.repo, self._repo, ignore=shutil.ignore_patterns(".git", "__pycache__"))
        self._environment: dict[str, str] = {}
        self._torchrun: list[str] = []

    def cost(self) -> None:
        """The training step of the rehearsal's probe, and the torchrun that it starts, in turn."""
        request, words = self._rehearsal()
        rehearsals, bare = [], []
        for number in range(self._options.rounds):
            asked = {**request, "work": str(self._folder / f"work-{number}"), "shared": str(self._folder / "shared")}
            path = self._folder / "request.json"
            path.write_text(json.dumps(asked), encoding="utf-8")
            done = subprocess.run([*words, str(path)], cwd=self._folder, capture_output=True, text=True)
            events = [json.loads(line) for line in done.stdout.splitlines()]
            train = next(event for event in events if event.get("name") == "train" and event["event"] == "step")
            if train["data"]["exit_code"] != 0:
                raise SystemExit(f"the rehearsal does not train:\n{done.stderr[-4000:]}")
            self._torchrun = train["data"]["command"]
            rehearsals.append(train["seconds"])
            bare.append(self._train(self._torchrun[-1], check=True))
        one, other = statistics.median(rehearsals), statistics.median(bare)
        print(f"rehearsal {one:.1f} s, bare torchrun {other:.1f} s: {one / other:.2f} (limit 1.3)")

    def diagnoses(self) -> None:
        """Ten mistakes: when pytest names each, and when and where the trainer fails."""
        rank = json.loads(Path(self._torchrun[-1]).read_text(encoding="utf-8"))
        broken = self._folder / "broken.yaml"
        shutil.copy(rank["config"], broken)
        migration = Migration(self._repo, [self._repo / self._evidence()["target"]["config"], broken])
        seen: dict[str, list[tuple[float | None, float, str]]] = {defect.name: [] for defect in DEFECTS}
        for _ in range(self._options.rounds):  # one after the other, so that no run remembers the one before
            for defect in DEFECTS:
                defect.edit(migration)
                seen[defect.name].append((self._named(defect), *self._failed({**rank, "config": str(broken)})))
                migration.restore()
        ratios = []
        print(f"{'mistake':36} {'in':15} {'contract':22} {'pytest':>7} {'trainer':>8}  {'fails in':18} {'ratio':>6}")
        for defect in DEFECTS:
            times = seen[defect.name]
            named, place = [one for one, _, _ in times if one is not None], times[-1][2]
            seconds = statistics.median(named) if len(named) == len(times) else None
            failed = statistics.median(one for _, one, _ in times)
            ratios.append(failed / seconds if seconds else 0.0)
            shown = f"{seconds:6.2f}s" if seconds else "unnamed"
            row = f"{defect.name:36} {defect.part:15} {defect.contract:22} {shown:>7} {failed:7.1f}s  {place:18}"
            print(f"{row} {ratios[-1]:6.1f}", flush=True)
        print(f"least ratio {min(ratios):.1f}, median {statistics.median(ratios):.1f} (limit 10)")

    def _named(self, defect: Defect) -> float | None:
        """Seconds until pytest has printed, below the defect's contract, the line that names it."""
        command = self._command("--migrate-level=static")
        start, found, contract = time.perf_counter(), None, ""
        with subprocess.Popen(command, cwd=self._folder, stdout=subprocess.PIPE, text=True, env=_UNBUFFERED) as running:
            assert running.stdout is not None
            for line in running.stdout:
                if not line.startswith(" "):
                    contract = line.partition(":")[0]
                elif found is None and contract == defect.contract and defect.says in line:
                    found = time.perf_counter() - start
        return found

    def _failed(self, rank: dict[str, Any]) -> tuple[float, str]:
        """Seconds until a rank of the trainer raised, and in which of its functions; all of them where none did."""
        out = self._folder / "ranks"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        request = self._folder / "rank.json"
        request.write_text(json.dumps({**rank, "out": str(out)}), encoding="utf-8")
        start = time.time()
        whole = self._train(str(request), check=False)
        errors = sorted(out.glob("error-*.json"), key=lambda path: path.stat().st_mtime)
        if not errors:
            return whole, "not at all"
        error = json.loads(errors[0].read_text(encoding="utf-8"))
        frames = [frame for frame in error["frames"] if "/train/" in frame["file"] and frame["function"] != "<module>"]
        return errors[0].stat().st_mtime - start, frames[-1]["function"] if frames else "arguments"

    def _rehearsal(self) -> tuple[dict[str, Any], list[str]]:
        """The request of the rehearsal's probe, and the words that run a probe by hand; keeps their environment."""
        options = self._options
        self._pytest(
            "--migrate-level=cpu",
            f"--migrate-python={options.python}",
            f"--migrate-pythonpath={options.pythonpath}",
            f"--migrate-model-path={options.model_path}",
            f"--migrate-dataset-path={options.dataset_path}",
            f"--migrate-image-root={options.image_root}",
            "-k",
            "rehearsal",
        )
        record = next(one for one in self._evidence()["commands"] if one["name"].startswith("verify.rehearsal"))
        words = shlex.split(record["command"])
        given = dict(word.split("=", 1) for word in words[1:-3])
        own = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
        self._environment = {key: value for key, value in {**os.environ, **given}.items() if key not in own}
        self._environment["OMP_NUM_THREADS"] = "1"
        (path,) = (self._folder / "migration-report").glob("*/probes/rehearsal.json")
        return json.loads(path.read_text(encoding="utf-8")), words[:-1]

    def _train(self, rank: str, check: bool) -> float:
        command = [*self._torchrun[:-1], rank]
        start = time.perf_counter()
        subprocess.run(command, env=self._environment, cwd=self._repo, capture_output=True, check=check)
        return time.perf_counter() - start

    def _pytest(self, *arguments: str) -> None:
        command = self._command(*arguments)
        done = subprocess.run(command, cwd=self._folder, capture_output=True, text=True)
        if done.returncode not in (0, 1):
            raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")

    def _command(self, *arguments: str) -> list[str]:
        target = [f"--migrate-target={self._options.target}", f"--migrate-repo={self._repo}"]
        return [sys.executable, "-m", "pytest", "-q", *target, *arguments]

    def _evidence(self) -> dict[str, Any]:
        (path,) = (self._folder / "migration-report").glob("*/evidence.json")
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found


if __name__ == "__main__":
    main()
