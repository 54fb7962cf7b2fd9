"""Measure triage on a big log: speed against `grep -E` for the literals of the same patterns, and peak memory.

    python scripts/bench_triage.py [--size MB]

Writes the log into a temporary folder: training lines of eight ranks, warnings, and one failure in the middle.
"""

from __future__ import annotations

import argparse
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(REPO), str(REPO / "tests" / "unit")]

from rank_logs import HARMLESS, failing, healthy  # noqa: E402

from pytest_mindspeed_migration.triage import load_dictionary  # noqa: E402

RANKS = 8


def main() -> None:
    """Write the log, search it with grep, triage it in a process of its own, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=1000, help="megabytes")
    size = parser.parse_args().size * 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "big.log"
        write_log(log, size)
        size = log.stat().st_size
        pattern = "|".join(sorted({re.sub(r"([][\\.*^$+?(){}|])", r"\\\1", text) for text in literals()}))
        grep = best(["grep", "-a", "-c", "-E", pattern, str(log)])
        code = (
            "import sys, time, resource; from pathlib import Path; start = time.process_time();"
            "from pytest_mindspeed_migration.triage import read_log; found = read_log(Path(sys.argv[1]));"
            "print(found.entry, found.place.line, time.process_time() - start,"
            " resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
        )
        triage = best([sys.executable, "-c", code, str(log)])
        entry, line, _, memory = triage[1].split()
    rate = {name: size / seconds / 1e6 for name, (seconds, _) in (("grep", grep), ("triage", triage))}
    print(f"log: {size / 1e6:.0f} MB; patterns: {len(literals())} literals")
    ratio = rate["triage"] / rate["grep"]
    print(f"grep -E: {rate['grep']:.0f} MB/s; triage: {rate['triage']:.0f} MB/s; ratio {ratio:.2f}")
    print(f"triage: {entry} at line {line}; peak memory {float(memory):.0f} MB")


def literals() -> set[str]:
    """The texts of which every line that an entry can match contains one."""
    return {text for entry in load_dictionary().entries for text in entry.literals}


def write_log(path: Path, size: int) -> None:
    """A log of about `size` bytes."""
    fail = failing("RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB", failed=3).encode()
    with path.open("wb") as file:
        step, failed = 1, False
        while file.tell() < size:
            for _ in range(200):
                lines = [text for text in healthy(1, first=step)[-1:] for _ in range(RANKS)]
                lines = [
                    line.replace("[Rank 0 | Local Rank 0]", f"[Rank {rank} | Local Rank {rank}]")
                    for rank, line in enumerate(lines)
                ]
                if step % 50 == 0:
                    lines.append(HARMLESS[step // 50 % len(HARMLESS)])
                file.write(("\n".join(lines) + "\n").encode())
                step += 1
            if not failed and file.tell() > size - 40_000_000:
                file.write(fail)
                failed = True
                break
        else:
            return
        file.write(fail)


def best(command: list[str]) -> tuple[float, str]:
    """Processor seconds (user and system) of the fastest of three runs, and what it printed."""
    runs = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        printed = subprocess.run(command, capture_output=True, text=True, check=False, cwd=REPO).stdout
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        runs.append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, printed))
        time.sleep(0.1)
    return min(runs)


if __name__ == "__main__":
    main()
