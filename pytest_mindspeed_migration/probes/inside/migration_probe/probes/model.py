"""The full-size model on the meta device: loaders, build, module tree, plans, checkpoint keys, token ids."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .. import standins
from ..framework import Started, start
from ..loaded_once import load_once
from ..model import checkpoint, folder, plans, sharded, signatures, tied, tokens, tree
from ..plugins import import_plugins
from ..steps import Steps

_SHARDS = ("fsdp", "apply_modules")


def probe(request: dict[str, Any], steps: Steps) -> None:
    """Steps: `config`, `plugins`, and of the model `folder`, `signatures`, `build`, `route` (why the hub did not take
    the Transformers route, where it did not), `modules`, `checkpoint`, `tie` (the trainer's
    own function, where it has one), `sharded` (a distributed checkpoint that is continued), `tokenizer`.

    The request has `plans`: the patterns that the config's plans hold, as the static facts of the repo tell.
    """
    used = standins.use_with_torch()
    started, model = None, None
    with steps.step("config") as data:
        started = start(request, request.get("overrides"))
        data["overrides"] = request.get("override_notes", [])
    if started is None:
        return
    with steps.step("plugins"):
        import_plugin = started.named("import_plugin")
        import_plugins(list(getattr(started.args.training, "plugin", None) or []), import_plugin, request["repo"])
    if not steps.ok("plugins"):
        return
    with steps.step("model.folder") as data:
        data.update(model=folder.described(_path(started)), tokenizer=folder.described(_tokenizer_path(started)))
    with steps.step("model.signatures") as data:
        cls = signatures.registered_class(started.named("import_plugin"), started.args.model.model_id)
        data["cls"] = getattr(cls, "__qualname__", None)
        if cls is not None:
            data["loaders"] = signatures.loaders(cls, request["repo"])
    route: list[str] = []
    with steps.step("model.build") as data:
        data["stand_ins"], data["route"], data["config"] = used, route, {}
        with _routes(started, route, lambda config: data["config"].update(folder.architecture(config, cls))):
            model = _build(started)
        data["cls"] = type(model).__name__
        data["meta"] = sum(not item.is_meta for item in model.parameters()) == 0
        data["parameters"] = tree.parameter_count(model)
        data["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    if "_build_transformers_model" not in route:
        with steps.step("model.route") as data:
            _load_config(started)
    if model is None:
        return
    modules = dict(tree.places(model))
    shared = tied.tied(modules, model)
    with steps.step("model.modules") as data:
        _modules(request, started, model, modules, shared, data)
    with steps.step("model.checkpoint") as data:
        package = started.module.__name__.split(".")[0]
        data.update(checkpoint.compare(model, _path(started), package, shared))
    load = _continued(request, started)
    if load is not None:
        with steps.step("model.sharded") as data:
            data["compared"] = sharded.compare(model, load, shared)
    again = tied.tying_function(started.trainer_class)
    if again is not None:
        with steps.step("model.tie") as data:
            data["function"] = again
            started.named(again)(model)
    with steps.step("model.tokenizer") as data:
        data["stand_ins"] = [load_once()]
        data.update(tokens.token_facts(model, _tokenizer(started)))


def _build(started: Started) -> Any:
    """As the trainer's `get_model` begins: by the model provider of the start-up code, else by its own method."""
    provider = started.providers.get("model_provider")
    return provider() if callable(provider) else started.trainer().get_foundation_model()


def _load_config(started: Started) -> None:
    """What the model hub tried before it took its other route; it hides why that failed."""
    from transformers import AutoConfig

    trust = bool(getattr(started.args.model, "trust_remote_code", False))
    AutoConfig.from_pretrained(_path(started), trust_remote_code=trust)


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
        found += plans.lora_matched(lora, model, started.named("match_target_modules"))
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
    shards = [number for number, use in enumerate(uses) if (use["plan"], use["option"]) == _SHARDS]
    sharded = {name for number in shards for name in found[number]}
    data["tied"] = [{"names": group, "units": tied.units(group, sharded)} for group in shared]
    data["ties"] = tied.other_tying(model, started.module.__name__.split(".")[0]) if shared else None
    data["parameters"] = tree.parameter_count(model)
    data["rows"] = tree.collapse(model, {name: tuple(numbers) for name, numbers in marks.items()})


def _no_decay(started: Started, model: Any) -> list[dict[str, Any]]:
    names = ("no_decay_modules", "no_decay_params")
    entries = {name: list(getattr(started.args.training, name, None) or []) for name in names}
    if not any(entries.values()):
        return []
    names_of = getattr(sys.modules[started.named("build_optimizer").__module__], "get_parameter_names", None)
    return plans.without_decay(entries, model, names_of) if callable(names_of) else []


@contextmanager
def _routes(started: Started, taken: list[str], loaded: Callable[[Any], None]) -> Iterator[None]:
    """Note which of the model hub's ways to build is taken: it falls back from one to the other without an error.

    `loaded` is told what each is given first: the folder's config on the Transformers route.
    """
    try:
        hub = started.named("ModelHub")
    except AttributeError:  # a trainer with a way of its own
        hub = object
    ways = {name: value for name, value in vars(hub).items() if name.startswith("_build_")}

    def noting(name: str, function: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            taken.append(name)
            loaded(args[0] if args else None)
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


def _continued(request: dict[str, Any], started: Started) -> str | None:
    """The folder that the training continues from; one of adapters alone is another matter."""
    load = getattr(started.args.training, "load", None)
    if not isinstance(load, str) or getattr(getattr(started.args.training, "lora", None), "enable", False):
        return None
    return os.path.join(request["repo"], os.path.expanduser(load))


def _tokenizer_path(started: Started) -> str:
    """The folder whose tokenizer the dataset uses, else the model's."""
    dataset = getattr(started.args.data, "dataset_param", None)
    options = getattr(dataset, "preprocess_parameters", None)
    named = (
        options.get("model_name_or_path") if isinstance(options, dict) else getattr(options, "model_name_or_path", None)
    )
    return str(named or _path(started))


def _tokenizer(started: Started) -> Any:
    from transformers import AutoTokenizer

    trust = bool(getattr(started.args.model, "trust_remote_code", False))
    return AutoTokenizer.from_pretrained(_tokenizer_path(started), trust_remote_code=trust)
