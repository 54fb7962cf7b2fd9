"""Section `training`."""

from typing import Literal

from pydantic import Field

from mindspeed_mm.config.arguments.base_args import BaseArguments
from mindspeed_mm.fsdp.params.parallel_args import ParallelArguments


class TrainingArguments(BaseArguments):
    """Optimisation, length of the run, checkpoints and plugins."""

    lr: float
    lr_min: float = 0.0
    lr_decay_style: Literal["constant", "linear", "cosine"] = "constant"
    lr_warmup_ratio: float = 0.0
    weight_decay: float = 0.01
    optimizer: Literal["adamw"] = "adamw"
    adam_beta1: float = 0.9
    adam_beta2: float = 0.95
    adam_eps: float = 1e-8
    adam_fused: bool = False
    clip_grad: float = 1.0
    micro_batch_size: int = 1
    gradient_accumulation_steps: int = 1
    train_iters: int
    seed: int = 42
    init_model_with_meta_device: bool = False
    load: str | None = None
    load_format: Literal["auto", "hf", "dcp"] = "auto"
    save: str | None = None
    save_interval: int = 0
    no_load_optim: bool = False
    no_load_rng: bool = False
    no_save_optim: bool = False
    log_interval: int = 1
    plugin: list[str] = Field(default_factory=list)

    def compute_distributed_training(self, parallel_args: ParallelArguments) -> None:
        """Set `global_batch_size`: samples of one optimizer step over all ranks."""
        replicas = parallel_args.data_parallel_size
        self.global_batch_size = self.micro_batch_size * self.gradient_accumulation_steps * replicas
