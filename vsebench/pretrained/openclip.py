"""Models of open_clip, by name and weights or from a folder with ``open_clip_config.json``."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np

from ..data import published
from ..errors import BadInput, UsageError
from ..registry import unknown
from ..types import Vectors
from .encoder import Encoder, tokenizer_identity, weights_identity
from .names import FIX, HUB, Named

QUICK = "-quickgelu"  # the ending of models with OpenAI's approximation of GELU


def load_open_clip(named: Named, device: str) -> Encoder:
    """A model on ``cpu`` or ``cuda``, in float32.

    Raises:
        UsageError: open_clip has no such model or weights, or they do not fit each other.
        BadInput: it cannot be loaded: no network, no such model, damaged files.
    """
    import open_clip
    import torch

    if not named.folder and not named.name.startswith(HUB):
        _check(named, open_clip)
    source = f"local-dir:{named.name}" if named.folder else named.name

    def read(from_here: bool) -> tuple[Any, Any, Any]:
        with published.offline() if from_here else contextlib.nullcontext():
            made = open_clip.create_model_from_pretrained(source, pretrained=named.weights or None, device=device)
            return (*made, open_clip.get_tokenizer(source))

    here = named.folder or Path(named.weights).is_file()
    fix = "copy or export the model again" if here else FIX
    model, preprocess, tokenizer = published.loaded(read, f"model '{named.title}'", fix, local=here)
    model.eval()
    context = int(tokenizer.context_length)

    def images(inputs: list[Any]) -> Vectors:
        return _numbers(model.encode_image(torch.stack(inputs).to(device), normalize=True))

    def captions(strings: list[str]) -> Vectors:
        return _numbers(model.encode_text(tokenizer(strings).to(device), normalize=True))

    def used(strings: list[str], length: int) -> Any:
        """(caption,) how many tokens there are when there is room for ``length``, without those that fill the rest."""
        values, counts = tokenizer([""], context_length=length).unique(return_counts=True)
        return (tokenizer(strings, context_length=length) != values[counts.argmax()]).sum(dim=1)

    def is_cut(strings: list[str]) -> list[bool]:
        return [bool(cut) for cut in used(strings, 2 * context) > used(strings, context)]

    about = {
        "model": named.title,
        "revision": _revision(named, open_clip),
        "weights_sha256": weights_identity(model),
        "preprocess": open_clip.get_model_preprocess_cfg(model),
        "tokenizer": tokenizer_identity(tokenizer),
        "library": f"open_clip {open_clip.__version__}",
    }
    return Encoder(about, context, preprocess, images, captions, is_cut)


def _check(named: Named, open_clip: Any) -> None:
    """Refuse unknown names, and weights that were trained with another activation than the model has."""
    if named.name not in open_clip.list_models():
        raise unknown("model of open_clip", named.name, open_clip.list_models())
    tags = open_clip.list_pretrained_tags_by_model(named.name)
    cfg = open_clip.get_pretrained_cfg(named.name, named.weights)
    if not cfg:
        if not Path(named.weights).is_file():
            if not tags:
                fix = "no weights are published for it: give a file, as open_clip:NAME/FILE"
                raise UsageError(f"unknown weights '{named.weights}' of {named.name}", fix=fix)
            raise unknown(f"weights of {named.name}", named.weights, tags)
        return
    # open_clip only warns, and the vectors are worse. Where the other variant has no such weights, its table is wrong.
    other = named.name.removesuffix(QUICK) if named.name.endswith(QUICK) else f"{named.name}{QUICK}"
    activation = bool((open_clip.get_model_config(named.name) or {}).get("quick_gelu"))
    if bool(cfg.get("quick_gelu")) != activation and open_clip.get_pretrained_cfg(other, named.weights):
        what = f"the weights '{named.weights}' were trained with another activation (GELU) than {named.name} has"
        raise UsageError(what, fix=f"give open_clip:{other}/{named.weights}")


def _revision(named: Named, open_clip: Any) -> str:
    """Where published weights come from: the repository and its revision."""
    if named.folder:
        return ""
    cfg = {} if named.name.startswith(HUB) else open_clip.get_pretrained_cfg(named.name, named.weights)
    repository = named.name.removeprefix(HUB) if named.name.startswith(HUB) else cfg.get("hf_hub", "")
    repository = "/".join(repository.split("/")[:2])
    return f"{repository}@{published.revision(repository)}" if repository else str(cfg.get("url", ""))


def _numbers(tensor: Any) -> Vectors:
    found: Vectors = np.ascontiguousarray(tensor.float().cpu().numpy(), np.float32)
    if found.ndim != 2:
        raise BadInput(f"the model gives arrays of shape {found.shape}, no vectors", fix="give a model like CLIP")
    return found
