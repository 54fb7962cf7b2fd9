"""Which columns a mistake in the data takes away."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest_mindspeed_migration

INSIDE = Path(pytest_mindspeed_migration.__file__).parent / "probes" / "inside"
sys.path.insert(0, str(INSIDE))
from migration_probe.probes.data_errors import main_columns  # noqa: E402

ROWS = [{"text": "a", "codes": [1], "note": 1}, {"text": "b", "codes": [2]}]


def test_the_mapping_names_the_column_of_text() -> None:
    assert main_columns([{"conversations": [], "image": "a.png"}], {"messages": "conversations"}) == ["conversations"]


def test_without_a_mapping_any_column_may_be_optional_so_all_are_taken_away() -> None:
    assert main_columns(ROWS, {}) == ["text", "codes"]


def test_rows_that_are_no_mappings_have_no_columns() -> None:
    assert main_columns([["a"], {"text": "b"}], {}) == []
