"""What a model needs that Transformers cannot build from a config alone."""

from abc import ABC, abstractmethod

from mindspeed_mm.fsdp.params.model_args import ModelArguments


class BaseModel(ABC):
    """Interface of models on ModelHub's custom route: both constructors get the whole `model` section."""

    @classmethod
    @abstractmethod
    def from_pretrained(cls, config: ModelArguments):
        """Return the model with the weights of `config.model_name_or_path`."""

    @classmethod
    @abstractmethod
    def _from_config(cls, config: ModelArguments):
        """Return the model without weights; called on the meta device."""
