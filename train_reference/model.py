"""The model: both encoders with their projections, and the similarities of embeddings; VSE++ and its relatives.

Faghri et al., VSE++, BMVC 2018: the features of an image are projected linearly, a caption is read by a GRU, both
embeddings have length 1, and the score is their inner product. VSE0 leaves the images unnormalised; Order0 takes
absolute values and the order similarity.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from vsebench.errors import UsageError

from .config import Config
from .config import Model as Settings
from .encoders import CAPTIONS, Encoder, encoded, encoder_names, get_encoder
from .own_file import spelled

NO_TEXT = "none"  # of ``model.text``: a model of images alone
PAD = 0  # the number of what fills up a caption
WINDOW = 64  # captions of one step of the order similarity, which takes (image, caption, dim) memory
OF_PIXELS = ("crop", "pretrained", "finetune")  # settings that only encoders of pixels have
LARGEST_SCALE = 100.0  # of a learned temperature, as CLIP has it


class ImageEncoder(nn.Module):
    """Images to embeddings (image, dim): the network of an encoder, then a projection; arguments as for ``build``."""

    def __init__(self, settings: Settings, kind: str, width: int) -> None:
        super().__init__()
        self.settings, entry = settings, get_encoder(settings.image)
        network = entry.network(kind=kind, width=width, dim=settings.dim, pretrained=settings.pretrained)
        features: Any = entry.width or getattr(network, "width", settings.dim)
        self.network = Crops(entry, network, features) if kind == "pixels" else network
        self.project = nn.Linear(features, settings.dim)
        nn.init.xavier_uniform_(self.project.weight)
        nn.init.zeros_(self.project.bias)

    def forward(self, images: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """(image, dim) embeddings.

        Args:
            images: (image, width); (image, region, width); (image, 3, height, width) or (image, crop, 3, height,
                width); or features of a network that is not trained, see ``encode.frozen_features``.
            mask: (image, region) bool, which regions there are.
        """
        x = self.project(self.features(images, mask))
        return embedded(x, self.settings, self.settings.normalise_images)

    def features(self, images: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """(image, features) before the projection; raises UsageError for a fault of a network of the user."""
        weight = self.project.weight
        x = images.to(weight)
        if isinstance(self.network, Crops):
            found: torch.Tensor = self.network(x)
            return found
        given = {"images": x} | ({} if mask is None else {"mask": mask})
        return encoded(self.settings.image, self.network, weight.shape[1], weight.dtype, **given)


class Crops(nn.Module):
    """A network of pixels, for one crop an image or several, of whose features the mean is taken.

    Args:
        encoder: of a pretrained one features get length 1, as VSE++ has them before the projection.
        network: of the encoder, (image, 3, height, width) -> (image, features).
        width: the number of features.
    """

    def __init__(self, encoder: Encoder, network: nn.Module, width: int) -> None:
        super().__init__()
        self.encoder, self.network, self.width = encoder, network, width

    def train(self, mode: bool = True) -> Crops:
        """A network without trained weights stays in evaluation mode: no dropout, and its own batch statistics."""
        super().train(mode and any(weight.requires_grad for weight in self.parameters()))
        return self

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """(image, features) of (image, 3, height, width) or (image, crop, 3, height, width); of features themselves."""
        if images.dim() == 2:
            return images
        out = encoded(self.encoder.name, self.network, self.width, images.dtype, images=images.flatten(0, -4))
        if images.dim() == 5:
            out = out.unflatten(0, images.shape[:2]).mean(dim=1)
        return F.normalize(out, dim=1) if self.encoder.pretrained else out


class CaptionEncoder(nn.Module):
    """Captions to embeddings (caption, dim): word vectors, then the network of an encoder."""

    def __init__(self, settings: Settings, words: int) -> None:
        super().__init__()
        self.settings = settings
        self.embed = nn.Embedding(words, settings.word_dim, padding_idx=PAD)
        nn.init.uniform_(self.embed.weight, -0.1, 0.1)
        self.network = get_encoder(settings.text).network(word_dim=settings.word_dim, dim=settings.dim)

    def forward(self, words: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """(caption, dim) embeddings.

        Args:
            words: (caption, word) int64, filled up with ``PAD``.
            lengths: (caption,) int64, on the CPU.
        """
        vectors, s = self.embed(words), self.settings
        return embedded(
            encoded(s.text, self.network, s.dim, self.embed.weight.dtype, word_vectors=vectors, lengths=lengths), s
        )


def embedded(x: torch.Tensor, settings: Settings, normalise: bool = True) -> torch.Tensor:
    """The embeddings of outputs (item, dim) of an encoder: with length 1, or their absolute values, as it is set."""
    x = F.normalize(x, dim=1) if normalise and settings.similarity != "euclidean" else x
    return x.abs() if settings.absolute else x


class DualEncoder(nn.Module):
    """Both encoders, and the hyper-parameters of the loss that are trained (``loss.learned``).

    With ``model.text`` ``none`` there is no encoder of captions: a batch is embedded as one side. Arguments are those
    of ``build``.
    """

    def __init__(self, config: Config, kind: str, width: int, words: int) -> None:
        super().__init__()
        settings, self.dim = config.model, config.model.dim
        self.images = ImageEncoder(settings, kind, width)
        self.captions = None if settings.text == NO_TEXT else CaptionEncoder(settings, words)
        self.learned = nn.ParameterDict({name: torch.zeros(()) for name in config.loss.learned})

    def forward(self, batch: dict[str, Any]) -> tuple[torch.Tensor, ...]:
        """Embeddings of the images and of the captions of a batch."""
        images = self.images(batch["images"], batch.get("mask"))
        return (images,) if self.captions is None else (images, self.captions(batch["words"], batch["lengths"]))

    def begin(self, settings: dict[str, float]) -> None:
        """Give the trained hyper-parameters the values from which training begins; a ``scale`` is its logarithm."""
        for name, weight in self.learned.items():
            value = torch.as_tensor(float(settings[name]))
            weight.data.copy_(value.log() if name == "scale" else value)
        self.limit()

    @torch.no_grad()
    def limit(self) -> None:
        """Set a trained ``scale`` above ``LARGEST_SCALE`` to it: after every step, as CLIP does."""
        if "scale" in self.learned:
            self.learned["scale"].clamp_(max=math.log(LARGEST_SCALE))

    def hyper_parameters(self) -> dict[str, torch.Tensor]:
        """The trained hyper-parameters, with gradient."""
        return {k: v.exp() if k == "scale" else v for k, v in self.learned.items()}


def build(config: Config, kind: str, width: int, words: int) -> DualEncoder:
    """The model for images of a kind; its weights are drawn from torch's generator.

    Args:
        config: the complete configuration.
        kind: of the images: ``vectors``, ``regions`` or ``pixels``.
        width: of an input vector.
        words: size of the vocabulary.

    Raises:
        UsageError: an unknown encoder, one that is not of such images, or settings of networks of pixels without one.
        MissingPackage: torchvision is not installed.
    """
    settings, default = config.model, Settings()
    if kind not in get_encoder(settings.image).of:
        fix = f"use {', '.join(encoder_names(kind))} for {kind}"
        raise UsageError(f"model.image is '{settings.image}', and the images are {kind}", fix=fix)
    given = [f"model.{name}" for name in OF_PIXELS if getattr(settings, name) != getattr(default, name)]
    if given and kind != "pixels":
        names = f"{' and '.join(given)} {'has' if len(given) == 1 else 'have'}"
        what = f"{names} no meaning: the images are {kind}, not pixels"
        usual = ", ".join(spelled(name, getattr(default, name.partition(".")[2])) for name in given)
        raise UsageError(what, fix=f"add {usual}, or give data with image files")
    if settings.text != NO_TEXT and CAPTIONS not in get_encoder(settings.text).of:
        fix = f"use {', '.join(encoder_names(CAPTIONS))}"
        raise UsageError(f"model.text is '{settings.text}', an encoder of images", fix=fix)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64 if config.train.precision == "float64" else torch.float32)
    try:
        return DualEncoder(config, kind, width, words)
    finally:
        torch.set_default_dtype(before)


def trunk_is_trained(config: Config) -> bool:
    """Whether the network before the projection of the images is trained in some epoch."""
    return config.model.finetune or not get_encoder(config.model.image).pretrained


def groups(model: DualEncoder, config: Config) -> list[dict[str, Any]]:
    """The parameters, those of a pretrained network apart: they have their own learning rate, 0 until trained."""
    own = list(model.images.network.parameters()) if get_encoder(config.model.image).pretrained else []
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
