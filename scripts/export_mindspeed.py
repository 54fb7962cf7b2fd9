"""Writes `contracts/external/mindspeed.json`: signatures of the MindSpeed functions that the FSDP2 stack may call.

    python scripts/export_mindspeed.py MINDSPEED_CHECKOUT contracts/external/mindspeed.json

Facts only: names and parameters. A function that stands under a condition or is defined twice is left out.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

from pytest_mindspeed_migration.facts.codec import to_json
from pytest_mindspeed_migration.scan.project import module_name, read_module

FOLDERS = ("mindspeed/fsdp",)
KEEPS_SIGNATURE = ("staticmethod", "lru_cache", "functools.lru_cache", "wraps", "functools.wraps", "contextmanager")


def main(checkout: Path, destination: Path) -> None:
    functions = {}
    for folder in FOLDERS:
        for full in sorted((checkout / folder).rglob("*.py")):
            path = full.relative_to(checkout).as_posix()
            facts = read_module(full, path)
            twice = Counter(function.qualname for function in facts.functions)
            for function in facts.functions:
                name = function.qualname
                plain = "." not in name and not name.startswith("_") and twice[name] == 1 and name not in facts.rebound
                if plain and all(decorator in KEEPS_SIGNATURE for decorator in function.decorators):
                    functions[f"{module_name(path)[0]}.{name}"] = to_json(function.signature)
    commit = subprocess.run(["git", "-C", str(checkout), "rev-parse", "HEAD"], capture_output=True, text=True)
    table = {"source": "Ascend/MindSpeed", "commit": commit.stdout.strip() or None, "functions": functions}
    destination.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
