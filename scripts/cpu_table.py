"""The outcomes of many runs as one table: contracts down, targets across, and below it what failed.

    python scripts/cpu_table.py RUN/migration-report/*/evidence.json ... > table.md

The files may come from runs with different interpreters. Contracts of level static alone are left out unless --all is
given. A cell says `(static)` where static facts decided, and `+2n` where there are two notes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pytest_mindspeed_migration.catalogue import load_catalogue

SHOWN = {"passed": "pass", "failed": "**FAIL**", "blocked": "blocked", "not_run": "not run", "unproven": "**?**"}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs="+", help="evidence.json of each target")
    parser.add_argument("--all", action="store_true", help="also contracts of level static")
    options = parser.parse_args()
    documents = [json.loads(file.read_text(encoding="utf-8")) for file in options.files]
    by_target = {document["target"]["name"]: _contracts(document) for document in documents}
    ids = [one.id for one in load_catalogue().contracts if options.all or "cpu" in one.levels]
    print(f"| contract | {' | '.join(by_target)} |")
    print(f"|---|{'---|' * len(by_target)}")
    for one in ids:
        print(f"| {one} | {' | '.join(_cell(contracts.get(one)) for contracts in by_target.values())} |")
    counts = [Counter(contracts[one]["status"] for one in ids if one in contracts) for contracts in by_target.values()]
    print(f"| failed | {' | '.join(str(count['failed']) for count in counts)} |")
    for name, contracts in by_target.items():
        _details(name, [contracts[one] for one in ids if one in contracts])


def _contracts(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {contract["id"]: contract for contract in document["contracts"]}


def _cell(contract: dict[str, Any] | None) -> str:
    if contract is None:
        return "-"
    notes = sum(finding["severity"] == "note" for finding in contract["findings"])
    static = "" if contract["level"] != "static" else " (static)"
    return f"{SHOWN[contract['status']]}{static}{f' +{notes}n' if notes else ''}"


def _details(target: str, contracts: list[dict[str, Any]]) -> None:
    print(f"\n## {target}\n")
    for contract in contracts:
        if contract["status"] in ("blocked", "not_run", "unproven"):
            print(f"- {contract['status']}: {contract['id']}: {contract.get('reason')}")
        for finding in contract["findings"]:
            place = ":".join(str(part) for part in (finding.get("path"), finding.get("line")) if part is not None)
            where = " ".join(part for part in (place, finding.get("yaml_path")) if part)
            print(f"- {finding['severity']}: {contract['id']}: {where}: {finding['message']}")


if __name__ == "__main__":
    main()
