"""The full-size model on the meta device: loaders, build, module tree, plans, checkpoint keys, token ids."""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .. import standins
from ..framework import Started, start
from ..model import checkpoint, folder, plans, signatures, tied, tokens, tree
from ..plugins import import_plugins
from ..steps import Steps


def probe(request: dict[str, Any], steps: Steps) -> None:
    """Steps: `config`, `plugins`, `model.folder`, `model.signatures`, `model.build`, `model.modules`,
    `model.checkpoint`, `model.tokenizer`.

    The request has `plans`: the patterns that the config's plans hold, as the static facts of the repo tell.
    """
    started, model = None, None
    with steps.step("config") as data:
        started = start(request, request.get("overrides"))
        data["overrides"] = request.get("override_notes", [])
    if started is None:
        return
    with steps.step("plugins"):
        import_plugins(list(getattr(started.args.training, "plugin", None) or []), started.module, request["repo"])
    if not steps.ok("plugins"):
        return
    with steps.step("model.folder") as data:
        data.update(model=folder.described(_path(started)), tokenizer=folder.described(_tokenizer_path(started)))
    with steps.step("model.signatures") as data:
        cls = signatures.registered_class(started.module, started.args.model.model_id)
        data["cls"] = getattr(cls, "__qualname__", None)
        if cls is not None:
            data["loaders"] = signatures.loaders(cls, request["repo"])
    with steps.step("model.build") as data:
        data["stand_ins"] = standins.use_when_needed()
        with _routes(started, data.setdefault("route", [])):
            model = _build(started)
        data["cls"] = type(model).__name__
        data["meta"] = sum(not item.is_meta for item in model.parameters()) == 0
        data["parameters"] = tree.parameter_count(model)
        data["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    if model is None:
        return
    modules = {path: module for path, module in tree.places(model)}
    shared = tied.tied(modules, model)
    with steps.step("model.modules") as data:
        _modules(request, started, model, modules, shared, data)
    with steps.step("model.checkpoint") as data:
        package = started.module.__name__.split(".")[0]
        data.update(checkpoint.compare(model, _path(started), started.args.model.model_id, package, shared))
    with steps.step("model.tokenizer") as data:
        data.update(tokens.token_facts(model, _tokenizer(started)))


def _build(started: Started) -> Any:
    """As the trainer's `get_model` begins: its model provider where the start-up code gives one, else its own method."""
    provider = started.providers.get("model_provider")
    return provider() if callable(provider) else started.trainer().get_foundation_model()


def _modules(
    request: dict[str, Any],
    started: Started,
    model: Any,
    modules: dict[str, Any],
    shared: list[list[str]],
    data: dict[str, Any],
) -> None:
    sharding = plans.sharding_module(started.module)
    matcher = sharding.module_name_match
    uses = [dict(use) for use in request.get("plans", []) if use["plan"] != "lora"]
    lora = [dict(use) for use in request.get("plans", []) if use["plan"] == "lora"]
    found = plans.matched(uses, modules, matcher)
    if lora:
        found += plans.lora_matched(lora, model, started.module)
    marks: dict[str, list[int]] = {}
    for number, names in enumerate(found):
        for name in names:
            marks.setdefault(name, []).append(number)
    data["matcher"] = f"{matcher.__module__}.{matcher.__qualname__}"
    data["uses"] = [*uses, *lora]
    paths = {id(module): path for path, module in modules.items()}
    plan = started.args.parallel.fsdp_plan
    data["framework"] = plans.framework_list(sharding, model, plan, paths, request["repo"])
    data["own_sharding"] = callable(getattr(model, "fully_shard", None))
    data["no_decay"] = _no_decay(started, model)
    data["tied"] = shared
    data["ties_again"] = tied.tying_function(started.trainer_class)
    data["parameters"] = tree.parameter_count(model)
    data["rows"] = tree.collapse(model, {name: tuple(numbers) for name, numbers in marks.items()})


def _no_decay(started: Started, model: Any) -> list[dict[str, Any]]:
    names = ("no_decay_modules", "no_decay_params")
    entries = {name: list(getattr(started.args.training, name, None) or []) for name in names}
    optimizer = sys.modules.get(getattr(started.module.build_optimizer, "__module__", ""), None)
    if not any(entries.values()) or not hasattr(optimizer, "get_parameter_names"):
        return []
    return plans.without_decay(entries, model, optimizer)


@contextmanager
def _routes(started: Started, taken: list[str]) -> Iterator[None]:
    """Note which of the model hub's ways to build is taken: it falls back from one to the other without an error."""
    hub = getattr(started.module, "ModelHub", None)
    ways = {name: value for name, value in vars(hub or object).items() if name.startswith("_build_")}

    def noting(name: str, function: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            taken.append(name)
            return function(*args, **kwargs)

        return staticmethod(call)

    for name, value in ways.items():
        if isinstance(value, staticmethod):
            setattr(hub, name, noting(name, value.__func__))
    try:
        yield
    finally:
        for name, value in ways.items():
            setattr(hub, name, value)


def _path(started: Started) -> str:
    return str(getattr(started.args.model, "model_name_or_path", None) or "")


def _tokenizer_path(started: Started) -> str:
    """The folder whose tokenizer the dataset uses, else the model's."""
    dataset = getattr(started.args.data, "dataset_param", None)
    options = getattr(dataset, "preprocess_parameters", None)
    named = options.get("model_name_or_path") if isinstance(options, dict) else getattr(options, "model_name_or_path", None)
    return str(named or _path(started))


def _tokenizer(started: Started) -> Any:
    from transformers import AutoTokenizer

    trust = bool(getattr(started.args.model, "trust_remote_code", False))
    return AutoTokenizer.from_pretrained(_tokenizer_path(started), trust_remote_code=trust)
