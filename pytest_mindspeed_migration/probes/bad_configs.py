"""Wrong configs that users write, made from a target's own config: one mistake each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..analysis.readers import schema_of
from ..checks.view import MODEL_KEY

if TYPE_CHECKING:
    from ..checks.view import TargetView

NO_SUCH = "no_such"
_DATASET_TYPE = "data.dataset_param.dataset_type"
PLUGINS = "training.plugin"


def bad_configs(view: TargetView) -> list[dict[str, Any]]:
    """Cases for the probes `errors` and `plugin_errors`.

    Each has `name`, `overrides`, `until` and `wrong`, the text an error has to name.
    """
    return list(_cases(view))


def _cases(view: TargetView) -> Iterator[dict[str, Any]]:
    config = view.config
    if config is None:
        return
    if config.string("model.model_id"):
        yield _case("model_id", {"model.model_id": f"{NO_SUCH}_model"}, "model", f"{NO_SUCH}_model")
    if config.string(_DATASET_TYPE):
        yield _case("dataset_type", {_DATASET_TYPE: f"{NO_SUCH}_dataset"}, "dataset", f"{NO_SUCH}_dataset")
    if config.string(MODEL_KEY):
        yield _case("model_path", {MODEL_KEY: f"/{NO_SUCH}/folder"}, "model", f"/{NO_SUCH}/folder")
    if view.plugins:
        wrong = f"mindspeed_mm/fsdp/models/{NO_SUCH}"
        yield _case("plugin", {PLUGINS: [wrong]}, "model", NO_SUCH)
    strict = _strict_node(view)
    if strict is not None:
        yield _case("strict_key", {f"{strict}.{NO_SUCH}_key": 1}, "config", f"{NO_SUCH}_key")


def _case(name: str, overrides: dict[str, Any], until: str, wrong: str) -> dict[str, Any]:
    return {"name": name, "overrides": overrides, "until": until, "wrong": wrong}


def _strict_node(view: TargetView) -> str | None:
    """A written node of the config whose class refuses keys it does not declare; None when this generation has none."""
    for path, item in sorted(schema_of(view.facts).nodes.items()):
        if path and item.extra == "forbid" and view.config is not None and isinstance(view.config.get(path), dict):
            return path
    return None
