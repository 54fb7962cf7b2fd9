"""Tokenizers and processors are loaded once: real ones take a second, and probes load the same ones again and again.

A probe that was forked from an interpreter with its plugins imported leaves word there of what it loaded. When the same
probe comes for another target, that interpreter makes the same calls first, for the model folder of that target, and
the probe inherits what they gave: untouched, as its own call would have given it, and so do the other probes of that
target. What runs code of the model folder is not shared, since it would run beside every later target.
"""

from __future__ import annotations

import json
import os
from typing import Any

from .model.folder import stamp

_CLASSES = ("AutoTokenizer", "AutoProcessor")
_REMOTE = "transformers_modules"
_FOLDER = "pretrained_model_name_or_path"
_LARGEST_CONFIG = 1 << 20  # bytes; larger JSON is a vocabulary or an index of weights
_MOST_FOLDERS = 2  # whose tokenizers are kept: of the target that is judged, and of the one after it

_loaded: dict[str, Any] = {}
_originals: dict[str, Any] = {}
_ahead: list[str] = []  # what was loaded before there was a probe to ask for it
_asked: list[str | None] = [None, None]  # probe and model folder that this process answers
_place: str | None = None  # where word is left
_folders: dict[str, list[str]] = {}  # what was loaded ahead for a model folder; the one needed last is the last
_sources: dict[str, str] = {}  # small model folders, and whose files their tokenizers are


def load_once() -> str:
    """Make `from_pretrained` of tokenizers and processors answer what it answered to the same call; what was done."""
    import transformers

    for name in _CLASSES:
        if name not in _originals:
            owner = getattr(transformers, name)
            _originals[name] = owner.from_pretrained
            owner.from_pretrained = _remembering(name)
    shared = ", where an earlier target loaded it" if _ahead else ""
    return f"AutoTokenizer, AutoProcessor: the same call of from_pretrained is answered from memory{shared}"


def asked(request: dict[str, Any]) -> None:
    """Tell for which request this process loads."""
    _asked[:] = request.get("probe"), request.get("model_path")


def leave_word(place: str) -> None:
    """Let this process and its children write what they load to the file `place`."""
    global _place
    _place = place


def made_from(small: str, source: str) -> None:
    """Load tokenizers and processors of a small model folder from the folder whose files it links to."""
    _sources[os.path.realpath(small)] = source


def load_ahead(request: dict[str, Any]) -> None:
    """Load for the model folder of a probe what a probe of its name has loaded before, so that a child finds it."""
    calls = _left(request.get("probe"), request.get("model_path"))
    if not calls:
        return
    load_once()
    held = _held(request["model_path"])
    for name, arguments, options in calls:
        key = _key(name, arguments, options)
        if key not in _loaded and not _may_run_code(arguments, options):
            try:
                _loaded[key] = _originals[name](*arguments, **options)
            except BaseException:  # the probe that asks for it will say so; a panic of tokenizers is no Exception
                continue
            held.append(key)
            _ahead.append(name)


def _held(folder: str) -> list[str]:
    """What is loaded for a folder; of those that were needed longest ago it is forgotten: each takes some 100 MB."""
    _folders[folder] = _folders.pop(folder, [])
    for old in list(_folders)[:-_MOST_FOLDERS]:
        for key in _folders.pop(old):
            _loaded.pop(key, None)
    return _folders[folder]


def _left(probe: Any, folder: Any) -> list[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """Calls of probes of that name, each once: those for their own model folder are made for this one."""
    if folder is None or _place is None or not os.path.exists(_place):
        return []
    with open(_place, encoding="utf-8") as stream:
        calls = [json.loads(line) for line in stream if line.endswith("\n")]
    found = []
    for call in calls:
        asked_by, own = call["asked"]
        elsewhere = call["folder"] != own
        if asked_by != probe or (elsewhere and own != folder):
            continue
        arguments, options = call["arguments"], call["options"]
        here = (tuple(arguments), options) if elsewhere else _at(folder, arguments, options)
        if (call["name"], *here) not in found:
            found.append((call["name"], *here))
    return found


def _remembering(name: str) -> Any:
    def from_pretrained(*arguments: Any, **options: Any) -> Any:
        arguments, options = _of_source(arguments, options)
        key = _key(name, arguments, options)
        if key not in _loaded:
            _loaded[key] = found = _originals[name](*arguments, **options)
            remote = _may_run_code(arguments, options) or type(found).__module__.startswith(_REMOTE)
            if _place is not None and not remote and key == _key(name, arguments, options):  # the folder is as it was
                _say(name, arguments, options)
        return _loaded[key]

    return from_pretrained


def _may_run_code(arguments: Any, options: dict[str, Any]) -> bool:
    """Whether a call may import code that a model folder brings along or names."""
    folder = _folder(arguments, options)
    if not options.get("trust_remote_code"):
        return False
    try:
        return any(entry.name.endswith(".py") or _names_code(entry) for entry in os.scandir(folder))
    except OSError:  # a name of a hub, or a file that cannot be read: a link to nothing, say
        return True


def _names_code(entry: os.DirEntry[str]) -> bool:
    if not entry.name.endswith(".json") or entry.is_dir() or entry.stat().st_size > _LARGEST_CONFIG:
        return False
    with open(entry.path, "rb") as stream:
        return b"auto_map" in stream.read()


def _say(name: str, arguments: Any, options: dict[str, Any]) -> None:
    call = {
        "asked": list(_asked),
        "folder": _folder(arguments, options),
        "name": name,
        "arguments": list(arguments),
        "options": options,
    }
    try:
        line = json.dumps(call)
    except (TypeError, ValueError):  # an argument that is no plain value
        return
    assert _place is not None
    if _key(name, arguments, options) == _key(name, json.loads(line)["arguments"], json.loads(line)["options"]):
        with open(_place, "a", encoding="utf-8") as stream:
            stream.write(line + "\n")


def _of_source(arguments: tuple[Any, ...], options: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The same call for the folder that a small one was made from."""
    source = _sources.get(_folder(arguments, options))
    return (arguments, options) if source is None else _at(source, arguments, options)


def _at(folder: Any, arguments: Any, options: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The same call for another folder."""
    return ((folder, *arguments[1:]), options) if arguments else ((), {**options, _FOLDER: folder})


def _folder(arguments: Any, options: dict[str, Any]) -> str:
    """The folder that a call names, however it is spelt; a name that is no folder as it is."""
    named = arguments[0] if arguments else options.get(_FOLDER)
    return os.path.realpath(named) if isinstance(named, (str, os.PathLike)) and os.path.isdir(named) else str(named)


def _key(name: str, arguments: Any, options: dict[str, Any]) -> str:
    """The call, and what the folder it names holds now."""
    folder = _folder(arguments, options)
    rest, named = _at(folder, arguments, options)
    return f"{name} {rest!r} {sorted(named.items())!r} {stamp(folder)!r}"
