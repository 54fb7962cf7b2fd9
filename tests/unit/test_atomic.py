"""Files are written whole or not at all, and nothing hides why."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_mindspeed_migration.atomic import write_atomic


@pytest.mark.parametrize("renamed", [True, False])
def test_ctrl_c_while_a_file_gets_its_name_stays_ctrl_c(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, renamed: bool
) -> None:
    rename = os.replace

    def interrupted(source: str, target: Path) -> None:
        if renamed:
            rename(source, target)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomic(tmp_path / "file", "text")
    assert [path.name for path in tmp_path.iterdir()] == (["file"] if renamed else [])
