"""Arguments of annotation files, and the label that does not count."""

from pydantic import ConfigDict

from mindspeed_mm.config.arguments.base_args import BaseArguments

IGNORE_INDEX = -100


class DatasetAttr(BaseArguments):
    """Names of the columns and tags in the annotation file."""

    messages: str | None = "conversations"
    images: str | None = None
    role_tag: str | None = "from"
    content_tag: str | None = "value"
    user_tag: str | None = "human"
    assistant_tag: str | None = "gpt"
    system_tag: str | None = "system"


class DataArguments(BaseArguments):
    """What every dataset needs. Closed: the fields of one model go to a section of their own, `<model>_extra`.

    Attributes:
        dataset: annotation files, in YAML one text with commas or a list; a list once it is read.
        cutoff_len: tokens of a sample at most.
        max_samples: rows read at most.
    """

    model_config = ConfigDict(extra="forbid")

    dataset: str | list[str] | None = None
    cutoff_len: int = 1024
    max_samples: int | None = None

    def model_post_init(self, context) -> None:
        if self.dataset and not isinstance(self.dataset, list):
            self.dataset = self.dataset.split(",")
