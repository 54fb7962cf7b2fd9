"""Builds the model that the YAML file names."""

import logging

import torch
import transformers
from torch import nn
from transformers import AutoConfig, PretrainedConfig

from mindspeed_mm.fsdp.params.feature_args import FeatureArguments
from mindspeed_mm.fsdp.params.model_args import ModelArguments
from mindspeed_mm.fsdp.params.training_args import TrainingArguments
from mindspeed_mm.fsdp.utils.log import print_rank
from mindspeed_mm.fsdp.utils.register import model_register
from mindspeed_mm.fsdp.utils.str_match import module_name_match

logger = logging.getLogger(__name__)


class ModelHub:
    """Two routes: a checkpoint whose config Transformers can read, and everything else ("custom")."""

    @staticmethod
    def build(
        model_args: ModelArguments, feature_args: FeatureArguments, training_args: TrainingArguments
    ) -> nn.Module:
        """Return the model in float32, frozen parts frozen; on the meta device when the training asks for it.

        Raises:
            KeyError: `model_id` is registered by no plugin.
            ValueError: neither a model_id nor an architecture known to Transformers.
        """
        try:
            config = AutoConfig.from_pretrained(
                model_args.model_name_or_path,
                trust_remote_code=model_args.trust_remote_code,
                attn_implementation=model_args.attn_implementation,
            )
        except (OSError, ValueError, KeyError) as error:
            print_rank(logger.warning, f"No Transformers config ({error}); taking the custom route.")
            model = ModelHub._build_custom_model(model_args, training_args)
        else:
            model = ModelHub._build_transformers_model(config, model_args, feature_args, training_args)
        ModelHub._freeze(model, model_args.freeze)
        return model

    @staticmethod
    def _build_custom_model(model_args: ModelArguments, training_args: TrainingArguments) -> nn.Module:
        if not model_args.model_id:
            raise ValueError("model.model_id is required where Transformers has no config for the checkpoint.")
        model_cls = model_register.get(model_args.model_id)
        if training_args.init_model_with_meta_device:
            with torch.device("meta"):
                return model_cls._from_config(model_args).float()
        return model_cls.from_pretrained(model_args).float()

    @staticmethod
    def _build_transformers_model(
        config: PretrainedConfig,
        model_args: ModelArguments,
        feature_args: FeatureArguments,
        training_args: TrainingArguments,
    ) -> nn.Module:
        if model_args.model_id:
            model_cls = model_register.get(model_args.model_id)
        else:
            architecture = next(iter(config.architectures or []), "")
            model_cls = getattr(transformers, architecture, None)
            if model_cls is None:
                raise ValueError(f"Transformers has no class {architecture!r}: set model.model_id.")
        overwrite = getattr(model_cls, "overwrite_transformer_config", None)
        if callable(overwrite):
            config = model_cls.overwrite_transformer_config(config, model_args, feature_args)
        if training_args.init_model_with_meta_device:
            with torch.device("meta"):
                return model_cls._from_config(config).float()
        return model_cls.from_pretrained(
            model_args.model_name_or_path,
            config=config,
            dtype=torch.float32,
            low_cpu_mem_usage=True,
            device_map="cpu",
            trust_remote_code=model_args.trust_remote_code,
        )

    @staticmethod
    def _freeze(model: nn.Module, patterns: list[str]) -> None:
        for name, module in model.named_modules():
            if any(module_name_match(pattern, name) for pattern in patterns):
                print_rank(logger.info, f"freezing {name}")
                module.requires_grad_(False)
