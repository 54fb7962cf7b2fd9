"""What a rehearsal costs against the bare torchrun, and how much sooner a broken config is diagnosed.

    python scripts/bench_rehearsal.py --repo CHECKOUT --python PYTHON --pythonpath MINDSPEED --target NAME \
        --model-path FOLDER --dataset-path FILE --image-root FOLDER [--rounds 3]

Runs the rehearsal, then torchrun on the very config and ranks that it used. Then plants ten mistakes in the target's
YAML, one at a time: the time until `pytest --migrate-level=static` names the contract, and until the trainer fails.
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
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

Config = dict[str, Any]


def put(path: str, value: Any) -> Callable[[Config], None]:
    """A mistake: another value at a dotted path."""

    def change(config: Config) -> None:
        *parents, last = path.split(".")
        node = config
        for name in parents:
            node = node.setdefault(name, {})
        node[last] = value

    return change


# name, mistake, contract that has to say it
DEFECTS: tuple[tuple[str, Callable[[Config], None], str], ...] = (
    ("model_id of nobody", put("model.model_id", "qwen3_vl_moo"), "model.registration"),
    ("dataset_type of nobody", put("data.dataset_param.dataset_type", "hugginface"), "data.registration"),
    ("plugin folder misspelt", put("training.plugin", ["mindspeed_mm/fsdp/models/qwen3v"]), "config.linkage"),
    (
        "apply_modules match nothing",
        put("parallel.fsdp_plan.apply_modules", ["model.layer.{*}"]),
        "config.apply_modules",
    ),
    ("collator of nobody", put("data.dataloader_param.collate_param.model_name", "qwen4vl"), "data.collate"),
    ("optimizer of nobody", put("training.optimizer", "adamx"), "config.types"),
    ("attention of nobody", put("model.attn_implementation", "flash"), "config.types"),
    ("iterations as text", put("training.train_iters", "many"), "config.types"),
    ("dataloader_mode of nobody", put("data.dataloader_param.dataloader_mode", "samples"), "config.types"),
    (
        "recompute plan of nothing",
        put("features.recompute_plan.apply_modules", ["model.layer.{*}"]),
        "config.feature_plans",
    ),
)


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
        """Ten mistakes: when pytest names the contract, and when the trainer fails."""
        rank = json.loads(Path(self._torchrun[-1]).read_text(encoding="utf-8"))
        effective = Path(rank["config"]).read_text(encoding="utf-8")
        config = self._repo / self._evidence()["target"]["config"]
        sound = config.read_text(encoding="utf-8")
        ratios = []
        print(f"{'mistake':28} {'contract':22} {'pytest':>8} {'trainer':>9} {'ratio':>6}")
        for name, change, contract in DEFECTS:
            config.write_text(_changed(sound, change), encoding="utf-8")
            seconds = self._pytest("--migrate-level=static")
            failed = {one["id"] for one in self._evidence()["contracts"] if one["status"] == "failed"}
            broken = self._folder / "broken.yaml"
            broken.write_text(_changed(effective, change), encoding="utf-8")
            (self._folder / "rank.json").write_text(json.dumps({**rank, "config": str(broken)}), encoding="utf-8")
            trainer = self._train(str(self._folder / "rank.json"), check=False)
            ratios.append(trainer / seconds if contract in failed else 0.0)
            shown = contract if contract in failed else f"not {contract}, but {sorted(failed)}"
            print(f"{name:28} {shown:22} {seconds:7.2f}s {trainer:8.1f}s {ratios[-1]:6.1f}")
        print(f"least ratio {min(ratios):.1f}, median {statistics.median(ratios):.1f} (limit 10)")

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

    def _pytest(self, *arguments: str) -> float:
        target = [f"--migrate-target={self._options.target}", f"--migrate-repo={self._repo}"]
        command = [sys.executable, "-m", "pytest", "-q", *target, *arguments]
        start = time.perf_counter()
        done = subprocess.run(command, cwd=self._folder, capture_output=True, text=True)
        if done.returncode not in (0, 1):
            raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
        return time.perf_counter() - start

    def _evidence(self) -> dict[str, Any]:
        (path,) = (self._folder / "migration-report").glob("*/evidence.json")
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found


def _changed(text: str, change: Callable[[Config], None]) -> str:
    config = yaml.safe_load(text)
    change(config)
    return yaml.safe_dump(config, allow_unicode=True, sort_keys=False)


if __name__ == "__main__":
    main()
