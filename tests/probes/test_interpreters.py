"""Interpreters that cannot be used, and places where one cannot be started: a sentence each, and no traceback."""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from fake_framework import FakeRepo

from pytest_mindspeed_migration.probes.settings import _torch_problem
from pytest_mindspeed_migration.probes.warm import Interpreter, InterpreterError, WarmInterpreter, last_words

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="level cpu needs fork")

INTERPRETER = Interpreter(sys.executable, dict(os.environ), {}, {"repo": "/", "modules": []})


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("exit 9", "torch is not installed there"),
        ("exit 8", "it is older than Python 3.9"),
        ("exit 3", "exit code 3"),
        ("echo 'SyntaxError: bad' >&2; exit 1", "SyntaxError: bad"),
        ("exit 0", None),
    ],
)
def test_why_an_interpreter_cannot_run_probes_is_said(tmp_path: Path, script: str, problem: str | None) -> None:
    python = tmp_path / "a python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    assert _torch_problem(replace(INTERPRETER, python=str(python)), False, "en") == problem


def test_a_folder_or_a_file_that_is_no_program_is_named(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no program")
    for path in (tmp_path, tmp_path / "text", tmp_path / "absent"):
        assert str(path) in (_torch_problem(replace(INTERPRETER, python=str(path)), False, "en") or "")


@pytest.mark.parametrize("environment", [{"A": "x\0y"}, {"A=B": "x"}], ids=repr)
def test_an_environment_that_no_process_can_have_is_a_problem_of_the_interpreter(environment: dict[str, str]) -> None:
    interpreter = replace(INTERPRETER, python="/usr/bin/env", environment=environment)
    assert _torch_problem(interpreter, False, "en") in ("embedded null byte", "illegal environment variable name")
    warm = WarmInterpreter(interpreter)
    with pytest.raises(InterpreterError, match=r"null byte|illegal environment"):
        warm.start()
    warm.stop()
    assert not warm.folder.exists()


def test_a_long_folder_for_temporary_files_is_no_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = tmp_path / ("l" * 120)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    repo = FakeRepo(tmp_path / "repo")
    with repo.interpreter() as runner:
        assert runner.run().outcome == "done"
        address = Path(runner.warm.address)
    assert list(long.iterdir()) == []
    assert not address.parent.exists()


def test_last_words_are_the_last_line_and_the_place_of_a_traceback() -> None:
    said = 'Traceback (most recent call last):\n  File "/a.py", line 1, in <module>\n    import json\n' + (
        '  File "/shadow/json.py", line 7, in <module>\n    raise RuntimeError("mine")\nRuntimeError: mine\n\n'
    )
    assert last_words(said) == "RuntimeError: mine (/shadow/json.py:7)"
    assert last_words("hello\nbye\n") == "bye"
    assert last_words(" \n") == ""
