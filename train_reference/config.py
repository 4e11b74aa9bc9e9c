"""The configuration of a run: a TOML file, with the defaults below for what it leaves out.

    base = "scenes/sam"         other files, of which this one changes some values; it may be left out
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
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, ValidationError
from pydantic.dataclasses import dataclass

import vsebench as vb
from vsebench.errors import UsageError, printable
from vsebench.files.regular import check_file, expanded, reading
from vsebench.files.textfile import shown
from vsebench.log import note
from vsebench.registry import unknown
from vsebench.scenes.settings import is_name

from .losses import get_loss
from .own_file import fingerprint

FOLDER = Path(__file__).parent / "configs"
CLOSED = ConfigDict(extra="forbid")

# Strict: an integer is a float, and nothing else is of another type.
Flag = Annotated[bool, Field(strict=True)]
Share = Annotated[float, Field(strict=True, gt=0, le=1)]
Rate = Annotated[float, Field(strict=True, gt=0, lt=10)]
Factor = Annotated[float, Field(strict=True, gt=0)]
Amount = Annotated[float, Field(strict=True, ge=0)]
Finite = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Size = Annotated[int, Field(strict=True, ge=1)]
ON_SCENES = ("cider", "match", "holds", "labels")  # gains that scenes have without a model or a file
Count = Annotated[int, Field(strict=True, ge=0)]
Threads = Annotated[int, Field(strict=True, ge=0, le=1024)]
Pairs = Annotated[int, Field(strict=True, ge=2)]  # a batch needs negatives
Seed = Annotated[int, Field(strict=True, ge=0, lt=2**63)]
Metric = Annotated[str, AfterValidator(lambda name: str(vb.parse(name)))]


@dataclass(frozen=True, config=CLOSED)
class Data:
    """What is trained on.

    Attributes:
        name: scenes (``scenes-10k``), or the folder or file of other data (see ``data``).
        images: the folder of images, where the data need one.
        captions: the file of captions, where the data are a file of vectors.
        key: the array of that file which has the vectors, where it has several.
        features: of scenes, what an image is: ``regions`` (a set of vectors) or ``pixels``.
        restval: whether COCO's ``restval`` is used for training.
        labels: the file of labels of the images, for ``loss.relevance`` ``labels``; of scenes their layout.
        first: share of the training captions that is used: the first ones, in (0, 1].
        word_count: how often a word must occur in the training captions to be in the vocabulary.
    """

    name: str = "scenes-10k"
    images: str = ""
    captions: str = ""
    key: str = ""
    features: Literal["auto", "regions", "pixels"] = "auto"
    restval: Flag = True
    labels: str = ""
    first: Share = 1.0
    word_count: Size = 4


@dataclass(frozen=True, config=CLOSED)
class Model:
    """The two encoders.

    Attributes:
        image: ``linear`` (of vectors; of a set of regions, of their mean), ``cnn`` (small, of pixels), ``vgg19`` or
            ``resnet152`` of torchvision (of image files), or a function of a file of yours, ``my_encoder.py:function``;
            each with a projection.
        pretrained: whether the network of torchvision begins with ImageNet weights.
        finetune: whether it is trained; otherwise only the projection is, and the network is in evaluation mode
            (without dropout, with the batch statistics of its weights).
        crop: of image files, ``center``, ``ten`` (mean of ten crops) or ``random`` (in training).
        text: ``gru``, ``bigru`` (mean of both directions), ``mean`` (of word vectors, with a projection), or a function
            of a file of yours; ``none`` for a model of images alone, which needs ``loss.relevance`` ``labels``.
        dim: of the embeddings.
        word_dim: of the word vectors.
        similarity: ``cosine``; ``order`` (minus the norm of the violation of the caption being more general than the
            image, Vendrov et al., ICLR 2016); ``euclidean`` (minus the squared distance, not normalised).
        order_squared: of ``order``: the square of that norm.
        absolute: absolute values of the embeddings, as Order0 takes.
        normalise_images: whether embeddings of images have length 1; VSE0 leaves them as they are.
        fingerprint: the sha256 of the files of the encoders; a run fills it in.
    """

    image: str = "linear"
    pretrained: Flag = True
    finetune: Flag = False
    crop: Literal["center", "ten", "random"] = "center"
    text: str = "gru"
    dim: Size = 128
    word_dim: Size = 64
    similarity: Literal["cosine", "order", "euclidean"] = "cosine"
    order_squared: Flag = False
    absolute: Flag = False
    normalise_images: Flag = True
    fingerprint: str = ""


@dataclass(frozen=True, config=CLOSED)
class Loss:
    """The loss.

    Attributes:
        name: one of ``train_reference.losses.loss_names()``, or a function of a file of yours: ``my_loss.py:function``.
        fingerprint: the sha256 of that file; a run fills it in.
        settings: its hyper-parameters, by the names of the function.
        learned: those of them that are trained with the model, from their values on, such as the temperature
            ``scale`` of ``info_nce`` (at most 100, as in CLIP), or ``scale`` and ``bias`` of ``siglip``.
        relevance: graded relevance for losses that take a degree, as for ``vsebench eval --gains``; or ``labels``,
            1 - the distance of labels of two images, for a model of images alone.
        scale: the degree is the gain times this: 0.1 maps CIDEr-D to [0, 1].
        degree_of: what a caption is relevant to, by its degree: the ``image`` (all of its captions), or the ``caption``
            of the pair, as in the papers of the ladder loss and of BCLS.
        own_degree: the degree of a caption and its own image: ``gain``, or ``one`` whatever the gain is.
        warmup: epochs of the sum of hinges before the loss begins.
        mask_same_image: whether other captions of the image are left out of the negatives; most papers keep them.
        neighbours: pairs of a batch that are chosen near the first ones by relevance, instead of at random.
    """

    name: str = "mh"
    fingerprint: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    learned: list[str] = field(default_factory=list)
    relevance: str = "cider"
    scale: Finite = 1.0
    degree_of: Literal["image", "caption"] = "image"
    own_degree: Literal["gain", "one"] = "gain"
    warmup: Count = 0
    mask_same_image: Flag = True
    neighbours: Count = 0


@dataclass(frozen=True, config=CLOSED)
class Train:
    """The loop.

    Attributes:
        epochs: number of passes over the captions, at most with ``patience``.
        patience: epochs without a better value of ``select`` after which training stops, counted from the end of the
            warm-up and from ``finetune_from``; 0 for never.
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
    """

    epochs: Count = 15
    patience: Count = 0
    batch: Pairs = 128
    lr: Rate = 1e-3
    decay_every: Count = 10
    decay: Factor = 0.1
    weight_decay: Amount = 0.0
    clip: Amount = 2.0
    finetune_from: Count = 0
    finetune_lr: Rate = 2e-5
    select: Metric = "RSum"
    precision: Literal["float32", "bf16", "float64"] = "float32"
    device: str = "auto"
    deterministic: Flag = True
    threads: Threads = 0
    seed: Seed = 0


@dataclass(frozen=True, config=CLOSED)
class Config:
    """A complete configuration."""

    data: Data = field(default_factory=Data)
    model: Model = field(default_factory=Model)
    loss: Loss = field(default_factory=Loss)
    train: Train = field(default_factory=Train)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return dataclasses.asdict(self)

    def flat(self) -> dict[str, Any]:
        """Every value under its name, such as ``train.lr``."""
        return {f"{part}.{key}": value for part, values in self.to_dict().items() for key, value in values.items()}


OF_ONE_LOSS = ("name", "fingerprint", "settings", "learned")  # the other settings of [loss] stay for another one
SECTIONS: dict[str, Any] = {"data": Data, "model": Model, "loss": Loss, "train": Train}


def read(names: str | Path) -> Config:
    """The configuration of a TOML file: its path, or its name in ``train_reference/configs`` without the ending.

    Several, separated by commas (``vsepp,resnet152,f30k``), are read from left to right: the later one changes the
    values that it has. So does a file with those of its ``base``, which is named in the same way, or relative to its
    own folder.

    Raises:
        BadInput: no TOML, or there is no such file.
        UsageError: an unknown key (close ones are named), or a value of another type or out of its range; files that
            are bases of each other.
    """
    return override(Config(), _values(str(names), Path(), ()), str(names))


def _values(names: str, folder: Path, derived: tuple[Path, ...]) -> dict[str, Any]:
    """The values of files by name, as ``override`` takes them; the paths are relative to a folder.

    ``derived`` have these files for a base.
    """
    found: dict[str, Any] = {}
    for name in (name.strip() for name in names.split(",")):
        if not name:
            raise UsageError(f"'{names}' has an empty name", fix="separate names by single commas, as in vsepp,f30k")
        file = FOLDER / f"{name}.toml" if name in recipes() else folder / expanded(name)
        if derived and not os.path.isfile(file):  # noqa: PTH113 (of pathlib both raise for some names)
            raise unknown("base", name, recipes(), str(derived[-1]))
        if file.resolve() in derived:
            raise UsageError("is a base of itself", where=file, fix="let base name another file")
        given = read_toml(file)
        base = given.pop("base", "")
        if not isinstance(base, str):
            raise UsageError(f"base is {shown(base)}", where=file, fix='name a file, such as base = "vsepp"')
        from_dict(given, str(file))  # so that a fault is that of the file
        found |= _values(base, file.parent, (*derived, file.resolve())) if base else {}
        found |= {f"{section}.{key}": value for section, keys in given.items() for key, value in keys.items()}
    return found


def recipes() -> list[str]:
    """The names of the files in ``train_reference/configs``, sorted."""
    return sorted(path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.rglob("*.toml"))


def from_dict(values: Mapping[str, Any], where: str | None = None) -> Config:
    """The configuration of a nested dictionary; raises UsageError as ``read``."""
    try:
        return Config(**values)
    except ValidationError as error:
        raise _fault(error, where) from error
    except UnicodeError as error:  # pydantic writes no message about it
        raise UsageError("has text that is not UTF-8", where=where, fix="correct these characters") from error


def _fault(error: ValidationError, where: str | None) -> UsageError:
    """The first fault of a configuration, in the words of pydantic; of an unknown name the close ones."""
    first = error.errors(include_url=False)[0]
    *section, key = map(str, first["loc"] or ("a key",))
    if first["type"] == "unexpected_keyword_argument":
        known = SECTIONS[section[0]].__dataclass_fields__ if section else SECTIONS
        found = unknown(f"key of [{section[0]}]" if section else "section", key, known, where)
        if section == ["loss"]:
            inside = f"loss.settings.{printable(key[:40])}"
            found.fix = f"{found.fix}; a hyper-parameter of the loss is a key of its settings, {inside}"
        return found
    name, raised = ".".join([*section, key]), first.get("ctx", {}).get("error")
    if isinstance(raised, UsageError):
        return UsageError(f"{name}: {raised.what}", where=where, fix=raised.fix)
    return UsageError(f"{name} is {shown(first['input'])}", where=where, fix=first["msg"])


def override(config: Config, changes: Mapping[str, Any], where: str | None = None) -> Config:
    """The configuration with other values, by name: ``{"train.lr": 0.001, "loss.settings.tau": 5.0}``.

    None leaves a value as it is. Raises UsageError as ``read``, at the place ``where``.
    """
    values = config.to_dict()
    for name, value in changes.items():
        *path, key = name.split(".")
        at = values
        for step in path:
            at = at.setdefault(step, {})
            if not isinstance(at, dict):
                raise UsageError(f"{name} is no setting", where=where, fix="write section.key, such as train.lr")
        if value is not None:
            at[key] = value
    return from_dict(values, where)


def assign(config: Config, assignments: list[str]) -> Config:
    """The configuration with other values, given as ``train.lr=0.001`` with values as in TOML (words need no quotes).

    Raises:
        UsageError: an unknown key, or a value of another type or out of its range.
    """
    changes = {}
    for text in assignments:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or "." not in name:
            raise UsageError(f"--set {text}", fix="write --set section.key=value, such as --set train.lr=0.001")
        try:
            changes[name] = _loads(f"value = {value}")["value"]
        except (ValueError, RecursionError):
            changes[name] = value
    return override(config, changes, "--set")


def configured(
    loss: str | None = None,
    config: str | Path | None = None,
    *,
    encoder: str | None = None,
    smoke: bool = False,
    changes: Mapping[str, Any] | None = None,
    assignments: list[str] | None = None,
) -> Config:
    """The complete configuration of a run.

    The settings of a file come first, then those of ``smoke``, then ``changes``, then ``assignments``.

    Args:
        loss: its name; the file of this name in ``configs/scenes``, if there is one, has settings that suit the
            built-in scenes and is taken for these when no other file is named.
        config: a TOML file, or names of those in ``configs``, separated by commas.
        encoder: of the images, or of the captions; replaces that of the file.
        smoke: the part ``configs/smoke.toml`` too, with at most one epoch of the warm-up, and gains that need no files:
            a run of some seconds.
        changes: other values, as for ``override``.
        assignments: as for ``assign``.

    Raises:
        UsageError, BadInput: as ``read`` and ``assign``; an unknown loss.
    """
    changed = dict(changes or {})
    name = None if loss is None else get_loss(loss).name
    if config is None and name is not None and is_name(changed.get("data.name") or Data.name):
        config = f"scenes/{name}" if f"scenes/{name}" in recipes() else None
    found = Config() if config is None else read(config)
    if name not in (None, found.loss.name):
        others = [key for key in Loss.__dataclass_fields__ if key not in OF_ONE_LOSS]
        kept = [key for key in others if getattr(found.loss, key) != getattr(Loss(), key)]
        if kept:
            said = " ".join(f"loss.{key}={json.dumps(getattr(found.loss, key))}" for key in kept)
            note(f"settings of the configuration for loss {found.loss.name} stay for loss {name}: {said}")
        found = override(found, {"loss.name": name, "loss.settings": {}, "loss.learned": []})
    if smoke:
        part = {"loss.warmup": min(1, found.loss.warmup), **_values("smoke", Path(), ())}
        if found.loss.relevance.partition(":")[0] not in ON_SCENES:
            part["loss.relevance"] = "match"
        found = override(found, part)
    if encoder is not None:
        from .encoders import CAPTIONS, get_encoder

        changed["model.text" if get_encoder(encoder).of == (CAPTIONS,) else "model.image"] = encoder
    return assign(override(found, changed), assignments or [])


def fingerprinted(config: Config) -> Config:
    """The configuration of a run, with the sha256 of files of the user that it names; raises UsageError."""
    model = fingerprint(config.model.image, config.model.text)
    return override(config, {"loss.fingerprint": fingerprint(config.loss.name), "model.fingerprint": model})


def read_toml(file: Path) -> dict[str, Any]:
    """The values of a TOML file; raises BadInput."""
    check_file(file, "give a TOML file", missing=f"give a TOML file, or one of {', '.join(recipes())}")
    with reading(file, "is no TOML", "give a TOML file; docs/training.md has an example"):
        return _loads(file.read_text(encoding="utf-8"))


def _loads(text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib.loads(text)
