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
        ("_folders", {}),
        ("_sources", {}),
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


def _folder(folder: str, name: str) -> str:
    """Another model folder."""
    path = Path(folder).parent / name
    path.mkdir()
    (path / "tokenizer.json").write_text("{}")
    return str(path)


def _loads(folder: str, **options: Any) -> int:
    """How often a call loads something: 0 when it is answered from memory."""
    before = Loader.calls
    _tokenizer().from_pretrained(folder, **options)
    return Loader.calls - before


def _ask(folder: str, probe: str = "batch") -> dict[str, Any]:
    request = {"probe": probe, "model_path": folder}
    loaded_once.asked(request)
    return request


def test_what_a_probe_loaded_is_loaded_ahead_for_the_same_probe_of_any_folder(folder: str, tmp_path: Path) -> None:
    other, third = _folder(folder, "other"), _folder(folder, "third")
    loaded_once.leave_word(str(tmp_path / "word"))
    request = _ask(folder)
    _tokenizer().from_pretrained(folder, use_fast=True)
    _tokenizer().from_pretrained(third, use_fast=False)  # not its model folder: of use to a target with the same one
    loaded_once._loaded.clear()  # as in the interpreter that the probe was forked from
    loaded_once.load_ahead({"probe": "model", "model_path": folder})
    assert Loader.calls == 2
    assert "earlier target" not in loaded_once.load_once()
    loaded_once.load_ahead({"probe": "batch", "model_path": other})
    assert Loader.calls == 3
    assert "earlier target" in loaded_once.load_once()
    assert _loads(other, use_fast=True) == 0
    assert _loads(other, use_fast=True, padding_side="left") == 1  # another call
    loaded_once.load_ahead(request)
    assert Loader.calls == 6
    assert (_loads(folder, use_fast=True), _loads(third, use_fast=False)) == (0, 0)


def test_what_was_loaded_for_the_folders_before_the_last_two_is_forgotten(folder: str, tmp_path: Path) -> None:
    folders = [folder, _folder(folder, "second"), _folder(folder, "third")]
    loaded_once.leave_word(str(tmp_path / "word"))
    _ask(folder)
    _tokenizer().from_pretrained(folder)
    loaded_once._loaded.clear()
    for each in (folders[0], folders[1], folders[0], folders[2]):
        loaded_once.load_ahead({"probe": "batch", "model_path": each})
    assert Loader.calls == 4
    assert [_loads(each) for each in folders] == [0, 1, 0]


def test_a_small_folder_has_the_tokenizer_of_the_folder_it_was_made_from(folder: str, tmp_path: Path) -> None:
    small = _folder(folder, "small")
    link = tmp_path / "link"
    link.symlink_to(folder)
    loaded_once.made_from(small, folder)
    assert [_loads(one, use_fast=True) for one in (small, folder, str(link))] == [1, 0, 0]
    assert _loads(str(link), use_fast=False) == 1


@pytest.mark.parametrize(("name", "text"), [("tokenization_own.py", ""), ("config.json", '{"auto_map": {}}')])
def test_what_runs_code_of_the_model_folder_is_not_shared(folder: str, tmp_path: Path, name: str, text: str) -> None:
    Path(folder, name).write_text(text)
    word = tmp_path / "word"
    loaded_once.leave_word(str(word))
    _ask(folder)
    _tokenizer().from_pretrained(folder, trust_remote_code=True)
    _tokenizer().from_pretrained("of/a-hub", trust_remote_code=True)
    _tokenizer().from_pretrained(folder, kept=object())  # nor what cannot be written down
    assert not os.path.exists(word)
    _tokenizer().from_pretrained(folder, trust_remote_code=False)
    (line,) = word.read_text().splitlines()
    assert json.loads(line)["options"] == {"trust_remote_code": False}


def test_a_trusted_folder_without_code_is_shared_and_one_with_code_is_not_loaded_ahead(
    folder: str, tmp_path: Path
) -> None:
    other = _folder(folder, "other")
    loaded_once.leave_word(str(tmp_path / "word"))
    request = _ask(folder)
    _tokenizer().from_pretrained(folder, trust_remote_code=True)
    loaded_once._loaded.clear()
    loaded_once.load_ahead(request)
    assert Loader.calls == 2
    Path(other, "own.py").write_text("")
    loaded_once.load_ahead({**request, "model_path": other})
    assert Loader.calls == 2


def test_a_folder_with_a_link_to_nothing_is_loaded_and_not_shared(folder: str, tmp_path: Path) -> None:
    word = tmp_path / "word"
    Path(folder, "folder.json").mkdir()
    loaded_once.leave_word(str(word))
    request = _ask(folder)
    _tokenizer().from_pretrained(folder, trust_remote_code=True)
    assert word.exists()
    loaded_once._loaded.clear()
    Path(folder, "video.json").symlink_to("nowhere")
    word_before = word.read_text()
    assert _loads(folder, trust_remote_code=True) == 1
    loaded_once.load_ahead(request)
    assert word.read_text() == word_before
    Path(folder, "tokenizer.json").write_text("another")
    assert _loads(folder, trust_remote_code=True) == 1


def test_what_ends_a_program_does_not_end_the_interpreter_that_loads_ahead(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Panic(BaseException):
        """As extensions in Rust raise it."""

    def panics(*_: Any, **__: Any) -> None:
        raise Panic

    loaded_once.leave_word(str(tmp_path / "word"))
    request = _ask(folder)
    _tokenizer().from_pretrained(folder)
    loaded_once._loaded.clear()
    monkeypatch.setitem(loaded_once._originals, "AutoTokenizer", panics)
    loaded_once.load_ahead(request)
    with pytest.raises(Panic):
        _tokenizer().from_pretrained(folder)


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
