"""Tokenizers and processors from memory: for the same call on the same folder, and for nothing else."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pytest_mindspeed_migration.probes.inside.migration_probe import loaded_once

FOLDER = "model"


class Loader:
    """Stands for AutoTokenizer; `calls` counts what was loaded."""

    calls: int = 0

    @classmethod
    def from_pretrained(cls, folder: str, **options: Any) -> object:
        Loader.calls += 1
        if options.get("trust_remote_code") == "runs code":
            sys.modules[f"transformers_modules.{Loader.calls}"] = ModuleType("remote")
        return object()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    transformers = ModuleType("transformers")
    for name in ("AutoTokenizer", "AutoProcessor"):
        setattr(transformers, name, type(name, (Loader,), {}))
    monkeypatch.setitem(sys.modules, "transformers", transformers)
    for name, value in (
        ("_loaded", {}),
        ("_originals", {}),
        ("_ahead", []),
        ("_place", None),
        ("_asked", [None, None]),
    ):
        monkeypatch.setattr(loaded_once, name, value)
    monkeypatch.setattr(Loader, "calls", 0)
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "tokenizer.json").write_text("{}")
    loaded_once.load_once()
    return str(tmp_path / FOLDER)


def _tokenizer() -> Any:
    return sys.modules["transformers"].AutoTokenizer  # type: ignore[attr-defined]


def test_the_same_call_is_answered_from_memory_until_the_folder_changes(folder: str) -> None:
    first = _tokenizer().from_pretrained(folder, use_fast=True)
    assert _tokenizer().from_pretrained(folder, use_fast=True) is first
    assert _tokenizer().from_pretrained(folder, use_fast=False) is not first
    assert Loader.calls == 2
    Path(folder, "tokenizer.json").write_text("{broken")
    assert _tokenizer().from_pretrained(folder, use_fast=True) is not first


def test_what_a_probe_loaded_is_loaded_ahead_for_the_same_probe_of_the_same_folder(folder: str, tmp_path: Path) -> None:
    loaded_once.leave_word(str(tmp_path / "word"))
    request = {"probe": "batch", "model_path": folder}
    loaded_once.asked(request)
    _tokenizer().from_pretrained(folder, use_fast=True)
    loaded_once._loaded.clear()  # as in the interpreter that the probe was forked from
    loaded_once.load_ahead({"probe": "model", "model_path": folder})
    loaded_once.load_ahead({"probe": "batch", "model_path": f"{folder}2"})
    assert Loader.calls == 1
    assert "earlier target" not in loaded_once.load_once()
    loaded_once.load_ahead(request)
    assert Loader.calls == 2
    _tokenizer().from_pretrained(folder, use_fast=True)
    assert Loader.calls == 2
    assert "earlier target" in loaded_once.load_once()


def test_what_runs_code_of_the_model_folder_is_not_shared(folder: str, tmp_path: Path) -> None:
    word = tmp_path / "word"
    loaded_once.leave_word(str(word))
    _tokenizer().from_pretrained(folder, trust_remote_code="runs code")
    _tokenizer().from_pretrained(folder, kept=object())  # nor what cannot be written down
    assert not os.path.exists(word)
    _tokenizer().from_pretrained(folder, trust_remote_code=True)  # its code may have been imported before
    assert not os.path.exists(word)
    _tokenizer().from_pretrained(folder, trust_remote_code=False)
    (line,) = word.read_text().splitlines()
    assert json.loads(line)["options"] == {"trust_remote_code": False}


def test_a_folder_that_changes_while_it_is_loaded_is_loaded_all_the_same(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    word = tmp_path / "word"
    loaded_once.leave_word(str(word))
    load = Loader.from_pretrained.__func__  # type: ignore[attr-defined]

    def with_cache(cls: type, *arguments: Any, **options: Any) -> Any:
        (tmp_path / FOLDER / "vocab.cache").write_text("made by the loader")
        return load(cls, *arguments, **options)

    monkeypatch.setitem(loaded_once._originals, "AutoTokenizer", lambda *a, **o: with_cache(Loader, *a, **o))
    assert _tokenizer().from_pretrained(folder) is not None
    assert not os.path.exists(word)  # the next target's folder is another one
