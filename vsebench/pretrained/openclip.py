"""Models of open_clip, by name and weights or from a folder with ``open_clip_config.json``."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from ..errors import UsageError, unknown
from ..files import models as published
from ..files.weights import SAVE
from ..types import Vectors
from .choices import PRECISIONS, Choices, context_of
from .encoder import Encoder, tokenizer_identity, unit_vectors, weights_identity
from .names import FIX, HUB, Named

QUICKGELU_ENDING = "-quickgelu"  # models with OpenAI's approximation of GELU


def load_open_clip(named: Named, device: str, choices: Choices) -> Encoder:
    """A model on ``cpu`` or ``cuda``.

    Raises:
        UsageError: open_clip has no such model or weights, they do not fit each other, or it takes fewer tokens.
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
    fix = f"copy the model again, or save its weights: {SAVE}" if here else FIX
    (model, preprocess, tokenizer), fit = published.loaded(read, f"model '{named.title}'", fix, local=here)
    weights, precision = weights_identity(model), getattr(torch, PRECISIONS[choices.precision])
    model = model.to(precision).eval()
    longest = int(tokenizer.context_length)
    context = context_of(longest, choices.context_length, named.title) or longest

    def images(inputs: list[Any]) -> Vectors:
        return unit_vectors(model.encode_image(torch.stack(inputs).to(device, precision)))

    def captions(strings: list[str]) -> Vectors:
        tokens = tokenizer(strings, context_length=context)
        if context < longest:  # the model takes its own number of positions
            fill = int(tokenizer([""], context_length=longest)[0, -1])
            tokens = torch.nn.functional.pad(tokens, (0, longest - context), value=fill)
        return unit_vectors(model.encode_text(tokens.to(device)))

    def used(strings: list[str], length: int) -> Any:
        """(caption,) how many tokens there are when there is room for ``length``, without those that fill the rest."""
        values, counts = tokenizer([""], context_length=length).unique(return_counts=True)
        return (tokenizer(strings, context_length=length) != values[counts.argmax()]).sum(dim=1)

    def is_cut(strings: list[str]) -> list[bool]:
        return [bool(cut) for cut in used(strings, 2 * context) > used(strings, context)]

    about = {
        "model": named.title,
        "revision": _revision(named, open_clip),
        "weights_sha256": weights,
        "preprocess": open_clip.get_model_preprocess_cfg(model),
        "tokenizer": tokenizer_identity(tokenizer),
        "library": f"open_clip {open_clip.__version__}",
    }
    return Encoder(about, context, longest, preprocess, images, captions, is_cut, fit)


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
    # open_clip only warns, and the vectors are worse. If the other variant has no such weights, its table is wrong.
    other = (
        named.name.removesuffix(QUICKGELU_ENDING)
        if named.name.endswith(QUICKGELU_ENDING)
        else f"{named.name}{QUICKGELU_ENDING}"
    )
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
