"""The two encoders, and the similarities of their embeddings: VSE++ and its relatives.

Faghri et al., VSE++, BMVC 2018: an image is projected linearly, a caption is read by a GRU, both embeddings have length
1, and the score is their inner product. VSE0 leaves the images unnormalised; Order0 takes absolute values and the order
similarity.
"""

from __future__ import annotations

import itertools
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from .config import Model as Settings
from .recurrent import last_states
from .text import PAD

WINDOW = 64  # captions of one step of the order similarity, which takes (image, caption, dim) memory


class ImageEncoder(nn.Module):
    """Images to embeddings (image, dim): a trunk if there is one, then a projection.

    Args:
        width: of an input vector, or of the output of ``trunk``.
        settings: of the model.
        trunk: of pixels: (image, 3, height, width) -> (image, width).
        regions: whether an image is a set of vectors; then a layer with ReLU comes before their mean.
    """

    def __init__(self, width: int, settings: Settings, trunk: nn.Module | None = None, regions: bool = False) -> None:
        super().__init__()
        self.settings, self.trunk = settings, trunk
        # A layer before the mean of the regions: a mean of the inputs would lose which colour belongs to which shape.
        self.region = nn.Linear(width, settings.dim) if regions else None
        self.project = nn.Linear(settings.dim if regions else width, settings.dim)
        nn.init.xavier_uniform_(self.project.weight)
        nn.init.zeros_(self.project.bias)

    def forward(self, images: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """(image, dim) embeddings.

        Args:
            images: (image, width); (image, region, width); or (image, 3, height, width).
            mask: (image, region) bool, which regions there are.
        """
        x = images.to(self.project.weight)
        x = x if self.trunk is None else self.trunk(x)
        if self.region is not None and mask is not None:
            x = (F.relu(self.region(x)) * mask[:, :, None]).sum(dim=1) / mask.sum(dim=1, keepdim=True).clamp(min=1)
        x = self.project(x)
        if self.settings.similarity != "euclidean" and self.settings.normalise_images:
            x = F.normalize(x, dim=1)
        return x.abs() if self.settings.absolute else x


class SmallCNN(nn.Module):
    """Four convolutions with stride 2 for images of 32 to 128 pixels: (image, 3, s, s) -> (image, width)."""

    width = 256

    def __init__(self) -> None:
        super().__init__()
        sizes = (3, 32, 64, 128, 128)
        layers: list[nn.Module] = []
        for before, after in itertools.pairwise(sizes):
            layers += [nn.Conv2d(before, after, 3, stride=2, padding=1), nn.GroupNorm(8, after), nn.ReLU()]
        # 2 x 2 cells keep where things are, which a mean over the image would lose.
        self.layers = nn.Sequential(
            *layers, nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(512, self.width), nn.ReLU()
        )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """(image, width)."""
        out: torch.Tensor = self.layers(images)
        return out


class CaptionEncoder(nn.Module):
    """Captions to embeddings (caption, dim).

    Args:
        words: size of the vocabulary.
        settings: of the model.
    """

    def __init__(self, words: int, settings: Settings) -> None:
        super().__init__()
        self.settings = settings
        self.embed = nn.Embedding(words, settings.word_dim, padding_idx=PAD)
        nn.init.uniform_(self.embed.weight, -0.1, 0.1)
        if settings.text == "mean":
            self.project = nn.Linear(settings.word_dim, settings.dim)
        else:
            two = settings.text == "bigru"
            self.gru = nn.GRU(settings.word_dim, settings.dim, batch_first=True, bidirectional=two)

    def forward(self, words: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """(caption, dim) embeddings.

        Args:
            words: (caption, word) int64, filled up with ``PAD``.
            lengths: (caption,) int64, on the CPU.
        """
        vectors = self.embed(words)
        if self.settings.text == "mean":
            mask = (words != PAD)[:, :, None]
            out = self.project((vectors * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1))
        else:
            out = last_states(self.gru, vectors, lengths).mean(dim=0)
        if self.settings.similarity != "euclidean":
            out = F.normalize(out, dim=1)
        return out.abs() if self.settings.absolute else out


class DualEncoder(nn.Module):
    """Both encoders.

    Args:
        width: of the input of the image encoder.
        words: size of the vocabulary.
        settings: of the model.
        trunk: of the image encoder.
        regions: whether an image is a set of vectors.
    """

    def __init__(
        self, width: int, words: int, settings: Settings, trunk: nn.Module | None = None, regions: bool = False
    ) -> None:
        super().__init__()
        self.images = ImageEncoder(width, settings, trunk, regions)
        self.captions = CaptionEncoder(words, settings)

    def forward(self, batch: dict[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
        """Embeddings of the images and of the captions of a batch."""
        return self.images(batch["images"], batch.get("mask")), self.captions(batch["words"], batch["lengths"])


def scores(images: torch.Tensor, captions: torch.Tensor, settings: Settings) -> torch.Tensor:
    """(image, caption) scores of embeddings (image, dim) and (caption, dim), by ``settings.similarity``."""
    if settings.similarity == "order":
        return order_scores(images, captions, squared=settings.order_squared)
    if settings.similarity == "euclidean":
        return -(images.square().sum(1)[:, None] + captions.square().sum(1) - 2 * images @ captions.T).clamp(min=0)
    return images @ captions.T


def order_scores(images: torch.Tensor, captions: torch.Tensor, *, squared: bool = False) -> torch.Tensor:
    """(image, caption) -|| max(0, caption - image) ||: how far a caption is from being more general than the image.

    Not squared as in the code of VSE++ (section 3.5), or squared as in Vendrov et al., ICLR 2016. The gradient is 0,
    not NaN, where nothing is violated.
    """
    rows = []
    for part in captions.split(WINDOW):
        violation = (part[None] - images[:, None]).clamp(min=0).square().sum(dim=2)
        if not squared:
            zero = violation <= 0
            violation = violation.masked_fill(zero, 1.0).sqrt().masked_fill(zero, 0.0)
        rows.append(-violation)
    return torch.cat(rows, dim=1)
