"""Whether a plugin reads the command line while it is imported is noticed, whichever way it reads it."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from pytest_mindspeed_migration.probes.inside.migration_probe.plugins import arguments_read


@pytest.mark.parametrize(
    "read",
    [
        lambda: sys.argv[0],
        lambda: sys.argv[1:],
        lambda: len(sys.argv),
        lambda: list(sys.argv),
        lambda: "--x" in sys.argv,
        lambda: sys.argv == [],
        lambda: [*sys.argv],
        lambda: sys.argv + [],  # noqa: RUF005
        lambda: reversed(sys.argv),
        lambda: str(sys.argv),
        lambda: sys.argv.copy(),
        lambda: sys.argv.count("--x"),
    ],
)
def test_every_way_of_reading_is_noticed(read: Callable[[], object]) -> None:
    before = sys.argv
    with arguments_read() as noted:
        read()
    assert noted
    assert sys.argv is before


def test_a_replaced_command_line_is_noticed_and_one_nobody_looks_at_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    with arguments_read() as noted:
        pass
    assert noted == []
    with arguments_read() as noted:
        monkeypatch.setattr(sys, "argv", ["other"])
    assert noted
