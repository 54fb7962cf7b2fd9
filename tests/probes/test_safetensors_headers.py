"""Headers of safetensors files, whole and broken: no library reads them here, and no weight is touched."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_mindspeed_migration.probes.warm import RUNNER

sys.path.insert(0, str(RUNNER.parent))

from migration_probe.model.headers import INDEX, SINGLE, BrokenFileError, read_folder, read_header


def _write(path: Path, tensors: dict[str, list[int]], cut: int = 0) -> None:
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, shape in tensors.items():
        size = 4
        for length in shape:
            size *= length
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    data = len(text).to_bytes(8, "little") + text + bytes(end)
    path.write_bytes(data[: len(data) - cut])


def _index(folder: Path, listed: dict[str, str]) -> None:
    (folder / INDEX).write_text(json.dumps({"weight_map": listed}))


def test_names_and_shapes_of_one_file(tmp_path: Path) -> None:
    _write(tmp_path / SINGLE, {"a.weight": [2, 3], "b": [], "empty": [0, 4]})
    held = read_folder(str(tmp_path))
    assert held == {
        "files": [SINGLE],
        "tensors": {"a.weight": [2, 3], "b": [], "empty": [0, 4]},
        "problems": [],
    }


def test_a_folder_without_weights_has_no_problem(tmp_path: Path) -> None:
    assert read_folder(str(tmp_path)) == {"files": [], "tensors": {}, "problems": []}


def test_shards_are_those_of_the_index(tmp_path: Path) -> None:
    _write(tmp_path / "m-1.safetensors", {"a": [1]})
    _write(tmp_path / "m-2.safetensors", {"b": [2]})
    _index(tmp_path, {"a": "m-1.safetensors", "b": "m-2.safetensors"})
    held = read_folder(str(tmp_path))
    assert (held["tensors"], held["problems"]) == ({"a": [1], "b": [2]}, [])


def test_a_shard_that_is_missing_or_lacks_a_tensor_is_named(tmp_path: Path) -> None:
    _write(tmp_path / "m-1.safetensors", {"a": [1]})
    _index(tmp_path, {"a": "m-1.safetensors", "c": "m-1.safetensors", "b": "m-2.safetensors"})
    held = read_folder(str(tmp_path))
    assert held["tensors"] == {"a": [1]}
    assert held["problems"] == [
        {"file": "m-1.safetensors", "problem": "lacks", "detail": "c (1)"},
        {"file": "m-2.safetensors", "problem": "missing", "detail": ""},
    ]


@pytest.mark.parametrize("text", ["{", "[]", '{"weight_map": 3}', "{}"])
def test_an_index_that_cannot_be_read_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / INDEX).write_text(text)
    held = read_folder(str(tmp_path))
    assert [(item["file"], item["problem"]) for item in held["problems"]] == [(INDEX, "index")]
    assert not held["tensors"]


@pytest.mark.parametrize("cut", [1, 23])
def test_a_file_whose_weights_are_cut_off(tmp_path: Path, cut: int) -> None:
    _write(tmp_path / SINGLE, {"a": [2, 3]}, cut)
    with pytest.raises(BrokenFileError) as broken:
        read_header(str(tmp_path / SINGLE), SINGLE)
    assert broken.value.problem == "truncated"


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "truncated"),
        (b"\x10\0\0", "truncated"),
        ((500).to_bytes(8, "little") + b"{}", "truncated"),
        ((0).to_bytes(8, "little"), "header"),
        (b"version https://git-lfs.github.com/spec/v1\n", "header"),
        ((4).to_bytes(8, "little") + b"nope", "header"),
        ((2).to_bytes(8, "little") + b"[]", "header"),
        ((11).to_bytes(8, "little") + b'{"a": null}', "header"),
        ((14).to_bytes(8, "little") + b'{"a": {"b": 1}', "header"),
    ],
)
def test_what_is_no_safetensors_file(tmp_path: Path, data: bytes, problem: str) -> None:
    (tmp_path / SINGLE).write_bytes(data)
    held = read_folder(str(tmp_path))
    assert [item["problem"] for item in held["problems"]] == [problem]
