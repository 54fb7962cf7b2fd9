"""Section `data`."""

from pydantic import Field

from mindspeed_mm.config.arguments.base_args import BaseArguments
from mindspeed_mm.fsdp.data.data_utils.func_utils.convert import DataArguments as BasicDataArguments
from mindspeed_mm.fsdp.data.data_utils.func_utils.convert import DatasetAttr
from mindspeed_mm.fsdp.data.data_utils.func_utils.model_args import ProcessorArguments


class DataSetArguments(BaseArguments):
    """One dataset. `<model>_extra` sections are kept as extra keys and handed to the plugin."""

    dataset_type: str
    basic_parameters: BasicDataArguments = Field(default_factory=BasicDataArguments)
    preprocess_parameters: ProcessorArguments = Field(default_factory=ProcessorArguments)
    attr: DatasetAttr = Field(default_factory=DatasetAttr)


class CollateArguments(BaseArguments):
    """Which registered collator makes a batch, where the dataset brings none of its own."""

    collator_id: str | None = None
    pad_to_multiple_of: int = 8


class DataloaderArguments(BaseArguments):
    """How samples become batches."""

    dataloader_mode: str
    sampler_type: str
    shuffle: bool
    drop_last: bool
    pin_memory: bool
    num_workers: int = 0
    collate_param: CollateArguments = Field(default_factory=CollateArguments)


class DataArguments(BaseArguments):
    """Dataset and dataloader."""

    dataset_param: DataSetArguments
    dataloader_param: DataloaderArguments
