"""Gives the target's dataset wrong data, one mistake at a time, and keeps what it says."""

from __future__ import annotations

import copy
import os
from functools import partial
from typing import Any

from .. import standins
from ..assembly import Assembly, use_one_process
from ..data_parts import build_dataset, build_loader, first_samples, inner
from ..describe import describe, print_error
from ..framework import Started, start
from ..isolate import in_child
from ..loaded_once import load_once
from ..plugins import import_plugins
from ..rows import is_array, media_of, write_rows
from ..small_run import absent_files, few_rows, one_process
from ..steps import Steps

_ROWS = 4
_SECONDS = 60
_MEDIA_KEYS = ("images", "videos", "audios")
_GARBAGE = bytes(range(256)) * 8


def probe(request: dict[str, Any], steps: Steps) -> None:
    """Steps: `config`, `plugins`, `sound` (the data without a mistake), then one a mistake.

    The data of each mistake: `given` (file, or row and field), `words` (an error that names one of them names the
    mistake) and `result` as `in_child` gives it: how many samples there are when no error is raised.
    """
    overrides: dict[str, Any] = {}
    started = None
    changed: dict[str, Any] = {}
    with steps.step("config") as data:
        used = standins.use_when_needed()
        overrides = one_process(request, request.get("overrides", {}))
        data["absent"] = absent_files(request, overrides)
        if data["absent"]:
            return
        changed, rows, section = few_rows(request, overrides, _ROWS)
        started = start(request, {**overrides, **changed})
        use_one_process(started.args)
    if started is None:
        return
    with steps.step("plugins"):
        entries = list(getattr(started.args.training, "plugin", None) or [])
        import_plugins(entries, started.named("import_plugin"), request["repo"])
    key = next((path for path, value in changed.items() if _in_work(value, request["work"])), None)
    if key is None or not steps.ok("plugins"):
        return
    with steps.step("sound") as data:
        own = [standins.single_process_group(), load_once()]
        Assembly(started)
        data["key"] = key
        data["samples"] = _read(started)
        data["stand_ins"] = [*own, *used]
    if not steps.ok("sound"):
        return
    path, sound = next(iter(rows.items()))
    for name, file, words in _mistakes(path, sound, section.get("attr") or {}, request["work"]):
        with steps.step(name) as data:
            data["given"], data["words"], data["rows"] = file, words, len(sound)
            value = [file] if isinstance(changed[key], list) else file
            run = partial(_try, request, {**overrides, **changed, key: value})
            data["result"] = in_child(run, request["repo"], _SECONDS)


def _try(request: dict[str, Any], overrides: dict[str, Any]) -> dict[str, Any]:
    started = start(request, overrides)
    use_one_process(started.args)
    try:
        return {"samples": _read(started)}
    except Exception as error:
        print_error()
        return {"error": describe(error, request["repo"])}


def _read(started: Started) -> int:
    """Build the dataset, take every sample and collate it: some datasets leave the media to the collator."""
    dataset = build_dataset(started)
    samples = first_samples(dataset, _ROWS)
    if samples:
        collate = getattr(inner(build_loader(started, started.trainer(model=None), dataset)), "collate_fn", None)
        for sample in samples:
            if collate is not None:
                collate([sample])
    return len(samples)


def _mistakes(path: str, rows: list[Any], attr: dict[str, Any], work: str) -> list[tuple[str, str, list[str]]]:
    """Name of each mistake, the file that has it, and the words of which an error should say one."""
    folder = os.path.join(work, "mistakes")
    os.makedirs(folder, exist_ok=True)
    suffix = os.path.splitext(path)[1]
    array = is_array(path)

    def name(stem: str) -> str:
        return os.path.join(folder, stem + suffix)

    def put(stem: str, content: bytes) -> str:
        with open(name(stem), "wb") as stream:
            stream.write(content)
        return name(stem)

    found = [
        ("missing", name("absent_file"), ["absent_file"]),
        ("empty", put("empty_file", b""), ["empty_file"]),
        ("garbage", put("garbage_file", _GARBAGE), ["garbage_file"]),
        ("no_rows", write_rows([], name("rowless_file"), array), ["rowless_file"]),
    ]
    columns = main_columns(rows, attr)
    if columns:
        renamed = [{("renamed_" + key if key in columns else key): value for key, value in row.items()} for row in rows]
        found.append(("no_column", write_rows(renamed, name("columnless_file"), array), [*columns, "columnless_file"]))
        bad = copy.deepcopy(rows)
        bad[-1] = renamed[-1]
        words = [*columns, "bad_row_file", f"row {len(rows) - 1}", f"index {len(rows) - 1}"]
        found.append(("bad_row", write_rows(bad, name("bad_row_file"), array), words))
    fields = [str(attr[key]) for key in _MEDIA_KEYS if attr.get(key)]
    with_media = next((index for index, row in enumerate(rows) if any(True for _ in media_of(row, fields))), None)
    if with_media is not None:
        media = next(media for _, media in media_of(rows[with_media], fields))
        suffix_of_media = os.path.splitext(media)[1] or ".png"
        text = os.path.join(folder, f"text_not_media{suffix_of_media}")
        with open(text, "w", encoding="utf-8") as stream:
            stream.write("this is text\n")
        for kind, file in (("media_is_text", text), ("media_missing", f"{text[: -len(suffix_of_media)]}_absent.png")):
            bad = copy.deepcopy(rows)
            bad[with_media] = _replaced(bad[with_media], media, file)
            stem = os.path.splitext(os.path.basename(file))[0]
            found.append((kind, write_rows(bad, name(f"{kind}_file"), array), [stem]))
    return found


def main_columns(rows: list[Any], attr: dict[str, Any]) -> list[str]:
    """The column of the mapping that holds the text; without a mapping, all that every row has: any may be optional."""
    if not rows or not all(isinstance(row, dict) and row for row in rows):
        return []
    for key in ("messages", "prompt"):
        if attr.get(key) in rows[0]:
            return [str(attr[key])]
    return [str(key) for key in rows[0] if all(key in row for row in rows)]


def _replaced(value: Any, old: str, new: str) -> Any:
    if isinstance(value, str):
        return new if value == old else value
    if isinstance(value, list):
        return [_replaced(item, old, new) for item in value]
    if isinstance(value, dict):
        return {key: _replaced(item, old, new) for key, item in value.items()}
    return value


def _in_work(value: Any, work: str) -> bool:
    values = value if isinstance(value, list) else [value]
    return bool(values) and all(isinstance(one, str) and one.startswith(os.path.join(work, "rows")) for one in values)
