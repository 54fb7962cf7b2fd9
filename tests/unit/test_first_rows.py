"""Reading the first rows of data files, of any size and in any state."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import pytest_mindspeed_migration

sys.path.insert(0, str(Path(pytest_mindspeed_migration.__file__).parent / "probes" / "inside"))
from migration_probe.rows import RowsError, data_files, first_rows, media_of, open_media

ROWS = [{"text": 'a, ] " {', "images": ["x.png"]}, {"text": "b", "images": []}, {"text": "c" * 100_000, "images": []}]


@pytest.mark.parametrize("indent", [None, 2])
def test_an_array_and_lines_give_the_same_rows(tmp_path: Path, indent: int | None) -> None:
    array, lines = tmp_path / "a.json", tmp_path / "a.jsonl"
    array.write_text(json.dumps(ROWS, indent=indent), encoding="utf-8")
    lines.write_text("\n".join(json.dumps(row) for row in ROWS), encoding="utf-8")
    assert first_rows(str(array), 10) == first_rows(str(lines), 10) == ROWS
    assert first_rows(str(array), 2) == first_rows(str(lines), 2) == ROWS[:2]


def test_the_rest_of_a_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "long.json"
    with path.open("w", encoding="utf-8") as stream:
        stream.write("[" + json.dumps(ROWS[1]) + ",")
        stream.seek(3_000_000_000)  # a file with a hole: no disk, and no reader would come to its end
        stream.write("]")
    assert first_rows(str(path), 1) == [ROWS[1]]


@pytest.mark.parametrize("content", [b"", b"[]", b"  [ ]\n", b"\n\n"])
def test_a_file_without_rows_has_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "none.jsonl"
    path.write_bytes(content)
    assert first_rows(str(path), 3) == []


@pytest.mark.parametrize(
    ("content", "said"),
    [(b'[{"a": 1}, {"b": ', "after row 1"), (b"\xff\xfe\x00", "no UTF-8"), (b"hello", "after row 0")],
    ids=["cut off", "bytes", "words"],
)
def test_a_broken_file_is_named(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "broken.json"
    path.write_bytes(content)
    with pytest.raises(RowsError) as raised:
        first_rows(str(path), 5)
    assert "broken.json" in str(raised.value)
    assert said in str(raised.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(RowsError, match=r"absent\.json"):
        first_rows(str(tmp_path / "absent.json"), 1)


@pytest.mark.parametrize(
    ("section", "found"),
    [
        ({"basic_parameters": {"dataset": "a.json"}}, {"s.basic_parameters.dataset": ["a.json"]}),
        ({"dataset": ["a.json", "b.jsonl"]}, {"s.dataset": ["a.json", "b.jsonl"]}),
        ({"dataset_dir": "codes.jsonl"}, {"s.dataset_dir": ["codes.jsonl"]}),
        ({"chat_template": "t.json", "val_dataset": "v.json", "dataset": None, "n": 3}, {}),
    ],
)
def test_data_files_of_a_section(section: dict[str, Any], found: dict[str, list[str]]) -> None:
    assert data_files(section, "s") == found


def test_media_are_what_the_mapped_columns_hold_and_what_looks_like_a_file() -> None:
    row = {"pictures": ["a", "b"], "messages": [{"content": "see it.png\nnow"}], "clip": "c.mp4", "note": "hello"}
    assert list(media_of(row, ["pictures"])) == [("pictures", "a"), ("pictures", "b"), ("clip", "c.mp4")]


def test_a_media_file_that_is_not_there(tmp_path: Path) -> None:
    assert open_media("x.png", ["", str(tmp_path)])["path"] is None
