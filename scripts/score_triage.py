"""Score triage against a file of bug reports: each example line, in a log of several ranks with look-alikes.

    python scripts/score_triage.py --bench ../shared/bench/bug_reports.yaml

Prints a line for each report: whether owner and cause are right. The exit status is 1 when one is wrong.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import yaml

REPO = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(REPO), str(REPO / "tests" / "unit")]

from rank_logs import failing, healthy, raised  # noqa: E402

from pytest_mindspeed_migration.triage import load_dictionary, read_text  # noqa: E402

EXPECTED = REPO / "tests" / "data" / "triage" / "bench_entries.yaml"


def main() -> int:
    """Score; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", type=Path, required=True)
    reports = yaml.safe_load(parser.parse_args().bench.read_text(encoding="utf-8"))
    expected = yaml.safe_load(EXPECTED.read_text(encoding="utf-8"))
    lines = {report["id"]: [report["example_line"], *report.get("more_examples", [])] for report in reports}
    right = {"owner": 0, "cause": 0}
    total = 0
    for report in reports:
        for line in lines[report["id"]]:
            total += 1
            entry, owner, status = triage(
                line, [lines[other][0] for other in report["ambiguous_with"] if other in lines]
            )
            owner_right = owner == report["owner"]
            cause_right = entry == expected.get(report["id"])
            right["owner"] += owner_right
            right["cause"] += cause_right
            marks = f"owner {'right' if owner_right else 'WRONG'}  cause {'right' if cause_right else 'WRONG'}"
            print(f"{report['id']:<9} {marks}  {owner}: {entry} ({status})")
    print(f"{total} lines: owner right {right['owner']}, cause right {right['cause']}")
    return 0 if right["owner"] == right["cause"] == total else 1


def triage(line: str, look_alikes: list[str]) -> tuple[str | None, str | None, str | None]:
    """Entry, owner and status for a line; look-alikes come before it as exceptions that the run survived."""
    known = load_dictionary()
    alone = read_text(line + "\n", known)
    tracebacks = [raised(other) for other in look_alikes]
    survived = [
        f"[rank1]: {text}".replace("in <module>", "in probe")
        for lines in tracebacks
        if len(lines) > 1
        for text in lines
    ]
    if alone is not None and alone.status == "consequence":  # others that follow from a failure would outweigh it
        log = "\n".join([*survived, *healthy(), *(f"[rank2]: {text}" for text in raised(line))])
    else:
        log = "\n".join([*survived, failing(line)])
    found = read_text(log + "\n", known)
    return (None, None, None) if found is None else (found.entry, found.owner, found.status)


if __name__ == "__main__":
    sys.exit(main())
