"""Image files as input of a convolutional network: resized, cropped and normalised as by torchvision, with Pillow."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from vsebench.files.image_files import read_image
from vsebench.types import Int

from ..data import Batch

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet, as networks of torchvision expect
Array = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class ImageFiles:
    """Images that are read when a batch needs them.

    Attributes:
        paths: (image,) the files.
        crop: ``center``; ``ten``: corners and centre, and all of them mirrored; ``random``: in training a random part
            of 8 to 100 % of the image, mirrored in half of the cases, else the centre.
        resize: length of the shorter side, in pixels.
        side: of a crop, in pixels.
    """

    paths: tuple[Path, ...]
    crop: str
    resize: int = 256
    side: int = 224
    kind: str = "pixels"
    width: int = 3

    def __len__(self) -> int:
        return len(self.paths)

    def identity(self) -> str:
        """See ``OfPixels.identity``: paths, sizes and times of the files, and the crop."""
        files = ((path.resolve(), path.stat()) for path in self.paths)
        lines = [f"{path} {found.st_size} {found.st_mtime_ns}" for path, found in files]
        return "\n".join([f"{self.crop} {self.resize} {self.side}", *lines])

    @cached_property
    def _workers(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1))

    def take(self, rows: Int, training: bool = False) -> Batch:
        """See ``Images.take``: (image, 3, side, side), or (image, 10, 3, side, side) of ten crops.

        Random crops are decided by the images of the batch, which differ from epoch to epoch: a resumed run draws the
        same ones.
        """
        seeds = np.random.SeedSequence([int(r) for r in rows]).spawn(len(rows))
        random = training and self.crop == "random"
        rngs = [np.random.default_rng(seed) if random else None for seed in seeds]
        found = list(self._workers.map(self._read, rows.tolist(), rngs))
        pixels = torch.from_numpy(np.stack(found)).float() / 255  # (image, crop, height, width, 3)
        pixels = ((pixels - torch.tensor(MEAN)) / torch.tensor(STD)).permute(0, 1, 4, 2, 3)
        return {"images": pixels if self.crop == "ten" else pixels[:, 0]}

    def _read(self, row: int, rng: np.random.Generator | None) -> Array:
        """The crops of one image, (crop, side, side, 3)."""
        image = read_image(self.paths[row])
        if rng is not None:
            return _random_crop(image, self.side, rng)[None]
        image = _resized(image, self.resize)
        return ten_crops(np.asarray(image), self.side) if self.crop == "ten" else _centre(np.asarray(image), self.side)


def ten_crops(pixels: Array, side: int) -> Array:
    """(10, side, side, 3): four corners and the centre, then those of the mirrored image; the order of torchvision."""
    return np.concatenate([_five_crops(pixels, side), _five_crops(pixels[:, ::-1], side)])


def _five_crops(pixels: Array, side: int) -> Array:
    top_left, top_right = pixels[:side, :side], pixels[:side, -side:]
    bottom_left, bottom_right = pixels[-side:, :side], pixels[-side:, -side:]
    return np.stack([top_left, top_right, bottom_left, bottom_right, _centre(pixels, side)[0]])


def _centre(pixels: Array, side: int) -> Array:
    """(1, side, side, 3)."""
    top, left = round((pixels.shape[0] - side) / 2), round((pixels.shape[1] - side) / 2)
    return pixels[None, top : top + side, left : left + side]


def _resized(image: Any, shorter: int) -> Any:
    """The image with a shorter side of that length, with bilinear interpolation."""
    from PIL.Image import Resampling

    width, height = image.size
    if width <= height:
        size = (shorter, max(shorter, int(shorter * height / width)))
    else:
        size = (max(shorter, int(shorter * width / height)), shorter)
    return image.resize(size, Resampling.BILINEAR)


def _random_crop(image: Any, side: int, rng: np.random.Generator) -> Array:
    """A part of 8 to 100 % of the area, 3/4 to 4/3 as wide as high, mirrored in half of the cases."""
    from PIL.Image import Resampling

    width, height = image.size
    for _ in range(10):
        area, ratio = width * height * rng.uniform(0.08, 1), np.exp(rng.uniform(np.log(3 / 4), np.log(4 / 3)))
        w, h = round(np.sqrt(area * ratio)), round(np.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            break
    else:
        w = h = min(width, height)
    left, top = int(rng.integers(0, width - w + 1)), int(rng.integers(0, height - h + 1))
    part = image.resize((side, side), Resampling.BILINEAR, box=(left, top, left + w, top + h))
    pixels = np.asarray(part)
    return np.ascontiguousarray(pixels[:, ::-1]) if rng.integers(2) else pixels
