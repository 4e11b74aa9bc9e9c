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
import os
import sys
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, ValidationError
from pydantic.dataclasses import dataclass

from vsebench.errors import UsageError, printable
from vsebench.files.regular import check_file, reading
from vsebench.files.textfile import shown
from vsebench.registry import unknown

from .losses import get_loss

FOLDER = Path(__file__).parent / "configs"
STRICT = ConfigDict(extra="forbid", strict=True)  # an integer is a float, and nothing else is of another type

Share = Annotated[float, Field(gt=0, le=1)]
Rate = Annotated[float, Field(gt=0, lt=10)]
Factor = Annotated[float, Field(gt=0)]
Amount = Annotated[float, Field(ge=0)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Size = Annotated[int, Field(ge=1)]
Count = Annotated[int, Field(ge=0)]
Pairs = Annotated[int, Field(ge=2)]  # a batch needs negatives
Seed = Annotated[int, Field(ge=0, lt=2**63)]


@dataclass(frozen=True, config=STRICT)
class Data:
    """What is trained on.

    Attributes:
        name: scenes (``scenes-10k``), or the folder or file of other data (see ``data``).
        images: the folder of images, where the data need one.
        captions: the file of captions, where the data are a file of vectors.
        features: of scenes, what an image is: ``regions`` (a set of vectors) or ``pixels``.
        restval: whether COCO's ``restval`` is used for training.
        labels: the file of labels of the images, for ``loss.relevance`` ``labels``; of scenes their layout.
        first: share of the training captions that is used: the first ones, in (0, 1].
        word_count: how often a word must occur in the training captions to be in the vocabulary.
    """

    name: str = "scenes-10k"
    images: str = ""
    captions: str = ""
    features: Literal["auto", "regions", "pixels"] = "auto"
    restval: bool = True
    labels: str = ""
    first: Share = 1.0
    word_count: Size = 4


@dataclass(frozen=True, config=STRICT)
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
    pretrained: bool = True
    finetune: bool = False
    crop: Literal["center", "ten", "random"] = "center"
    text: str = "gru"
    dim: Size = 128
    word_dim: Size = 64
    similarity: Literal["cosine", "order", "euclidean"] = "cosine"
    order_squared: bool = False
    absolute: bool = False
    normalise_images: bool = True
    fingerprint: str = ""


@dataclass(frozen=True, config=STRICT)
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
    mask_same_image: bool = True
    neighbours: Count = 0


@dataclass(frozen=True, config=STRICT)
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
    select: str = "RSum"
    precision: Literal["float32", "bf16", "float64"] = "float32"
    device: str = "auto"
    deterministic: bool = True
    threads: Count = 0
    seed: Seed = 0


@dataclass(frozen=True, config=STRICT)
class Config:
    """A complete configuration."""

    data: Data = field(default_factory=Data)
    model: Model = field(default_factory=Model)
    loss: Loss = field(default_factory=Loss)
    train: Train = field(default_factory=Train)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return dataclasses.asdict(self)


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
    return from_dict(_merged(str(names), Path(), ()), str(names))


def _merged(names: str, folder: Path, derived: tuple[Path, ...]) -> dict[str, dict[str, Any]]:
    """The values of files, whose paths are relative to a folder; ``derived`` have these for a base."""
    found: dict[str, dict[str, Any]] = {}
    for name in names.split(","):
        file = FOLDER / f"{name}.toml" if name in recipes() else folder / os.path.expanduser(name)  # noqa: PTH111
        if derived and not os.path.isfile(file):  # noqa: PTH113 (of pathlib both raise for some names)
            raise unknown("base", name, recipes(), str(derived[-1]))
        if file.resolve() in derived:
            raise UsageError("is a base of itself", where=file, fix="let base name another file")
        values = _toml(file)
        base = values.pop("base", "")
        if not isinstance(base, str):
            raise UsageError(f"base is {shown(base)}", where=file, fix='name a file, such as base = "vsepp"')
        from_dict(values, str(file))  # so that a fault is that of the file
        known = _merged(base, file.parent, (*derived, file.resolve())) if base else {}
        for one in (known, values):
            for section, given in one.items():
                found[section] = {**found.get(section, {}), **given}
    return found


def recipes() -> list[str]:
    """The names of the files in ``train_reference/configs``, sorted."""
    return sorted(p.relative_to(FOLDER).with_suffix("").as_posix() for p in FOLDER.rglob("*.toml"))


def from_dict(values: dict[str, Any], where: str | None = None) -> Config:
    """The configuration of a nested dictionary; raises UsageError as ``read``."""
    sections = {}
    for name, given in values.items():
        if name not in SECTIONS:
            raise unknown("section", name, SECTIONS, where)
        if not isinstance(given, dict):
            raise UsageError(f"{name} is {shown(given)}", where=where, fix=f"write [{name}] and its keys below")
        try:
            sections[name] = SECTIONS[name](**given)
        except ValidationError as error:
            raise _fault(error, name, where) from error
    config = Config(**sections)
    if config.loss.neighbours >= config.train.batch:
        fix = f"give less than train.batch, {config.train.batch}"
        raise UsageError(f"loss.neighbours is {config.loss.neighbours}", where=where, fix=fix)
    return config


def _fault(error: ValidationError, section: str, where: str | None) -> UsageError:
    """The first fault of a section, in the words of pydantic."""
    first = error.errors(include_url=False)[0]
    key = ".".join(map(str, first["loc"]))
    if first["type"] == "unexpected_keyword_argument":
        found = unknown(f"key of [{section}]", key, (f.name for f in dataclasses.fields(SECTIONS[section])), where)
        if section == "loss":
            inside = f"loss.settings.{printable(key[:40])}"
            found.fix = f"{found.fix}; a hyper-parameter of the loss is a key of its settings, {inside}"
        return found
    return UsageError(f"{section}.{key} is {shown(first['input'])}", where=where, fix=first["msg"])


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
    values = config.to_dict()
    for key, value in changes.items():
        if value is not None:
            section, _, name = key.partition("_")
            values[section][name] = value
    return from_dict(values)


# Of --smoke, for one run of any recipe: an epoch of the warm-up, and two of the loss. Its matrices are too small for
# two threads, which would take ten times the processor time.
SMOKE_RUN = {
    "data_name": "scenes-tiny", "train_epochs": 3, "train_batch": 32, "train_lr": 0.005, "train_decay_every": 0,
    "train_threads": 1, "model_dim": 32, "model_word_dim": 32, "loss_neighbours": 0, "data_first": 1.0,
}  # fmt: skip


def configured(
    loss: str | None = None,
    config: str | Path | None = None,
    *,
    data: str | None = None,
    captions: str | Path | None = None,
    epochs: int | None = None,
    batch: int | None = None,
    lr: float | None = None,
    seed: int | None = None,
    encoder: str | None = None,
    device: str | None = None,
    smoke: bool = False,
    assignments: list[str] | None = None,
) -> Config:
    """The complete configuration of a run.

    The settings of a file come first, then those of ``smoke``, then the options, then ``assignments``.

    Args:
        loss: its name; the file of this name in ``configs/scenes``, if there is one, has settings that suit the
            built-in scenes and is taken when no other file is named.
        config: a TOML file, or names of those in ``configs``, separated by commas.
        data, captions, epochs, batch, lr, seed, device: replace those of the file.
        encoder: of the images, or of the captions; replaces that of the file.
        smoke: a run of some seconds: a small model, 100 images, 3 epochs, the first of them of the warm-up where there
            is one; a projection of regions instead of a network of torchvision.
        assignments: as for ``config.assign``.

    Raises:
        UsageError, BadInput: as ``config.read`` and ``config.assign``; an unknown loss.
    """
    if config is None and loss is not None:
        loss = get_loss(loss).name
        named = f"scenes/{loss}"
        config = named if named in recipes() else None
    found = Config() if config is None else read(config)
    if loss is not None and loss != found.loss.name:
        found = override(found, loss_name=get_loss(loss).name, loss_settings={}, loss_learned=[])
    if smoke:
        found = override(found, **SMOKE_RUN, loss_warmup=1 if found.loss.warmup else 0)
        if found.model.image != "linear":
            found = override(
                found, model_image="linear", model_crop="center", model_finetune=False, model_pretrained=True
            )
    found = override(
        found, data_name=data, data_captions=None if captions is None else str(captions), train_epochs=epochs,
        train_batch=batch, train_lr=lr, train_seed=seed, train_device=device,
    )  # fmt: skip
    if encoder is not None:
        from .encoders import CAPTIONS, get_encoder

        of_captions = get_encoder(encoder).of == (CAPTIONS,)
        found = override(found, **{"model_text" if of_captions else "model_image": encoder})
    return assign(found, assignments or [])


def _toml(file: Path) -> dict[str, Any]:
    check_file(file, "give a TOML file", missing=f"give a TOML file, or one of {', '.join(recipes())}")
    with reading(file, "is no TOML", "give a TOML file; docs/training.md has an example"):
        return _loads(file.read_text(encoding="utf-8"))


def _loads(text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib.loads(text)
