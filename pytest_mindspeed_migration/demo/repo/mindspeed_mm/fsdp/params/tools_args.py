"""Section `tools`."""

from pydantic import Field

from mindspeed_mm.config.arguments.base_args import BaseArguments


class ProfilerArguments(BaseArguments):
    """A window of steps to profile."""

    enable: bool = False
    start_step: int = 10
    end_step: int = 11
    save_path: str = "./profiling"
    ranks: list[int] = Field(default_factory=lambda: [0])


class ToolsArguments(BaseArguments):
    """Tools beside the training."""

    profile: ProfilerArguments = Field(default_factory=ProfilerArguments)
