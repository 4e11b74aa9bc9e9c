"""Rows of CIDEr-D as tensor code: the products and the order of additions of ``kernels``, so the same bits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import torch

from ...types import Direction, Vectors
from ..torch_lists import Tensor, add_in_order, expand, rounds, tensor
from .features import Features

PIECE = 1 << 22  # values computed together


@dataclass(frozen=True, eq=False)
class TensorFeatures(Features):
    """Weighted features whose rows are computed on a device of torch; pairs as by ``Features``."""

    device: str = "cpu"

    def rows(self, direction: Direction, first: int, last: int) -> Vectors:
        """(last - first, gallery) float32 values of queries ``first:last``."""
        gallery = len(self.scale) if direction == "t2i" else len(self.length)
        out = np.empty((last - first, gallery), np.float32)
        step = max(1, PIECE // max(gallery, 1))
        for a in range(first, last, step):
            b = min(a + step, last)
            if direction == "t2i":
                out[a - first : b - first] = self._values((a, b), (0, gallery)).cpu().numpy()
            else:
                out[a - first : b - first] = self._values((0, gallery), (a, b)).t().cpu().numpy()
        return out

    def _values(self, captions: tuple[int, int], images: tuple[int, int]) -> Tensor:
        """(caption, image) float32 values of ranges of captions and images."""
        t, (c0, c1), (i0, i1) = self._tensors, captions, images
        n = i1 - i0
        caption, entry = expand(torch.stack([t["row"][:-1], t["shared"]], 1).flatten(), 2 * t["all"][c0:c1])
        feature, weight = t["feature"][entry], t["query"][entry]
        postings = self._postings(images)
        total = torch.zeros((c1 - c0, n), dtype=torch.float64, device=self.device)
        often = feature < self.frequent
        self._add_frequent(total, t["length"][c0:c1], caption[often], feature[often], weight[often], postings, i0)
        start, posting = postings
        caption, feature, weight = caption[~often], feature[~often], weight[~often]
        which, at = expand(start, feature)
        at = posting[at]
        apart = (t["length"][c0:c1][caption[which]] - t["reference_length"][at]).abs()
        value = weight[which] * t["weight"][at] * t["penalty"][apart]
        add_in_order(total.view(-1), caption[which] * n + t["image"][at] - i0, value)
        # features of one caption only count with its own image
        own = t["all"][c0:c1][(t["image_of"][c0:c1] >= i0) & (t["image_of"][c0:c1] < i1)]
        which, entry = expand(torch.stack([t["shared"], t["row"][1:]], 1).flatten(), 2 * own)
        own = own[which]
        value = t["query"][entry] * t["reference"][entry]
        add_in_order(total.view(-1), (own - c0) * n + t["image_of"][own] - i0, value)
        return (total * t["scale"][i0:i1]).float()

    def _add_frequent(
        self, total: Tensor, length: Tensor, caption: Tensor, feature: Tensor, weight: Tensor,
        postings: tuple[Tensor, Tensor], i0: int,
    ) -> None:  # fmt: skip
        """Add q W for the frequent features, W being summed over the references of an image first."""
        for size, sums in self._image_weights(length, postings, i0, total.shape[1]):
            some = (length[caption] == size).nonzero()[:, 0]
            if not len(some):
                continue
            for chosen in rounds(caption[some]):  # the first feature of every caption, the second one, ...
                entry = some[chosen]
                total[caption[entry]] += weight[entry, None] * sums[feature[entry]]

    def _image_weights(
        self, length: Tensor, postings: tuple[Tensor, Tensor], i0: int, images: int
    ) -> Iterator[tuple[int, Tensor]]:
        """Lengths of captions, and (frequent feature, image) float64 sums W for them."""
        t, (start, posting) = self._tensors, postings
        feature, at = expand(start, torch.arange(self.frequent, device=self.device))
        at = posting[at]
        key = feature * images + t["image"][at] - i0
        again = rounds(key) if len(key) else ()
        for size in length.unique().tolist():
            sums = torch.zeros(self.frequent * images, dtype=torch.float64, device=self.device)
            value = t["weight"][at] * t["penalty"][(size - t["reference_length"][at]).abs()]
            for chosen in again:
                sums[key[chosen]] += value[chosen]
            yield size, sums.view(self.frequent, images)

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
        arrays = {
            "image_of": self.image_of, "length": self.length.astype(np.int64), "row": self.row, "shared": self.shared,
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
