"""InternVL3.5 for FSDP2 training."""

from typing import ClassVar

from torch import Tensor, nn
from transformers import InternVLConfig, InternVLModel, InternVLPreTrainedModel
from transformers.models.internvl.modeling_internvl import InternVLCausalLMOutputWithPast

from mindspeed_mm.fsdp.models.internvl3_5.special_tokens import check_image_token, num_image_token
from mindspeed_mm.fsdp.params.model_args import ModelArguments
from mindspeed_mm.fsdp.utils.register import model_register


@model_register.register("internvl3_5")
class InternVL35ForTraining(InternVLPreTrainedModel):
    """Transformers' InternVL under an output projection, with what its training data and ModelHub ask for.

    Text-only samples carry one blank tile with `image_flags` 0: the vision tower then runs on every rank, which the
    collectives of its shards need, and contributes nothing.

    Attributes:
        _checkpoint_conversion_mapping: from weight names of published checkpoints to module names, under the name that
            the framework's checkpoint loader reads. Transformers renames weights for its own classes only: without
            this the output projection would silently stay random.
    """

    _checkpoint_conversion_mapping: ClassVar[dict[str, str]] = {
        "^language_model.model": "model.language_model",
        "^language_model.lm_head": "lm_head",
        "^vision_tower": "model.vision_tower",
        "^multi_modal_projector": "model.multi_modal_projector",
    }

    _tied_weights_keys: ClassVar[dict[str, str]] = {"lm_head.weight": "model.language_model.embed_tokens.weight"}

    def __init__(self, config: InternVLConfig):
        super().__init__(config)
        self.model = InternVLModel(config)
        self.lm_head = nn.Linear(config.text_config.hidden_size, config.text_config.vocab_size, bias=False)
        self.post_init()

    def get_input_embeddings(self) -> nn.Embedding:
        """The token embedding; Transformers 4 does not find it below two models."""
        return self.model.language_model.get_input_embeddings()

    def set_input_embeddings(self, value: nn.Embedding) -> None:
        """Replace the token embedding."""
        self.model.language_model.set_input_embeddings(value)

    def get_output_embeddings(self) -> nn.Linear:
        """The output projection, which the framework ties to the token embedding where the config asks for it."""
        return self.lm_head

    def set_output_embeddings(self, value: nn.Linear) -> None:
        """Replace the output projection."""
        self.lm_head = value

    @classmethod
    def overwrite_transformer_config(cls, config, model_args, feature_args):
        """ModelHub's hook between reading the config and building: no cache, and image tokens that fit."""
        config.use_cache = config.text_config.use_cache = False
        check_image_token(config)
        num_image_token(config)
        return config

    @classmethod
    def from_pretrained(cls, path_or_section, *args, config=None, **options):
        """Load weights, called in either way: with a path, a config and options, or with the `model` section alone."""
        path = path_or_section
        if isinstance(path_or_section, ModelArguments):
            path, config = path_or_section.model_name_or_path, cls._config_of(path_or_section)
        options.setdefault("key_mapping", cls._checkpoint_conversion_mapping)
        return super().from_pretrained(path, *args, config=config, **options)

    @classmethod
    def _from_config(cls, config, **options):
        """Build without weights, from a config or from the `model` section."""
        if isinstance(config, ModelArguments):
            config = cls._config_of(config)
        return super()._from_config(config, **options)

    @classmethod
    def _config_of(cls, section: ModelArguments) -> InternVLConfig:
        config = InternVLConfig.from_pretrained(
            section.model_name_or_path, attn_implementation=section.attn_implementation
        )
        return cls.overwrite_transformer_config(config, section, None)

    def forward(
        self,
        input_ids: Tensor | None = None,
        pixel_values: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        image_flags: Tensor | None = None,
        use_cache: bool | None = None,
        **kwargs,
    ) -> InternVLCausalLMOutputWithPast:
        """Return loss and logits; with chunk loss the logits are never made.

        Args:
            pixel_values: all tiles of the batch, (tiles, 3, height, width).
            image_flags: for each tile, 1 when it is real and 0 when it is the blank tile of a text-only sample.
            labels: input_ids with -100 where no loss is wanted.
        """
        if inputs_embeds is None:
            embedding = self.get_input_embeddings()
            inputs_embeds = embedding(input_ids)
        if pixel_values is not None:
            inputs_embeds = self._insert_images(input_ids, inputs_embeds, pixel_values, image_flags)
        outputs = self.model(
            inputs_embeds=inputs_embeds,
            attention_mask=attention_mask,
            position_ids=position_ids,
            use_cache=bool(use_cache),
            **kwargs,
        )
        hidden = outputs.last_hidden_state
        if labels is not None and getattr(self, "enable_chunk_loss", False):
            return InternVLCausalLMOutputWithPast(loss=self.lm_head(hidden, self.loss_function))
        logits = self.lm_head(hidden)
        loss = None
        if labels is not None:
            loss = self.loss_function(logits, labels, vocab_size=self.config.text_config.vocab_size)
        return InternVLCausalLMOutputWithPast(loss=loss, logits=logits)

    def _insert_images(
        self, input_ids: Tensor, inputs_embeds: Tensor, pixel_values: Tensor, image_flags: Tensor | None
    ) -> Tensor:
        features = self.model.get_image_features(
            pixel_values=pixel_values,
            vision_feature_layer=self.config.vision_feature_layer,
            vision_feature_select_strategy=self.config.vision_feature_select_strategy,
        )
        # Transformers 4 returns the features themselves, Transformers 5 an output that holds them.
        features = getattr(features, "pooler_output", features)
        features = features.to(inputs_embeds.dtype)
        blank = features.sum() * 0.0
        if image_flags is not None:
            features = features[image_flags.flatten().bool()]
        places = input_ids == self.config.image_token_id
        if int(places.sum()) != features.shape[0] * features.shape[1]:
            raise ValueError(
                f"{int(places.sum())} image tokens in input_ids, but {features.shape[0]} tiles of "
                f"{features.shape[1]} tokens: collator and model disagree."
            )
        return inputs_embeds.masked_scatter(places.unsqueeze(-1), features) + blank
