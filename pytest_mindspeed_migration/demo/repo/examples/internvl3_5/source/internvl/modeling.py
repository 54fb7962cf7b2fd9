"""The model as its authors train it."""

from transformers import InternVLForConditionalGeneration


def load_model(path: str) -> InternVLForConditionalGeneration:
    """Return the model with its weights, ready to train."""
    model = InternVLForConditionalGeneration.from_pretrained(path)
    model.config.use_cache = False
    return model.train()
