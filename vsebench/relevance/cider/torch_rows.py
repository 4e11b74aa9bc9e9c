"""Rows of CIDEr-D as tensor code: the products and the order of additions of ``kernels``, so the same bits."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
import torch

from ...types import Direction, Vectors
from ..torch_lists import Tensor, Tiles, add_in_order, expand, rounds, tensor
from .features import Features


@dataclass(frozen=True, eq=False)
class TensorFeatures(Features):
    """Weighted features whose rows are computed on a device of torch; pairs as by ``Features``."""

    device: str = "cpu"
    _tiles: Tiles = field(init=False)
    _kept: dict[tuple[int, int], Tensor] = field(default_factory=dict)  # the last of ``_image_weights``

    def rows(self, direction: Direction, first: int, last: int) -> Vectors:
        """(last - first, gallery) float32 values of queries ``first:last``."""
        return self._tiles.rows(direction, first, last)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_tiles", Tiles(self.device, self._compute, (len(self.scale), len(self.length))))

    def _compute(self, direction: Direction, first: int, last: int) -> Tensor:
        if direction == "t2i":
            return self._values((first, last), (0, len(self.scale)))
        return self._values((0, len(self.length)), (first, last)).t().contiguous()

    def _values(self, captions: tuple[int, int], images: tuple[int, int]) -> Tensor:
        """(caption, image) float32 values of ranges of captions and images."""
        t, (c0, c1), (i0, i1) = self._tensors, captions, images
        n, length = i1 - i0, t["length"][c0:c1]
        caption, entry = expand(t["of_caption"], 2 * t["all"][c0:c1])
        feature, weight = t["feature"][entry], t["query"][entry]
        start, posting = self._postings(images)
        total = torch.zeros((c1 - c0, n), dtype=torch.float64, device=self.device)
        often = feature < self.frequent
        self._add_frequent(total, t["slot"][length], caption[often], feature[often], weight[often], images)
        caption, feature, weight = caption[~often], feature[~often], weight[~often]
        which, at = expand(start, feature)
        at = posting[at]
        apart = (length[caption[which]] - t["reference_length"][at]).abs()
        value = weight[which] * t["weight"][at] * t["penalty"][apart]
        add_in_order(total.view(-1), caption[which] * n + t["image"][at] - i0, value)
        # features of one caption only count with its own image
        own = t["all"][c0:c1][(t["image_of"][c0:c1] >= i0) & (t["image_of"][c0:c1] < i1)]
        which, entry = expand(t["of_caption_alone"], 2 * own)
        own = own[which]
        value = t["query"][entry] * t["reference"][entry]
        add_in_order(total.view(-1), (own - c0) * n + t["image_of"][own] - i0, value)
        return (total * t["scale"][i0:i1]).float()

    def _add_frequent(
        self, total: Tensor, slot: Tensor, caption: Tensor, feature: Tensor, weight: Tensor, images: tuple[int, int]
    ) -> None:
        """Add q W for the frequent features, W being summed over the references of an image first."""
        if not len(caption):
            return
        sums = self._image_weights(images)
        for entry in rounds(caption):  # the first feature of every caption, the second one, ...
            row = caption[entry]
            total[row] += weight[entry, None] * sums[slot[row], feature[entry]]

    def _image_weights(self, images: tuple[int, int]) -> Tensor:
        """(length, frequent feature, image) float64 sums W for the lengths that captions have; kept for the next."""
        if images in self._kept:
            return self._kept[images]
        self._kept.clear()
        t, (start, posting), n = self._tensors, self._postings(images), images[1] - images[0]
        feature, at = expand(start, torch.arange(self.frequent, device=self.device))
        at = posting[at]
        key = feature * n + t["image"][at] - images[0]
        value = t["weight"][at] * t["penalty"][(t["lengths"][:, None] - t["reference_length"][at]).abs()]
        sums = torch.zeros((len(value), self.frequent * n), dtype=torch.float64, device=self.device)
        for chosen in rounds(key) if len(key) else ():
            sums[:, key[chosen]] += value[:, chosen]
        self._kept[images] = sums.view(-1, self.frequent, n)
        return self._kept[images]

    def _postings(self, images: tuple[int, int]) -> tuple[Tensor, Tensor]:
        """Starts of the postings of every shared feature whose images are in a range, and the postings."""
        t = self._tensors
        if images == (0, len(self.scale)):
            return t["start"], torch.arange(len(t["image"]), device=self.device)
        chosen = ((t["image"] >= images[0]) & (t["image"] < images[1])).nonzero()[:, 0]
        start = torch.zeros_like(t["start"])
        start[1:] = torch.bincount(t["posting_feature"][chosen], minlength=len(start) - 1).cumsum(0)
        return start, chosen

    @cached_property
    def _tensors(self) -> dict[str, Tensor]:
        references = self._references
        lengths = np.unique(self.length).astype(np.int64)
        slot = np.zeros(int(self.length.max(initial=0)) + 1, np.int64)
        slot[lengths] = np.arange(len(lengths))
        arrays: dict[str, Any] = {
            "lengths": lengths, "slot": slot, "of_caption": np.stack([self.row[:-1], self.shared], 1).ravel(),
            "of_caption_alone": np.stack([self.shared, self.row[1:]], 1).ravel(),
            "image_of": self.image_of, "length": self.length.astype(np.int64),
            "feature": self.feature.astype(np.int64), "query": self.query, "reference": self.reference,
            "start": self.start, "penalty": self.penalty, "scale": self.scale, "all": np.arange(len(self.length)),
            "weight": references["weight"], "image": references["image"].astype(np.int64),
            "reference_length": references["length"].astype(np.int64),
            "posting_feature": np.repeat(np.arange(len(self.start) - 1), np.diff(self.start)),
        }  # fmt: skip
        return {name: tensor(array, self.device) for name, array in arrays.items()}


def on_device(features: Features, device: str) -> TensorFeatures:
    """The same features, with rows computed on a device of torch."""
    return TensorFeatures(**{f.name: getattr(features, f.name) for f in fields(Features)}, device=device)
