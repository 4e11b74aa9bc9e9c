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

from vsebench.files.image_files import read_image
from vsebench.pretrained.inputs import state_of
from vsebench.types import Int

# Of ImageNet, as networks of torchvision expect.
MEAN, STD = np.array([[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]], np.float32)


@dataclass(frozen=True, eq=False)
class ImageFiles:
    """Images that are read when a batch needs them, as an array of ``data.Images``.

    Attributes:
        paths: (image,) the files.
        crop: ``center``; ``ten``: corners and centre, and all of them mirrored; ``random``: a random part of 8 to 100 %
            of the image, mirrored in half of the cases.
        resize: length of the shorter side, in pixels.
        side: of a crop, in pixels.
    """

    paths: tuple[Path, ...]
    crop: str
    resize: int = 256
    side: int = 224

    def __len__(self) -> int:
        return len(self.paths)

    def states(self) -> list[str]:
        """For every image its path, size and time, and the crop."""
        return [f"{self.crop} {self.resize} {self.side} {state_of(path)}" for path in self.paths]

    @cached_property
    def _workers(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1))

    def __getitem__(self, rows: Int) -> npt.NDArray[np.float32]:
        """(image, 3, side, side), or (image, 10, 3, side, side) of ten crops.

        Random crops are decided by the images of the batch, which differ from epoch to epoch: a resumed run draws the
        same ones.

        Raises:
            BadInput: a file is no image, or damaged.
            MissingPackage: Pillow is not installed.
        """
        seeds = np.random.SeedSequence(rows.tolist()).spawn(len(rows))
        pixels = np.stack(list(self._workers.map(self._read, rows.tolist(), seeds))).astype(np.float32) / 255
        found: npt.NDArray[np.float32] = np.moveaxis((pixels - MEAN) / STD, -1, -3)
        return found if self.crop == "ten" else found[:, 0]

    def _read(self, row: int, seed: np.random.SeedSequence) -> npt.NDArray[np.uint8]:
        """The crops of one image, (crop, side, side, 3)."""
        from PIL.Image import Resampling

        image = read_image(self.paths[row])
        if self.crop == "random":
            return np.stack([_random_crop(image, self.side, np.random.default_rng(seed))])
        size = tuple(max(self.resize, int(self.resize * length / min(image.size))) for length in image.size)
        return np.stack(_crops(image.resize(size, Resampling.BILINEAR), self.side, ten=self.crop == "ten"))


def _crops(image: Any, side: int, *, ten: bool) -> list[npt.NDArray[np.uint8]]:
    """The centre; or four corners and the centre, then those of the mirrored image, in the order of torchvision."""
    from PIL.ImageOps import mirror

    right, bottom = (length - side for length in image.size)
    corners = [(0, 0), (right, 0), (0, bottom), (right, bottom)] if ten else []
    places = [*corners, (round(right / 2), round(bottom / 2))]
    views = (image, mirror(image)) if ten else (image,)
    return [np.asarray(view.crop((x, y, x + side, y + side))) for view in views for x, y in places]


def _random_crop(image: Any, side: int, rng: np.random.Generator) -> npt.NDArray[np.uint8]:
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
    pixels = np.asarray(image.resize((side, side), Resampling.BILINEAR, box=(left, top, left + w, top + h)))
    return pixels[:, ::-1] if rng.integers(2) else pixels
