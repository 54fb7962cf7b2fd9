"""A profile of some steps on some ranks."""

import os
from pathlib import Path

import torch

from mindspeed_mm.fsdp.params.tools_args import ProfilerArguments


class Profiler:
    """Records the steps [start_step, end_step) and writes a trace; does nothing unless enabled for this rank.

    Args:
        config: the `tools.profile` section.
    """

    def __init__(self, config: ProfilerArguments):
        self.config = config
        self.rank = int(os.environ.get("RANK", "0"))
        self._profile = None
        self._step = 0

    def step(self) -> None:
        """Called after each training step."""
        self._step += 1
        if not self.config.enable or self.rank not in self.config.ranks:
            return
        if self._step == self.config.start_step:
            self._profile = torch.profiler.profile()
            self._profile.start()
        elif self._step == self.config.end_step and self._profile is not None:
            self._profile.stop()
            folder = Path(self.config.save_path)
            folder.mkdir(parents=True, exist_ok=True)
            self._profile.export_chrome_trace(str(folder / f"trace_rank{self.rank}.json"))
