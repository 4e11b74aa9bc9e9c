"""What encoding gives: vectors with ids, where they come from, and their file."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.atomic import write_atomically
from ..types import Embeddings, Split


@dataclass(frozen=True, eq=False)
class Encoded:
    """Vectors of images and captions by a pretrained model.

    ``vsebench.evaluate(found.images, found.captions, split=found.split)`` evaluates them.

    Attributes:
        images: (image, dim) float32 vectors of length 1, with their ids.
        captions: (caption, dim) float32 vectors of length 1, with their ids.
        split: the ids, the strings, and the image of every caption.
        about: the model, its weights, its preprocessing and the versions of libraries, as plain values.
        notes: what was decided, one sentence each.
    """

    images: Embeddings
    captions: Embeddings
    split: Split
    about: dict[str, Any]
    notes: tuple[str, ...] = ()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an .npz file for ``vsebench eval``: vectors, ids, the image row of every text, and ``about`` as JSON.

        Captions of no declared split are in the file too, for graded relevance.

        Raises:
            UsageError: the folder does not exist.
            DiskError: the system refuses to write.
        """
        arrays: dict[str, Any] = {
            "image_embeddings": self.images.vectors,
            "text_embeddings": self.captions.vectors,
            "image_ids": self.split.image_ids,
            "text_ids": self.split.caption_ids,
            "image_index": self.split.image_of,
            "encoder": np.array(json.dumps(self.about)),
        }
        if self.split.name == "custom":
            arrays["captions"] = np.array(self.split.captions)
        with write_atomically(path) as stream:
            np.savez(stream, **arrays)
