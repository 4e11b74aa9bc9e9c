"""Loading the model that a user named."""

from __future__ import annotations

from .encoder import Encoder
from .names import OPEN_CLIP, Named
from .openclip import load_open_clip
from .sentence import load_sentence_transformers


def load(model: Named, device: str) -> Encoder:
    """The encoder of a model on ``cpu`` or ``cuda``, in float32.

    Raises:
        UsageError: open_clip has no such model or weights, or they do not fit each other.
        BadInput: it cannot be loaded: no network, no such model, damaged files, or a model of captions alone.
    """
    read = load_open_clip if model.library == OPEN_CLIP else load_sentence_transformers
    return read(model, device)
