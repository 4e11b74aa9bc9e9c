"""The encoders: an encoder is one function, registered with ``@encoder``, that makes a network.

The function takes by name what it needs of ``width`` (of an input vector), ``kind`` (``vectors`` or ``regions``),
``dim`` and ``word_dim`` (of the model), ``pretrained``. Its network computes, by what it is an encoder ``of``:

- ``vectors``: (image, width) -> (image, features);
- ``regions``: (image, region, width), mask (image, region) bool -> (image, features);
- ``pixels``: (image, 3, side, side) -> (image, features);
- ``captions``: word vectors (caption, word, word_dim), lengths (caption,) int64 on the CPU -> (caption, dim).

Features of images are projected to the embedding by ``model``. A function of a file of yours has the name
``FILE.py:function``; without the decorator it is of anything, and its features have the length ``dim``.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import torch
import torch.nn.functional as F
from torch import nn

from vsebench.errors import MissingPackage, UsageError, first_line
from vsebench.registry import Registry

from .own_file import faults_of, file_of, function_of, spelled

Made = TypeVar("Made", bound=Callable[..., nn.Module])
KINDS = ("vectors", "regions", "pixels")
CAPTIONS = "captions"


@dataclass(frozen=True)
class Encoder:
    """What ``@encoder`` declares.

    Attributes:
        name: in a configuration.
        of: what it encodes: some of ``KINDS``, or ``CAPTIONS`` alone.
        make: the function.
        width: of the features of an image; None for ``dim``, or what the network says by its attribute ``width``.
        pretrained: whether the network begins with weights trained elsewhere. Its features get length 1, it is only
            trained with ``model.finetune``, and it has a learning rate of its own.
        resize, side: of image files the length of the shorter side, and of a crop, in pixels.
        pooling: whether it has a pooling without a deterministic gradient on a GPU.
    """

    name: str
    of: tuple[str, ...]
    make: Callable[..., nn.Module]
    width: int | None = None
    pretrained: bool = False
    resize: int = 256
    side: int = 224
    pooling: bool = False

    def network(self, **known: Any) -> nn.Module:
        """Call the function with those of the known values that it names; raises UsageError for others, and faults."""
        names = inspect.signature(self.make).parameters
        other = [n for n, p in names.items() if n not in known and p.default is p.empty]
        if other:
            raise UsageError(f"encoder '{self.name}' takes '{other[0]}'", fix=f"let it take of {', '.join(known)}")
        with faults_of(self.name, "correct the function"):
            made = self.make(**{name: known[name] for name in names if name in known})
        if not isinstance(made, nn.Module) or not isinstance(getattr(made, "width", 1), int):
            fix = "return a torch.nn.Module; its attribute width, if there is one, is an int"
            raise UsageError(f"returns {type(made).__name__}", where=self.name, fix=fix)
        return made


_ENCODERS: Registry[Encoder] = Registry("encoder")


def encoder(name: str, *, of: str | tuple[str, ...], **facts: Any) -> Callable[[Made], Made]:
    """Decorator: register a function as the encoder ``name``; it is returned unchanged.

    Args:
        name: in a configuration.
        of: a kind of images, several, or ``captions``.
        facts: further attributes of ``Encoder``.

    Raises:
        UsageError: the name is taken, ``of`` is no kind, or a pretrained network is of other input than pixels.
    """
    kinds = (of,) if isinstance(of, str) else of
    if not kinds or not set(kinds) <= {*KINDS, CAPTIONS}:
        raise UsageError(f"encoder '{name}' is of {of!r}", fix=f"use {', '.join(KINDS)} or {CAPTIONS}")
    if facts.get("pretrained") and kinds != ("pixels",):
        fix = 'give it of="pixels", or leave pretrained out'
        raise UsageError(f"encoder '{name}' is pretrained, and of {', '.join(kinds)}", fix=fix)

    def register(make: Made) -> Made:
        _ENCODERS.add(name, Encoder(name, kinds, make, **facts))
        return make

    return register


def get_encoder(name: str) -> Encoder:
    """The encoder under a name, or of a file of the user, with that name; raises as ``own_file.function_of``."""
    if file_of(name) is None:
        return _ENCODERS.get(name)
    make = function_of(name)
    declared = next((entry for entry in map(_ENCODERS.get, _ENCODERS.names()) if entry.make is make), None)
    return replace(declared, name=name) if declared else Encoder(name, (*KINDS, CAPTIONS), make)


def encoder_names(of: str) -> list[str]:
    """The registered encoders of a kind of images, or of captions."""
    return [name for name in _ENCODERS.names() if of in _ENCODERS.get(name).of]


def encoded(name: str, network: nn.Module, width: int, dtype: torch.dtype, **given: torch.Tensor) -> torch.Tensor:
    """What the network of an encoder computes of some items, (item, width).

    Raises:
        UsageError: the network of a file of the user fails, or returns something else.
    """
    if file_of(name) is None:
        found: torch.Tensor = network(*given.values())
        return found
    first = next(iter(given.values()))
    shape, mixed = (len(first), width), torch.is_autocast_enabled(first.device.type)
    shapes = " and ".join(f"{key.replace('_', ' ')} {tuple(x.shape)}" for key, x in given.items())
    fix = f"let its network take {shapes}, and return {shape} {dtype}"
    with faults_of(name, fix):
        found = network(*given.values())
    shown = type(found).__name__
    if isinstance(found, torch.Tensor):
        if found.shape == shape and (found.dtype == dtype or (mixed and found.is_floating_point())):
            return found
        shown = f"{tuple(found.shape)} {found.dtype}"
    raise UsageError(f"its network returns {shown}", where=name, fix=fix)


# Images


@encoder("linear", of=("vectors", "regions"))
class Linear(nn.Module):
    """Vectors as they are; of a set of regions the mean, after a layer with ReLU.

    A mean of the regions themselves would lose which colour belongs to which shape.
    """

    def __init__(self, kind: str, width: int, dim: int) -> None:
        super().__init__()
        self.region = nn.Linear(width, dim) if kind == "regions" else None
        self.width = width if self.region is None else dim

    def forward(self, images: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """(image, features)."""
        if self.region is None or mask is None:
            return images
        found = (F.relu(self.region(images)) * mask[:, :, None]).sum(dim=1)
        return found / mask.sum(dim=1, keepdim=True).clamp(min=1)


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
    network = _torchvision("vgg19", pretrained)
    network.classifier = nn.Sequential(*list(network.classifier)[:-1])
    return network


@encoder("resnet152", of="pixels", width=2048, pretrained=True)
def resnet152(pretrained: bool) -> nn.Module:
    """ResNet152 of torchvision without its last layer."""
    network = _torchvision("resnet152", pretrained)
    network.fc = nn.Identity()
    return network


def _torchvision(name: str, pretrained: bool) -> Any:
    try:
        from torchvision import models
    except ImportError as error:
        raise MissingPackage(f"{name} needs torchvision", fix="pip install torchvision") from error
    try:
        return getattr(models, name)(weights="IMAGENET1K_V1" if pretrained else None)
    except OSError as error:
        what = f"the weights of {name} cannot be downloaded: {first_line(error)}"
        file = models.get_model_weights(name)["IMAGENET1K_V1"].url.rpartition("/")[2]
        fix = f"copy {file} to {torch.hub.get_dir()}/checkpoints, or add {spelled('model.pretrained', False)}"
        raise MissingPackage(what, fix=fix) from error


# Captions


@encoder("gru", of=CAPTIONS)
def gru(word_dim: int, dim: int) -> nn.Module:
    """The last state of a GRU."""
    return Recurrent(word_dim, dim, two=False)


@encoder("bigru", of=CAPTIONS)
def bigru(word_dim: int, dim: int) -> nn.Module:
    """The mean of the last states of both directions of a GRU."""
    return Recurrent(word_dim, dim, two=True)


@encoder("mean", of=CAPTIONS)
class Mean(nn.Module):
    """A projection of the mean of the word vectors."""

    def __init__(self, word_dim: int, dim: int) -> None:
        super().__init__()
        self.project = nn.Linear(word_dim, dim)

    def forward(self, vectors: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """(caption, dim)."""
        mask = (torch.arange(vectors.shape[1]) < lengths[:, None]).to(vectors.device)[:, :, None]
        found: torch.Tensor = self.project((vectors * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1))
        return found


class Recurrent(nn.Module):
    """A GRU over captions of different lengths."""

    def __init__(self, word_dim: int, dim: int, *, two: bool) -> None:
        super().__init__()
        self.gru = nn.GRU(word_dim, dim, batch_first=True, bidirectional=two)

    def forward(self, vectors: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """(caption, dim) the mean of the directions."""
        return last_states(self.gru, vectors, lengths).mean(dim=0)


def last_states(gru: nn.GRU, vectors: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """(direction, caption, hidden) the state after the last word of every caption; backwards, after the first.

    On a GPU by ``torch.nn.GRU`` itself. On a CPU its gradient fills a tensor of the size of the batch for every word;
    the loop here gives the same values, and saves a third of the time of a training step with 128 dimensions.

    Args:
        gru: one layer, with the batch first.
        vectors: (caption, word, word_dim) float.
        lengths: (caption,) int64, on the CPU.
    """
    if vectors.is_cuda:
        packed = nn.utils.rnn.pack_padded_sequence(
            vectors.to(gru.weight_hh_l0), lengths, batch_first=True, enforce_sorted=False
        )
        with torch.autocast("cuda", enabled=False):  # its GRU would be of float16, also where bfloat16 is asked for
            states: torch.Tensor = gru(packed)[1]
        return states
    found = [_run(vectors, lengths, *gru.all_weights[0])]
    if gru.bidirectional:
        place = torch.arange(vectors.shape[1])
        back = (lengths[:, None] - 1 - place).clamp(min=0)  # words in reverse order; what follows them is not read
        reverse = vectors.gather(1, back[:, :, None].expand_as(vectors))
        found.append(_run(reverse, lengths, *gru.all_weights[1]))
    return torch.stack(found)


def _run(
    vectors: torch.Tensor,
    lengths: torch.Tensor,
    w_in: torch.Tensor,
    w_state: torch.Tensor,
    b_in: torch.Tensor,
    b_state: torch.Tensor,
) -> torch.Tensor:
    """(caption, hidden) states after the last word."""
    ordered, order = lengths.sort(descending=True, stable=True)
    active = [int(n) for n in (ordered[None] > torch.arange(int(ordered[0]))[:, None]).sum(dim=1)]
    words = vectors[order].transpose(0, 1).unbind(0)
    inputs = F.linear(torch.cat([word[:n] for word, n in zip(words, active, strict=False)]), w_in, b_in).split(active)
    state, done = vectors.new_zeros(len(vectors), w_state.shape[1]), []
    for gates, n in zip(inputs, active, strict=True):
        if n < len(state):  # the captions that have ended
            state, ended = state.split([n, len(state) - n])
            done.append(ended)
        reset_in, update_in, new_in = gates.chunk(3, dim=1)
        reset_state, update_state, new_state = F.linear(state, w_state, b_state).chunk(3, dim=1)
        new = (new_in + (reset_in + reset_state).sigmoid() * new_state).tanh()
        # With mixed precision the gates are bfloat16; the state, which adds up over the words, stays float32.
        state = torch.lerp(new.to(state), state, (update_in + update_state).sigmoid().to(state))
    states = torch.cat([state, *done[::-1]])
    return torch.empty_like(states).index_copy(0, order, states)
