"""Signatures, fields and links of a target as tables: what the probes saw, else what the files say."""

from __future__ import annotations

from typing import Any

from ..analysis.hub import (
    accepts_keyword,
    dataset_of,
    missing_arguments,
    model_calls,
    model_of,
    register_calls,
)
from ..analysis.index import index_of
from ..analysis.plugins import plugins_of
from ..checks.data_contracts import batch_keys
from ..facts.source import FunctionFacts, Signature
from .material import Material

LOADERS = ("from_pretrained", "_from_config")


def signatures(material: Material) -> dict[str, Any]:
    """Loaders against ModelHub's calls. `seen` is "probe" (the real functions) or "source"."""
    details = material.details("model.build")
    if details and details.get("signatures"):
        return {"seen": "probe", "rows": details["signatures"]}
    facts, model = material.view.facts, model_of(material.view)
    index = index_of(facts)
    rows = []
    for name in LOADERS:
        method = index.method(model.ref, name) if model and model.ref and model.ref.kind == "class" else None
        for one in register_calls(facts, f"<model_register>.{name}"):
            function = method[1] if method else None
            given = [f"arg{place + 1}" for place in range(one.call.positional)]
            bound = function is not None and "staticmethod" not in function.decorators
            rows.append(
                {
                    "loader": name,
                    "defined": function.qualname if function else None,
                    "where": f"{index.path_of(method[0])}:{function.line}" if method and function else None,
                    "takes": signature_text(function.signature, bound) if function else None,
                    "call": f"{one.path}:{one.call.line}",
                    "given": f"({', '.join([*given, *(f'{key}=' for key in one.call.keywords)])})",
                    "misfit": missing_arguments(function.signature, one.call, bound) if function else "-",
                }
            )
    return {"seen": "source", "rows": rows}


def forward(material: Material) -> tuple[str, FunctionFacts] | None:
    """Path and facts of the target's `forward`; None when the files do not show it."""
    model, index = model_of(material.view), index_of(material.view.facts)
    method = index.method(model.ref, "forward") if model and model.ref and model.ref.kind == "class" else None
    return None if method is None else (index.path_of(method[0]) or method[0], method[1])


def fields(material: Material) -> dict[str, Any]:
    """Batch keys against the parameters of `forward`. `seen` is "probe" (a real batch) or "source"."""
    details = material.details("model.forward_inputs")
    found = forward(material)
    shown = {
        "forward": f"{found[0]}:{found[1].line}" if found else None,
        "takes": signature_text(found[1].signature, True) if found else None,
    }
    if details and details.get("fields"):
        return {"seen": "probe", "rows": details["fields"], **shown}
    keys = batch_keys(material.view)
    from_batch = [(key, keys[1]) for key in keys[0]] if keys else []
    from_engine = [
        (key, f"{one.path}:{one.call.line}") for one in model_calls(material.view.facts) for key in one.call.keywords
    ]
    rows = [
        {
            "key": key,
            "source": source,
            "parameter": key if found and _named(found[1].signature, key) else "**" if found else "-",
            "accepted": accepts_keyword(found[1].signature, key) if found else None,
        }
        for key, source in dict([*from_engine, *from_batch]).items()
    ]
    return {"seen": "source", "rows": rows, "batch_known": keys is not None, **shown}


def dataset(material: Material) -> dict[str, Any]:
    """The dataset of the YAML: who is registered, which paths it names, how columns become fields."""
    view = material.view
    config, item = view.config, dataset_of(view)
    param = config.get("data.dataset_param") if config else None
    attr = param.get("attr") if isinstance(param, dict) else None
    prefix = f"config:{config.path}:data." if config else None
    assets = view.facts.assets.items()
    paths = [(key.removeprefix("config:").partition(":")[2], asset) for key, asset in assets if prefix and
             key.startswith(prefix)]  # fmt: skip
    own = f"{view.manifest_key}:"
    paths += [("manifest:" + key.removeprefix(own), asset) for key, asset in assets
              if key.startswith(f"{own}runtime_assets.")]  # fmt: skip
    return {
        "type": config.string("data.dataset_param.dataset_type") if config else None,
        "registered": f"{item.path}:{item.line}" if item else None,
        "paths": [
            {"key": key, "path": asset.path, "exists": asset.exists, "readable": asset.readable, "folder": asset.is_dir,
             "size": asset.size, "problem": asset.problem}
            for key, asset in paths
        ],
        "columns": [(str(key), str(value)) for key, value in attr.items() if value is not None]
        if isinstance(attr, dict)
        else [],
        "sections": sorted(key for key in param if isinstance(param[key], dict)) if isinstance(param, dict) else [],
    }  # fmt: skip


def links(material: Material) -> dict[str, Any]:
    """What the YAML names, where it is registered, and which plugin entry reaches it."""
    view = material.view
    if view.config is None:
        return {"ids": [], "plugins": [], "scripts": []}
    plugins = plugins_of(view.facts, view.target.name)
    wanted = (
        ("model", "model.model_id"),
        ("data", "data.dataset_param.dataset_type"),
        ("data", "data.val_dataset_param.dataset_type"),
    )
    ids = []
    for kind, path in wanted:
        value = view.config.string(path)
        if value is not None:
            hits = [item for item in plugins.registered(kind) if item.id == value]
            where = f"{hits[0].path}:{hits[0].line}" if hits else None
            ids.append({"key": path, "value": value, "place": material.place(path), "registered": where})
    entries = [
        {
            "entry": entry.entry,
            "exists": entry.exists,
            "registers": [
                f"{item.kind}: {item.id}"
                for item in plugins.registrations
                if item.module == entry.module or item.path.startswith(f"{entry.folder}/")
            ]
            if entry.exists
            else [],
        }
        for entry in plugins.entries
    ]
    scripts = [
        {"script": f"{script.path}:{one.line}", "launcher": one.launcher, "program": one.program, "config": one.config}
        for script in view.scripts
        for one in script.commands
        if one.config == view.config.path or one.config is None
    ]
    return {"ids": ids, "plugins": entries, "scripts": scripts}


def signature_text(signature: Signature, bound: bool) -> str:
    """A signature as Python writes it; defaults as `...`."""
    params = signature.params[1:] if bound else list(signature.params)
    required = len(params) - (signature.defaults or 0)
    parts = [name if place < required else f"{name}=..." for place, name in enumerate(params)]
    if signature.varargs:
        parts.append(f"*{signature.varargs}")
    elif signature.kwonly:
        parts.append("*")
    parts += [name if name in signature.kwonly_required else f"{name}=..." for name in signature.kwonly]
    if signature.varkw:
        parts.append(f"**{signature.varkw}")
    return f"({', '.join(parts)})"


def _named(signature: Signature, key: str) -> bool:
    return key in signature.params or key in signature.kwonly
