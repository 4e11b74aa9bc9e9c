"""Embeddings of a part, and the files that ``vsebench eval`` reads."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import vsebench as vb
from vsebench.errors import UsageError
from vsebench.files import write

from . import checkpoint
from .config import Config, override
from .data import PARTS, Images, Part, PartName, Words
from .model import DualEncoder, Inputs, build, scores
from .own_file import fingerprint
from .sources import open_data

BLOCK = 256  # items of one call of an encoder
FEW = 64  # image files of one call, perhaps of ten crops each
NAMES = {"images": "image_embeddings", "texts": "text_embeddings", "vectors": "image_embeddings"}  # of arrays in a file
Update = Callable[[int, int], None]


def device_of(name: str) -> torch.device:
    """The device ``auto``, ``cpu`` or ``cuda``; raises UsageError for others, and if there is no GPU."""
    known = {"cpu": "cpu", "auto": "cpu"} | ({"cuda": "cuda", "auto": "cuda"} if torch.cuda.is_available() else {})
    if name not in known:
        raise UsageError(f"the device is '{name}'", fix=f"use {' or '.join(known)}")
    return torch.device(known[name])


def on_device(inputs: Inputs, device: torch.device) -> Inputs:
    """The input of an encoder on a device; lengths of captions stay on the CPU."""
    return {key: value if key == "lengths" else value.to(device) for key, value in inputs.items()}


@torch.no_grad()
def vectors(
    encoder: Callable[..., torch.Tensor], items: Images | Words, device: torch.device, update: Update | None = None
) -> Any:
    """(item, dim) float32 what an encoder computes of all items; ``update`` is called with (done, in all)."""
    found, files = [], isinstance(items, Images) and not isinstance(items.array, np.ndarray)
    # Captions of similar length together, so that little is computed for padding.
    order = np.argsort([len(row) for row in items.rows], kind="stable") if isinstance(items, Words) else None
    for start in range(0, len(items), block := FEW if files else BLOCK):
        rows = np.arange(start, min(start + block, len(items)))
        inputs = items.take(rows if order is None else order[rows])
        found.append(encoder(**on_device(inputs, device)).float().cpu().numpy())
        if update is not None:
            update(start + len(rows), len(items))
    every = np.concatenate(found)
    return every if order is None else every[np.argsort(order)]


def embeddings(
    model: DualEncoder, vocabulary: tuple[str, ...], part: Part, config: Config, update: Update | None = None
) -> dict[str, Any]:
    """The arguments of ``evaluate`` for a part: embeddings, or for the order similarity scores (image, caption). Minus
    squared distances are inner products of vectors with two more elements."""
    model.eval()
    device, split = model.images.project.weight.device, part.split
    x = vectors(model.images, part.images, device, update)
    similarity: str = config.model.similarity
    if similarity == "cosine" and not config.model.normalise_images:
        similarity = "dot"  # VSE0: the length of an image changes the ranking of images
    if model.captions is None:
        labels = {"labels": part.labels, "label_distance": part.distance}
        return {"vectors": vb.Embeddings("image", split.rows.ids, x), **labels, "similarity": similarity}
    y = vectors(model.captions, Words(vocabulary, part.captions), device, update)
    if similarity == "order":
        blocks, captions = torch.from_numpy(x).split(BLOCK), torch.from_numpy(y)
        return {"split": split, "scores": np.concatenate([scores(b, captions, config.model).numpy() for b in blocks])}
    if similarity == "euclidean":
        squares = [(v * v).sum(axis=1, keepdims=True) for v in (x, y)]
        x = np.concatenate([x, np.ones_like(squares[0]), -squares[0]], axis=1)
        y = np.concatenate([2 * y, -squares[1], np.ones_like(squares[1])], axis=1)
        similarity = "dot"
    images, texts = vb.Embeddings("image", split.rows.ids, x), vb.Embeddings("caption", split.columns.ids, y)
    return {"split": split, "images": images, "texts": texts, "similarity": similarity}


def evaluate(found: dict[str, Any], metrics: str | None = None) -> vb.Report:
    """The report of ``embeddings``: with some metrics without intervals, or with all headline ones (None)."""
    more: dict[str, Any] = {} if metrics is None else {"metrics": metrics, "ci": 0}
    return vb.evaluate_unimodal(**found, **more) if "labels" in found else vb.evaluate(**found, trust=True, **more)


def write_file(found: dict[str, Any], part: Part, path: Path) -> None:
    """Write embeddings or scores with the ids of a part as .npz; raises DiskError."""
    split = part.split
    arrays: dict[str, Any] = {"image_ids": split.rows.ids}
    if "labels" not in found:
        arrays |= {"caption_ids": split.columns.ids, "image_of_text": split.owners}
    keys = [key for key in ("images", "texts", "scores", "vectors", "labels") if key in found]
    arrays |= {NAMES.get(key, key): getattr(found[key], "vectors", found[key]) for key in keys}
    with write(path, parents=True) as stream:
        np.savez(stream, **arrays)


def frozen(model: DualEncoder, part: Part, update: Update | None = None) -> Part:
    """The part with the features of a network of pixels that is not trained; random crops stay as they are."""
    if part.images.kind != "pixels" or getattr(part.images.array, "crop", "") == "random":
        return part
    model.eval()
    features = vectors(model.images.features, part.images, model.images.project.weight.device, update)
    return replace(part, images=Images(features, "pixels"))


def encode(
    source: Path, data: str | None = None, part: PartName = "test", out: Path | None = None, *,
    captions: str | None = None, key: str | None = None, images: str | None = None, device: str = "auto",
    update: Update | None = None,
) -> tuple[dict[str, Any], Part]:  # fmt: skip
    """Encode a part with a checkpoint, or the best epoch of a folder, into ``out`` (.npz); the arguments of
    ``vsebench.evaluate``, and the part. Data, captions, key and images are settings of other data than those it was
    trained on, of the same kind of images. Raises UsageError, BadInput, MissingPackage and DiskError."""
    if part not in PARTS:
        raise UsageError(f"unknown part '{part}'", fix=f"use {', '.join(PARTS)}")
    where, found = device_of(device), checkpoint.read(source)
    crop = "center" if found.config.model.crop == "random" else None
    key = key if data is None else key or ""  # that of the training data is not one of other data
    given = {"data.name": data, "data.captions": captions, "data.key": key, "data.images": images, "model.crop": crop}
    config = override(found.config, given)
    if fingerprint(config.model.image, config.model.text) != config.model.fingerprint:
        what = "the file of its encoder was changed since it was trained"
        raise UsageError(what, where=source, fix="encode with that file, or train again")
    chosen = open_data(config)[part]
    if (chosen.images.kind, chosen.images.width) != (found.kind, found.width):
        what = f"{config.data.name} has {chosen.images.kind} of width {chosen.images.width}"
        fix = f"give data with {found.kind} of width {found.width}, as in training"
        raise UsageError(what, where=source, fix=fix)
    if found.kind == "pixels":
        config = override(config, {"model.pretrained": False})  # the checkpoint has the weights
    model = build(config, found.kind, found.width, len(found.vocabulary))
    found.load_into(model)
    model.to(where)
    result = embeddings(model, found.vocabulary, chosen, config, update)
    if out is not None:
        write_file(result, chosen, out)
    return result, chosen
