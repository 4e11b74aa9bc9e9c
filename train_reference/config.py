"""The configuration of a run: a TOML file, with the defaults below for what it leaves out.

    [data]                      what is trained on
    name = "scenes-10k"
    [model]
    text = "gru"
    [loss]
    name = "sam"
    relevance = "cider"
    settings = { tau = 3.0, sampler = "hard" }
    [train]
    epochs = 15

The complete configuration, defaults included, is stored in every checkpoint.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from vsebench.data.regular import check_file
from vsebench.errors import BadInput, UsageError, printable
from vsebench.registry import unknown

FOLDER = Path(__file__).parent / "configs"


@dataclass(frozen=True)
class Data:
    """What is trained on.

    Attributes:
        name: scenes (``scenes-10k``), ``coco-objects``, or the folder or file of other data (see ``data``).
        images: a folder of images, or a file of labels, where the data need one.
        features: of scenes, what an image is: ``regions`` (a set of vectors) or ``pixels``.
        first: share of the training captions that is used: the first ones, in (0, 1].
        word_count: how often a word must occur in the training captions to be in the vocabulary.
    """

    name: str = "scenes-10k"
    images: str = ""
    features: Literal["auto", "vectors", "regions", "pixels"] = "auto"
    first: float = 1.0
    word_count: int = 4


@dataclass(frozen=True)
class Model:
    """The two encoders.

    Attributes:
        image: ``linear`` (a projection of vectors; of a set of regions, of their mean), ``cnn`` (small, of pixels), or
            ``vgg19`` or ``resnet152`` of torchvision (of image files), with a projection.
        pretrained: whether the network of torchvision begins with ImageNet weights.
        finetune: whether it is trained; otherwise only the projection is.
        crop: of image files, ``center``, ``ten`` (mean of ten crops) or ``random`` (in training).
        text: ``gru``, ``bigru`` (mean of both directions) or ``mean`` (of word vectors, with a projection).
        dim: of the embeddings.
        word_dim: of the word vectors.
        similarity: ``cosine``; ``order`` (minus the norm of the violation of the caption being more general than the
            image, Vendrov et al., ICLR 2016); ``euclidean`` (minus the squared distance, not normalised).
        order_squared: of ``order``: the square of that norm.
        absolute: absolute values of the embeddings, as Order0 takes.
        normalise_images: whether embeddings of images have length 1; VSE0 leaves them as they are.
    """

    image: Literal["linear", "cnn", "vgg19", "resnet152"] = "linear"
    pretrained: bool = True
    finetune: bool = False
    crop: Literal["center", "ten", "random"] = "center"
    text: Literal["gru", "bigru", "mean"] = "gru"
    dim: int = 128
    word_dim: int = 64
    similarity: Literal["cosine", "order", "euclidean"] = "cosine"
    order_squared: bool = False
    absolute: bool = False
    normalise_images: bool = True


@dataclass(frozen=True)
class Loss:
    """The loss.

    Attributes:
        name: one of ``train_reference.losses.loss_names()``, or a function of a file of yours: ``my_loss.py:function``.
        fingerprint: the sha256 of that file; a run fills it in.
        settings: its hyper-parameters, by the names of the function.
        relevance: graded relevance for losses that take a degree, as for ``vsebench eval --gains``.
        scale: the degree is the gain times this: 0.1 maps CIDEr-D to [0, 1].
        reference: the captions that stand for an image in the degree: ``image`` (all of its captions), or ``caption``
            (that of the pair, as in the papers of the ladder loss and of BCLS).
        own: the degree of a caption and its own image: ``gain``, or ``one`` whatever the gain is.
        warmup: epochs of the sum of hinges before the loss begins.
        spare: candidates that are no negatives: ``image`` (captions of the same image) or ``pair`` (only the pair).
        neighbours: pairs of a batch that are chosen near the first ones by relevance, instead of at random.
    """

    name: str = "mh"
    fingerprint: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    relevance: str = "cider"
    scale: float = 1.0
    reference: Literal["image", "caption"] = "image"
    own: Literal["gain", "one"] = "gain"
    warmup: int = 0
    spare: Literal["image", "pair"] = "image"
    neighbours: int = 0


@dataclass(frozen=True)
class Train:
    """The loop.

    Attributes:
        epochs: number of passes over the captions.
        batch: pairs in a batch; with ``torchrun``, of all processes together.
        lr: learning rate of Adam.
        decay_every: epochs after which the learning rate is multiplied by ``decay``; 0 for never.
        decay: the factor of ``decay_every``.
        weight_decay: of Adam, on all weights.
        clip: largest norm of the gradient; 0 for no clipping.
        finetune_from: the epoch from which the image network is trained too, and all weights with ``finetune_lr``;
            with 0 it is trained from the beginning, and it alone with ``finetune_lr``.
        finetune_lr: learning rate of that stage.
        select: the metric that selects the best epoch on the validation part: its mean of both directions.
        precision: ``float32``; ``bf16``, the encoders in mixed precision, scores and losses in float32; or
            ``float64``, in which small runs gave the same numbers with x86 code for SSE4, AVX2 and AVX-512.
        device: ``auto``, ``cpu`` or ``cuda``.
        deterministic: only algorithms of torch that give the same result every time.
        threads: of torch on the CPU; 0 for its own choice.
        seed: of the weights and of the order of the pairs.
        tensorboard: whether the log is written for TensorBoard too, into the folder of the run.
    """

    epochs: int = 15
    batch: int = 128
    lr: float = 1e-3
    decay_every: int = 10
    decay: float = 0.1
    weight_decay: float = 0.0
    clip: float = 2.0
    finetune_from: int = 0
    finetune_lr: float = 2e-5
    select: str = "RSum"
    precision: Literal["float32", "bf16", "float64"] = "float32"
    device: str = "auto"
    deterministic: bool = True
    threads: int = 0
    seed: int = 0
    tensorboard: bool = False


@dataclass(frozen=True)
class Config:
    """A complete configuration."""

    data: Data = field(default_factory=Data)
    model: Model = field(default_factory=Model)
    loss: Loss = field(default_factory=Loss)
    train: Train = field(default_factory=Train)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return dataclasses.asdict(self)


SECTIONS = {"data": Data, "model": Model, "loss": Loss, "train": Train}


def read(path: str | Path) -> Config:
    """The configuration of a TOML file: its path, or its name in ``train_reference/configs`` without the ending.

    Raises:
        BadInput: no TOML, or there is no such file.
        UsageError: an unknown key (close ones are named), or a value of another type or out of its range.
    """
    file = Path(path).expanduser()
    if not os.path.exists(file) and (FOLDER / f"{path}.toml").is_file():  # noqa: PTH110
        file = FOLDER / f"{path}.toml"
    return from_dict(_toml(file), str(path))


def from_dict(values: dict[str, Any], where: str = "") -> Config:
    """The configuration of a nested dictionary; raises UsageError as ``read``."""
    sections = {}
    for name, given in values.items():
        if name not in SECTIONS:
            raise _placed(unknown("section", name, SECTIONS), where)
        if not isinstance(given, dict):
            raise UsageError(f"{name} is {given!r:.60}", where=where or None, fix=f"write [{name}] and its keys below")
        sections[name] = _section(SECTIONS[name], name, given, where)
    return _checked(Config(**sections), where)


def assign(config: Config, assignments: list[str]) -> Config:
    """The configuration with other values, given as ``train.lr=0.001`` with values as in TOML (words need no quotes).

    Raises:
        UsageError: an unknown key, or a value of another type or out of its range.
    """
    values = config.to_dict()
    for text in assignments:
        name, equals, value = text.partition("=")
        section, _, key = name.strip().partition(".")
        if not equals or not key:
            raise UsageError(f"--set {text}", fix="write --set section.key=value, such as --set train.lr=0.001")
        if section not in SECTIONS:
            raise unknown("section", section, SECTIONS)
        if key.startswith("settings.") and isinstance(values[section].get("settings"), dict):
            values[section]["settings"][key.removeprefix("settings.")] = _value(value.strip())
        else:
            values[section][key] = _value(value.strip())
    return from_dict(values, "--set")


def _value(text: str) -> Any:
    try:
        return _loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text


def override(config: Config, **changes: Any) -> Config:
    """The configuration with other values, given as ``train_epochs=3``; None leaves a value as it is."""
    for key, value in changes.items():
        if value is not None:
            section, _, name = key.partition("_")
            part = dataclasses.replace(getattr(config, section), **{name: value})
            config = dataclasses.replace(config, **{section: part})
    return _checked(config, "")


def _toml(file: Path) -> dict[str, Any]:
    known = ", ".join(sorted(p.relative_to(FOLDER).with_suffix("").as_posix() for p in FOLDER.rglob("*.toml")))
    check_file(file, "give a TOML file", missing=f"give a TOML file, or one of {known}")
    try:
        return _loads(file.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        what = "is a binary file, not TOML"
        raise BadInput(what, where=file, fix="give a TOML file; docs/training.md has an example") from error
    except PermissionError as error:
        raise BadInput(f"cannot be read: {error.strerror}", where=file, fix="give a TOML file") from error
    except (OSError, ValueError, RecursionError) as error:  # UnicodeDecodeError, TOMLDecodeError are ValueErrors
        raise BadInput(f"not TOML: {error}", where=file, fix="see docs/training.md for an example") from error


def _loads(text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib.loads(text)


def _section(kind: type, name: str, given: dict[str, Any], where: str) -> Any:
    types = get_type_hints(kind)
    for key, value in given.items():
        if key not in types:
            error = unknown(f"key of [{name}]", key, types)
            if kind is Loss:
                inside = f"loss.settings.{printable(key[:40])}"
                error.fix = f"{error.fix}; a hyper-parameter of the loss is a key of its settings, {inside}"
            raise _placed(error, where)
        _check_type(f"{name}.{key}", value, types[key], where)
    return kind(**{key: float(value) if types[key] is float else value for key, value in given.items()})


def _check_type(name: str, value: Any, kind: Any, where: str) -> None:
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            fix = f"use {', '.join(map(str, get_args(kind)))}"
            raise UsageError(f"{name} is {value!r:.60}", where=where or None, fix=fix)
        return
    plain = get_origin(kind) or kind
    allowed = (int, float) if plain is float else (plain,)
    if not isinstance(value, allowed) or (isinstance(value, bool) and plain is not bool):
        raise UsageError(f"{name} is {value!r:.60}", where=where or None, fix=f"give a value of type {plain.__name__}")
    if plain is float and abs(value) > sys.float_info.max and value != float("inf"):
        raise UsageError(f"{name} has more than 308 digits", where=where or None, fix="give a smaller number")


def _checked(config: Config, where: str) -> Config:
    t, near = config.train, config.loss.neighbours
    limits = (
        ("data.first", config.data.first, 0 < config.data.first <= 1, "a share above 0, at most 1"),
        ("model.dim", config.model.dim, config.model.dim >= 1, "at least 1"),
        ("model.word_dim", config.model.word_dim, config.model.word_dim >= 1, "at least 1"),
        ("train.epochs", t.epochs, t.epochs >= 0, "0 or more"),
        ("train.batch", t.batch, t.batch >= 2, "at least 2: a batch needs negatives"),
        ("train.lr", t.lr, 0 < t.lr < 10, "a number above 0 and below 10, such as 0.0002"),
        ("train.clip", t.clip, t.clip >= 0, "0 (none) or more"),
        ("train.decay_every", t.decay_every, t.decay_every >= 0, "0 (never) or more"),
        ("train.decay", t.decay, t.decay > 0, "a number above 0, such as 0.1"),
        ("train.weight_decay", t.weight_decay, t.weight_decay >= 0, "0 (none) or more"),
        ("train.finetune_from", t.finetune_from, t.finetune_from >= 0, "0 or more"),
        ("train.finetune_lr", t.finetune_lr, 0 < t.finetune_lr < 10, "a number above 0 and below 10, such as 0.00002"),
        ("train.threads", t.threads, t.threads >= 0, "0 (torch chooses) or more"),
        ("train.seed", t.seed, 0 <= t.seed < 2**63, "0 or more"),
        ("data.word_count", config.data.word_count, config.data.word_count >= 1, "at least 1"),
        ("loss.warmup", config.loss.warmup, config.loss.warmup >= 0, "0 or more"),
        ("loss.neighbours", near, 0 <= near < t.batch, f"0 to {t.batch - 1}: a batch has {t.batch} pairs"),
    )
    for name, value, holds, fix in limits:
        if not holds:
            raise UsageError(f"{name} is {value}", where=where or None, fix=f"give {fix}")
    return config


def _placed(error: UsageError, where: str) -> UsageError:
    return UsageError(error.what, where=where or None, fix=error.fix)
