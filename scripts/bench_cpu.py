"""What the cpu level costs, as ratios measured in one run.

    python scripts/bench_cpu.py --repo CHECKOUT --python PYTHON --pythonpath MINDSPEED --target NAME \
        --model-path FOLDER --dataset-path FILE --image-root FOLDER [--many NAME,NAME,...] [--manifest FILE ...] \
        [--rounds 3]

Prints medians of: importing `mindspeed_mm.fsdp.train.trainer` in the target's interpreter; all cpu contracts of one
target, the training runs aside; those of the targets of `--many` in one run, each with the assets of the `--manifest`
that names it; and the peak memory of the probes. Of each also the processor time, which other work on the machine
changes less than the wall clock.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

IMPORT = "import mindspeed_mm.fsdp.train.trainer"
WITHOUT_TRAINING = "not rehearsal and not distributed_e2e"


def seconds(command: list[str], folder: Path, environment: dict[str, str]) -> tuple[float, float]:
    """Wall clock and processor time of a command whose exit code is that of a run that judged something."""
    start, used = time.perf_counter(), _used()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    spent = time.perf_counter() - start
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return spent, _used() - used


def _used() -> float:
    """Processor time of ended children, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--pythonpath", required=True)
    parser.add_argument("--target", required=True)
    parser.add_argument("--many", default="")
    parser.add_argument("--manifest", type=Path, action="append", default=[])
    parser.add_argument("--model-path")
    parser.add_argument("--dataset-path")
    parser.add_argument("--image-root")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    assets = [
        f"--migrate-{name}={value}"
        for name, value in (
            ("model-path", options.model_path),
            ("dataset-path", options.dataset_path),
            ("image-root", options.image_root),
        )
        if value
    ]
    common = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--migrate-level=cpu",
        f"--migrate-repo={options.repo.resolve()}",
        f"--migrate-python={options.python}",
        f"--migrate-pythonpath={options.pythonpath}",
        "-k",
        WITHOUT_TRAINING,
    ]
    importing = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(options.repo.resolve()), options.pythonpath]),
        "NON_MEGATRON": "true",
        "RANK": "0",
        "LOCAL_RANK": "0",
        "WORLD_SIZE": "1",
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
        "CUDA_VISIBLE_DEVICES": "",
    }
    environment = dict(os.environ)
    own = [f"--migrate-manifest={path.resolve()}" for path in options.manifest]
    times: dict[str, list[tuple[float, float]]] = {"import": [], "one target": [], "many targets": []}
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        for _ in range(options.rounds):
            times["import"].append(seconds([options.python, "-c", IMPORT], folder, importing))
            shutil.rmtree(folder / ".pytest_cache", ignore_errors=True)
            one = [*common, *assets, f"--migrate-target={options.target}"]
            times["one target"].append(seconds(one, folder, environment))
            if options.many:
                many = [*common, *(own or assets), f"--migrate-target={options.many}"]
                times["many targets"].append(seconds(many, folder, environment))
    median = {key: statistics.median(wall for wall, _ in values) for key, values in times.items() if values}
    for key, value in median.items():
        used = statistics.median(used for _, used in times[key])
        print(f"{key:12} {value:6.2f} s wall clock, {used:6.2f} s of processors")
    print(f"one target / import: {median['one target'] / median['import']:.2f} (limit 2)")
    if "many targets" in median:
        count = len(options.many.split(","))
        print(f"{count} targets / import: {median['many targets'] / median['import']:.2f} (limit 5)")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"peak memory of one process, probes among them: {peak:.0f} MB (limit 2048)")


if __name__ == "__main__":
    main()
