"""Tokenizers and processors are loaded once: real ones take a second, and probes load the same ones again and again.

A probe that was forked from an interpreter with its plugins imported leaves word there of what it loaded. When the same
probe comes for another target with the same model folder, that interpreter makes the same calls first, and the probe
inherits what they gave: untouched, as its own call would have given it. What runs code of the model folder is not
shared, since it would run beside every later target.
"""

from __future__ import annotations

import json
import os
from typing import Any

from .model.folder import stamp

_CLASSES = ("AutoTokenizer", "AutoProcessor")
_REMOTE = "transformers_modules"

_loaded: dict[str, Any] = {}
_originals: dict[str, Any] = {}
_ahead: list[str] = []  # what was loaded before there was a probe to ask for it
_asked: list[str | None] = [None, None]  # probe and model folder that this process answers
_place: str | None = None  # where word is left


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


def load_ahead(request: dict[str, Any]) -> None:
    """Load what a probe of this name has loaded with the same model folder, so that a child finds it."""
    for call in _left(request.get("probe"), request.get("model_path")):
        if _key(call["name"], call["arguments"], call["options"]) not in _loaded:
            load_once()
            try:
                key = _key(call["name"], call["arguments"], call["options"])
                _loaded[key] = _originals[call["name"]](*call["arguments"], **call["options"])
                _ahead.append(call["name"])
            except Exception:  # the probe that asks for it will say so
                continue


def _left(probe: Any, folder: Any) -> list[dict[str, Any]]:
    if _place is None or not os.path.exists(_place):
        return []
    with open(_place, encoding="utf-8") as stream:
        calls = [json.loads(line) for line in stream if line.endswith("\n")]
    return [call for call in calls if call["asked"] == [probe, folder]]


def _remembering(name: str) -> Any:
    def from_pretrained(*arguments: Any, **options: Any) -> Any:
        key = _key(name, arguments, options)
        if key not in _loaded:
            _loaded[key] = found = _originals[name](*arguments, **options)
            remote = options.get("trust_remote_code") or type(found).__module__.startswith(_REMOTE)
            if _place is not None and not remote and key == _key(name, arguments, options):  # the folder is as it was
                _say(name, arguments, options)
        return _loaded[key]

    return from_pretrained


def _say(name: str, arguments: Any, options: dict[str, Any]) -> None:
    call = {"asked": list(_asked), "name": name, "arguments": list(arguments), "options": options}
    try:
        line = json.dumps(call)
    except (TypeError, ValueError):  # an argument that is no plain value
        return
    assert _place is not None
    if _key(name, arguments, options) == _key(name, json.loads(line)["arguments"], json.loads(line)["options"]):
        with open(_place, "a", encoding="utf-8") as stream:
            stream.write(line + "\n")


def _key(name: str, arguments: Any, options: dict[str, Any]) -> str:
    """The call, and what the folder it names holds now."""
    folder = arguments[0] if arguments else options.get("pretrained_model_name_or_path")
    return f"{name} {tuple(arguments)!r} {sorted(options.items())!r} {stamp(folder)!r}"
