"""Arguments of tokenizer and image processor."""

from mindspeed_mm.config.arguments.base_args import BaseArguments


class ProcessorArguments(BaseArguments):
    """Tokenizer and image processor."""

    model_name_or_path: str | None = None
    trust_remote_code: bool = False
    use_fast_tokenizer: bool = True
