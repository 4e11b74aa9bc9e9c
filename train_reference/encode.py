"""Embeddings of a part, and the files that ``vsebench eval`` reads."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from vsebench.data import run_folder
from vsebench.data.atomic import write_atomically
from vsebench.errors import UsageError
from vsebench.pretrained import device as devices

from . import checkpoint, text
from .config import Config, override
from .data import PARTS, Part, PartName, open_data
from .model import DualEncoder, scores
from .towers import build_for

BLOCK = 256  # images or captions of one call of an encoder
EMBEDDINGS = "embeddings.npz"
Update = Callable[[int, int], None]


@torch.no_grad()
def vectors(
    model: DualEncoder, vocabulary: text.Vocabulary, part: Part, device: torch.device, update: Update | None = None
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """The embeddings of the images (image, dim) and of the captions (caption, dim) of a part, float32."""
    model.eval()
    images, captions = [], []
    n_images, words = len(part.images), vocabulary.encode(part.captions)
    total = n_images + len(words)
    for start in range(0, n_images, BLOCK):
        batch = part.images.take(np.arange(start, min(start + BLOCK, n_images)))
        images.append(model.images(**_named(batch, device)).float().cpu().numpy())
        if update is not None:
            update(min(start + BLOCK, n_images), total)
    # Captions of similar length together, so that little is computed for padding.
    order = np.argsort([len(w) for w in words], kind="stable")
    for start in range(0, len(words), BLOCK):
        padded, lengths = text.padded([words[c] for c in order[start : start + BLOCK].tolist()])
        captions.append(model.captions(padded.to(device), lengths).float().cpu().numpy())
        if update is not None:
            update(n_images + min(start + BLOCK, len(words)), total)
    found = np.concatenate(captions)
    out = np.empty_like(found)
    out[order] = found
    return np.concatenate(images), out


def embeddings(
    model: DualEncoder,
    vocabulary: text.Vocabulary,
    part: Part,
    config: Config,
    device: torch.device,
    update: Update | None = None,
) -> dict[str, Any]:
    """The arguments of ``vsebench.evaluate`` for a part: embeddings, or scores where they are no inner products.

    Minus squared distances are inner products of vectors with two more elements; order similarities are not, and are
    computed as a matrix (image, caption).
    """
    x, y = vectors(model, vocabulary, part, device, update)
    similarity = config.model.similarity
    found: dict[str, Any] = {"split": part.split}
    if similarity == "order":
        with torch.no_grad():
            blocks = torch.from_numpy(x).split(BLOCK)
            matrix = [scores(rows, torch.from_numpy(y), config.model).numpy() for rows in blocks]
        return {**found, "scores": np.concatenate(matrix)}
    if similarity == "euclidean":
        one = np.ones((len(x), 1), np.float32), np.ones((len(y), 1), np.float32)
        square = [(v * v).sum(axis=1, keepdims=True) for v in (x, y)]
        return {
            **found,
            "images": np.concatenate([x, one[0], -square[0]], axis=1),
            "texts": np.concatenate([2 * y, -square[1], one[1]], axis=1),
            "similarity": "dot",
        }
    dot = not config.model.normalise_images  # VSE0: the length of an image changes the ranking of images
    return {**found, "images": x, "texts": y, "similarity": "dot" if dot else "cosine"}


def write(
    model: DualEncoder,
    vocabulary: text.Vocabulary,
    part: Part,
    config: Config,
    out: Path,
    device: torch.device,
    update: Update | None = None,
) -> None:
    """Write ``embeddings.npz`` and ``run.json``, with which a folder is input of ``vsebench eval``.

    Raises:
        DiskError: the folder cannot be written.
    """
    found = embeddings(model, vocabulary, part, config, device, update)
    write_file(found, part, out / EMBEDDINGS)
    about = {
        "schema": run_folder.SCHEMA,
        "file": EMBEDDINGS,
        "kind": "scores" if "scores" in found else "embeddings",
        "similarity": found.get("similarity"),
        "split": part.split.name,
        "config": config.to_dict(),
    }
    with write_atomically(out / run_folder.ABOUT, "w") as stream:
        stream.write(json.dumps(about, indent=2) + "\n")


def write_file(found: dict[str, Any], part: Part, path: Path) -> None:
    """Write embeddings or scores with the ids of a part as .npz; raises DiskError."""
    split = part.split
    arrays: dict[str, Any] = {
        "image_ids": split.image_ids,
        "caption_ids": split.caption_ids,
        "image_of_text": split.image_of,
    }
    if "scores" in found:
        arrays["scores"] = found["scores"]
    else:
        arrays |= {"image_embeddings": found["images"], "text_embeddings": found["texts"]}
    with write_atomically(path, parents=True) as stream:
        np.savez(stream, **arrays)


def encode(
    source: Path,
    data: str | None = None,
    part: PartName = "test",
    out: Path | None = None,
    *,
    device: str = "auto",
    update: Update | None = None,
) -> tuple[dict[str, Any], Part]:
    """Encode a part with a checkpoint, and write the embeddings with their ids.

    Args:
        source: a checkpoint, or the folder of a run (its best epoch).
        data: other data than those it was trained on, of the same kind of images.
        part: train, val or test.
        out: the .npz file; nothing is written without it.
        device: auto, cpu or cuda.
        update: called with (done, in all).

    Returns:
        The arguments of ``vsebench.evaluate``, and the part.

    Raises:
        UsageError: the images are of another kind or width; an unknown part or device.
        BadInput, MissingPackage: of the checkpoint and of the data.
        DiskError: the file cannot be written.
    """
    if part not in PARTS:
        raise UsageError(f"unknown part '{part}'", fix=f"use {', '.join(PARTS)}")
    where = device_of(device)
    found = checkpoint.read(source)
    config = override(found.config, data_name=data)
    chosen = open_data(config)[part]
    if (chosen.images.kind, chosen.images.width) != (found.kind, found.width):
        what = f"{config.data.name} has {chosen.images.kind} of width {chosen.images.width}"
        fix = f"give data with {found.kind} of width {found.width}, as in training"
        raise UsageError(what, where=source, fix=fix)
    words = len(found.vocabulary.words)
    model = build_for(config.model, found.kind, found.width, words, config.train.precision)
    model.load_state_dict(found.weights)
    result = embeddings(model.to(where), found.vocabulary, chosen, config, where, update)
    if out is not None:
        write_file(result, chosen, out)
    return result, chosen


def device_of(name: str) -> torch.device:
    """The device of a name: auto, cpu or cuda; raises UsageError as ``vsebench.pretrained.device.device_of``."""
    return torch.device(devices.device_of(name))


def _named(batch: dict[str, Any], device: torch.device) -> dict[str, torch.Tensor]:
    return {k: v.to(device) for k, v in batch.items() if k in ("images", "mask")}
