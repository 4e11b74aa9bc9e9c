"""The encoders: an encoder is one function, registered with ``@encoder``, that makes a network.

It takes by name what it needs of ``width`` (of an input vector), ``kind`` (``vectors`` or ``regions``), ``dim`` and
``word_dim`` (of the model), ``pretrained``. Its network computes, by what it is an encoder ``of``:

- ``vectors``: (image, width) -> (image, features);
- ``regions``: (image, region, width), mask (image, region) bool -> (image, features);
- ``pixels``: (image, 3, side, side) -> (image, features);
- ``captions``: word vectors (caption, word, word_dim), lengths (caption,) int64 on the CPU -> (caption, dim).

Features of images are projected by ``model``. Without the decorator, a function in your own file is an encoder of
anything, and its features have the length ``dim``.
"""

import inspect
import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from vsebench.errors import MissingPackage, UsageError, unknown

from .own_file import file_of, function_of

KINDS, CAPTIONS = ("vectors", "regions", "pixels"), "captions"


@dataclass(frozen=True)
class Encoder:
    """What ``@encoder`` declares. Features of a pretrained network get length 1."""

    name: str  # in a configuration
    of: tuple[str, ...]  # some of ``KINDS``, or ``CAPTIONS`` alone
    make: Callable[..., nn.Module]
    width: int | None = None  # of the features of an image; None for ``dim``, or the attribute ``width`` of the network
    pretrained: bool = False  # a network of pixels with trained weights, which is only trained with ``model.finetune``
    resize: int = 256  # of image files the length of the shorter side, in pixels
    side: int = 224  # of a crop
    pooling: bool = False  # it has a pooling without a deterministic gradient on a GPU

    def network(self, **known: Any) -> nn.Module:
        """Call the function with those of the known values that it names."""
        return self.make(**{name: known[name] for name in inspect.signature(self.make).parameters if name in known})


ENCODERS: dict[str, Encoder] = {}


def encoder(name: str, *, of: str | tuple[str, ...], **facts: Any) -> Callable[[Any], Any]:
    """Decorator: register a function, unchanged, as an encoder of a kind of images, of several, or of ``captions``.
    ``facts`` are further attributes of ``Encoder``. Raises UsageError for a name that is taken, and an unknown kind."""
    kinds = (of,) if isinstance(of, str) else of
    if name in ENCODERS or not set(kinds) <= ({"pixels"} if facts.get("pretrained") else {*KINDS, CAPTIONS}):
        fix = f"use a new name, and of {', '.join(KINDS)} or {CAPTIONS}; a pretrained one is of pixels"
        raise UsageError(f"encoder '{name}' of {of!r}", fix=fix)

    def register(make: Any) -> Any:
        ENCODERS[name] = Encoder(name, kinds, make, **facts)
        return make

    return register


def get_encoder(name: str) -> Encoder:
    """The encoder under a name, or of a file of the user, with that name; raises UsageError."""
    if file_of(name) is None:
        if name not in ENCODERS:
            raise unknown("encoder", name, ENCODERS)
        return ENCODERS[name]
    make = function_of(name)
    declared = next((entry for entry in ENCODERS.values() if entry.make is make), None)
    return replace(declared, name=name) if declared else Encoder(name, (*KINDS, CAPTIONS), make)


def mean_of(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """(item, dim) the mean over the places of x (item, place, dim) where mask (item, place) is True."""
    return (x * mask[:, :, None]).sum(dim=1) / mask.sum(dim=1, keepdim=True).clamp(min=1)


@encoder("linear", of=("vectors", "regions"))
class Linear(nn.Module):
    """Vectors as they are; of a set of regions the mean, after a layer with ReLU. A mean of the regions themselves
    would lose which colour belongs to which shape."""

    def __init__(self, kind: str, width: int, dim: int) -> None:
        super().__init__()
        self.region = nn.Linear(width, dim) if kind == "regions" else None
        self.width = width if self.region is None else dim

    def forward(self, images: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """(image, features)."""
        return images if self.region is None or mask is None else mean_of(F.relu(self.region(images)), mask)


@encoder("cnn", of="pixels", width=256, resize=73, side=64, pooling=True)
def cnn() -> nn.Module:
    """Four convolutions with stride 2, for images of 32 to 128 pixels."""
    layers: list[nn.Module] = []
    for before, after in itertools.pairwise((3, 32, 64, 128, 128)):
        layers += [nn.Conv2d(before, after, 3, stride=2, padding=1), nn.GroupNorm(8, after), nn.ReLU()]
    # 2 x 2 cells keep where things are, which a mean over the image would lose.
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(512, 256), nn.ReLU())


@encoder("vgg19", of="pixels", width=4096, pretrained=True, pooling=True)
def vgg19(pretrained: bool) -> nn.Module:
    """VGG19 of torchvision without its last layer."""
    return torchvision("vgg19", "classifier.6", pretrained)


@encoder("resnet152", of="pixels", width=2048, pretrained=True)
def resnet152(pretrained: bool) -> nn.Module:
    """ResNet152 of torchvision without its last layer."""
    return torchvision("resnet152", "fc", pretrained)


def torchvision(name: str, last: str, pretrained: bool) -> Any:
    """A network of torchvision without a layer; raises MissingPackage, also if the weights cannot be downloaded."""
    try:
        from torchvision import models

        network = getattr(models, name)(weights="IMAGENET1K_V1" if pretrained else None)
        network.set_submodule(last, nn.Identity())
        return network
    except ImportError as error:
        raise MissingPackage(f"{name} needs torchvision", fix="pip install torchvision") from error
    except OSError as error:
        fix = f"copy the file to {torch.hub.get_dir()}/checkpoints, or add --set model.pretrained=false"
        raise MissingPackage(f"the weights of {name} cannot be downloaded: {error}", fix=fix) from error


@encoder("gru", of=CAPTIONS)
class GRU(nn.Module):
    """The last state of a GRU."""

    both = False

    def __init__(self, word_dim: int, dim: int) -> None:
        super().__init__()
        self.gru = nn.GRU(word_dim, dim, batch_first=True, bidirectional=self.both)

    def forward(self, vectors: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """(caption, dim) the mean of the directions; float32 in mixed precision."""
        words = vectors.to(self.gru.weight_hh_l0)
        packed = nn.utils.rnn.pack_padded_sequence(words, lengths, batch_first=True, enforce_sorted=False)
        with torch.autocast(vectors.device.type, enabled=False):
            return self.gru(packed)[1].mean(dim=0)


@encoder("bigru", of=CAPTIONS)
class BiGRU(GRU):
    """The mean of the last states of both directions of a GRU."""

    both = True


@encoder("mean", of=CAPTIONS)
class Mean(nn.Module):
    """A projection of the mean of the word vectors."""

    def __init__(self, word_dim: int, dim: int) -> None:
        super().__init__()
        self.project = nn.Linear(word_dim, dim)

    def forward(self, vectors: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """(caption, dim)."""
        mask = (torch.arange(vectors.shape[1]) < lengths[:, None]).to(vectors.device)
        return self.project(mean_of(vectors, mask))
