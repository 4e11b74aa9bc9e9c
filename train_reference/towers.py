"""Making the encoders that a configuration names."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from vsebench.errors import MissingPackage, UsageError

from .config import Config, Model
from .data import Images
from .model import DualEncoder, SmallCNN

WIDTHS = {"vgg19": 4096, "resnet152": 2048}
OF_PIXELS = ("crop", "pretrained", "finetune")  # settings that only networks of pixels have


class Crops(nn.Module):
    """A network of pixels, for one crop an image or several, of whose features the mean is taken.

    Args:
        network: (image, 3, height, width) -> (image, width).
        normalise: whether features then get length 1, as VSE++ has them before the projection.
    """

    def __init__(self, network: nn.Module, *, normalise: bool = False) -> None:
        super().__init__()
        self.network, self.normalise = network, normalise

    def train(self, mode: bool = True) -> Crops:
        """A network without trained weights stays in evaluation mode: no dropout, and its own batch statistics."""
        super().train(mode and any(weight.requires_grad for weight in self.parameters()))
        return self

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """(image, width) features of (image, 3, height, width) or (image, crop, 3, height, width)."""
        out: torch.Tensor = self.network(images.flatten(0, -4))
        if images.dim() == 5:
            out = out.unflatten(0, images.shape[:2]).mean(dim=1)
        return F.normalize(out, dim=1) if self.normalise else out


def build(settings: Model, images: Images, words: int, precision: str = "float32") -> DualEncoder:
    """The model for images of a kind; its weights are drawn from torch's generator.

    Raises:
        UsageError: the image network does not fit the images, or settings of networks of pixels are given without one.
        MissingPackage: torchvision is not installed.
    """
    default = Model()
    given = [name for name in OF_PIXELS if getattr(settings, name) != getattr(default, name)]
    if given and settings.image == "linear":
        names = " and ".join(f"model.{name}" for name in given)
        what = f"{names} {'has' if len(given) == 1 else 'have'} no meaning: the images are {images.kind}, not pixels"
        raise UsageError(what, fix=f"leave {'it' if len(given) == 1 else 'them'} out, or give data with image files")
    return build_for(settings, images.kind, images.width, words, precision)


def build_for(settings: Model, kind: str, width: int, words: int, precision: str = "float32") -> DualEncoder:
    """As ``build``, for the kind and width of images that a checkpoint states."""
    pixels = kind == "pixels"
    if pixels != (settings.image != "linear"):
        what = f"model.image is '{settings.image}', and the images are {kind}"
        raise UsageError(what, fix="use cnn, vgg19 or resnet152 for pixels, and linear for vectors and regions")
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64 if precision == "float64" else torch.float32)
    try:
        trunk: nn.Module | None = None
        if settings.image == "cnn":
            trunk, width = Crops(SmallCNN()), SmallCNN.width
        elif pixels:
            trunk, width = Crops(_torchvision(settings), normalise=True), WIDTHS[settings.image]
        return DualEncoder(width, words, settings, trunk, regions=kind == "regions")
    finally:
        torch.set_default_dtype(before)


def groups(model: DualEncoder, config: Config) -> list[dict[str, Any]]:
    """The parameters, those of the image network apart: they have their own learning rate, 0 until they are trained."""
    trunk = list(model.images.trunk.parameters()) if model.images.trunk is not None else []
    own = {id(p) for p in trunk} if config.model.image in WIDTHS else set()
    found: list[dict[str, Any]] = [{"params": [p for p in model.parameters() if id(p) not in own]}]
    if own:
        found.append({"params": trunk, "lr": 0.0})
    return found


def _torchvision(settings: Model) -> nn.Module:
    """A network of torchvision without its last layer."""
    try:
        from torchvision import models
    except ImportError as error:
        raise MissingPackage(f"{settings.image} needs torchvision", fix="pip install torchvision") from error
    weights = "IMAGENET1K_V1" if settings.pretrained else None
    if settings.image == "vgg19":
        network = models.vgg19(weights=weights)
        network.classifier = nn.Sequential(*list(network.classifier)[:-1])
        return network
    network = models.resnet152(weights=weights)
    network.fc = nn.Identity()
    return network
