from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from pytest_mindspeed_migration.errors import UsageProblem
from pytest_mindspeed_migration.scan import names
from pytest_mindspeed_migration.scan.cache import ScanCache
from pytest_mindspeed_migration.scan.project import Project

FILE = "mindspeed_mm/fsdp/x.py"


def read(repo: Path, source: bytes, cache: Path | None = None) -> list[tuple[str, int, str]]:
    """(name, line, detail) of what the scan finds undefined in one file."""
    path = repo / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(source)
    project = Project(repo, cache=ScanCache(cache))
    project.read([FILE])
    project.finish()
    project.cache.save()
    return [(item.name, item.line, item.detail) for item in project.modules[FILE].unbound]


def test_undefined_names_are_part_of_the_facts_of_a_file(tmp_path: Path) -> None:
    assert read(tmp_path, b"def f():\n    return gone\n") == [("gone", 2, "")]


def test_a_local_used_before_its_assignment_counts_unless_a_loop_may_have_set_it(tmp_path: Path) -> None:
    before = b"x = 1\ndef f():\n    print(x)\n    x = 2\n"
    source = before + b"def g(xs):\n    for i in xs:\n        if i:\n            print(x)\n        x = i\n"
    assert read(tmp_path, source) == [("x", 3, "")]


def test_a_file_in_another_encoding_is_marked_and_not_passed_over(tmp_path: Path) -> None:
    assert read(tmp_path, b"# -*- coding: latin-1 -*-\nx = '\xe9'\nprint(gone)\n") == [("", 1, names.UNREADABLE_DETAIL)]


def test_a_cached_file_is_not_asked_about_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache.json"
    first = read(tmp_path, b"print(gone)\n", cache)
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("ruff was started again"))
    project = Project(tmp_path, cache=ScanCache(cache))
    project.read([FILE])
    assert [(item.name, item.line, item.detail) for item in project.modules[FILE].unbound] == first == [("gone", 1, "")]


@pytest.mark.parametrize("script", ["echo '[]'; exit 2", "echo '[]'; kill -9 $$", "echo 5", "true"])
def test_a_ruff_that_fails_is_not_one_that_finds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    wrapper = tmp_path / "ruff"
    wrapper.write_text(f"#!/bin/sh\n{script}\n")
    wrapper.chmod(0o755)
    monkeypatch.setattr(names, "_binary", lambda: str(wrapper))
    with pytest.raises(UsageProblem, match="ruff"):
        read(tmp_path, b"print(gone)\n")


def test_the_end_does_not_wait_for_what_ruff_has_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrapper = tmp_path / "ruff"
    wrapper.write_text("#!/bin/sh\nsleep 30 &\nwait\n")
    wrapper.chmod(0o755)
    monkeypatch.setattr(names, "_binary", lambda: str(wrapper))
    asked, begun = names.UndefinedNames(tmp_path, ["x.py"]), time.monotonic()
    time.sleep(0.3)
    asked.close()
    assert time.monotonic() - begun < 10


def test_a_file_that_changed_without_its_size_and_time_is_read_again(tmp_path: Path) -> None:
    cache = tmp_path / "cache.json"
    read(tmp_path, b"print(gone)\n", cache)
    before = (tmp_path / FILE).stat()
    (tmp_path / FILE).write_bytes(b"print(lost)\n")
    os.utime(tmp_path / FILE, ns=(before.st_atime_ns, before.st_mtime_ns))
    project = Project(tmp_path, cache=ScanCache(cache))
    project.read([FILE])
    assert [item.name for item in project.modules[FILE].unbound] == ["lost"]


def test_without_ruff_the_scan_ends_with_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> str:
        raise FileNotFoundError

    monkeypatch.setattr("ruff.__main__.find_ruff_bin", missing)
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(UsageProblem, match="pip install ruff"):
        read(tmp_path, b"x = 1\n")


def test_a_ruff_that_does_not_answer_is_not_taken_for_a_clean_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(names, "_binary", lambda: "true")
    with pytest.raises(UsageProblem, match="ruff did not answer"):
        read(tmp_path, b"x = 1\n")


def test_names_of_the_same_function_that_may_be_meant_are_kept(tmp_path: Path) -> None:
    """`causal` where the function has `_causal`, `args` where it has `data_args`: names that were renamed by half."""
    source = (
        "def f(self, **kwargs):\n    _causal = True\n    g(causal=causal)\n"
        "def h(data_args, process_args, **kwargs):\n    return args.path\n"
        "def g(value):\n    return vaule, other\n"
    )
    read(tmp_path, source.encode())
    project = Project(tmp_path)
    project.read([FILE])
    project.finish()
    assert {item.name: item.beside for item in project.modules[FILE].unbound} == {
        "causal": ["_causal"],
        "args": ["data_args", "process_args"],
        "vaule": ["value"],
        "other": [],
    }


@pytest.mark.parametrize("line", ["[" * 100_000, '"x.py"', "\x1c", '["x.py"]\t[1, 2]\t{}', "{}\t[1, 2]\t{}"])
def test_a_cache_with_a_line_nobody_wrote_is_as_good_as_none(tmp_path: Path, line: str) -> None:
    cache = tmp_path / "cache.json"
    first = read(tmp_path, b"print(gone)\n", cache)
    kept = cache.read_text()
    cache.write_text(f"{kept}{line}\t[1, 2]\t{{}}\n")
    assert read(tmp_path, b"print(gone)\n", cache) == first


def test_a_cache_folder_that_has_become_a_file_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    assert read(tmp_path, b"print(gone)\n", tmp_path / "cache" / "facts.json") == [("gone", 1, "")]
