"""The first rows of a data file, however large it is, and the files they name."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any

_PART = 1 << 16  # characters read at a time
_LONGEST_ROW = 1 << 25  # characters; a longer row is no row of a data set
_DATA_FILE = re.compile(r"\.(jsonl?|ndjson)$")
_MEDIA = re.compile(r"\.(jpe?g|png|bmp|webp|gif|tiff?|wav|flac|mp3|m4a|ogg|opus|mp4|avi|mov|mkv|webm)$", re.IGNORECASE)
_AUDIO = re.compile(r"\.(wav|flac|mp3|m4a|ogg|opus)$", re.IGNORECASE)
_VIDEO = re.compile(r"\.(mp4|avi|mov|mkv|webm)$", re.IGNORECASE)


class RowsError(Exception):
    """A data file is not what it should be; the message names it."""


def first_rows(path: str, count: int) -> list[Any]:
    """The first rows of a JSON array or of JSON lines; the rest of the file is not read.

    Raises:
        RowsError: the file is missing, no text, or no JSON.
    """
    try:
        with open(path, encoding="utf-8") as stream:
            rows = []
            for row in _rows(stream, path):
                rows.append(row)
                if len(rows) == count:
                    break
            return rows
    except OSError as error:
        raise RowsError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise RowsError(f"{path} is no UTF-8 text: {error.reason} at byte {error.start}") from error


def _rows(stream: Any, path: str) -> Iterator[Any]:
    decoder = json.JSONDecoder()
    text = stream.read(_PART).lstrip("\ufeff \t\r\n")
    array = text.startswith("[")
    text = text[1:] if array else text
    number = 0
    while True:
        text = text.lstrip(" \t\r\n,")
        if array and text.startswith("]"):
            return
        try:
            if not text:
                raise ValueError("the file ends")
            row, end = decoder.raw_decode(text)
        except ValueError as error:
            more = stream.read(_PART)
            if not more or len(text) > _LONGEST_ROW:
                if not text.strip() and not array:
                    return
                raise RowsError(f"{path} is no JSON after row {number}: {error}") from error
            text += more
            continue
        yield row
        number += 1
        text = text[end:]


def is_array(path: str) -> bool:
    """Whether a data file is one JSON array rather than JSON lines."""
    with open(path, encoding="utf-8", errors="replace") as stream:
        return stream.read(_PART).lstrip("\ufeff \t\r\n").startswith("[")


def write_rows(rows: list[Any], path: str, array: bool) -> str:
    """Write rows as a JSON array or as JSON lines; the path. In ASCII: a lone surrogate of a row is no UTF-8."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as stream:
        if array:
            json.dump(rows, stream, indent=1)
        else:
            stream.writelines(json.dumps(row) + "\n" for row in rows)
    return path


def data_files(section: Any, path: str = "data.dataset_param") -> dict[str, list[str]]:
    """YAML path and files of each value of a config section that names data files, existing or not."""
    found: dict[str, list[str]] = {}
    if not isinstance(section, dict):
        return found
    for key, value in section.items():
        below = f"{path}.{key}"
        if isinstance(value, dict):
            found.update(data_files(value, below))
        elif re.search(r"val_|eval|test|template|save|output|cache", str(key)):
            continue
        else:
            names = value if isinstance(value, list) else [value]
            if names and all(isinstance(name, str) and _DATA_FILE.search(name) for name in names):
                found[below] = list(names)
    return found


def folders(section: Any) -> list[str]:
    """Existing folders that a config section names, in order: where media paths may count from."""
    found: list[str] = []
    if isinstance(section, dict):
        for key, value in section.items():
            if isinstance(value, dict):
                found += folders(value)
            elif isinstance(value, str) and "cache" not in str(key) and os.path.isdir(value):
                found.append(value)
    return found


def media_of(row: Any, fields: list[str]) -> Iterator[tuple[str, str]]:
    """Field and path of the media that a row names: all text of the mapped fields, elsewhere what looks like one."""
    if not isinstance(row, dict):
        return
    for field, value in row.items():
        for text in _texts(value):
            if field in fields or (_MEDIA.search(text) and "\n" not in text and len(text) < 1000):
                yield field, text


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)


def open_media(name: str, roots: list[str]) -> dict[str, Any]:
    """Find a media file below one of the folders and decode it.

    Returns:
        `path` (None when there is no such file), `opened` (None when the interpreter has nothing to open it with), and
        `error` when opening it failed.
    """
    path = next((one for one in (os.path.join(root, name) for root in roots) if os.path.isfile(one)), None)
    if path is None:
        return {"path": None, "opened": False, "error": None}
    try:
        opened = _open(path)
    except Exception as error:
        return {"path": path, "opened": False, "error": f"{type(error).__name__}: {error}"}
    return {"path": path, "opened": opened, "error": None}


def _open(path: str) -> bool | None:
    if _AUDIO.search(path):
        try:
            import soundfile  # type: ignore[import-not-found,unused-ignore]
        except ImportError:
            return None
        soundfile.info(path)
        return True
    if _VIDEO.search(path):
        try:
            import av  # type: ignore[import-not-found,unused-ignore]
        except ImportError:
            return None
        with av.open(path) as container:
            next(container.decode(0))
        return True
    try:
        from PIL import Image
    except ImportError:
        return None
    with Image.open(path) as image:
        image.load()
    return True
