"""Conversations about images, one sample at a time."""

import json
from pathlib import Path

from PIL import Image


class ConversationDataset:
    """Rows of a JSON file.

    Args:
        annotation: the file.
        image_root: folder its image paths are relative to.
        processor: turns text and images into model inputs.
    """

    def __init__(self, annotation: str, image_root: str, processor):
        self.rows = json.loads(Path(annotation).read_text(encoding="utf-8"))
        self.image_root = Path(image_root)
        self.processor = processor

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int):
        row = self.rows[index]
        names = [row["image"]] if isinstance(row.get("image"), str) else row.get("image", [])
        images = [Image.open(self.image_root / name).convert("RGB") for name in names]
        text = "\n".join(turn["value"] for turn in row["conversations"])
        return self.processor(text=text, images=images or None, return_tensors="pt")
