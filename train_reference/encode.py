"""Embeddings of a part, the files that ``vsebench eval`` reads, and features of a network that is not trained."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

import vsebench as vb
from vsebench.errors import UsageError
from vsebench.files import store
from vsebench.files.atomic import write_atomically
from vsebench.files.regular import ABOUT, SCHEMA
from vsebench.files.store import fingerprint
from vsebench.pretrained.device import device_of
from vsebench.pretrained.parts import Parts
from vsebench.results.report import Report

from . import checkpoint
from .config import Config, override
from .data import PARTS, Bar, Images, Part, PartName, Vocabulary, no_bar, padded
from .encoders import get_encoder
from .model import DualEncoder, ImageEncoder, build, scores, trunk_is_trained
from .own_file import fingerprint as of_files
from .sources import open_data

BLOCK = 256  # images or captions of one call of an encoder
FEW = 64  # image files of one call, perhaps of ten crops each
EMBEDDINGS = "embeddings.npz"
ARRAYS = {  # in it, of the arguments of ``evaluate``
    "images": "image_embeddings", "texts": "text_embeddings", "scores": "scores", "vectors": "image_embeddings",
    "labels": "labels",
}  # fmt: skip
Update = Callable[[int, int], None]
Float32 = npt.NDArray[np.float32]


@torch.no_grad()
def vectors(
    model: DualEncoder, vocabulary: Vocabulary, part: Part, update: Update | None = None
) -> tuple[Float32, Float32]:
    """The embeddings of the images (image, dim) and of the captions (caption, dim) of a part, float32.

    ``update`` is called with (done, in all). Without an encoder of captions there are none of them.
    """
    model.eval()
    device, n_images = model.images.project.weight.device, len(part.images)
    words = [] if model.captions is None else vocabulary.encode(part.captions)
    total, found = n_images + len(words), [np.empty((n, model.dim), np.float32) for n in (n_images, len(words))]
    block = BLOCK if isinstance(part.images.array, np.ndarray) else FEW
    for start in range(0, n_images, block):
        rows = np.arange(start, min(start + block, n_images))
        batch = {key: value.to(device) for key, value in part.images.take(rows).items()}
        found[0][rows] = model.images(**batch).float().cpu().numpy()
        if update is not None:
            update(start + len(rows), total)
    # Captions of similar length together, so that little is computed for padding.
    order = np.argsort([len(w) for w in words], kind="stable")
    for start in range(0, len(words), BLOCK):
        rows = order[start : start + BLOCK]
        numbers, lengths = padded([words[c] for c in rows.tolist()])
        assert model.captions is not None
        found[1][rows] = model.captions(numbers.to(device), lengths).float().cpu().numpy()
        if update is not None:
            update(n_images + start + len(rows), total)
    return found[0], found[1]


def embeddings(
    model: DualEncoder, vocabulary: Vocabulary, part: Part, config: Config, update: Update | None = None
) -> dict[str, Any]:
    """The arguments of ``evaluate`` for a part: embeddings, or scores where they are no inner products.

    Minus squared distances are inner products of vectors with two more elements; order similarities are not, and are
    computed as a matrix (image, caption). For images alone, with their labels, they are those of ``evaluate_unimodal``.
    """
    x, y = vectors(model, vocabulary, part, update)
    similarity: str = config.model.similarity
    if similarity == "cosine" and not config.model.normalise_images:
        similarity = "dot"  # VSE0: the length of an image changes the ranking of images
    if model.captions is None:
        found = vb.Embeddings("image", part.split.rows.ids, x)
        labels = {"labels": part.labels, "label_distance": part.label_distance}
        return {"vectors": found, **labels, "similarity": similarity}
    if similarity == "order":
        with torch.no_grad():
            blocks = torch.from_numpy(x).split(BLOCK)
            matrix = [scores(rows, torch.from_numpy(y), config.model).numpy() for rows in blocks]
        return {"split": part.split, "scores": np.concatenate(matrix)}
    if similarity == "euclidean":
        squares = [(v * v).sum(axis=1, keepdims=True) for v in (x, y)]
        x = np.concatenate([x, np.ones_like(squares[0]), -squares[0]], axis=1)
        y = np.concatenate([2 * y, -squares[1], np.ones_like(squares[1])], axis=1)
        similarity = "dot"
    images = vb.Embeddings("image", part.split.rows.ids, x)
    texts = vb.Embeddings("caption", part.split.columns.ids, y)
    return {"split": part.split, "images": images, "texts": texts, "similarity": similarity}


def evaluate(found: dict[str, Any], metrics: str | None = None) -> Report:
    """The report of ``embeddings``: with some metrics without intervals, or with all headline ones (None)."""
    more: dict[str, Any] = {} if metrics is None else {"metrics": metrics, "ci": 0}
    if "labels" in found:
        return vb.evaluate_unimodal(**found, **more)
    return vb.evaluate(**found, trust=True, **more)


def write(found: dict[str, Any], part: Part, config: Config, out: Path) -> None:
    """Write ``embeddings.npz`` and ``run.json``, with which a folder is input of ``vsebench eval``.

    Of images alone the file has their labels too, and is input of ``vsebench unimodal``.

    Args:
        found: ``embeddings`` of the part.
        part, config: what was encoded.
        out: the folder of the run.

    Raises:
        DiskError: the folder cannot be written.
    """
    write_file(found, part, out / EMBEDDINGS)
    about = {
        "schema": SCHEMA,
        "file": EMBEDDINGS,
        "kind": next((kind for kind in ("scores", "labels") if kind in found), "embeddings"),
        "similarity": found.get("similarity"),
        "split": part.split.name,
        "config": config.to_dict(),
    }
    with write_atomically(out / ABOUT, "w") as stream:
        stream.write(json.dumps(about, indent=2) + "\n")


def write_file(found: dict[str, Any], part: Part, path: Path) -> None:
    """Write embeddings or scores with the ids of a part as .npz; raises DiskError."""
    split = part.split
    arrays: dict[str, Any] = {"image_ids": split.rows.ids}
    if "labels" not in found:
        arrays |= {"caption_ids": split.columns.ids, "image_of_text": split.owners}
    arrays |= {name: getattr(found[key], "vectors", found[key]) for key, name in ARRAYS.items() if key in found}
    with write_atomically(path, parents=True) as stream:
        np.savez(stream, **arrays)


def encode(
    source: Path,
    data: str | None = None,
    part: PartName = "test",
    out: Path | None = None,
    *,
    captions: str | None = None,
    key: str | None = None,
    images: str | None = None,
    device: str = "auto",
    update: Update | None = None,
) -> tuple[dict[str, Any], Part]:
    """Encode a part with a checkpoint, and write the embeddings with their ids.

    Args:
        source: a checkpoint, or the folder of a run (its best epoch).
        data: other data than those it was trained on, of the same kind of images.
        part: train, val or test.
        out: the .npz file; nothing is written without it.
        captions, images: the file of captions and the folder of images of such data.
        key: the array of such data, where that is a file of several.
        device: auto, cpu or cuda.
        update: called with (done, in all).

    Returns:
        The arguments of ``vsebench.evaluate``, and the part.

    Raises:
        UsageError: the images are of another kind or width; an unknown part or device; the file of an encoder was
            changed.
        BadInput, MissingPackage: of the checkpoint and of the data.
        DiskError: the file cannot be written.
    """
    if part not in PARTS:
        raise UsageError(f"unknown part '{part}'", fix=f"use {', '.join(PARTS)}")
    where = torch.device(device_of(device))
    found = checkpoint.read(source)
    crop = "center" if found.config.model.crop == "random" else None
    key = key if data is None else key or ""  # that of the training data is not one of other data
    given = {"data.name": data, "data.captions": captions, "data.key": key, "data.images": images, "model.crop": crop}
    config = override(found.config, given)
    if of_files(config.model.image, config.model.text) != found.config.model.fingerprint:
        what = f"the file of its encoder ({config.model.image}, {config.model.text}) was changed since it was trained"
        raise UsageError(what, where=source, fix="encode with that file, or train again")
    chosen = open_data(config)[part]
    if (chosen.images.kind, chosen.images.width) != (found.kind, found.width):
        what = f"{config.data.name} has {chosen.images.kind} of width {chosen.images.width}"
        fix = f"give data with {found.kind} of width {found.width}, as in training"
        raise UsageError(what, where=source, fix=fix)
    if found.kind == "pixels":
        config = override(config, {"model.pretrained": False})  # the checkpoint has the weights
    model = build(config, found.kind, found.width, len(found.vocabulary.words))
    found.load_into(model)
    model.to(where)
    if not trunk_is_trained(config):
        chosen = replace(chosen, images=Images(frozen_features(model.images, chosen.images, update), "pixels"))
    result = embeddings(model, found.vocabulary, chosen, config, update)
    if out is not None:
        write_file(result, chosen, out)
    return result, chosen


# Features of a network that is not trained


def with_features(model: DualEncoder, parts: dict[PartName, Part], bar: Bar = no_bar) -> dict[PartName, Part]:
    """The parts with the features of their images in place of pixels: a network that is not trained is data.

    Parts of random crops, which differ from epoch to epoch, stay as they are.
    """
    found = dict(parts)
    for name, part in parts.items():
        if getattr(part.images.array, "crop", None) != "random":
            with bar(f"features of the images ({name})") as update:
                features = frozen_features(model.images, part.images, update)
                found[name] = replace(part, images=Images(features, "pixels"))
    return found


@torch.no_grad()
def frozen_features(encoder: ImageEncoder, images: Images, update: Update | None = None) -> npt.NDArray[Any]:
    """(image, features) the features of images of pixels by a network that is not trained, memory-mapped.

    They are computed once, into the cache (``files.store``), under a name made of the network and its weights, what
    computes it, the crop and the files of the images. An interrupted computation goes on where it was,
    with the same bits. On a GPU convolutions may compute in TF32, as is the default of torch.

    Args:
        encoder: its network gives the features of images of pixels.
        images: files or pixels, which say how they are cropped.
        update: called with (done, in all).

    Raises:
        BadInput: an image cannot be read.
        DiskError: the cache cannot be written.
    """
    from safetensors.torch import save

    network, settings, like = encoder.network, encoder.settings, encoder.project.weight
    weights = save({name: tensor.cpu().contiguous() for name, tensor in network.state_dict().items()})
    about: dict[str, Any] = {
        "encoder": [settings.image, settings.fingerprint, get_encoder(settings.image).pretrained],
        "weights": fingerprint(weights),
        "computed": [torch.__version__, str(like.dtype), like.device.type],
    }
    states = images.states()

    def compute(device: int, start: int, stop: int) -> npt.NDArray[Any]:
        found = []
        for rows in np.split(np.arange(start, stop), range(FEW, stop - start, FEW)):
            found.append(encoder.features(images.take(rows)["images"]).cpu().numpy())
            if update is not None:
                update(int(rows[-1]) + 1, len(images))
        return np.concatenate(found)

    key = fingerprint(about, states)[:32]
    path = store.get("features", key)
    if path is None:
        network.eval()
        parts = Parts(about)
        features = parts.vectors(states, FEW, compute, lambda count: None, [""])
        path = store.put("features", key, lambda stream: np.save(stream, features))
        parts.remove()
    return np.asarray(np.load(path, mmap_mode="r"))
