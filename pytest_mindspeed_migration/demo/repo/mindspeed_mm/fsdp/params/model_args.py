"""Section `model`."""

from typing import Literal

from pydantic import Field

from mindspeed_mm.config.arguments.base_args import BaseArguments


class ModelArguments(BaseArguments):
    """Which model is built, and from what. A plugin reads its own switches here as extra keys."""

    model_id: str | None = None
    model_name_or_path: str | None = None
    trust_remote_code: bool = False
    attn_implementation: Literal["eager", "sdpa", "flash_attention_2"] | None = "sdpa"
    freeze: list[str] = Field(default_factory=list)
