"""Entry point: `torchrun ... mindspeed_mm/fsdp/train/trainer.py CONFIG.yaml [section.key=value ...]`."""

import logging
import os

import torch
import torch.distributed as dist
from torch import nn

from mindspeed_mm.config.config_manager import ConfigManager
from mindspeed_mm.fsdp.data import build_mm_dataloader, build_mm_dataset
from mindspeed_mm.fsdp.distributed.parallel_state import get_parallel_state, init_parallel_state
from mindspeed_mm.fsdp.distributed.torch_parallelize import ParallelApplier
from mindspeed_mm.fsdp.features.apply_features import FeaturesApplier
from mindspeed_mm.fsdp.models.modelhub import ModelHub
from mindspeed_mm.fsdp.optimizer.lr_scheduler import build_lr_scheduler
from mindspeed_mm.fsdp.optimizer.optimizer import build_optimizer
from mindspeed_mm.fsdp.params.argument import Arguments
from mindspeed_mm.fsdp.train.train_engine import TrainEngine
from mindspeed_mm.fsdp.utils.device import get_device_type, get_dist_comm_backend, set_device
from mindspeed_mm.fsdp.utils.log import print_rank, set_log_level
from mindspeed_mm.fsdp.utils.register import import_plugin
from mindspeed_mm.fsdp.utils.utils import init_model_weights, materialize, set_seed

logger = logging.getLogger(__name__)


class Trainer:
    """Builds every part of a training from the arguments.

    Args:
        args: all arguments.
        model_provider: builds the model in place of ModelHub.
        dataloader_provider: builds the dataloader from the arguments in place of the data section.
    """

    def __init__(self, args: Arguments, model_provider=None, dataloader_provider=None):
        self.args = args
        self.initialize()
        self.parallelize = ParallelApplier(args.parallel)
        self.features = FeaturesApplier(args.features)
        self.model = self.get_model(model_provider)
        self.optimizer = build_optimizer(self.model, args.training)
        self.lr_scheduler = build_lr_scheduler(self.optimizer, args.training)
        self.train_dataloader = dataloader_provider(args) if dataloader_provider else self.get_dataloader()
        self.trainer = TrainEngine(args, self.train_dataloader, self.model, self.optimizer, self.lr_scheduler)

    def initialize(self) -> None:
        """Logging, plugins, seeds, process group and mesh."""
        args = self.args
        set_log_level()
        device = set_device(int(os.environ.get("LOCAL_RANK", "0")))
        set_seed(args.training.seed)
        import_plugin(args.training.plugin)
        if not dist.is_initialized():
            dist.init_process_group(get_dist_comm_backend(), device_id=device if device.type != "cpu" else None)
        init_parallel_state(args.parallel.data_parallel_size, args.parallel.fully_shard_parallel_size)

    def get_foundation_model(self) -> nn.Module:
        """Build the model that the YAML file names, not sharded yet."""
        return ModelHub.build(self.args.model, self.args.features, self.args.training)

    def get_model(self, model_provider=None) -> nn.Module:
        """Build, wrap and shard the model; from the meta device it gets storage, and weights unless some are loaded."""
        args = self.args
        model = model_provider() if model_provider else self.get_foundation_model()
        self.features.pre_fully_shard_apply(model)
        sharded = self.parallelize(model)
        if args.training.init_model_with_meta_device:
            materialize(sharded, get_device_type())
            init_model_weights(sharded)
        else:
            sharded.to(get_device_type())
        return sharded

    def get_dataloader(self) -> torch.utils.data.DataLoader:
        """Build the training dataloader from the data section."""
        args = self.args
        print_rank(logger.info, f"building dataset {args.data.dataset_param.dataset_type}")
        dataset = build_mm_dataset(args.data.dataset_param)
        options = args.data.dataloader_param.to_dict()
        options.update(batch_size=args.training.micro_batch_size, seed=args.training.seed)
        return build_mm_dataloader(
            dataset,
            options,
            process_group=get_parallel_state().get_dp_group(),
            dataset_param=args.data.dataset_param,
            model=self.model,
        )

    def train(self) -> None:
        """Run the training."""
        self.trainer.train()


if __name__ == "__main__":
    Trainer(args=ConfigManager(Arguments).load_and_parse()).train()
    dist.destroy_process_group()
