"""The device this process trains on: an accelerator where there is one, else the CPU."""

import torch

_BACKENDS = {"npu": "hccl", "cuda": "nccl", "cpu": "gloo"}


def get_device_type() -> str:
    """Name of the device type, such as "npu" or "cpu"."""
    accelerator = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    return accelerator.type if accelerator is not None else "cpu"


def get_dist_comm_backend() -> str:
    """Communication backend that belongs to the device."""
    return _BACKENDS.get(get_device_type(), "gloo")


def set_device(local_rank: int) -> torch.device:
    """Make the accelerator of this local rank the current one and return it."""
    if get_device_type() == "cpu":
        return torch.device("cpu")
    torch.accelerator.set_device_index(local_rank)
    return torch.device(get_device_type(), local_rank)
