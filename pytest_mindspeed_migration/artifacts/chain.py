"""From the launch script to the training step: the links of a target's run, each where the files show it."""

from __future__ import annotations

from typing import Any

from ..analysis.hub import dataset_of, model_calls, model_of, register_calls
from ..analysis.plugins import ENTRY, plugins_of
from .interfaces import LOADERS, forward, links
from .material import Material


def chain(material: Material) -> list[dict[str, Any]]:
    """The links in order: `step` (a text key), `what`, and `place`, None where the files do not show it."""
    view = material.view
    package = view.facts.repo.package
    found: list[dict[str, Any]] = []

    def link(step: str, what: str | None, place: str | None) -> None:
        found.append({"step": material.text(f"chain.{step}", {}), "what": what, "place": place})

    for script in links(material)["scripts"][:1] or [None]:
        link("launch", f"{script['launcher']} {script['program']}" if script else None, script and script["script"])
    trainer = view.target.trainer or f"{package}/{ENTRY}"
    link("trainer", trainer, trainer if trainer in view.facts.files else None)
    link("config", view.target.config, view.target.config)
    if view.config is not None:
        for entry in plugins_of(view.facts, view.target.name).entries:
            link("plugin", entry.module, material.place("training.plugin") if entry.exists else None)
    model, data = model_of(view), dataset_of(view)
    link(
        "model", f"@model_register.register({view.target.model_id!r})", f"{model.path}:{model.line}" if model else None
    )
    meta = bool(view.config and view.config.get("training.init_model_with_meta_device") is True)
    for one in register_calls(view.facts, f"<model_register>.{LOADERS[meta]}"):
        link("build", f"ModelHub: {LOADERS[meta]}", f"{one.path}:{one.call.line}")
    kind = view.config.string("data.dataset_param.dataset_type") if view.config else None
    link("dataset", f"@data_register.register({kind!r})", f"{data.path}:{data.line}" if data else None)
    for one in register_calls(view.facts, "<data_register>"):
        link("dataset_call", "build_mm_dataset", f"{one.path}:{one.call.line}")
    for one in model_calls(view.facts):
        keywords = "".join(f", {name}=..." for name in one.call.keywords)
        link("step", f"model(**batch{keywords})", f"{one.path}:{one.call.line}")
    at = forward(material)
    link("forward", at[1].qualname if at else None, f"{at[0]}:{at[1].line}" if at else None)
    return found
