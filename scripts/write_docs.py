"""Writes `docs/contracts/` from the catalogue and the error dictionary:

    python scripts/write_docs.py

A test fails when the pages are not what this would write.
"""

from __future__ import annotations

from pathlib import Path

from pytest_mindspeed_migration.catalogue import load_catalogue
from pytest_mindspeed_migration.report.contract_docs import pages

FOLDER = Path(__file__).parents[1] / "docs" / "contracts"


def main() -> None:
    """Write the pages, and remove those of contracts that are gone."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    written = pages(load_catalogue())
    for path in FOLDER.glob("*.md"):
        if path.name not in written:
            path.unlink()
    for name, content in written.items():
        (FOLDER / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
