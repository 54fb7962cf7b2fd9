"""What the probe `model` is asked besides the usual: the patterns of the config's plans, a build without weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..analysis.features import pattern_uses
from .portable import Override

if TYPE_CHECKING:
    from ..checks.view import TargetView

META_KEY = "training.init_model_with_meta_device"
LORA_KEY = "training.lora"
_WHY = {
    "en": "the full-size model is built without weights",
    "zh": "全尺寸模型在不含权重的情况下构建",
}


def plan_uses(view: TargetView) -> list[dict[str, Any]]:
    """Every pattern of the plans that this generation reads, and of LoRA where it is on."""
    assert view.config is not None
    found = [
        {"plan": use.kind.name, "option": use.option, "pattern": use.text, "yaml_path": use.yaml_path}
        for use in pattern_uses(view.facts, view.config)
    ]
    if view.config.get(f"{LORA_KEY}.enable") is True:
        patterns = view.config.get(f"{LORA_KEY}.target_modules")
        found += [
            {
                "plan": "lora",
                "option": "target_modules",
                "pattern": text,
                "yaml_path": f"{LORA_KEY}.target_modules[{place}]",
            }
            for place, text in enumerate(patterns if isinstance(patterns, list) else [])
            if isinstance(text, str)
        ]
    return found


def on_meta(view: TargetView) -> list[Override]:
    """The override that builds the model on the meta device, unless the config does so itself."""
    assert view.config is not None
    was = view.config.get(META_KEY)
    return [] if was is True else [Override(META_KEY, True, was, _WHY)]
