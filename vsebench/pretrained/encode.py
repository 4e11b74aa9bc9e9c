"""Encoding a folder of images and their captions with a pretrained model."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..arguments import public
from ..data.atomic import check_writable, write_atomically
from ..data.captions import with_captions
from ..data.choices import layouts
from ..data.image_files import find_images, read_image
from ..data.splits import catalogue
from ..data.splits.sources import with_image_files
from ..errors import BadInput, UsageError, count_of
from ..options import spell
from ..types import Embeddings, Split, Vectors
from . import names
from .device import device_of, facts, float32
from .encoder import Encoder
from .openclip import load_open_clip
from .parts import Parts
from .sentence import load_sentence_transformers

BATCH = 64  # images or captions
READERS = min(8, os.cpu_count() or 1)  # threads that read images
PathLike = str | os.PathLike[str]


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

    def save(self, path: PathLike) -> None:
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


@public
def encode(
    model: PathLike,
    images: PathLike,
    captions: PathLike | None = None,
    *,
    split: str | None = None,
    part: str | None = None,
    batch: int = BATCH,
    device: str = "auto",
    threads: int | None = None,
    output: PathLike | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Encoded:
    """Encode a folder of images and their captions with a pretrained model.

    The vectors are those of the model in float32, divided by their length. An interrupted call with the same arguments
    goes on where it was, and gives the bits of an uninterrupted one. Other batches, devices and numbers of threads may
    change the last bits.

    Args:
        model: ``open_clip:NAME/WEIGHTS``, ``sentence-transformers:NAME``, or a folder that one of these libraries (or
            transformers, a CLIP model with its processor) wrote. Published models are downloaded by the library.
        images: a folder, with folders inside it or without. A file belongs to an image if its path or its name is the
            id, or has the same number (``391895`` and ``COCO_val2014_000000391895.jpg``), or if the file of captions
            says so.
        captions: JSON lines, a table (.csv, .tsv), COCO annotations or a Karpathy file; with ``split`` also a .txt file
            in its order. None: those of the split.
        split: a declared split, such as ``coco-5k``, or a set as for ``choice``; None: the images and captions of
            the file.
        part: the captions of the file whose field ``split`` has this value, as for ``vsebench data build``.
        batch: images or captions that are encoded at once.
        device: auto, cpu or cuda.
        threads: of torch on the CPU; None for its own choice.
        output: an .npz file that is written too, see ``Encoded.save``.
        progress: called with the number of images and captions that are done, and of all.

    >>> import vsebench
    >>> found = vsebench.encode("tiny-clip", "photos", "captions.csv", output="tiny.npz")
    >>> found.images.ids.tolist(), found.captions.vectors.shape
    (['a.png', 'b.png', 'c.png'], (6, 16))
    >>> report = vsebench.evaluate("tiny.npz", metrics="R@1")

    Returns:
        The vectors with their ids.

    Raises:
        UsageError: an unknown model, split or device, or arguments that do not go together.
        BadInput: images without a file, damaged files, captions that cannot be read, or a model that cannot be loaded.
        MissingPackage: the library of the model is not installed.
        DiskError: the file cannot be written.
    """
    from ..evaluation.provenance import versions

    if output is not None:
        check_writable(Path(output))
    named = names.find(os.fspath(model))
    if named is None:
        raise UsageError(f"'{model}' is no model that is known", fix=f"give {names.HOW}")
    if split is None and captions is None:
        fix = f"give {spell('captions', 'FILE')}, or {spell('split', 'NAME')} for a declared split"
        raise UsageError("the captions of the images are not given", fix=fix)
    names.require(named)
    chosen, files = _items(split, captions, part)
    found = find_images(Path(images).expanduser(), chosen.image_ids, files)
    place = device_of(device)
    load = load_open_clip if named.library == names.OPEN_CLIP else load_sentence_transformers
    encoder = load(named, place)
    with float32(threads):
        made = {"vsebench": __version__, "precision": "float32", "normalised": True, "batch": batch}
        packages = versions(("torch", "torchvision", "transformers", "Pillow"))
        about = {**encoder.about, **made, **facts(place), "versions": packages}  # all that decides the numbers
        parts = Parts(about)
        vectors = _vectors(encoder, found.paths, chosen.captions or (), parts, batch, progress)
        _check(vectors, chosen, named.title)
        notes = _notes(encoder, found.unused, chosen.captions or (), parts)
    sides = (Embeddings("image", chosen.image_ids, vectors[0]), Embeddings("caption", chosen.caption_ids, vectors[1]))
    result = Encoded(*sides, chosen, {**about, "dim": sides[0].dim, "context": encoder.context}, notes)
    if output is not None:
        result.save(output)
    parts.remove()
    return result


def _items(split: str | None, captions: PathLike | None, part: str | None) -> tuple[Split, dict[str, str]]:
    """What is encoded, with its captions, and the names of image files that the file of captions states."""
    if split is not None:
        if part is not None:
            raise UsageError(f"{spell('part')} has no meaning with {spell('split')}", fix="leave one of them out")
        choices = split not in catalogue.names() and layouts.is_known(split)
        known = layouts.load(split).split if choices else catalogue.load_split(split, captions=captions is None)
        return with_captions(known, None if captions is None else Path(captions)), {}
    path = Path(captions or "").expanduser()
    if path.suffix == ".txt":
        what = "a .txt file of captions does not say which image they are of"
        raise UsageError(
            what, where=path, fix=f"add {spell('split', 'NAME')}, or give a table with the columns image and caption"
        )
    rows, files = with_image_files(path, part)
    image_ids, image_of = rows.images()
    return Split("custom", image_ids, rows.caption_id, image_of, rows.captions), files


def _vectors(
    encoder: Encoder,
    paths: Sequence[Path],
    captions: Sequence[str],
    parts: Parts,
    batch: int,
    progress: Callable[[int, int], None] | None,
) -> tuple[Vectors, Vectors]:
    total = len(paths) + len(captions)

    def say(done: int) -> None:
        if progress is not None:
            progress(done, total)

    def of_images(start: int, stop: int) -> Vectors:
        found = []
        for at, inputs in enumerate(_batches(paths[start:stop], batch, encoder.prepare), start=1):
            found.append(encoder.images(inputs))
            say(min(start + at * batch, stop))
        return np.concatenate(found)

    def of_captions(start: int, stop: int) -> Vectors:
        found = []
        for at in range(start, stop, batch):
            found.append(encoder.captions(list(captions[at : min(at + batch, stop)])))
            say(len(paths) + min(at + batch, stop))
        return np.concatenate(found)

    images = parts.vectors([_identity(path) for path in paths], batch, of_images, say)
    return images, parts.vectors(captions, batch, of_captions, lambda done: say(len(paths) + done))


def _batches(paths: Sequence[Path], batch: int, prepare: Callable[[Any], Any]) -> Iterator[list[Any]]:
    """The inputs of the images, ``batch`` of them at once; threads read the first ones of the next batch meanwhile.

    Few are read ahead, because images of any size may wait.
    """
    waiting: deque[Future[Any]] = deque()
    with ThreadPoolExecutor(READERS) as readers:
        try:
            for start in range(0, len(paths), batch):
                end = min(start + batch + READERS, len(paths))
                waiting.extend(
                    readers.submit(lambda path: prepare(read_image(path)), path)
                    for path in paths[start + len(waiting) : end]
                )
                yield [waiting.popleft().result() for _ in range(min(batch, len(paths) - start))]
        finally:
            for future in waiting:
                future.cancel()


def _identity(path: Path) -> str:
    try:
        state = path.stat()
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror or error}", where=path, fix="check permissions") from error
    return f"{path.resolve()} {state.st_size} {state.st_mtime_ns}"


def _check(vectors: tuple[Vectors, Vectors], split: Split, title: str) -> None:
    """Refuse vectors that are not finite, and sides of different width."""
    for side, ids, array in zip(("image", "caption"), (split.image_ids, split.caption_ids), vectors, strict=True):
        wrong = np.flatnonzero(~np.isfinite(array).all(axis=1))
        if len(wrong):
            what = f"'{title}' gives vectors that are not finite for {len(wrong):,} {side}s (first: {ids[wrong[0]]})"
            raise BadInput(what, fix="check the weights of the model")
    if vectors[0].shape[1] != vectors[1].shape[1]:
        what = f"'{title}' gives images {vectors[0].shape[1]} and captions {vectors[1].shape[1]} numbers"
        raise BadInput(what, fix="give a model that encodes both into one space")


def _notes(encoder: Encoder, unused: int, captions: Sequence[str], parts: Parts) -> tuple[str, ...]:
    notes = []
    if unused:
        notes.append(f"images of the folder without a caption are left out: {unused:,}")
    cut = sum(sum(encoder.is_cut(list(captions[at : at + 4096]))) for at in range(0, len(captions), 4096))
    if cut:
        of = f"of {len(captions):,} captions"
        counted = count_of(cut, f"{of} is", f"{of} are")
        notes.append(f"{counted} longer than {encoder.context} tokens, and cut there")
    if parts.restored:
        notes.append(f"{count_of(parts.restored, 'vector is that', 'vectors are those')} of an interrupted call")
    if parts.lost is not None:
        notes.append(f"should this call have been interrupted, its vectors would be {parts.lost}")
    return tuple(notes)
