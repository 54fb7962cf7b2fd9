"""What the report says of lines that no probe has run."""

from __future__ import annotations

from pytest_mindspeed_migration.report.coverage import merged, rows


def test_a_line_is_run_when_one_probe_ran_it_and_ranges_skip_what_is_no_statement() -> None:
    plugins = {"a.py": {"run": [1, 2], "statements": [1, 2, 5, 6, 9, 12]}, "b.py": {"run": [], "statements": [3]}}
    batch = {"a.py": {"run": [1, 9, 10], "statements": []}}
    found = rows(merged([plugins, batch]))
    assert found == [
        {"file": "a.py", "statements": 6, "run": 3, "share": "50%", "missing": "5-6, 12"},
        {"file": "b.py", "statements": 1, "run": 0, "share": "0%", "missing": "3"},
    ]


def test_a_file_whose_statements_nobody_counted_is_not_shown() -> None:
    assert rows(merged([{"a.py": {"run": [1], "statements": []}}])) == []
