"""The published sizes of the model families that the example configurations train.

Figures only: what a model's public ``config.json`` says of its shape. A family also has a ``tiny`` reduction,
which keeps every kind of layer (one of each) and the special tokens, and makes everything else small.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Tree = dict[str, Any]

# The special tokens of the Qwen tokenizers, in the order of their ids.
QWEN_TOKENS = [
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|object_ref_start|>",
    "<|object_ref_end|>",
    "<|box_start|>",
    "<|box_end|>",
    "<|quad_start|>",
    "<|quad_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|vision_pad|>",
    "<|image_pad|>",
    "<|video_pad|>",
    "<tool_call>",
    "</tool_call>",
    "<|fim_prefix|>",
    "<|fim_middle|>",
    "<|fim_suffix|>",
    "<|fim_pad|>",
    "<|repo_name|>",
    "<|file_sep|>",
    "<tool_response>",
    "</tool_response>",
    "<think>",
    "</think>",
]
SPEECH_TOKENS = [
    "<|audio_start|>",
    "<|audio_end|>",
    "<tts_pad>",
    "<tts_text_bos>",
    "<tts_text_eod>",
    "<tts_text_bos_single>",
]
OMNI_TOKENS = [*QWEN_TOKENS, *SPEECH_TOKENS, "<|audio_pad|>"]
ASR_TOKENS = [*QWEN_TOKENS, *SPEECH_TOKENS, "<non_speech>", "<|audio_pad|>"]

# Patches of the Qwen vision towers: what the image and video processors of the model folder must cut.
QWEN3_PATCHES = {"patch_size": 16, "temporal_patch_size": 2, "merge_size": 2}


@dataclass(frozen=True)
class Family:
    """One model family as it is published.

    ``config`` is the full-size ``config.json``; a value that is text and begins with ``token:`` stands for the id
    of that token. ``tiny`` is laid over it. ``words`` is the number of ordinary tokens before the first special one.
    ``weights`` names the class that makes random weights: of transformers, or ``module:Class`` of the framework.
    """

    config: Tree
    tiny: Tree
    words: int
    weights: str
    tokens: list[str] = field(default_factory=lambda: QWEN_TOKENS)
    token_names: dict[str, str] = field(default_factory=dict)
    files: dict[str, Tree] = field(default_factory=dict)
    code: dict[str, str] = field(default_factory=dict)


def image_files(processor: str, patches: Tree, video_processor: str = "Qwen3VLVideoProcessor") -> dict[str, Tree]:
    """``preprocessor_config.json`` and ``video_preprocessor_config.json`` of a Qwen vision tower."""
    scale = {"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "processor_class": processor, **patches}
    return {
        "preprocessor_config.json": {
            "image_processor_type": "Qwen2VLImageProcessorFast",
            "size": {"longest_edge": 16777216, "shortest_edge": 65536},
            **scale,
        },
        "video_preprocessor_config.json": {
            "video_processor_type": video_processor,
            "size": {"longest_edge": 25165824, "shortest_edge": 4096},
            **scale,
        },
    }


def audio_files(processor: str, seconds: int) -> Tree:
    """The Whisper feature extractor of a Qwen audio tower, which hears at most ``seconds`` in one piece."""
    return {
        "feature_extractor_type": "WhisperFeatureExtractor",
        "processor_class": processor,
        "feature_size": 128,
        "sampling_rate": 16000,
        "hop_length": 160,
        "n_fft": 400,
        "chunk_length": seconds,
        "n_samples": seconds * 16000,
        "nb_max_frames": seconds * 100,
        "padding_side": "right",
        "padding_value": 0.0,
        "dither": 0.0,
        "return_attention_mask": True,
    }


VISION_TOKENS = {
    "image_token_id": "token:<|image_pad|>",
    "video_token_id": "token:<|video_pad|>",
    "vision_start_token_id": "token:<|vision_start|>",
    "vision_end_token_id": "token:<|vision_end|>",
}
QWEN3_MROPE = {"mrope_interleaved": True, "mrope_section": [24, 20, 20], "rope_type": "default"}
QWEN3_VISION = {
    "depth": 27,
    "hidden_size": 1152,
    "hidden_act": "gelu_pytorch_tanh",
    "intermediate_size": 4304,
    "num_heads": 16,
    "in_channels": 3,
    "patch_size": 16,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
    "num_position_embeddings": 2304,
    "initializer_range": 0.02,
}
QWEN3_MOE_30B = {
    "hidden_size": 2048,
    "num_hidden_layers": 48,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "hidden_act": "silu",
    "attention_bias": False,
    "attention_dropout": 0.0,
    "decoder_sparse_step": 1,
    "mlp_only_layers": [],
    "moe_intermediate_size": 768,
    "norm_topk_prob": True,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "initializer_range": 0.02,
    "rms_norm_eps": 1e-06,
}
TINY_MROPE = {"mrope_interleaved": True, "mrope_section": [2, 1, 1], "rope_type": "default"}
TINY_VISION = {
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_heads": 2,
    "out_hidden_size": 32,
    "num_position_embeddings": 64,
}
TINY_TEXT = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "num_hidden_layers": 2,
    "max_position_embeddings": 4096,
    "vocab_size": 512,
}
TINY_EXPERTS = {"moe_intermediate_size": 16, "num_experts": 4, "num_experts_per_tok": 2}

QWEN3_VL_MOE = Family(
    words=151643,
    weights="Qwen3VLMoeForConditionalGeneration",
    config={
        "architectures": ["Qwen3VLMoeForConditionalGeneration"],
        "model_type": "qwen3_vl_moe",
        "tie_word_embeddings": False,
        **VISION_TOKENS,
        "text_config": {
            "model_type": "qwen3_vl_moe_text",
            "bos_token_id": "token:<|endoftext|>",
            "eos_token_id": "token:<|im_end|>",
            **QWEN3_MOE_30B,
            "intermediate_size": 6144,
            "max_position_embeddings": 262144,
            "rope_scaling": QWEN3_MROPE,
            "rope_theta": 5000000,
            "vocab_size": 151936,
        },
        "vision_config": {
            "model_type": "qwen3_vl_moe",
            **QWEN3_VISION,
            "out_hidden_size": 2048,
            "deepstack_visual_indexes": [8, 16, 24],
        },
    },
    tiny={
        "text_config": {**TINY_TEXT, **TINY_EXPERTS, "rope_scaling": TINY_MROPE},
        "vision_config": {**TINY_VISION, "depth": 2, "deepstack_visual_indexes": [0]},
    },
    files=image_files("Qwen3VLProcessor", QWEN3_PATCHES),
)

QWEN3_5_ROPE = {
    "mrope_interleaved": True,
    "mrope_section": [11, 11, 10],
    "rope_type": "default",
    "rope_theta": 10000000,
    "partial_rotary_factor": 0.25,
}
QWEN3_5_TEXT = {
    "attention_bias": False,
    "attention_dropout": 0.0,
    "attn_output_gate": True,
    "full_attention_interval": 4,
    "head_dim": 256,
    "hidden_act": "silu",
    "initializer_range": 0.02,
    "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 128,
    "linear_num_key_heads": 16,
    "linear_num_value_heads": 32,
    "linear_value_head_dim": 128,
    "mamba_ssm_dtype": "float32",
    "max_position_embeddings": 262144,
    "mtp_num_hidden_layers": 1,
    "num_attention_heads": 16,
    "rms_norm_eps": 1e-06,
    "rope_parameters": QWEN3_5_ROPE,
    "vocab_size": 248320,
    "eos_token_id": "token:<|endoftext|>",
}
TINY_QWEN3_5 = {
    **TINY_TEXT,
    # Three layers of linear attention and one of full attention: one whole period of the published pattern.
    "num_hidden_layers": 4,
    "layer_types": ["linear_attention"] * 3 + ["full_attention"],
    "head_dim": 16,
    "linear_key_head_dim": 8,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_value_head_dim": 8,
    "rope_parameters": {**QWEN3_5_ROPE, "mrope_section": [2, 2, 2], "partial_rotary_factor": 0.75},
}

QWEN3_5 = Family(
    words=248044,
    weights="Qwen3_5ForConditionalGeneration",
    config={
        "architectures": ["Qwen3_5ForConditionalGeneration"],
        "model_type": "qwen3_5",
        "tie_word_embeddings": True,
        **VISION_TOKENS,
        "text_config": {
            "model_type": "qwen3_5_text",
            **QWEN3_5_TEXT,
            "hidden_size": 2560,
            "intermediate_size": 9216,
            "layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 8,
            "num_hidden_layers": 32,
            "num_key_value_heads": 4,
            "tie_word_embeddings": True,
        },
        "vision_config": {
            "model_type": "qwen3_5",
            **QWEN3_VISION,
            "depth": 24,
            "hidden_size": 1024,
            "intermediate_size": 4096,
            "out_hidden_size": 2560,
            "deepstack_visual_indexes": [],
        },
    },
    tiny={"text_config": TINY_QWEN3_5, "vision_config": {**TINY_VISION, "depth": 2}},
    files=image_files("Qwen3VLProcessor", QWEN3_PATCHES),
)

QWEN3_5_MOE = Family(
    words=248044,
    weights="Qwen3_5MoeForConditionalGeneration",
    config={
        "architectures": ["Qwen3_5MoeForConditionalGeneration"],
        "model_type": "qwen3_5_moe",
        "tie_word_embeddings": False,
        **VISION_TOKENS,
        "text_config": {
            "model_type": "qwen3_5_moe_text",
            **QWEN3_5_TEXT,
            "hidden_size": 2048,
            "layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 10,
            "moe_intermediate_size": 512,
            "num_experts": 256,
            "num_experts_per_tok": 8,
            "num_hidden_layers": 40,
            "num_key_value_heads": 2,
            "router_aux_loss_coef": 0.001,
            "shared_expert_intermediate_size": 512,
        },
        "vision_config": {
            "model_type": "qwen3_5_moe",
            **QWEN3_VISION,
            "out_hidden_size": 2048,
            "deepstack_visual_indexes": [],
        },
    },
    tiny={
        "text_config": {**TINY_QWEN3_5, **TINY_EXPERTS, "shared_expert_intermediate_size": 16},
        "vision_config": {**TINY_VISION, "depth": 2},
    },
    files=image_files("Qwen3VLProcessor", QWEN3_PATCHES),
)
