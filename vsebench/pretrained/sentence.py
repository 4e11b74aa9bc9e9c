"""CLIP models of sentence-transformers, by name or from a folder; also folders that transformers wrote."""

from __future__ import annotations

from typing import Any

from ..errors import BadInput, UsageError
from ..files import models as published
from ..options import spell
from ..types import Vectors
from .choices import PRECISIONS, Choices, context_of
from .encoder import Encoder, tokenizer_identity, unit_vectors, weights_identity
from .names import FIX, Named

FIXED_LENGTH = ("siglip", "siglip2")  # models of transformers that were trained on captions filled up to one length


def load_sentence_transformers(named: Named, device: str, choices: Choices) -> Encoder:
    """A model on ``cpu`` or ``cuda``.

    Raises:
        UsageError: it takes fewer tokens than are chosen.
        BadInput: it cannot be loaded: no network, no such model, damaged files, or a model of captions alone.
    """
    import sentence_transformers
    import torch

    def read(from_here: bool) -> Any:
        return sentence_transformers.SentenceTransformer(named.name, device=device, local_files_only=from_here)

    fix = "copy or export the model again" if named.folder else FIX
    model, fit = published.loaded(read, f"model '{named.title}'", fix, local=named.folder)
    model = model.float().eval()
    if "image" not in getattr(model, "modalities", ("image",)):
        fix = "give a CLIP model, such as sentence-transformers:clip-ViT-B-32"
        raise BadInput(f"model '{named.title}' encodes captions but not images", fix=fix)
    weights, longest = weights_identity(model), _context(model)
    context = context_of(longest, choices.context_length, named.title)
    if context is not None:
        model.max_seq_length = context
    if fixed := _model_type(model) in FIXED_LENGTH:
        if context != longest:
            what = f"{spell('context_length')} is {context}, and '{named.title}' takes captions of {longest} tokens"
            raise UsageError(what, fix=f"leave {spell('context_length')} out")
        text = {"padding": "max_length", **model[0].processing_kwargs.get("text", {})}
        model[0].processing_kwargs = {**model[0].processing_kwargs, "text": text}
    model = model.to(getattr(torch, PRECISIONS[choices.precision]))

    def vectors(inputs: list[Any]) -> Vectors:
        return unit_vectors(
            model.encode(inputs, batch_size=len(inputs), show_progress_bar=False, convert_to_tensor=True)
        )

    tokenizer = getattr(model.tokenizer, "tokenizer", model.tokenizer)  # that of a processor, or itself

    def is_cut(strings: list[str]) -> list[bool]:
        if context is None:
            return [False] * len(strings)
        return [len(ids) > context for ids in tokenizer(strings, truncation=False, verbose=False)["input_ids"]]

    about = {
        "model": named.title,
        "revision": "" if named.folder else _revision(named.name),
        "weights_sha256": weights,
        "preprocess": _preprocess(model),
        "tokenizer": tokenizer_identity(tokenizer) + (f", filled up to {longest} tokens" if fixed else ""),
        "library": f"sentence-transformers {sentence_transformers.__version__}",
    }
    return Encoder(about, context, longest, lambda image: image, vectors, vectors, is_cut, fit)


def _context(model: Any) -> int | None:
    """The largest number of tokens; tokenizers that were saved without it get that of the model."""
    found = model.max_seq_length
    config = getattr(getattr(model[0], "config", None), "text_config", None)
    most = getattr(config, "max_position_embeddings", None)
    if most is not None and (found is None or found > most or _model_type(model) in FIXED_LENGTH):
        model.max_seq_length = found = most
    return None if found is None or found > 1_000_000 else int(found)


def _model_type(model: Any) -> str | None:
    return getattr(getattr(model[0], "config", None), "model_type", None)


def _revision(name: str) -> str:
    repository = name if "/" in name else f"sentence-transformers/{name}"
    return f"{repository}@{published.revision(repository)}"


def _preprocess(model: Any) -> dict[str, Any]:
    """The settings of the image processor; empty if the model does not show them."""
    processor = getattr(model[0], "processor", None)
    settings: dict[str, Any] = getattr(getattr(processor, "image_processor", processor), "to_dict", dict)()
    return {key: value for key, value in settings.items() if isinstance(value, (str, int, float, bool, list, dict))}
