"""Which values of a config are paths that have to exist before training can start."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..facts.config import ConfigFacts

_INPUT = re.compile(
    r"(?:^|_)(?:path|dir|root|file|folder|checkpoint|ckpt|weights?)s?$|^(?:load|dataset|data_files|image_root)$"
)
_OUTPUT = re.compile(r"save|output|cache|log|dump|snapshot|profil|tmp|temp")
_PLACEHOLDER = re.compile(
    r"<[^<>]+>|\bpath/to\b|\blocal_path\b|\byour[_-]\w|\byour/|(?<![A-Za-z])x{2,}[bB]?(?![A-Za-z])|\bTODO\b|\.\.\./|\$\{\w+\}"
)
_SOURCE_SUFFIX = re.compile(r"\.(?:jsonl?|parquet|list|txt|csv|tsv|safetensors|pt|pth|bin|yaml|tar)$")


def asset_values(config: ConfigFacts) -> Iterator[tuple[str, str]]:
    """YAML path and value of each input path of a config; outputs (`save`, caches, logs) are not among them."""
    if config.data is not None:
        yield from _walk(config.data, "", "")


def _walk(node: Any, path: str, key: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, dict):
        for name, value in node.items():
            below = f"{path}.{name}" if path else str(name)
            if not _OUTPUT.search(str(name).lower()) and below != "tools":
                yield from _walk(value, below, str(name))
    elif isinstance(node, list):
        for number, value in enumerate(node):
            yield from _walk(value, f"{path}[{number}]", key)
    elif isinstance(node, str) and _INPUT.search(key.lower()) and looks_like_path(node):
        yield path, node


def looks_like_path(value: str) -> bool:
    """Whether the text is a file or folder, rather than a name that a registry or a hub knows."""
    return "/" in value or _SOURCE_SUFFIX.search(value) is not None


def is_rooted(value: str) -> bool:
    """Whether a path says where it counts from; `org/name` may be a hub id, and `latents` a folder of the data set."""
    return value.startswith(("/", "./", "../", "~"))


def placeholder(value: str) -> str | None:
    """The part of a path that is there to be replaced (`<local_path>`, `/path/to`, `xxB`), None when there is none."""
    match = _PLACEHOLDER.search(value)
    return match[0] if match else None
