"""Score the static checks on known defects of real MindSpeed-MM revisions, and print a table.

    python scripts/score_defects.py live    --bench DIR --repo CHECKOUT
    python scripts/score_defects.py history --bench DIR --mirror GIT_DIR [--only H05,H11]

`live` judges one checkout (the head of `live.yaml`) and looks for each entry at the place it names. `history` extracts
the parent and the fix of every entry of `historical.yaml` from a git mirror: a defect counts when something is said at
the parent, where the entry points, that is no longer said at the fix. Nothing of the fetched code is kept.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import yaml
from mirror import extract

from pytest_mindspeed_migration.scan.static import scan
from pytest_mindspeed_migration.survey import Said, survey


def key_of(said: Said) -> tuple[str, ...]:
    """Identity of a finding without line numbers, which shift between revisions."""
    f = said.finding
    args = str(sorted((k, str(v).split(":")[0]) for k, v in f.args.items()))
    return (said.contract, f.severity, f.message, f.path or "", f.yaml_path or "", f.value or "", args)


def region(entry: dict[str, Any]) -> tuple[int, int] | None:
    """First and last line an entry points at."""
    line = entry.get("line")
    if line is None:
        return None
    return (line, line) if isinstance(line, int) else (min(line), max(line))


def at(said: Said, path: str, lines: tuple[int, int] | None) -> bool:
    """Whether a finding is at a place."""
    f = said.finding
    if f.path != path:
        return False
    return lines is None or f.line is None or lines[0] <= f.line <= lines[1]


def score_live(bench: Path, repo: Path) -> int:
    """Print, for each static entry of `live.yaml`, what was said at its place; then the traps."""
    data = yaml.safe_load((bench / "live.yaml").read_text(encoding="utf-8"))
    everything = survey(scan(repo))
    hits = total = 0
    for entry in data["findings"]:
        here = [s for s in everything if at(s, entry["path"], region(entry))]
        if entry["status"] == "defect" and entry["severity"] != "info":
            here = [s for s in here if s.finding.fails]
        named = [s for s in here if s.contract in entry["contracts"]]
        chosen = named or here
        if entry["tier"] == "static":
            total += 1
            hits += bool(chosen)
        mark = "found " if chosen else "MISSED"
        what = f"{chosen[0].contract} {chosen[0].finding.message} {chosen[0].finding.where}" if chosen else ""
        print(f"{mark} {entry['tier']:10} {entry['id']:28} {what}")
    print(f"live: {hits} of {total} static entries found")
    for trap in data["false_positive_traps"]:
        caught = [s for s in everything if s.finding.fails and at(s, trap["path"], region(trap))]
        for item in caught:
            print(f"at trap {trap['id']}: {item.target} {item.contract} {item.finding.message} {item.finding.where}")
    return 0 if hits >= 0.95 * total else 1


def at_revision(arguments: tuple[str, str]) -> list[Said]:
    """Findings at one revision of a mirror."""
    mirror, revision = arguments
    with tempfile.TemporaryDirectory(prefix="score-") as folder:
        extract(Path(mirror), revision, Path(folder))
        return survey(scan(Path(folder)))


def places(entry: dict[str, Any]) -> Iterator[str]:
    """Path prefixes an entry points at, braces and abbreviated siblings expanded to their common start."""
    for item in entry["target"]:
        if "/" in item:
            yield item.split("{")[0].removesuffix(".py").removesuffix(".yaml")
    for item in entry.get("evidence_checks", []):
        yield item["path"]


def score_history(bench: Path, mirror: Path, only: set[str], jobs: int) -> int:
    """Print, for each static entry, what was said at the parent and not at the fix; then the negative controls."""
    data = yaml.safe_load((bench / "historical.yaml").read_text(encoding="utf-8"))
    entries = [e for e in data["entries"] if not only or e["id"] in only]
    controls = [] if only else data["negative_controls"]["commits"]
    revisions = [r for item in [*entries, *controls] for r in (item["parent_sha"], item["fix_sha"])]
    unique = list(dict.fromkeys(revisions))
    with ProcessPoolExecutor(jobs) as pool:
        results = dict(zip(unique, pool.map(at_revision, [(str(mirror), r) for r in unique]), strict=True))
    hits = total = 0
    for entry in entries:
        parent, fix = results[entry["parent_sha"]], results[entry["fix_sha"]]
        gone_keys = {key_of(s) for s in fix}
        gone = [
            s
            for s in parent
            if key_of(s) not in gone_keys and any((s.finding.path or "").startswith(p) for p in places(entry))
        ]
        gone.sort(key=lambda s: (s.contract not in entry["contracts"], not s.finding.fails))
        if entry["tier"] == "static":
            total += 1
            hits += bool(gone)
        mark = "flagged, clear" if gone else "MISSED        "
        what = (
            f"{gone[0].contract} {gone[0].finding.severity} {gone[0].finding.message} {gone[0].finding.where}"
            if gone
            else ""
        )
        print(f"{mark} {entry['tier']:11} {entry['grade']} {entry['id']} {what}")
    print(f"history: {hits} of {total} static entries flagged at the parent and clear at the fix")
    for control in controls:
        parent, fix = results[control["parent_sha"]], results[control["fix_sha"]]
        before, after = ({key_of(s): s for s in said if s.finding.fails} for said in (parent, fix))
        for sign, one, other in (("-", before, after), ("+", after, before)):
            for key in sorted(set(one) - set(other)):
                place = f"{one[key].target} {one[key].finding.where} {key[4]}"
                print(f"control {control['fix_sha'][:8]} {sign} {key[0]} {key[2]} {place}")
    return 0 if hits >= 0.95 * total else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=["live", "history"])
    parser.add_argument("--bench", type=Path, required=True, help="folder with live.yaml and historical.yaml")
    parser.add_argument("--repo", type=Path, help="checkout to judge (live)")
    parser.add_argument("--mirror", type=Path, help="git directory of the target (history)")
    parser.add_argument("--only", default="", help="ids of historical entries, comma separated")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if options.mode == "live":
        if options.repo is None:
            parser.error("live needs --repo")
        return score_live(options.bench, options.repo)
    if options.mirror is None:
        parser.error("history needs --mirror")
    return score_history(options.bench, options.mirror, {i for i in options.only.split(",") if i}, options.jobs)


if __name__ == "__main__":
    sys.exit(main())
