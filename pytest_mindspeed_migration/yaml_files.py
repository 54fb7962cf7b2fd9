"""Reads this package's own YAML files, with libyaml where it is there (ten times as fast)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_yaml(path: Path) -> Any:
    """Return the value of a YAML file that ships with this package."""
    return yaml.load(path.read_bytes(), Loader=_Loader)
