"""What a checkpoint must hold: its header, and the tensors that follow from the configuration in it.

Everything is checked from the header of the file, before memory is taken for a tensor.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import torch

from vsebench.errors import UsageError, count_of, first_line, printable

from .config import Config, from_dict
from .data import KINDS
from .model import DualEncoder
from .text import SPECIAL, Vocabulary
from .towers import build_for, groups

MODEL, STATE, RANDOM = "model.", "optimiser.", "random."
DTYPES = {torch.float32: "F32", torch.float64: "F64", torch.int64: "I64"}  # as safetensors names them
MOMENTS = ("exp_avg", "exp_avg_sq")  # of Adam, each of the shape of its weights
Tensors = Mapping[str, tuple[str, tuple[int, ...]]]  # by name the dtype and the shape


@dataclass
class Progress:
    """How far a run is, and the best epoch so far.

    Attributes:
        epoch: number of finished epochs.
        step: number of finished steps of all epochs.
        best: the largest value of the selecting metric on the validation part, None before the first epoch.
        best_epoch: its epoch, from 1.
        log: one dictionary an epoch.
    """

    epoch: int = 0
    step: int = 0
    best: float | None = None
    best_epoch: int = 0
    log: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Header:
    """The header of a checkpoint.

    Attributes:
        config: the complete configuration of the run.
        vocabulary: of the caption encoder.
        width: of the input of the image encoder.
        kind: of the images: ``vectors``, ``regions`` or ``pixels``.
        progress: of the run when it was written.
    """

    config: Config
    vocabulary: Vocabulary
    width: int
    kind: str
    progress: Progress


def header(text: str, schema: str) -> Header:
    """The header of a checkpoint, from JSON; raises ValueError with what is wrong with it."""
    try:
        found = json.loads(text)
    except RecursionError:
        raise ValueError("its header is nested too deeply") from None
    if not isinstance(found, dict) or found.get("schema") != schema:
        given = found.get("schema") if isinstance(found, dict) else found
        raise ValueError(f"its schema is {_shown(given)}, not '{schema}'")
    missing = [name for name in ("config", "vocabulary", "width", "kind", "progress") if name not in found]
    if missing:
        raise ValueError(f"its header has no '{missing[0]}'")
    config, width = found["config"], found["width"]
    if not isinstance(config, dict):
        raise ValueError(f"config is {_shown(config)}")
    if not _whole(width, 1):
        raise ValueError(f"width is {_shown(width)}")
    if found["kind"] not in KINDS:
        raise ValueError(f"kind is {_shown(found['kind'])}")
    complete = from_dict(config)
    progress = _progress(found["progress"], complete.train.epochs)
    return Header(complete, _vocabulary(found["vocabulary"]), width, found["kind"], progress)


def _vocabulary(words: Any) -> Vocabulary:
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ValueError("vocabulary is no list of words")
    if tuple(words[: len(SPECIAL)]) != SPECIAL:
        raise ValueError(f"vocabulary does not begin with {', '.join(SPECIAL)}")
    if len(set(words)) != len(words):
        raise ValueError("vocabulary has a word twice")
    return Vocabulary(tuple(words))


def _progress(found: Any, epochs: int) -> Progress:
    """The progress of a run of so many epochs."""
    if not isinstance(found, dict) or set(found) != {f.name for f in fields(Progress)}:
        raise ValueError(f"progress is {_shown(found)}")
    p = Progress(**found)
    begun = _whole(p.epoch, 1)
    limits = {
        "epoch": _whole(p.epoch, 0, epochs),
        "step": _whole(p.step, p.epoch) if begun else p.step == 0,
        "best": _finite(p.best) if begun else p.best is None,
        "best_epoch": _whole(p.best_epoch, 1, p.epoch) if begun else p.best_epoch == 0,
    }
    for name, holds in limits.items():
        if not holds:
            of = f" after epoch {p.epoch}" if name != "epoch" else f" of {epochs}"
            raise ValueError(f"progress.{name} is {_shown(found[name])}{of}")
    log = p.log if isinstance(p.log, list) else []
    rows = [entry for entry in log if isinstance(entry, dict) and all(map(_finite, entry.values()))]
    if len(rows) != p.epoch or [row.get("epoch") for row in rows] != list(range(1, p.epoch + 1)):
        raise ValueError(f"progress.log has not {count_of(p.epoch, 'line')} of finite numbers")
    return p


def _whole(value: Any, least: int, most: int = 2**63 - 1) -> bool:
    return type(value) is int and least <= value <= most


def _finite(value: Any) -> bool:
    return type(value) is int or (type(value) is float and math.isfinite(value))


def _shown(value: Any) -> str:
    return printable(f"{value!r:.60}")


def check_tensors(found: Tensors, about: Header) -> None:
    """Compare the tensors of a file with those of a model of its configuration; raises ValueError.

    Args:
        found: everything in the file, not read yet.
        about: its header.
    """
    model = _model(about)
    expected = {MODEL + name: _described(t) for name, t in model.state_dict().items()}
    optional: dict[str, tuple[str, tuple[int, ...]]] = {}
    if RANDOM + "cpu" in found:  # otherwise the file has the model only
        begun = about.progress.epoch > 0
        expected[RANDOM + "cpu"] = ("U8", tuple(torch.get_rng_state().shape))
        optional[RANDOM + "cuda"] = ("U8", (16,))
        weights = [(n, w) for n, group in enumerate(groups(model, about.config)) for w in group["params"]]
        for number, (group, weight) in enumerate(weights):
            state = {f"{STATE}{number}.{key}": _described(weight) for key in MOMENTS}
            state[f"{STATE}{number}.step"] = ("F32", ())
            there = any(name in found for name in state)  # the image network has none before it is trained
            (expected if there or (begun and group == 0) else optional).update(state)
    for name, wanted in expected.items():
        if name not in found:
            raise ValueError(f"it has no tensor {name}, which its configuration needs")
        _same(name, found[name], wanted)
    for name in found:
        if name not in expected:
            if name not in optional:
                raise ValueError(f"it has a tensor {printable(name[:80])}, which its configuration does not need")
            _same(name, found[name], optional[name])


def _model(about: Header) -> DualEncoder:
    """The model of a configuration, without memory for its weights."""
    config = about.config
    try:
        with torch.device("meta"):
            settings = replace(config.model, pretrained=False)
            return build_for(settings, about.kind, about.width, len(about.vocabulary.words), config.train.precision)
    except UsageError:
        raise
    except (RuntimeError, TypeError, ArithmeticError) as error:  # sizes beyond 64 bits
        sizes = f"model.dim {config.model.dim}, model.word_dim {config.model.word_dim}, width {about.width}"
        raise ValueError(f"no model has the sizes {sizes} ({first_line(error)})") from error


def _described(tensor: torch.Tensor) -> tuple[str, tuple[int, ...]]:
    return DTYPES[tensor.dtype], tuple(tensor.shape)


def _same(name: str, found: tuple[str, tuple[int, ...]], wanted: tuple[str, tuple[int, ...]]) -> None:
    if found != wanted:
        of = "{0[0]} of shape {0[1]}"
        raise ValueError(f"tensor {name} is {of.format(found)}, and {of.format(wanted)} by its configuration")


def check_values(tensors: Mapping[str, torch.Tensor]) -> None:
    """Refuse weights that are not finite; raises ValueError."""
    for name, tensor in tensors.items():
        if name.startswith(MODEL) and tensor.is_floating_point() and not bool(tensor.isfinite().all()):
            raise ValueError(f"tensor {name} has values that are not finite")
