"""From an image of any size to square tiles."""

import math

import numpy as np
import torch
from PIL import Image
from torch import Tensor

_MEAN = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
_STD = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)


def choose_grid(width: int, height: int, fewest: int, most: int) -> tuple[int, int]:
    """Return (columns, rows), with `fewest` to `most` cells, whose shape is nearest to that of the image.

    Of two that are equally near, the one with more cells.
    """
    grids = [(c, r) for c in range(1, most + 1) for r in range(1, most // c + 1) if c * r >= fewest]
    wanted = math.log(width / height)
    return min(grids, key=lambda grid: (abs(math.log(grid[0] / grid[1]) - wanted), -grid[0] * grid[1]))


def split_into_tiles(image: Image.Image, size: int, fewest: int, most: int, thumbnail: bool) -> Tensor:
    """Return the normalized tiles of an image, (tiles, 3, size, size), row by row, the thumbnail last."""
    columns, rows = choose_grid(image.width, image.height, fewest, most)
    image = image.convert("RGB")
    scaled = image.resize((columns * size, rows * size), Image.Resampling.BICUBIC)
    corners = [(column * size, row * size) for row in range(rows) for column in range(columns)]
    tiles = [scaled.crop((left, top, left + size, top + size)) for left, top in corners]
    if thumbnail and len(tiles) > 1:
        tiles.append(image.resize((size, size), Image.Resampling.BICUBIC))
    return torch.stack([_normalize(tile) for tile in tiles])


def _normalize(tile: Image.Image) -> Tensor:
    pixels = torch.from_numpy(np.array(tile, dtype=np.float32)).permute(2, 0, 1) / 255.0
    return (pixels - _MEAN) / _STD
