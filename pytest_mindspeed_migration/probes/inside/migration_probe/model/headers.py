"""Names and shapes in safetensors files, from their headers: 8 bytes of length, then JSON. No weight is read."""

from __future__ import annotations

import json
import os
from typing import Any

SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
_LONGEST = 100_000_000  # bytes of a header; source: the limit of the safetensors library


class BrokenFileError(Exception):
    """A file of the checkpoint cannot be read: `file`, `problem` (a word) and `detail`."""

    def __init__(self, file: str, problem: str, detail: str = "") -> None:
        super().__init__(f"{file}: {problem} {detail}".strip())
        self.file, self.problem, self.detail = file, problem, detail

    def plain(self) -> dict[str, str]:
        """As JSON."""
        return {"file": self.file, "problem": self.problem, "detail": self.detail}


def read_folder(folder: str) -> dict[str, Any]:
    """What the safetensors files of a folder hold, as Transformers and the framework would choose them.

    Returns:
        `files`, `tensors` (shape by name) and `problems` (files that cannot be read, each with what is wrong). No file
        at all is no problem: `files` is empty then.
    """
    problems: list[dict[str, str]] = []
    tensors: dict[str, list[int]] = {}
    files, listed = _files(folder, problems)
    for name in files if not problems else []:
        try:
            held = read_header(os.path.join(folder, name), name)
        except BrokenFileError as error:
            problems.append(error.plain())
            continue
        tensors.update(held)
        lacking = sorted(tensor for tensor, file in listed.items() if file == name and tensor not in held)
        if lacking:
            problems.append(BrokenFileError(name, "lacks", f"{lacking[0]} ({len(lacking)})").plain())
    return {"files": files, "tensors": tensors, "problems": problems}


def read_header(path: str, name: str) -> dict[str, list[int]]:
    """Shapes by tensor name of one file.

    Raises:
        BrokenFileError: "missing", "truncated" (the file ends before what its header announces) or "header".
    """
    try:
        size = os.path.getsize(path)
        with open(path, "rb") as stream:
            start = stream.read(8)
            length = int.from_bytes(start, "little")
            if len(start) < 8:
                raise BrokenFileError(name, "truncated", f"{size} bytes")
            if not 0 < length <= _LONGEST:
                raise BrokenFileError(name, "header", f"length {length}")
            text = stream.read(length)
    except FileNotFoundError:
        raise BrokenFileError(name, "missing") from None
    except OSError as error:
        raise BrokenFileError(name, "header", str(error)) from error
    if len(text) < length:
        raise BrokenFileError(name, "truncated", f"{size} of {8 + length} bytes")
    try:
        header = json.loads(text)
        held = {tensor: item for tensor, item in header.items() if tensor != "__metadata__"}
        shapes = {tensor: [int(number) for number in item["shape"]] for tensor, item in held.items()}
        end = max((int(item["data_offsets"][1]) for item in held.values()), default=0)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise BrokenFileError(name, "header", f"{type(error).__name__}: {error}") from error
    if 8 + length + end > size:
        raise BrokenFileError(name, "truncated", f"{size} of {8 + length + end} bytes")
    return shapes


def _files(folder: str, problems: list[dict[str, str]]) -> tuple[list[str], dict[str, str]]:
    """Files to read, and by tensor the file that an index names."""
    if os.path.isfile(os.path.join(folder, SINGLE)):
        return [SINGLE], {}
    path = os.path.join(folder, INDEX)
    if not os.path.isfile(path):
        return [], {}
    try:
        with open(path, encoding="utf-8") as stream:
            listed = {str(tensor): str(file) for tensor, file in json.load(stream)["weight_map"].items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        problems.append(BrokenFileError(INDEX, "index", f"{type(error).__name__}: {error}").plain())
        return [INDEX], {}
    return sorted(set(listed.values())), listed
