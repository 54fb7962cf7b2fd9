"""Chinese texts as they are typeset and worded: what a machine can check of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_mindspeed_migration.resources import resource_dir
from pytest_mindspeed_migration.yaml_files import load_yaml

CJK = "[\u4e00-\u9fff]"
RULES = {
    "a half-width mark beside Chinese": rf"{CJK}[,;:!?()]|[,;:!?()]{CJK}",
    "no space between Chinese and Latin": rf"{CJK}[A-Za-z0-9]|[A-Za-z0-9]{CJK}",
    "a space beside a full-width mark": r" [，。；：（）、]|[，。；：（）、] ",
}
WORDS = {
    "切分": "分片",
    "名字": "名称",
    "未证实": "无证据（状态）或未证明",
    "重算": "重计算",
    "彩排": "预演",
    "签名加载": "加载签名",
    "特殊token": "特殊 token",
}
"""Words that other words of the product stand for."""


def _texts(node: Any, place: str, chinese: bool = False) -> Iterator[tuple[str, str]]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield from _texts(value, f"{place}.{key}", chinese or key == "zh")
    elif isinstance(node, list):
        for number, value in enumerate(node):
            yield from _texts(value, f"{place}.{number}", chinese)
    elif chinese and isinstance(node, str):
        yield place, node


def _files() -> list[Path]:
    return sorted(path for path in resource_dir("contracts").rglob("*.yaml"))


@pytest.mark.parametrize("path", _files(), ids=lambda path: path.name)
def test_chinese_texts_are_typeset_as_chinese_is(path: Path) -> None:
    wrong = [
        f"{place}: {rule}: {text}"
        for place, text in _texts(load_yaml(path), path.stem)
        for rule, pattern in RULES.items()
        if re.search(pattern, text)
    ]
    assert wrong == []


@pytest.mark.parametrize("path", _files(), ids=lambda path: path.name)
def test_one_thing_has_one_name(path: Path) -> None:
    texts = list(_texts(load_yaml(path), path.stem))
    assert [(place, word) for place, text in texts for word in WORDS if word in text] == []


@pytest.mark.parametrize("path", _files(), ids=lambda path: path.name)
def test_no_text_was_left_in_english(path: Path) -> None:
    words = re.compile(r"\b[a-z]{2,} [a-z]{2,} [a-z]{2,}\b")
    left = [
        (place, text)
        for place, text in _texts(load_yaml(path), path.stem)
        if not re.search(CJK, text) and words.search(text)
    ]
    assert left == []


def test_the_templates_of_both_languages_are_the_same_files() -> None:
    for kind in ("docs", "report"):
        folder = resource_dir("generators") / kind
        assert {path.name for path in (folder / "zh").iterdir()} == {path.name for path in (folder / "en").iterdir()}
