"""The training loop."""

import logging
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from mindspeed_mm.fsdp.checkpoint.checkpointer import DistributedCheckpointer, HuggingFaceCheckpointer, detect_format
from mindspeed_mm.fsdp.data.dataloader.dataloader import endless
from mindspeed_mm.fsdp.distributed.parallel_state import get_parallel_state
from mindspeed_mm.fsdp.loss.loss_func import build_loss_func
from mindspeed_mm.fsdp.optimizer.clip_grad_norm import clip_grad_norm
from mindspeed_mm.fsdp.params.argument import Arguments
from mindspeed_mm.fsdp.tools.profiler import Profiler
from mindspeed_mm.fsdp.utils.dtype import get_dtype
from mindspeed_mm.fsdp.utils.log import print_rank
from mindspeed_mm.fsdp.utils.utils import move_to_device

logger = logging.getLogger(__name__)

_CHECKPOINTERS = {"hf": HuggingFaceCheckpointer, "dcp": DistributedCheckpointer}


class TrainEngine:
    """Runs the steps of a training whose parts are built.

    Args:
        args: all arguments.
        train_dataloader: batches, as keyword arguments of the model's forward.
        model: the sharded model.
        optimizer: over the model's parameters.
        scheduler: of the optimizer's learning rate.
    """

    def __init__(
        self, args: Arguments, train_dataloader, model: nn.Module, optimizer: Optimizer, scheduler: LRScheduler
    ):
        self.args = args
        self.train_dataloader = train_dataloader
        self.model = model
        self.optimizer = optimizer
        self.lr_scheduler = scheduler
        self.iteration, self.consumed_train_samples = 0, 0
        self.profiler = Profiler(args.tools.profile)
        if args.training.load:
            self.iteration, self.consumed_train_samples = self.load()

    def train(self) -> None:
        """Run until `train_iters`, logging and saving on the way."""
        training = self.args.training
        batches = iter(endless(self.train_dataloader))
        self.model.train()
        while self.iteration < training.train_iters:
            started = time.perf_counter()
            loss_dict = self.train_step(batches)
            grad_norm = clip_grad_norm(self.model, training.clip_grad)
            learning_rate = self.lr_scheduler.get_last_lr()[0]
            self.optimizer.step()
            self.lr_scheduler.step()
            self.optimizer.zero_grad()
            self.consumed_train_samples += training.global_batch_size
            self.iteration += 1
            self.profiler.step()
            if self.iteration % training.log_interval == 0:
                seconds = time.perf_counter() - started
                self.training_log(
                    self.iteration, seconds, learning_rate, self.consumed_train_samples, loss_dict, grad_norm
                )
            if training.save_interval > 0 and self.iteration % training.save_interval == 0:
                self.save()
        self.save()

    def set_loss_func(self, batch: dict[str, Tensor]) -> None:
        """Give the model the loss function of this batch, unless it computes its own ("raw")."""
        features = self.args.features
        if features.loss_cfg.loss_type == "raw":
            return
        chunk_size = features.chunkloss_plan.chunk_size if features.enable_chunk_loss else None
        self.model.loss_function = build_loss_func(features.loss_cfg.loss_type, chunk_size=chunk_size, **batch)

    def train_step(self, batches: Iterator[dict[str, Tensor]]) -> dict[str, float]:
        """Forward and backward over the accumulated micro batches; return the losses averaged over all ranks."""
        steps = self.args.training.gradient_accumulation_steps
        total = None
        for step in range(steps):
            batch = move_to_device(next(batches), get_dtype(self.args.parallel.fsdp_plan.param_dtype))
            self.set_loss_func(batch)
            self.model.set_requires_gradient_sync(step == steps - 1)
            output = self.model(**batch, use_cache=False)
            loss = output.loss / steps
            loss.backward()
            total = loss.detach() if total is None else total + loss.detach()
        state = get_parallel_state()
        dist.all_reduce(total, group=state.get_dp_group())
        return {"loss": total.item() / state.data_parallel_size}

    def training_log(
        self,
        iteration: int,
        seconds: float,
        learning_rate: float,
        consumed_train_samples: int,
        loss_dict: dict[str, float],
        grad_norm: Tensor | None,
    ) -> None:
        """Print one line about a step, which starts with the iteration and ends each field with a bar."""
        training = self.args.training
        fields = [
            f"iteration {iteration:8d}/{training.train_iters:8d}",
            f"consumed samples: {consumed_train_samples:12d}",
            f"elapsed time per iteration (ms): {seconds * 1000:.1f}",
            f"learning rate: {learning_rate:.6E}",
            f"global batch size: {training.global_batch_size:5d}",
            *(f"{name}: {value:.6E}" for name, value in loss_dict.items()),
        ]
        if grad_norm is not None:
            fields.append(f"grad norm: {grad_norm.item():.3f}")
        print_rank(logger.info, f" [{datetime.now():%Y-%m-%d %H:%M:%S}] {' | '.join(fields)} |")

    def load(self) -> tuple[int, int]:
        """Restore `training.load`; return the iteration it stands at and the samples it has seen.

        Raises:
            ValueError: a Hugging Face folder, which has weights only, while optimizer or random state are wanted.
        """
        training = self.args.training
        load_format = detect_format(training.load) if training.load_format == "auto" else training.load_format
        if load_format == "hf" and not (training.no_load_optim and training.no_load_rng):
            raise ValueError(
                f"training.load {training.load} holds weights only: set training.no_load_optim and "
                "training.no_load_rng to true."
            )
        state = _CHECKPOINTERS[load_format].load(
            training.load, self.model, None if training.no_load_optim else self.optimizer
        )
        return state["iteration"], state["consumed_train_samples"]

    def save(self) -> None:
        """Write a checkpoint, when `training.save` names a folder."""
        training = self.args.training
        if not training.save:
            return
        path = Path(training.save) / f"iter_{self.iteration:07d}"
        optimizer = None if training.no_save_optim else self.optimizer
        state = {"iteration": self.iteration, "consumed_train_samples": self.consumed_train_samples}
        DistributedCheckpointer.save(str(path), self.model, optimizer, state)
        torch.distributed.barrier()
