"""Tokens that stand for an image, and how many of them one tile takes."""

IMG_START_TOKEN = "<img>"
IMG_END_TOKEN = "</img>"
IMG_CONTEXT_TOKEN = "<IMG_CONTEXT>"


def num_image_token(config) -> int:
    """Number of `<IMG_CONTEXT>` tokens of one tile: its patches after pixel shuffle.

    Args:
        config: an InternVLConfig.

    Raises:
        ValueError: the config's own `image_seq_length` says something else, so checkpoint and code do not fit.
    """
    height, width = config.vision_config.image_size
    patch_height, patch_width = config.vision_config.patch_size
    tokens = int((height // patch_height) * (width // patch_width) * config.downsample_ratio**2)
    if tokens != config.image_seq_length:
        raise ValueError(
            f"image_seq_length is {config.image_seq_length}, but a tile of this config has {tokens} tokens."
        )
    return tokens


def check_image_token(config) -> None:
    """Raise ValueError when the embedding of this config has no row for its image token."""
    if not 0 <= config.image_token_id < config.text_config.vocab_size:
        raise ValueError(
            f"image_token_id {config.image_token_id} lies outside the vocabulary of {config.text_config.vocab_size}: "
            "resize the embedding, or take the config of the checkpoint that has the image tokens."
        )
