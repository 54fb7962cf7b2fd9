"""The same checkout gives the same facts in every run, whatever order sets come in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest_mindspeed_migration

DEMO = Path(pytest_mindspeed_migration.__file__).parent / "demo" / "repo"
EXPORT = """
import sys
from pathlib import Path
from pytest_mindspeed_migration.scan.static import scan
print(scan(Path(sys.argv[1])).flow)
"""


def test_flow_facts_do_not_depend_on_the_order_of_sets() -> None:
    printed = set[str]()
    for seed in ("0", "1", "2"):
        command = [sys.executable, "-c", EXPORT, str(DEMO)]
        done = subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True)
        assert "reads=[KeyRead(" in done.stdout, done.stderr
        printed.add(done.stdout)
    assert len(printed) == 1
