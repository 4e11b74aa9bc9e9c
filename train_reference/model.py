"""The model: both encoders with their projections, and the similarities of embeddings; VSE++ and its relatives.

Faghri et al., VSE++, BMVC 2018: the features of an image are projected linearly, a caption is read by a GRU, both
embeddings have length 1, and the score is their inner product.
"""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from vsebench.errors import UsageError

from .config import Config
from .config import Model as Settings
from .encoders import ENCODERS

WINDOW = 64  # captions of one step of the order similarity, which takes (image, caption, dim) memory
LARGEST_SCALE = 100.0  # of a learned temperature, as CLIP has it
Inputs = dict[str, torch.Tensor]


class ImageEncoder(nn.Module):
    """Images to embeddings (image, dim): the network of an encoder, then a projection; arguments as for ``build``."""

    def __init__(self, settings: Settings, kind: str, width: int) -> None:
        super().__init__()
        self.settings, self.entry = settings, settings.image_encoder
        self.network = self.entry.network(kind=kind, width=width, dim=settings.dim, pretrained=settings.pretrained)
        features: Any = self.entry.width or getattr(self.network, "width", settings.dim)
        self.pixels, self.project = kind == "pixels", nn.Linear(features, settings.dim)
        nn.init.xavier_uniform_(self.project.weight)
        nn.init.zeros_(self.project.bias)

    def train(self, mode: bool = True) -> "ImageEncoder":
        """A network of pixels that is not trained stays in evaluation mode: no dropout, its own batch statistics."""
        super().train(mode)
        if self.pixels:
            self.network.train(mode and any(weight.requires_grad for weight in self.network.parameters()))
        return self

    def features(self, images: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """(image, features) before the projection; of several crops their mean; of features themselves."""
        x = images.to(self.project.weight)
        if not self.pixels:
            return self.network(x) if mask is None else self.network(x, mask)
        if x.dim() == 2:
            return x
        found = self.network(x.flatten(0, -4))
        found = found.unflatten(0, x.shape[:2]).mean(dim=1) if x.dim() == 5 else found
        return F.normalize(found, dim=1) if self.entry.pretrained else found

    def forward(self, images: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """(image, dim) embeddings of (image, width), of (image, region, width) with mask (image, region) bool, or of
        pixels (image, 3, height, width), (image, crop, 3, height, width) or their features."""
        return embedded(self.project(self.features(images, mask)), self.settings, self.settings.normalise_images)


class CaptionEncoder(nn.Module):
    """Captions to embeddings (caption, dim): word vectors, then the network of an encoder."""

    def __init__(self, settings: Settings, words: int) -> None:
        super().__init__()
        self.settings = settings
        self.embed = nn.Embedding(words, settings.word_dim, padding_idx=0)
        nn.init.uniform_(self.embed.weight, -0.1, 0.1)
        assert settings.text_encoder is not None
        self.network = settings.text_encoder.network(word_dim=settings.word_dim, dim=settings.dim)

    def forward(self, words: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """(caption, dim) embeddings of words (caption, word) int64, filled up with 0, and lengths (caption,)."""
        return embedded(self.network(self.embed(words), lengths), self.settings)


def embedded(x: torch.Tensor, settings: Settings, normalise: bool = True) -> torch.Tensor:
    """The embeddings of outputs (item, dim) of an encoder: with length 1, or their absolute values, as it is set."""
    x = F.normalize(x, dim=1) if normalise and settings.similarity != "euclidean" else x
    return x.abs() if settings.absolute else x


class DualEncoder(nn.Module):
    """Both encoders, and the hyper-parameters of the loss that are trained (``loss.learned``). In a model of images
    alone (``model.text`` ``none``) the second item of a pair is an image, too."""

    def __init__(self, config: Config, kind: str, width: int, words: int) -> None:
        super().__init__()
        self.images = ImageEncoder(config.model, kind, width)
        self.captions = CaptionEncoder(config.model, words) if config.model.text_encoder else None
        self.learned = nn.ParameterDict({name: torch.zeros(()) for name in config.loss.learned})
        for name, weight in self.learned.items():
            value = torch.as_tensor(float(config.loss.values[name]))
            weight.data.copy_(value.log() if name == "scale" else value)
        self.limit()

    def forward(self, rows: Inputs, columns: Inputs) -> tuple[torch.Tensor, torch.Tensor]:
        """The embeddings of the images and of the second items of some pairs, (pair, dim) each."""
        return self.images(**rows), (self.captions or self.images)(**columns)

    @torch.no_grad()
    def limit(self) -> None:
        """Set a trained ``scale`` above ``LARGEST_SCALE`` to it: after every step, as CLIP does."""
        if "scale" in self.learned:
            self.learned["scale"].clamp_(max=math.log(LARGEST_SCALE))

    def hyper_parameters(self) -> dict[str, torch.Tensor]:
        """The trained hyper-parameters, with gradient; of ``scale`` the logarithm is trained."""
        return {name: weight.exp() if name == "scale" else weight for name, weight in self.learned.items()}


def build(config: Config, kind: str, width: int, words: int) -> DualEncoder:
    """The model for images of a kind and a width, and a vocabulary of some words; its weights are drawn by torch.

    Raises:
        UsageError: an encoder that is not of such images, or settings of networks of pixels without one.
        MissingPackage: torchvision is not installed.
    """
    settings = config.model
    if kind not in settings.image_encoder.of:
        fix = f"use {', '.join(name for name, entry in ENCODERS.items() if kind in entry.of)}"
        raise UsageError(f"model.image is '{settings.image}', and the images are {kind}", fix=fix)
    if kind != "pixels" and (settings.crop, settings.pretrained, settings.finetune) != ("center", True, False):
        fix = "set model.crop=center, model.pretrained=true and model.finetune=false"
        raise UsageError(f"settings of networks of pixels, and the images are {kind}", fix=fix)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64 if config.train.precision == "float64" else torch.float32)
    try:
        return DualEncoder(config, kind, width, words)
    finally:
        torch.set_default_dtype(before)


def groups(model: DualEncoder) -> list[dict[str, Any]]:
    """The parameters, those of a pretrained network apart: they have their own learning rate, 0 until trained."""
    own = list(model.images.network.parameters()) if model.images.entry.pretrained else []
    others = [p for p in model.parameters() if id(p) not in set(map(id, own))]
    return [{"params": others}, *([{"params": own, "lr": 0.0}] if own else [])]


def scores(images: torch.Tensor, captions: torch.Tensor, settings: Settings) -> torch.Tensor:
    """(image, caption) scores of embeddings (image, dim) and (caption, dim), by ``settings.similarity``."""
    if settings.similarity == "order":
        return order_scores(images, captions, squared=settings.order_squared)
    if settings.similarity == "euclidean":
        return -(images.square().sum(1)[:, None] + captions.square().sum(1) - 2 * images @ captions.T).clamp(min=0)
    return images @ captions.T


def order_scores(images: torch.Tensor, captions: torch.Tensor, *, squared: bool = False) -> torch.Tensor:
    """(image, caption) -|| max(0, caption - image) ||: how far a caption is from being more general than the image. Not
    squared as in the code of VSE++ (section 3.5), or squared as in Vendrov et al., ICLR 2016. The gradient is 0, not
    NaN, where nothing is violated."""
    rows = []
    for part in captions.split(WINDOW):
        violation = (part[None] - images[:, None]).clamp(min=0).square().sum(dim=2)
        if not squared:
            zero = violation <= 0
            violation = violation.masked_fill(zero, 1.0).sqrt().masked_fill(zero, 0.0)
        rows.append(-violation)
    return torch.cat(rows, dim=1)
