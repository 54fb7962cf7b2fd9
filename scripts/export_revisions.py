"""Export the facts of real MindSpeed-MM revisions, and what is found in them, into `tests/data/`.

    python scripts/export_revisions.py --mirror GIT_DIR [--revisions master,26.1.0]

The tests replay the facts and compare with the findings, and for master with the owner and the fix of each. After a
change that is meant to find more, or less, run this again and read the difference of the findings.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from mirror import commit, extract

from pytest_mindspeed_migration.facts import store
from pytest_mindspeed_migration.scan.static import scan
from pytest_mindspeed_migration.survey import survey

DATA = Path(__file__).resolve().parents[1] / "tests" / "data"
REVISIONS = "master,26.1.0,26.0.0,fsdp2_dev"
REMEDIES = "master"
"""The revision whose owners and fixes were read against its code."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirror", type=Path, required=True)
    parser.add_argument("--revisions", default=REVISIONS)
    options = parser.parse_args()
    for revision in options.revisions.split(","):
        with tempfile.TemporaryDirectory(prefix="export-") as folder:
            extract(options.mirror, revision, Path(folder))
            facts = scan(Path(folder))
        facts.repo.commit, facts.repo.dirty = commit(options.mirror, revision), False
        store.save(facts, DATA / "facts" / f"{revision}.json")
        lines = [said.line for said in survey(facts)]
        (DATA / "findings").mkdir(parents=True, exist_ok=True)
        text = json.dumps(lines, indent=1, ensure_ascii=False) + "\n"
        (DATA / "findings" / f"{revision}.json").write_text(text, encoding="utf-8")
        if revision == REMEDIES:
            remedies = [said.remedy for said in survey(facts) if said.finding.fails]
            text = json.dumps(remedies, indent=1, ensure_ascii=False) + "\n"
            (DATA / "remedies.json").write_text(text, encoding="utf-8")
        print(f"{revision}: {len(facts.modules)} modules, {len(facts.targets)} targets, {len(lines)} findings")


if __name__ == "__main__":
    main()
