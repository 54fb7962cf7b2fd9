"""What is kept of this package's own files is used while they are as they were, and never in the way."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from pytest_mindspeed_migration import compiled, templates
from pytest_mindspeed_migration.yaml_files import load_yaml


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "kept").mkdir()
    monkeypatch.setattr(compiled, "FOLDER", tmp_path / "kept")
    monkeypatch.setattr(templates, "FOLDER", tmp_path / "kept")
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path = tmp_path / "messages.yaml"
    path.write_text("a: {en: one}\n", encoding="utf-8")
    return path


def test_a_file_is_parsed_once_until_it_changes(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_yaml(source) == {"a": {"en": "one"}}
    with monkeypatch.context() as patch:
        patch.setattr("yaml.load", None)
        assert load_yaml(source) == {"a": {"en": "one"}}
    source.write_text("a: {en: another}\n", encoding="utf-8")
    assert load_yaml(source) == {"a": {"en": "another"}}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"of": 1}', '{"of": null, "value": 1}'])
def test_what_is_damaged_is_not_used(source: Path, text: str) -> None:
    load_yaml(source)
    (kept,) = compiled.FOLDER.iterdir()
    kept.write_text(text, encoding="utf-8")
    assert load_yaml(source) == {"a": {"en": "one"}}


def test_what_json_would_change_is_not_kept(source: Path) -> None:
    source.write_text("{1: 2}\n", encoding="utf-8")
    assert load_yaml(source) == {1: 2}
    assert not os.listdir(compiled.FOLDER)


def test_nothing_is_written_where_python_writes_no_compiled_modules(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert load_yaml(source) == {"a": {"en": "one"}}
    templates.environment.__wrapped__("suite").get_template("test_target.py.j2")
    assert not os.listdir(compiled.FOLDER)


def test_compiled_templates_are_kept_for_this_version_of_their_settings(source: Path) -> None:
    templates.environment.__wrapped__("suite").get_template("test_target.py.j2")
    (kept,) = os.listdir(compiled.FOLDER)
    assert kept.startswith(f"template-{templates.jinja2.__version__}-")
