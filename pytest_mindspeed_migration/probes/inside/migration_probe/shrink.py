"""A small model folder from a real one: the same kind of model, tokenizer and processor, and random weights."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from typing import Any

from .describe import describe
from .framework import Started
from .model.folder import stamp
from .shrink_config import Change, every_expert_used, shrink

CANDIDATES = (("layers", "experts", "widths"), ("layers", "experts"), ("layers",))
"""Strong first: the first one that the framework builds is taken, so the gentler ones cost nothing when it does."""

MOST_PARAMETERS = 400_000_000  # what a probe can hold, and run through, in seconds
_WEIGHTS = re.compile(r"\.(safetensors|bin|pt|pth|gguf|msgpack|h5|onnx)$|\.(safetensors|bin)\.index\.json$")
_WEIGHTS_FILE = "model.safetensors"
_RECORD = "shrunk.json"
_SEED = 20_240


class FolderError(Exception):
    """The model folder itself is at fault; the message names the file."""


class NotShrunkError(Exception):
    """The model could not be made small; the message says why."""


def small_folder(started: Started, request: dict[str, Any]) -> dict[str, Any]:
    """Make the small folder of a target, or find the one that this run has made before.

    Args:
        started: with plugins imported; its model path is changed while candidates are built, and left at the small one.
        request: `model_path`, and `shared` (a folder of this target) or else `work`; `run` (a folder of all targets).

    Returns:
        `path`, `changes` (see `shrink_config`), `parameters` (a count), `kinds`, and `refused`: candidates that the
        framework could not build.

    Raises:
        FolderError: the folder cannot be read.
        NotShrunkError: no candidate can be built, or the smallest is too large.
    """
    name = os.path.basename(os.path.normpath(request["model_path"]))  # custom code is cached by the name of its folder
    root = os.path.join(request.get("shared") or request["work"], "small")
    record, making = os.path.join(root, _RECORD), os.path.join(root, str(os.getpid()), name)
    model_args = started.args.model
    if os.path.exists(record):
        with open(record, encoding="utf-8") as stream:
            found: dict[str, Any] = json.load(stream)
        model_args.model_name_or_path = found["path"]
        return found
    raw = read_config(request["model_path"])
    config = _with_defaults(request["model_path"], raw, bool(getattr(model_args, "trust_remote_code", False)))
    refused: list[dict[str, Any]] = []
    for kinds in CANDIDATES:
        changes = shrink(config, kinds)[1]
        write_folder(request["model_path"], making, raw, changes)
        try:
            model = _build(started, making)
        except Exception as error:
            refused.append({"kinds": list(kinds), "error": describe(error, request["repo"])})
            shutil.rmtree(making)
            continue
        count = sum(parameter.numel() for parameter in model.parameters())
        if count > MOST_PARAMETERS:
            shutil.rmtree(making)
            raise NotShrunkError(f"{count:,} parameters are left after {', '.join(kinds)} were reduced")
        place = _place(request, model, raw, changes)
        if not os.path.exists(place):
            save_weights(model, os.path.join(making, _WEIGHTS_FILE))
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with contextlib.suppress(OSError):  # another process was quicker
                os.rename(making, place)
        shutil.rmtree(os.path.dirname(making), ignore_errors=True)
        found = {"path": place, "changes": changes, "parameters": count, "kinds": list(kinds), "refused": refused}
        _keep(record, found)
        model_args.model_name_or_path = place
        return found
    root = refused[-1]["error"]
    raise NotShrunkError(f"{root['type']}: {root['message']}")


def _place(request: dict[str, Any], model: Any, config: dict[str, Any], changes: list[Change]) -> str:
    """Where a small folder is kept: targets of a run whose folders would hold the same have one folder.

    Each target builds its own model; its config, and names and shapes of what it would save, tell what it would hold.
    """
    name = os.path.basename(os.path.normpath(request["model_path"]))
    held = [[key, list(item.shape)] for key, item in model.named_parameters()]
    values = [key for key, buffer in _persistent_buffers(model) if not buffer.is_meta]
    root = request.get("run")
    if root is None or values:  # buffers with values that only this build tells
        return os.path.join(request.get("shared") or request["work"], "small", name)
    what = json.dumps(
        [request["model_path"], stamp(request["model_path"]), config, changes, held], sort_keys=True, default=str
    )
    return os.path.join(root, "small", hashlib.sha256(what.encode()).hexdigest()[:16], name)


def _keep(record: str, found: dict[str, Any]) -> None:
    with open(f"{record}.{os.getpid()}", "w", encoding="utf-8") as stream:
        json.dump(found, stream)
    os.replace(f"{record}.{os.getpid()}", record)


def folder_with_every_expert(folder: str) -> tuple[str, list[Change]]:
    """A copy of a small folder in which each token goes to every expert, and what was changed for it.

    A model whose routing fails where some experts are idle still shows there whether the rest of it trains.
    """
    config = read_config(folder)
    changes = every_expert_used(config)
    if not changes:
        return folder, []
    copy = f"{folder}-every-expert"
    if not os.path.exists(copy):
        write_folder(folder, copy, config, changes)
        os.symlink(os.path.join(folder, _WEIGHTS_FILE), os.path.join(copy, _WEIGHTS_FILE))
    return copy, changes


def folder_as_published(folder: str, transform: Any) -> str:
    """A copy of a small folder whose weights lie as those of a published checkpoint do.

    Args:
        folder: its weights lie as the framework's model has them.
        transform: the framework's own conversion, with `dcp_to_hf(key, tensor)`
            (source: `fsdp/checkpoint/convert.py`).
    """
    from safetensors.torch import load_file, save_file

    copy = f"{folder}-published"
    if not os.path.exists(copy):
        kept = load_file(os.path.join(folder, _WEIGHTS_FILE))
        tensors = dict(
            transform.dcp_to_hf(key, tensor) for key, tensor in kept.items()
        )  # raises before there is a copy
        write_folder(folder, copy, read_config(folder), [])
        save_file(tensors, os.path.join(copy, _WEIGHTS_FILE), metadata={"format": "pt"})
    return copy


def read_config(folder: str) -> dict[str, Any]:
    """The `config.json` of a model folder.

    Raises:
        FolderError: it is missing, or no JSON object.
    """
    path = os.path.join(folder, "config.json")
    try:
        with open(path, encoding="utf-8") as stream:
            found = json.load(stream)
    except OSError as error:
        raise FolderError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise FolderError(f"{path} is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise FolderError(f"{path} holds no JSON object")
    return found


def write_folder(source: str, folder: str, config: dict[str, Any], changes: list[Change]) -> None:
    """A model folder with all files of `source` (linked) but its weights, and its config with `changes` made."""
    os.makedirs(folder)
    for entry in os.scandir(source):
        if entry.name not in ("config.json", _RECORD) and not _WEIGHTS.search(entry.name):
            os.symlink(os.path.abspath(entry.path), os.path.join(folder, entry.name))
    small = json.loads(json.dumps(config))
    for change in changes:
        section = small
        *parents, last = change["path"].split(".")
        for name in parents:
            if not isinstance(section.get(name), dict):
                section[name] = {}
            section = section[name]
        section[last] = change["now"]
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as stream:
        json.dump(small, stream, indent=2, ensure_ascii=False)


def save_weights(model: Any, path: str) -> None:
    """Random weights that training could start from, for every parameter and persistent buffer of a model.

    Matrices are normal with deviation 0.02, biases zero, other vectors named `weight` (norms) one. A buffer on the meta
    device is left out: loading keeps what the model computes for it.
    """
    import torch
    from safetensors.torch import save_file

    generator = torch.Generator().manual_seed(_SEED)
    tensors = {}
    for name, parameter in model.named_parameters():  # a shared one goes by its first name
        last = name.rpartition(".")[2]
        if parameter.ndim > 1 or (last != "weight" and "bias" not in last):
            tensors[name] = torch.empty(parameter.shape).normal_(0.0, 0.02, generator=generator)
        else:
            tensors[name] = torch.full(parameter.shape, 1.0 if last == "weight" else 0.0)
    for name, buffer in _persistent_buffers(model):
        if not buffer.is_meta:
            tensors[name] = buffer.detach().clone().contiguous()
    save_file(tensors, path, metadata={"format": "pt"})


def _persistent_buffers(model: Any) -> Iterator[tuple[str, Any]]:
    for prefix, module in model.named_modules():
        for name, buffer in module.named_buffers(recurse=False):
            if name not in module._non_persistent_buffers_set:
                yield (f"{prefix}.{name}" if prefix else name), buffer


def _with_defaults(folder: str, raw: dict[str, Any], trusted: bool) -> dict[str, Any]:
    """The config with the defaults of its class, as far as Transformers knows it: defaults may be large, too."""
    from transformers import AutoConfig

    try:
        found = AutoConfig.from_pretrained(folder, trust_remote_code=trusted).to_dict()
        return json.loads(json.dumps(found))  # type: ignore[no-any-return]
    except Exception:  # whoever builds the model will say it; the values of the file are what is left
        return raw


def _build(started: Started, folder: str) -> Any:
    """The model on the meta device, as the framework builds it."""
    args = started.args
    before = args.model.model_name_or_path, args.training.init_model_with_meta_device
    args.model.model_name_or_path, args.training.init_model_with_meta_device = folder, True
    try:
        return started.trainer().get_foundation_model()
    finally:
        args.model.model_name_or_path, args.training.init_model_with_meta_device = before
