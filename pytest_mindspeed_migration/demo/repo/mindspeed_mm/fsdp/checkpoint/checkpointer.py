"""Two checkpoint formats: a Hugging Face weight folder to start from, and sharded DCP folders to continue from."""

import json
import re
from pathlib import Path
from typing import Any

import torch.distributed.checkpoint as dcp
from safetensors.torch import load_file
from torch import nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)
from torch.optim import Optimizer

_STATE_FILE = "training_state.json"


def detect_format(load: str) -> str:
    """ "hf" for a folder with safetensors files, else "dcp"."""
    return "hf" if any(Path(load).glob("*.safetensors")) else "dcp"


class HuggingFaceCheckpointer:
    """Weights only: the whole state dict on every rank, then sharded into the model."""

    @staticmethod
    def load(path: str, model: nn.Module, optimizer: Optimizer | None = None) -> dict[str, Any]:
        """Load the weights, renamed by the model's `_checkpoint_conversion_mapping`; what does not fit is an error."""
        weights, mapping = {}, getattr(model, "_checkpoint_conversion_mapping", {})
        for file in sorted(Path(path).glob("*.safetensors")):
            for name, tensor in load_file(file).items():
                for pattern, replacement in mapping.items():
                    name = re.sub(pattern, replacement, name)
                weights[name] = tensor
        set_model_state_dict(model, weights, options=StateDictOptions(full_state_dict=True))
        return {"iteration": 0, "consumed_train_samples": 0}


class DistributedCheckpointer:
    """Model and optimizer, each rank its shards."""

    @staticmethod
    def save(path: str, model: nn.Module, optimizer: Optimizer | None, state: dict[str, Any]) -> None:
        """Write a checkpoint folder; without an optimizer only the model."""
        values = {"model": get_model_state_dict(model)}
        if optimizer is not None:
            values["optimizer"] = get_optimizer_state_dict(model, optimizer)
        dcp.save(values, checkpoint_id=path)
        Path(path, _STATE_FILE).write_text(json.dumps(state), encoding="utf-8")

    @staticmethod
    def load(path: str, model: nn.Module, optimizer: Optimizer | None = None) -> dict[str, Any]:
        """Load a checkpoint folder into a model of the same structure and return the training state in it."""
        values = {"model": get_model_state_dict(model)}
        if optimizer is not None:
            values["optimizer"] = get_optimizer_state_dict(model, optimizer)
        dcp.load(values, checkpoint_id=path)
        set_model_state_dict(model, values["model"])
        if optimizer is not None:
            set_optimizer_state_dict(model, optimizer, values["optimizer"])
        return json.loads(Path(path, _STATE_FILE).read_text(encoding="utf-8"))
