"""What a finding keeps of an exception's message."""

from __future__ import annotations

from pytest_mindspeed_migration.checks.cpu.steps import first_line


def test_the_end_counts_where_the_message_begins_with_a_module() -> None:
    text = "DecoderLayer(\n  (mlp): Linear()\n) got multiple values for keyword argument 'a'"
    assert first_line(text) == "DecoderLayer(... ) got multiple values for keyword argument 'a'"


def test_else_the_first_line_that_says_something() -> None:
    assert first_line("\n 2 errors\nmore") == "2 errors"
    assert first_line("") == ""
