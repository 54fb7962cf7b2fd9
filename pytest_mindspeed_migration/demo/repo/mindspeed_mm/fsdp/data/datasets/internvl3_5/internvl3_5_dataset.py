"""InternVL3.5 conversations: annotation rows to token ids, labels and tiles."""

import json
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import Dataset
from transformers import AutoConfig, AutoTokenizer

from mindspeed_mm.fsdp.data.data_utils.func_utils.convert import IGNORE_INDEX, DataArguments, DatasetAttr
from mindspeed_mm.fsdp.data.data_utils.func_utils.model_args import ProcessorArguments
from mindspeed_mm.fsdp.data.datasets.internvl3_5.arguments import InternVLExtraArguments
from mindspeed_mm.fsdp.data.datasets.internvl3_5.padding import pad_batch
from mindspeed_mm.fsdp.data.datasets.internvl3_5.tiling import split_into_tiles
from mindspeed_mm.fsdp.models.internvl3_5.special_tokens import (
    IMG_CONTEXT_TOKEN,
    IMG_END_TOKEN,
    IMG_START_TOKEN,
    num_image_token,
)
from mindspeed_mm.fsdp.utils.register import data_register

IMAGE_PLACEHOLDER = "<image>"


@data_register.register("internvl3_5")
class InternVL35Dataset(Dataset):
    """A list of conversations, each with any number of images.

    Args:
        basic_param: annotation files and lengths; see DataArguments.
        preprocess_param: where tokenizer and model config are; see ProcessorArguments.
        dataset_param: the whole section, for `attr` and `internvl3_5_extra`.

    Raises:
        FileNotFoundError: an annotation file, or the image folder, does not exist.
        ValueError: an annotation file that is no JSON or has no rows, or a tokenizer without the image tokens.
    """

    def __init__(self, basic_param: dict[str, Any], preprocess_param: dict[str, Any], dataset_param: dict[str, Any]):
        self.basic = DataArguments(**basic_param)
        self.attr = DatasetAttr(**dataset_param["attr"])
        self.extra = InternVLExtraArguments(**(dataset_param.get("internvl3_5_extra") or {}))
        processor = ProcessorArguments(**preprocess_param)
        self.config = AutoConfig.from_pretrained(
            processor.model_name_or_path, trust_remote_code=processor.trust_remote_code
        )
        self.tokenizer = AutoTokenizer.from_pretrained(
            processor.model_name_or_path,
            trust_remote_code=processor.trust_remote_code,
            use_fast=processor.use_fast_tokenizer,
        )
        self.tokens_per_tile = num_image_token(self.config)
        self.tile_size = self.config.vision_config.image_size[0]
        if self.tokenizer.convert_tokens_to_ids(IMG_CONTEXT_TOKEN) != self.config.image_token_id:
            raise ValueError(
                f"{processor.model_name_or_path}: the tokenizer's {IMG_CONTEXT_TOKEN} is not the config's "
                f"image_token_id {self.config.image_token_id}."
            )
        self.image_root = Path(self.extra.image_root)
        if not self.image_root.is_dir():
            raise FileNotFoundError(f"internvl3_5_extra.image_root {self.image_root} is not a folder.")
        self.rows = self._read_annotations(self.basic.dataset)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        """Return input_ids, attention_mask, labels, pixel_values and image_flags of one row."""
        row = self.rows[index]
        if self.attr.messages not in row:
            raise KeyError(f"row {index} has no field {self.attr.messages!r}: set data.dataset_param.attr.messages.")
        images = [self._open(name) for name in self._image_names(row)]
        tiles = [self._tiles(image) for image in images]
        input_ids, labels = self._tokenize(row[self.attr.messages], [len(part) for part in tiles])
        self._check_image_tokens(index, input_ids, sum(len(part) for part in tiles))
        if tiles:
            pixel_values = torch.cat(tiles)
            image_flags = torch.ones(len(pixel_values), dtype=torch.long)
        else:
            pixel_values = torch.zeros(1, 3, self.tile_size, self.tile_size)
            image_flags = torch.zeros(1, dtype=torch.long)
        return {
            "input_ids": input_ids,
            "attention_mask": torch.ones_like(input_ids),
            "labels": labels,
            "pixel_values": pixel_values,
            "image_flags": image_flags,
        }

    def collate_fn(self, samples: list[dict[str, Tensor]]) -> dict[str, Tensor]:
        """Make a batch: text padded to one length, the tiles of all samples in one row."""
        pad_id = self.tokenizer.pad_token_id
        batch = pad_batch(samples, {"input_ids": pad_id, "attention_mask": 0, "labels": IGNORE_INDEX})
        batch["pixel_values"] = torch.cat([sample["pixel_values"] for sample in samples])
        batch["image_flags"] = torch.cat([sample["image_flags"] for sample in samples])
        return batch

    def _read_annotations(self, dataset: str | list[str] | None) -> list[dict[str, Any]]:
        rows = []
        for name in [dataset] if isinstance(dataset, str) else dataset or []:
            path = Path(name)
            if not path.is_file():
                raise FileNotFoundError(f"basic_parameters.dataset {path} is not a file.")
            try:
                text = path.read_text(encoding="utf-8")
                if path.suffix == ".jsonl":
                    rows += [json.loads(line) for line in text.splitlines() if line.strip()]
                else:
                    rows += json.loads(text)
            except ValueError as error:
                raise ValueError(f"basic_parameters.dataset {path} is no JSON: {error}") from error
        rows = rows[: self.basic.max_samples]
        if not rows:
            raise ValueError(f"basic_parameters.dataset {dataset!r} holds no rows.")
        return rows

    def _image_names(self, row: dict[str, Any]) -> list[str]:
        names = row.get(self.attr.images) if self.attr.images else None
        return [names] if isinstance(names, str) else list(names or [])

    def _open(self, name: str) -> Image.Image:
        path = self.image_root / name
        if not path.is_file():
            raise FileNotFoundError(f"image {path} of the annotation does not exist.")
        return Image.open(path)

    def _tiles(self, image: Image.Image) -> Tensor:
        extra = self.extra
        return split_into_tiles(
            image, self.tile_size, extra.min_dynamic_patch, extra.max_dynamic_patch, extra.use_thumbnail
        )

    def _tokenize(self, messages: list[dict[str, str]], tiles_per_image: list[int]) -> tuple[Tensor, Tensor]:
        """Write the turns in ChatML; only what the assistant says, and the end of its turn, has a label."""
        attr = self.attr
        roles = {attr.user_tag: "user", attr.assistant_tag: "assistant", attr.system_tag: "system"}
        pending = iter(tiles_per_image)
        input_ids, labels = [], []
        for message in messages:
            role = roles[message[attr.role_tag]]
            text = self._expand_images(message[attr.content_tag], pending)
            head = self._encode(f"<|im_start|>{role}\n")
            body = self._encode(f"{text}<|im_end|>")
            tail = self._encode("\n")
            input_ids += head + body + tail
            learned = body if role == "assistant" else [IGNORE_INDEX] * len(body)
            labels += [IGNORE_INDEX] * len(head) + learned + [IGNORE_INDEX] * len(tail)
        cut = self.basic.cutoff_len
        return torch.tensor(input_ids[:cut]), torch.tensor(labels[:cut])

    def _encode(self, text: str) -> list[int]:
        return self.tokenizer.encode(text, add_special_tokens=False)

    def _expand_images(self, text: str, tiles_per_image) -> str:
        first, *others = text.split(IMAGE_PLACEHOLDER)
        for part in others:
            context = IMG_CONTEXT_TOKEN * (self.tokens_per_tile * next(tiles_per_image, 0))
            first += f"{IMG_START_TOKEN}{context}{IMG_END_TOKEN}{part}"
        return first

    def _check_image_tokens(self, index: int, input_ids: Tensor, tiles: int) -> None:
        found = int((input_ids == self.config.image_token_id).sum())
        if found != tiles * self.tokens_per_tile:
            raise ValueError(
                f"row {index}: {found} image tokens for {tiles} tiles of {self.tokens_per_tile}. Its text needs one "
                f"{IMAGE_PLACEHOLDER} an image, and basic_parameters.cutoff_len ({self.basic.cutoff_len}) room for all."
            )
