"""What the static level costs, as ratios measured in one run.

    python scripts/bench_speed.py --repo CHECKOUT --target qwen3_5_4B [--rounds 5]

Prints medians of: pytest alone (`--collect-only` in an empty folder), one target with a cold cache on top of that,
`ast.parse` over the Python files that a run over all targets reads, and all targets with a cold and a warm cache; then
the peak memory of the pytest process and whether it ever imported torch.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PARSE = """
import ast, json, pathlib, sys, time, warnings
warnings.simplefilter("ignore")
sources = [pathlib.Path(p).read_bytes() for p in json.load(sys.stdin)]
start = time.perf_counter()
for source in sources:
    try:
        ast.parse(source)
    except SyntaxError:
        pass
print(time.perf_counter() - start)
"""

PROBE = """
import json, resource, sys

def pytest_unconfigure(config):
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    with open("host.json", "w") as file:
        json.dump({"megabytes": peak, "torch": "torch" in sys.modules}, file)
"""


def run(folder: Path, *arguments: str) -> float:
    """Seconds of one pytest run in a folder."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "host_probe", *arguments]
    path = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))  # a checkout can be measured too
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": ""}
    start = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    if done.returncode not in (0, 1, 5):
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return seconds


def cold(folder: Path) -> None:
    """Forget what earlier runs kept."""
    for name in (".pytest_cache", "migration-report"):
        shutil.rmtree(folder / name, ignore_errors=True)


def parsed_files(folder: Path, repo: Path) -> list[str]:
    """The Python files that a run over all targets reads, from an export of its facts."""
    export = folder / "facts.json"
    run(
        folder,
        "--migrate-target=all",
        "--migrate-level=static",
        f"--migrate-repo={repo}",
        f"--migrate-export-facts={export}",
    )
    facts = json.loads(export.read_text(encoding="utf-8"))
    return [str(repo / path) for path in {**facts["modules"], **facts["other_modules"]}]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--target", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    repo = options.repo.resolve()
    static = ("--migrate-level=static", f"--migrate-repo={repo}")
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        (folder / "host_probe.py").write_text(PROBE, encoding="utf-8")
        files = json.dumps(parsed_files(folder, repo))
        times: dict[str, list[float]] = {key: [] for key in ("pytest", "one cold", "parse", "all cold", "all warm")}
        for _ in range(options.rounds):
            times["pytest"].append(run(folder, "--collect-only"))
            cold(folder)
            times["one cold"].append(run(folder, f"--migrate-target={options.target}", *static))
            done = subprocess.run(
                [sys.executable, "-c", PARSE], input=files, capture_output=True, text=True, check=True
            )
            times["parse"].append(float(done.stdout))
            cold(folder)
            times["all cold"].append(run(folder, "--migrate-target=all", *static))
            host = json.loads((folder / "host.json").read_text(encoding="utf-8"))
            times["all warm"].append(run(folder, "--migrate-target=all", *static))
    median = {key: statistics.median(values) for key, values in times.items()}
    for key, value in median.items():
        print(f"{key:10} {value:6.2f} s")
    print(f"one target on top of pytest: {median['one cold'] - median['pytest']:.2f} s (limit 1.0)")
    print(f"all cold / ast.parse: {(median['all cold'] - median['pytest']) / median['parse']:.2f} (limit 3)")
    print(f"all warm / ast.parse: {(median['all warm'] - median['pytest']) / median['parse']:.2f} (limit 1)")
    print(f"host memory, all targets, cold: {host['megabytes']:.0f} MB (limit 150); torch imported: {host['torch']}")


if __name__ == "__main__":
    main()
