"""The learning rate over the run."""

import math

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR

from mindspeed_mm.fsdp.params.training_args import TrainingArguments


def build_lr_scheduler(optimizer: Optimizer, training_args: TrainingArguments) -> LambdaLR:
    """Return a schedule: linear warm-up, then constant, linear or cosine down to `lr_min` at the last step."""
    total = training_args.train_iters
    warmup = round(total * training_args.lr_warmup_ratio)
    floor = training_args.lr_min / training_args.lr
    style = training_args.lr_decay_style

    def factor(step: int) -> float:
        if step < warmup:
            return (step + 1) / (warmup + 1)
        progress = min(1.0, (step - warmup) / max(1, total - warmup))
        if style == "cosine":
            return floor + (1 - floor) * (1 + math.cos(math.pi * progress)) / 2
        if style == "linear":
            return floor + (1 - floor) * (1 - progress)
        return 1.0

    return LambdaLR(optimizer, factor)
