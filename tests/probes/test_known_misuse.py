"""Misuse of FSDP2 that public bug reports tell of, each planted in the demo: one contract names it before any NPU does.

`MIGRATE_DEMO_PYTHON` names an interpreter that has torch and Transformers; without it these tests say so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from demo_target import CHECKPOINT, CONFIG, MODELING, PYTHON, DemoTarget, demo_target, failures, lines

pytestmark = pytest.mark.skipif(PYTHON is None, reason="MIGRATE_DEMO_PYTHON names no interpreter with torch")

Change = tuple[str, str, str]
LAYERS = "      - model.language_model.layers.{*}\n    param_dtype"
VISION = "      - model.vision_tower.encoder.layer.{*}\n      - model.multi_modal_projector\n"
PROJECT = "        logits = self.lm_head(hidden)\n"
RETURN = "        return InternVLCausalLMOutputWithPast(loss=loss, logits=logits)\n"
POST_INIT = "        self.post_init()\n"
META_OFF = (CONFIG, "  init_model_with_meta_device: true\n", "  init_model_with_meta_device: false\n")
NO_CHUNKS = (CONFIG, "  enable_chunk_loss: true\n", "  enable_chunk_loss: false\n")


@dataclass(frozen=True)
class Misuse:
    """Symptom, the contract that shows it at level cpu, the key of its message, and the edits that plant it.

    `cause` is the entry of the error dictionary that a run which broke is diagnosed by.
    """

    symptom: str
    contract: str
    message: str
    changes: tuple[Change, ...]
    config: tuple[tuple[str, object], ...] = ()  # values of the checkpoint's config.json
    cause: str = ""


MISUSES = (
    Misuse(
        "'...Config' object has no attribute",
        "model.build",
        "cpu.raised",
        ((MODELING, "        check_image_token(config)\n", "        config.downsample_of_the_remote_code\n"),),
    ),
    Misuse(
        "could not find the layer class to wrap; no module matches any pattern",
        "config.apply_modules",
        "audit.dead_at",
        (
            (CONFIG, VISION, ""),
            (CONFIG, LAYERS, "      - model.language_model.decoder_layers.{*}\n    param_dtype"),
        ),
    ),
    Misuse(
        "__init__() got an unexpected keyword argument",
        "model.from_pretrained",
        "cpu.raised",
        (
            (
                MODELING,
                "return super().from_pretrained(path, *args, config=config, **options)",
                "return super().from_pretrained(path, *args, config=config, use_flash_attn=True, **options)",
            ),
            META_OFF,
        ),
    ),
    Misuse(
        "forward() got an unexpected keyword argument",
        "model.forward_inputs",
        "batch.key_without_parameter",
        (
            (MODELING, "        image_flags: Tensor | None = None,\n        use_cache", "        use_cache"),
            (MODELING, "        **kwargs,\n    ) -> Intern", "    ) -> Intern"),
        ),
    ),
    Misuse(
        "the model did not return a loss from the inputs",
        "model.forward_loss",
        "batch.no_loss",
        (NO_CHUNKS, (MODELING, RETURN, RETURN.replace("loss=loss", "loss=None"))),
    ),
    Misuse(
        "'tuple' object has no attribute 'loss'",
        "model.forward_loss",
        "batch.no_loss",
        (NO_CHUNKS, (MODELING, RETURN, "        return loss, logits\n")),
    ),
    Misuse(
        "assert self.img_context_token_id is not None",
        "model.forward_loss",
        "cpu.raised",
        (
            (MODELING, POST_INIT, f"        self.img_context_token_id = None\n{POST_INIT}"),
            (
                MODELING,
                "        features = features.to(inputs_embeds.dtype)\n",
                "        features = features.to(inputs_embeds.dtype)\n"
                "        assert self.img_context_token_id is not None\n",
            ),
        ),
    ),
    Misuse(
        "index out of range in self",
        "model.special_tokens",
        "tokens.unknown",
        ((MODELING, "        check_image_token(config)\n", ""),),
        (("image_token_id", 10_000),),
    ),
    Misuse(
        "the loss is 0 from the first step on",
        "model.forward_loss",
        "batch.loss_is_zero",
        (NO_CHUNKS, (MODELING, RETURN, RETURN.replace("loss=loss", "loss=loss * 0.0"))),
    ),
    Misuse(
        "parameters are still on the meta device; cannot copy out of meta tensor",
        "model.from_config",
        "batch.uninitialised",
        ((MODELING, "    def forward(\n", "    def init_weights(self):\n        pass\n\n    def forward(\n"),),
    ),
    Misuse(
        "grad norm nan: a non-persistent buffer holds what was in memory",
        "model.from_config",
        "batch.differing",
        (
            (MODELING, "from torch import Tensor, nn\n", "import torch\nfrom torch import Tensor, nn\n"),
            (
                MODELING,
                POST_INIT,
                f'        self.register_buffer("ramp", torch.arange(1.0, 5.0), persistent=False)\n{POST_INIT}',
            ),
        ),
    ),
    Misuse(
        "parameter is shared with a parameter already managed by another FSDP group",
        "config.apply_modules",
        "audit.tied_split",
        (
            (
                CONFIG,
                LAYERS,
                "      - model.language_model.embed_tokens\n      - lm_head\n" + LAYERS,
            ),
        ),
        (("tie_word_embeddings", True),),
    ),
    Misuse(
        "fully_shard does not support containers that do not implement forward",
        "config.apply_modules",
        "audit.container",
        ((CONFIG, LAYERS, LAYERS.replace(".{*}", "")),),
    ),
    Misuse(
        "keys of the checkpoint have another prefix: a tower stays random",
        "model.checkpoint_keys",
        "checkpoint.missing",
        (
            (
                MODELING,
                '        options.setdefault("key_mapping", cls._checkpoint_conversion_mapping)\n',
                '        options.setdefault("key_mapping", {"^language_model.lm_head": "head"})\n',
            ),
            META_OFF,
        ),
    ),
    Misuse(
        "got mixed torch.Tensor and DTensor",
        "verify.rehearsal",
        "training.raised",
        (
            NO_CHUNKS,
            (CONFIG, LAYERS, f"      - lm_head\n{LAYERS}"),
            (
                MODELING,
                "from torch import Tensor, nn\n",
                "from torch import Tensor, nn\nfrom torch.nn import functional\n",
            ),
            (MODELING, PROJECT, "        logits = functional.linear(hidden, self.lm_head.weight)\n"),
        ),
        cause="fsdp_mixed_tensor",
    ),
    Misuse(
        "FSDP expects uniform original parameter dtype",
        "verify.rehearsal",
        "training.raised",
        (
            (MODELING, "from torch import Tensor, nn\n", "import torch\nfrom torch import Tensor, nn\n"),
            (
                MODELING,
                "        return super().from_pretrained(path, *args, config=config, **options)\n",
                "        model = super().from_pretrained(path, *args, config=config, **options)\n"
                "        model.model.language_model.layers[0].mlp.to(torch.bfloat16)\n"
                "        return model\n",
            ),
            META_OFF,
        ),
        cause="fsdp_dtype",
    ),
    Misuse(
        "recomputed values have different metadata than during the forward pass",
        "verify.rehearsal",
        "training.raised",
        (
            (
                MODELING,
                POST_INIT,
                "        for layer in self.model.language_model.layers:\n"
                "            inner, calls = layer.mlp.forward, []\n"
                "            def grows(hidden, inner=inner, calls=calls):\n"
                "                calls.append(1)\n"
                "                return inner(torch.cat([hidden] * len(calls)))[: len(hidden)]\n"
                "            layer.mlp.forward = grows\n" + POST_INIT,
            ),
            (MODELING, "from torch import Tensor, nn\n", "import torch\nfrom torch import Tensor, nn\n"),
        ),
        cause="recompute_metadata",
    ),
)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoTarget]:
    with demo_target(tmp_path_factory.mktemp("demo")) as target:
        yield target


@pytest.mark.parametrize("misuse", MISUSES, ids=lambda misuse: misuse.symptom)
def test_known_misuse_is_named_without_a_device(demo: DemoTarget, misuse: Misuse) -> None:
    path = f"{CHECKPOINT}/config.json"
    config = json.loads((demo.repo / path).read_text(encoding="utf-8"))
    with (
        demo.edited(*misuse.changes),
        demo.written(path, json.dumps({**config, **dict(misuse.config)}).encode()),
    ):
        outcome = demo.judge(misuse.contract)[misuse.contract]
    assert misuse.message in failures(outcome), lines(outcome)
    if misuse.cause:
        diagnosis = demo.diagnosis(misuse.contract, outcome)
        assert (diagnosis["status"], diagnosis["entry"]) == ("cause", misuse.cause), diagnosis
        assert diagnosis["fix"]
