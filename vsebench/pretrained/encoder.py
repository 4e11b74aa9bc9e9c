"""What an encoder is, the identity of its weights, and vectors from what it gives."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import BadInput
from ..files.weights import Weights
from ..types import Vectors


@dataclass(frozen=True, eq=False)
class Encoder:
    """A loaded model.

    Attributes:
        about: the model, its weights and its preprocessing, as plain values for a JSON document.
        context: the largest number of tokens of a caption; None when it has no limit.
        longest: likewise, of the model when nothing is chosen.
        prepare: an RGB image of Pillow -> input of ``images``; called in several threads.
        images: a list of inputs -> (image, dim) float32 of length 1.
        captions: a list of strings -> (caption, dim) float32 of length 1; longer ones than ``context`` are cut.
        is_cut: a list of strings -> for each whether it is longer than ``context``.
        weights: how its weights fit its files.
    """

    about: dict[str, Any]
    context: int | None
    longest: int | None
    prepare: Callable[[Any], Any]
    images: Callable[[list[Any]], Vectors]
    captions: Callable[[list[str]], Vectors]
    is_cut: Callable[[list[str]], Sequence[bool]]
    weights: Weights = field(default_factory=Weights)


def unit_vectors(output: Any) -> Vectors:
    """(item, dim) float32 of length 1, from a tensor of any precision, which is divided by its length in float32."""
    import torch

    if output.ndim != 2:
        what = f"the model gives arrays of shape {tuple(output.shape)}, not vectors"
        raise BadInput(what, fix="give a model like CLIP")
    return np.ascontiguousarray(torch.nn.functional.normalize(output.float(), dim=-1).cpu().numpy(), np.float32)


def weights_identity(model: Any) -> str:
    """The first 16 digits of the SHA-256 of all weights of a torch model: names, shapes and numbers."""
    import torch

    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        # As bytes, because numpy has no bfloat16.
        digest.update(tensor.detach().cpu().reshape(-1).contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()[:16]


def tokenizer_identity(tokenizer: Any) -> str:
    """The class of a tokenizer; for transformers also eight digits of the SHA-256 of its words and rules."""
    inner = getattr(tokenizer, "tokenizer", tokenizer)
    rules = getattr(inner, "backend_tokenizer", None)
    content = "" if rules is None else f"#{hashlib.sha256(rules.to_str().encode()).hexdigest()[:8]}"
    return f"{type(inner).__name__}{content}"
