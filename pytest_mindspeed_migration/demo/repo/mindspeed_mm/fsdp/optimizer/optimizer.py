"""The optimizer."""

from torch import nn
from torch.optim import AdamW, Optimizer

from mindspeed_mm.fsdp.params.training_args import TrainingArguments


def build_optimizer(model: nn.Module, training_args: TrainingArguments) -> Optimizer:
    """Return the optimizer over all trainable parameters; biases and norms (one-dimensional) get no weight decay.

    Raises:
        NotImplementedError: for an optimizer that is not known.
    """
    if training_args.optimizer != "adamw":
        raise NotImplementedError(f"training.optimizer {training_args.optimizer!r} is not known.")
    trainable = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [p for p in trainable if p.ndim > 1], "weight_decay": training_args.weight_decay},
        {"params": [p for p in trainable if p.ndim <= 1], "weight_decay": 0.0},
    ]
    return AdamW(
        [group for group in groups if group["params"]],
        lr=training_args.lr,
        betas=(training_args.adam_beta1, training_args.adam_beta2),
        eps=training_args.adam_eps,
        fused=training_args.adam_fused,
    )
