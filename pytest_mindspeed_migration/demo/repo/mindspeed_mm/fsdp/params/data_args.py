"""Section `data`."""

from pydantic import ConfigDict, Field

from mindspeed_mm.config.arguments.base_args import BaseArguments


class BasicDataArguments(BaseArguments):
    """What every dataset needs. Closed: the fields of one model go to a section of their own, `<model>_extra`."""

    model_config = ConfigDict(extra="forbid")

    dataset: str | list[str] | None = None
    cutoff_len: int = 1024
    max_samples: int | None = None


class ProcessorArguments(BaseArguments):
    """Tokenizer and image processor."""

    model_name_or_path: str | None = None
    trust_remote_code: bool = False
    use_fast_tokenizer: bool = True


class DatasetAttr(BaseArguments):
    """Names of the columns and tags in the annotation file."""

    messages: str = "conversations"
    images: str | None = None
    role_tag: str = "from"
    content_tag: str = "value"
    user_tag: str = "human"
    assistant_tag: str = "gpt"
    system_tag: str | None = "system"


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
