"""Fingerprints of ids, by which splits are recognised and proven."""

from __future__ import annotations

import hashlib

import numpy as np

from ...types import Ids


def rows_sha256(image_id: Ids, caption_id: Ids) -> str:
    """SHA-256 of the lines ``<image id> <caption id>\\n``, in the order given; both (caption,)."""
    lines = (f"{i} {c}\n" for i, c in zip(image_id.tolist(), caption_id.tolist(), strict=True))
    return hashlib.sha256("".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


def set_sha256(ids: Ids) -> str:
    """SHA-256 of the distinct ids, sorted, one a line; neither order nor repetition matters."""
    text = "".join(f"{x}\n" for x in np.unique(ids).tolist())
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
