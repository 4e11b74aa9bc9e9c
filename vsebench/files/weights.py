"""Weights of published and custom models: the weights in a file are compared with the model's.

Libraries initialise weights that a file lacks at random. Here they become NaN, and so do vectors that depend on them,
which ``check_vectors`` refuses. A weight that no vector depends on, such as a temperature, may be missing.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadInput, count_of
from ..log import note, warn
from ..types import Vectors
from .torch_file import unpickled

# In front of all names, by DistributedDataParallel, torch.compile, or both.
PREFIXES = ("module._orig_mod.", "_orig_mod.module.", "module.", "_orig_mod.")
STATES = ("state_dict", "model_state_dict", "model", "module")  # keys of a checkpoint that may hold the weights
MAX_DISTANCE = {"fp32": 1e-3, "fp16": 0.03, "bf16": 0.1}  # between two vectors of one item, relative to their length
SAMPLED_CAPTIONS = 5  # captions of the test set used in addition
TEST_CAPTIONS = ("a dog", "two people with a red umbrella walk along a street")
SAVE = "torch.save({'state_dict': model.state_dict()}, FILE)"


@dataclass
class Weights:
    """How the files of a model differ from it.

    Attributes:
        missing: weights that the files lack, which are NaN in the model.
        unused: weights of the files that the model does not have.
    """

    missing: list[str] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)


@contextmanager
def compared(what: str) -> Iterator[Weights]:
    """Compare all weights that transformers and open_clip load inside, if these are imported.

    A known prefix of all names is dropped, with a note; weights that are not used are warned of.

    Args:
        what: names the model in messages.

    Raises:
        BadInput: a weight has another shape than in the model; a file of weights that cannot be read safely.
    """
    weights = Weights()

    def report(model: Any, absent: Collection[str], unused: Collection[str], different: Sequence[Any] = ()) -> None:
        if different:
            name, stored, wanted = sorted(different)[0]
            mismatch = f"{what} has weights of other shapes ({len(different)}; first: {name}, {tuple(stored)}"
            fix = "give the model the configuration that these weights were trained with"
            raise BadInput(f"{mismatch} for {tuple(wanted)})", fix=fix)
        if unused:
            which = f"{count_of(len(unused), 'weight')} of its file (first: {min(unused)})"
            warn(f"{what} does not use {which}")
            weights.unused.extend(sorted(unused))
        for name, tensor in model.state_dict(keep_vars=True).items():
            if name in absent and tensor.is_floating_point():
                tensor.data.fill_(float("nan"))
                weights.missing.append(name)

    with ExitStack() as stack:
        if "transformers" in sys.modules:
            stack.enter_context(_in_transformers(what, report))
        if "open_clip" in sys.modules:
            stack.enter_context(_in_open_clip(what, report))
        yield weights


@contextmanager
def _in_transformers(what: str, report: Callable[..., None]) -> Iterator[None]:
    from transformers import PreTrainedModel

    load = PreTrainedModel.from_pretrained.__func__

    def from_pretrained(cls: Any, *args: Any, **kwargs: Any) -> Any:
        kwargs |= {"output_loading_info": True, "ignore_mismatched_sizes": True}
        model, info = load(cls, *args, **kwargs)
        weights, prefix = {name for name, _ in model.named_parameters()}, _prefix(info["unexpected_keys"])
        if prefix and weights <= {*info["missing_keys"]}:  # the model has no weight of the file
            model, info = load(cls, *args, key_mapping={f"^{re.escape(prefix)}": ""}, **kwargs)
            _note_prefix(what, prefix)
        report(model, info["missing_keys"], info["unexpected_keys"], [*info["mismatched_keys"]])
        return model

    with _replaced(PreTrainedModel, from_pretrained=classmethod(from_pretrained)):
        yield


@contextmanager
def _in_open_clip(what: str, report: Callable[..., None]) -> Iterator[None]:
    from open_clip import factory

    load = factory.load_checkpoint

    def load_checkpoint(model: Any, path: Any, strict: bool = True, **options: Any) -> Any:
        try:
            found = load(model, path, strict=False, **options)
        except RuntimeError as error:  # of shapes
            first = " ".join(str(error).split("\n")[1:2]).strip()
            fix = "give the architecture that these weights were trained with"
            raise BadInput(f"{what} has weights of other shapes ({first})", fix=fix) from error
        if found:
            report(model, found.missing_keys, found.unexpected_keys)
        return found

    def load_state_dict(path: Any, device: Any = "cpu", weights_only: bool = True) -> dict[str, Any]:
        return weights_of(Path(path), what)

    with _replaced(factory, load_checkpoint=load_checkpoint, load_state_dict=load_state_dict):
        yield


@contextmanager
def _replaced(owner: Any, **functions: Any) -> Iterator[None]:
    before = {name: vars(owner)[name] for name in functions}
    try:
        for name, function in functions.items():
            setattr(owner, name, function)
        yield
    finally:
        for name, function in before.items():
            setattr(owner, name, function)


def weights_of(path: Path, what: str) -> dict[str, Any]:
    """The weights of a file, .safetensors or of torch, by name: of a checkpoint those under one of ``STATES``.

    Raises:
        BadInput: the file is damaged, holds Python objects, or no weights.
    """
    if path.suffix == ".safetensors":
        from safetensors.torch import load_file

        found: Any = load_file(path)
    else:
        trusted = "torch.save({'state_dict': torch.load(FILE, weights_only=False)['state_dict']}, NEW)"
        found = unpickled(path, f"if you trust it, save only its weights: {trusted}", f"save its weights: {SAVE}")
    keys = []
    while isinstance(found, Mapping) and (key := next((k for k in STATES if isinstance(found.get(k), Mapping)), None)):
        keys.append(key)
        found = found[key]
    weights = {k: v for k, v in found.items() if hasattr(v, "untyped_storage")} if isinstance(found, Mapping) else {}
    if not weights:
        raise BadInput(f"holds no weights under {', '.join(STATES)} or by name", where=path, fix=f"save them: {SAVE}")
    if keys not in ([], ["state_dict"]):
        note(f"{what}: the weights are read from '{'/'.join(keys)}' of the file")
    if prefix := _prefix(weights):
        _note_prefix(what, prefix)
    return {name.removeprefix(prefix): tensor for name, tensor in weights.items()}


def _prefix(names: Collection[str]) -> str:
    """The known prefix of all names, or an empty string."""
    return next((p for p in PREFIXES if names and all(name.startswith(p) for name in names)), "")


def _note_prefix(what: str, prefix: str) -> None:
    note(f"{what}: the prefix '{prefix}' of all weight names is ignored")


def of_each_length(captions: Collection[str]) -> list[str]:
    """A few captions for ``check_vectors``: some of a set, from the shortest to the longest, and ``TEST_CAPTIONS``."""
    ordered = sorted(set(captions), key=len)
    return [ordered[round(at)] for at in np.linspace(0, len(ordered) - 1, SAMPLED_CAPTIONS)] + [*TEST_CAPTIONS]


def check_vectors(
    vectors: Callable[[list[Any]], Vectors],
    items: Sequence[Any],
    weights: Weights,
    what: str,
    precision: str = "fp32",
    fix: str = "encode with the code of the model, save image_embeddings and text_embeddings, and evaluate the file",
) -> None:
    """Encode a few items alone and together, and refuse vectors that depend on missing weights or on their batch.

    Args:
        vectors: a list of captions, or of inputs of images, -> (item, dim) float32.
        items: a few of different length.
        weights: of ``compared``.
        what: names the model in messages.
        precision: in which the model computes, see ``MAX_DISTANCE``.
        fix: the advice for vectors that depend on their batch.

    Raises:
        BadInput: see above.
    """
    together = vectors(list(items))
    alone = np.concatenate([vectors([item]) for item in items])
    length = np.maximum(np.linalg.norm(alone, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    if weights.missing:
        lost = count_of(len(weights.missing), "weight")
        some = f"{what} lacks {lost} of its architecture (first: {weights.missing[0]}"
        if np.isfinite(together).all():
            note(f"{some}); no vector depends on it")
        else:
            has = f"; its file has {weights.unused[0]}" if weights.unused else ""
            fix = f"save the complete model, without wrappers: model.save_pretrained(FOLDER), or {SAVE} for open_clip"
            raise BadInput(f"{some}{has})", fix=fix)
    apart = np.linalg.norm((alone - together) / length, axis=1)
    if (apart > MAX_DISTANCE[precision]).any():  # False for NaN, which callers name by their ids
        problem = f"{what} encodes an item differently if other items are in its batch (distance {apart.max():.2g})"
        raise BadInput(problem, fix=fix)
