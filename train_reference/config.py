"""The configuration of a run: a TOML file such as ``configs/sam.toml``, with the defaults below for what it leaves out.

``base = "scenes/sam"`` names other files, of which it changes values. The comment behind a setting documents it.
"""

import dataclasses
import json
import sys
from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, ValidationError
from pydantic.dataclasses import dataclass

import vsebench as vb
from vsebench.errors import BadInput, UsageError, unknown

from .encoders import CAPTIONS, Encoder, get_encoder
from .losses import Loss as LossEntry
from .losses import get_loss
from .own_file import fingerprint

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parent / "configs"
NONE, LABELS = "none", "labels"  # of ``model.text`` and ``loss.relevance``: a model of images alone
STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
Count = Annotated[int, Field(ge=0)]
Size = Annotated[int, Field(ge=1)]
Rate = Annotated[float, Field(gt=0, lt=10)]
Amount = Annotated[float, Field(ge=0)]
Similarity = Literal["cosine", "order", "euclidean"]
Precision = Literal["float32", "bf16", "float64"]
Metric = Annotated[str, AfterValidator(lambda name: str(vb.parse(name)))]


@dataclass(frozen=True, config=STRICT)
class Data:
    """What is trained on."""

    name: str = "scenes-10k"  # scenes, or the folder or file of other data
    images: str = ""  # folder of the image files
    captions: str = ""  # file of captions, if `name` is a file of vectors
    key: str = ""  # array with the vectors, if that file has several
    features: Literal["auto", "regions", "pixels"] = "auto"  # of scenes: `regions` (a set of vectors) or `pixels`
    restval: bool = True  # train on COCO's `restval` too
    labels: str = ""  # .npz with `image_ids` and `labels`, for `loss.relevance` `labels`; by default layouts of scenes
    first: Annotated[float, Field(gt=0, le=1)] = 1.0  # share of the training captions that is used: the first ones
    word_count: Size = 4  # how often a training word must occur to be in the vocabulary


@dataclass(frozen=True, config=STRICT)
class Model:
    """The two encoders."""

    image: str = "linear"  # `linear`, `cnn`, `vgg19`, `resnet152` or `FILE.py:FUNCTION`; a projection follows
    pretrained: bool = True  # torchvision's networks begin with ImageNet weights
    finetune: bool = False  # train the pretrained network; otherwise only its projection is trained
    crop: Literal["center", "ten", "random"] = "center"  # `ten`: mean of ten crops; `random`: in training
    text: str = "gru"  # `gru`, `bigru`, `mean` or `FILE.py:FUNCTION`; `none` for a model of images alone
    dim: Size = 128  # of the embeddings
    word_dim: Size = 64  # of the word vectors
    similarity: Similarity = "cosine"  # `order`: Vendrov et al., ICLR 2016; `euclidean`: minus the squared distance
    order_squared: bool = False  # `order`: minus the squared norm of the violation
    absolute: bool = False  # absolute values of the embeddings, as in Order0
    normalise_images: bool = True  # image embeddings have length 1; VSE0 leaves them as they are
    fingerprint: str = ""  # sha256 of the files of custom encoders; a run fills it in

    @cached_property
    def image_encoder(self) -> Encoder:
        """The entry of ``image``; raises UsageError."""
        return get_encoder(self.image)

    @cached_property
    def text_encoder(self) -> Encoder | None:
        """The entry of ``text``, None for a model of images alone; raises UsageError."""
        if self.text != NONE and CAPTIONS not in get_encoder(self.text).of:
            raise UsageError(f"model.text is '{self.text}', an encoder of images", fix="use gru, bigru or mean")
        return None if self.text == NONE else get_encoder(self.text)

    @property
    def trained(self) -> bool:
        """Whether the network before the projection of the images is trained in some epoch."""
        return self.finetune or not self.image_encoder.pretrained


@dataclass(frozen=True, config=STRICT)
class Loss:
    """The loss."""

    name: str = "mh"  # a loss of the table below, or `FILE.py:FUNCTION`
    fingerprint: str = ""  # sha256 of the file of a custom loss; a run fills it in
    settings: dict[str, Any] = field(default_factory=dict)  # hyper-parameters, by the names in the table below
    learned: list[str] = field(default_factory=list)  # hyper-parameters that are trained: `scale`, `bias`
    relevance: str = "cider"  # gains that the degree is made of, as for `vsebench eval --gains`; or `labels`
    scale: float = 1.0  # the degree is the gain times this: 0.1 maps CIDEr-D to [0, 1]
    degree_of: Literal["image", "caption"] = "image"  # relevance to the `image`, or to the `caption` of the pair
    own_degree: Literal["gain", "one"] = "gain"  # degree of a caption and its own image: its `gain`, or `one`
    warmup: Count = 0  # epochs of the sum of hinges before the loss begins
    mask_same_image: bool = True  # other captions of the image are no negatives; in most papers they are
    neighbours: Count = 0  # pairs of a batch that are chosen near the others by relevance

    @cached_property
    def entry(self) -> LossEntry:
        """The loss; raises UsageError for an unknown one, or hyper-parameters that it does not have."""
        found = get_loss(self.name)
        if other := [name for name in [*self.settings, *self.learned] if name not in found.settings]:
            raise unknown(f"setting of loss '{self.name}'", other[0], found.settings)
        for name in self.learned:
            if name not in found.learnable or (name == "scale" and self.values[name] <= 0):
                what = (
                    f"loss.learned has '{name}', which cannot be learned with the initial value {self.values[name]!r}"
                )
                raise UsageError(what, fix=f"use {', '.join(found.learnable) or 'none'}, and a scale above 0")
        return found

    @property
    def values(self) -> dict[str, Any]:
        """All hyper-parameters."""
        return get_loss(self.name).settings | self.settings


@dataclass(frozen=True, config=STRICT)
class Train:
    """The loop."""

    epochs: Count = 15  # passes over the captions, at most
    patience: Count = 0  # stop after that many epochs without a better `select`; 0: never
    batch: Annotated[int, Field(ge=2)] = 128  # pairs in a batch, of all processes together
    lr: Rate = 1e-3  # learning rate of Adam
    decay_every: Count = 10  # epochs after which the learning rate is multiplied by `decay`; 0: never
    decay: Annotated[float, Field(gt=0)] = 0.1  # that factor
    weight_decay: Amount = 0.0  # of Adam, on all weights
    clip: Amount = 2.0  # largest norm of the gradient; 0: no clipping
    finetune_from: Count = 0  # first epoch that trains the image network, from then on all weights with `finetune_lr`
    finetune_lr: Rate = 2e-5  # learning rate of that stage; with `finetune_from` 0 of the image network alone
    select: Metric = "RSum"  # metric of the validation part that selects the best epoch (mean of both directions)
    precision: Precision = "float32"  # `bf16`: mixed; `float64`: equal numbers with SSE4, AVX2 and AVX-512
    device: Literal["auto", "cpu", "cuda"] = "auto"  # `auto`: a GPU if there is one
    deterministic: bool = True  # only algorithms that give the same result every time
    threads: Annotated[int, Field(ge=0, le=1024)] = 0  # of torch on the CPU; 0: its own choice
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0  # of the weights and of the order of the pairs


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

    def flat(self) -> dict[str, Any]:
        """Every value under its name, such as ``train.lr``."""
        return {f"{part}.{key}": value for part, values in self.to_dict().items() for key, value in values.items()}


SECTIONS: dict[str, Any] = {"data": Data, "model": Model, "loss": Loss, "train": Train}


def from_dict(values: Mapping[str, Any], where: str | None = None) -> Config:
    """The configuration of a nested dictionary; raises UsageError for an unknown key or a wrong value."""
    made = {}
    for name, keys in values.items():
        if name not in SECTIONS or not isinstance(keys, Mapping):
            raise unknown("section", name, SECTIONS, where)
        try:
            made[name] = SECTIONS[name](**keys)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            key = str(first["loc"][0])
            if first["type"] == "unexpected_keyword_argument":
                found = unknown(f"key of [{name}]", key, SECTIONS[name].__dataclass_fields__, where)
                raise found.also(f"hyper-parameters are loss.settings.{key}") if name == "loss" else found from error
            what, fix = f"{name}.{key} is {first['input']!r:.60}", first["msg"].removeprefix("Value error, ")
            raise UsageError(what, where=where, fix=fix) from error
    return Config(**made)


def override(config: Config, changes: Mapping[str, Any], where: str | None = None) -> Config:
    """The configuration with other values, by name: ``{"train.lr": 0.001, "loss.settings.tau": 5.0}``; None is none."""
    values = config.to_dict()
    for name, value in changes.items():
        *path, key = name.split(".")
        at = values
        for step in path:
            at = at.setdefault(step, {})
            if not isinstance(at, dict):
                raise UsageError(f"{name} is not a setting", where=where, fix="write section.key, such as train.lr")
        if value is not None:
            at[key] = value
    return from_dict(values, where)


def assign(config: Config, assignments: list[str]) -> Config:
    """The configuration with other values, as in ``train.lr=0.001``; words need no quotes. Raises UsageError."""
    changes = {}
    for text in assignments:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or "." not in name:
            raise UsageError(f"--set {text}", fix="write --set section.key=value, such as --set train.lr=0.001")
        try:
            changes[name] = tomllib.loads(f"value = {value}")["value"]
        except (ValueError, RecursionError):
            changes[name] = value
    return override(config, changes, "--set")


def recipes() -> list[str]:
    """The names of the files in ``train_reference/configs``, sorted."""
    return sorted(path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.rglob("*.toml"))


def read(names: str | Path) -> Config:
    """The configuration of TOML files, separated by commas: paths, or names in ``train_reference/configs``. A later
    file (``vsepp,resnet152,f30k``) changes values of the earlier ones, as does a file those of its ``base``. Raises
    BadInput for a file that is no TOML, and UsageError for a missing one and as ``from_dict``."""
    return override(Config(), values_of(str(names)), str(names))


def values_of(names: str, folder: Path = Path(), derived: tuple[Path, ...] = ()) -> dict[str, Any]:
    """The values of files as ``override`` takes them; paths are relative to ``folder``, ``derived`` have this base."""
    found: dict[str, Any] = {}
    for name in map(str.strip, names.split(",")):
        file = FOLDER / f"{name}.toml" if name in recipes() else folder / Path(name).expanduser()
        if file.resolve() in derived or not file.is_file():
            raise unknown("recipe", name, recipes(), str(derived[-1]) if derived else None)
        values = read_toml(file)
        base = str(values.pop("base", ""))
        from_dict(values, str(file))  # an error names this file
        found |= values_of(base, file.parent, (*derived, file.resolve())) if base else {}
        found |= {f"{section}.{key}": value for section, keys in values.items() for key, value in keys.items()}
    return found


def read_toml(file: Path) -> dict[str, Any]:
    """The values of a TOML file; raises BadInput."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadInput(f"is not valid TOML: {error}", where=file, fix="see docs/training.md for an example") from error


def configured(
    loss: str | None = None, config: str | Path | None = None, *, encoder: str | None = None, smoke: bool = False,
    changes: Mapping[str, Any] | None = None, assignments: list[str] | None = None, say: Any = print,
) -> Config:  # fmt: skip
    """The configuration of a run: files, then ``smoke`` (seconds), ``changes`` and ``assignments``; raises as ``read``.
    On scenes, without a file, ``configs/scenes/LOSS.toml`` has the settings of a loss. ``say`` gets a sentence if
    another loss keeps settings that were meant for the loss of the file."""
    changed = dict(changes or {})
    name = None if loss is None else get_loss(loss).name
    if config is None and is_scenes(changed.get("data.name") or Data.name):
        config = f"scenes/{name}" if f"scenes/{name}" in recipes() else None
    found = Config() if config is None else read(config)
    if name not in (None, before := found.loss.name):
        found = override(found, {"loss.name": name, "loss.settings": {}, "loss.learned": []})
        plain = dataclasses.asdict(Loss(name=found.loss.name))
        if kept := [f"loss.{k}={json.dumps(v)}" for k, v in found.to_dict()["loss"].items() if v != plain[k]]:
            say(f"settings of the configuration for loss {before} stay for loss {name}: {' '.join(kept)}")
    if smoke:
        part = {"loss.warmup": min(1, found.loss.warmup), **values_of("smoke")}
        if found.loss.relevance.partition(":")[0] not in ("cider", "match", "holds", LABELS):
            part |= {"loss.relevance": "match", "loss.degree_of": "image"}
        found = override(found, part)
    if encoder is not None:
        changed["model.text" if get_encoder(encoder).of == (CAPTIONS,) else "model.image"] = encoder
    return assign(override(found, changed), assignments or [])


def is_scenes(name: str) -> bool:
    """Whether data of this name are built-in scenes."""
    return name == "scenes" or name.startswith("scenes-")


def fingerprinted(config: Config) -> Config:
    """The configuration of a run, with the sha256 of the files of the user that it names."""
    model = fingerprint(config.model.image, config.model.text)
    return override(config, {"loss.fingerprint": fingerprint(config.loss.name), "model.fingerprint": model})
