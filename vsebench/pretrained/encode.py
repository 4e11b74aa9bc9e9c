"""Encoding the images of a set and their captions with a pretrained model."""

from __future__ import annotations

import json
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..errors import BadInput, UsageError, count_of, first_line
from ..files.atomic import check_writable, write_atomically
from ..files.image_files import Packed, read_image
from ..files.weights import check_vectors, of_each_length
from ..log import logged
from ..numeric.parallel import submit
from ..options import public, settings, spell
from ..types import Embeddings, PathLike, TestSet, Vectors
from . import names
from .choices import PRECISIONS, Choices
from .device import devices_of, facts, float32
from .encoder import Encoder
from .inputs import Image, Inputs, read_inputs, state_of
from .openclip import load_open_clip
from .parts import Parts
from .sentence import load_sentence_transformers

BATCH = 64  # images or captions
TEST_IMAGES = (((64, 48), "gray"), ((40, 90), "navy"))
READERS = min(8, os.cpu_count() or 1)  # threads that read images
Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Encoded:
    """Vectors of images and captions by a pretrained model.

    ``vsebench.evaluate(found.images, found.captions, split=found.split)`` evaluates them.

    Attributes:
        images: (image, dim) float32 vectors of length 1, with their ids.
        captions: (caption, dim) float32 vectors of length 1, with their ids.
        split: the ids, the strings, and the image of every caption.
        about: the model, its weights, its preprocessing, the chosen settings and the versions of libraries.
        notes: decisions, one sentence each.
        warnings: what may be wrong, such as weights of the model that are not used.
    """

    images: Embeddings
    captions: Embeddings
    split: TestSet
    about: dict[str, Any]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

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
            "image_ids": self.split.rows.ids,
            "text_ids": self.split.columns.ids,
            "image_index": self.split.owners,
            "encoder": np.array(json.dumps(self.about)),
        }
        if self.split.name == "custom":
            arrays["captions"] = np.array(self.split.columns.texts)
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
    lower: bool = False,
    template: str | None = None,
    precision: str = "fp32",
    context_length: int | None = None,
    batch: int = BATCH,
    device: str = "auto",
    threads: int | None = None,
    output: PathLike | None = None,
    progress: Progress | None = None,
) -> Encoded:
    """Encode the images of a set and their captions with a pretrained model.

    The vectors of the model are divided by their length. An interrupted call with the same arguments continues, and
    gives the bits of an uninterrupted one. Other batches, devices and numbers of threads may change
    the last bits.

    Args:
        model: ``open_clip:NAME/WEIGHTS``, ``sentence-transformers:NAME``, or a folder that one of these libraries (or
            transformers, a CLIP model with its processor) wrote. Published models are downloaded by the library.
        images: a folder of image files, with folders inside it or without; parquet files as hub data sets are stored,
            or webdataset archives (.tar): one, or a folder of them. A file belongs to an image if its path or its name
            is the id, or has the same number (``391895`` and ``COCO_val2014_000000391895.jpg``), or if the file of
            captions says so.
        captions: JSON lines, a table (.csv, .tsv), COCO annotations or a Karpathy file; with ``split`` also a .txt
            file in its order. None: from the split, the parquet files or the archives.
        split: a declared split, such as ``coco-5k``, or a set as for ``choice``; None: the images and captions of
            the file, or of the parquet files or archives.
        part: the captions whose field ``split`` has this value, as for ``vsebench data build``; ``all`` of them.
        lower: put captions in lower case.
        template: prompt, with {} in place of the caption.
        precision: precision of weights and computation: fp32, bf16 or fp16. The numbers that the model gives are
            divided by their length in float32.
        context_length: truncate captions to N tokens; by default to the limit of the model.
        batch: images or captions per batch.
        device: auto (a GPU where there is one), cpu, cuda, or several GPUs of one kind, which encode in turn: all, or
            their numbers, as in ``0,1``. More of them change no bit.
        threads: number of CPU threads; all by default.
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
    choices = Choices(lower=lower, template=template, precision=precision, context_length=context_length)
    if output is not None:
        check_writable(Path(output))
    named = known_model(model)
    inputs = read_inputs(images, captions, split, part)
    with float32(threads):
        loaded = Loaded(named, device, choices, batch)
        return loaded.encode(inputs, output, progress)


def known_model(model: PathLike) -> names.Named:
    """The model that is meant; raises UsageError and MissingPackage."""
    named = names.find(os.fspath(model))
    if named is None:
        raise UsageError(f"'{model}' is not a known model", fix=f"give {names.MODEL_FORMS}")
    names.require(named)
    return named


class Loaded:
    """A model that is loaded once a device, and encodes sets one after the other, inside of ``device.float32``."""

    def __init__(self, named: names.Named, device: str, choices: Choices, batch: int) -> None:
        from ..evaluation.assemble import versions

        self.devices, self.choices, self.batch, self.title = devices_of(device), choices, batch, named.title
        load = load_open_clip if named.library == names.OPEN_CLIP else load_sentence_transformers
        with logged() as self.log:
            self.encoders = [load(named, place, choices) for place in self.devices]
        self.encoder = self.encoders[0]
        chosen = settings(choices)
        if self.encoder.context == self.encoder.longest:
            chosen.pop("context_length", None)  # as without it
        made = {"vsebench": __version__, "precision": PRECISIONS[choices.precision], "normalised": True, "batch": batch}
        packages = versions(("torch", "torchvision", "transformers", "Pillow"))
        # All that decides the numbers.
        self.about = {**self.encoder.about, **made, **({"choices": chosen} if chosen else {}), **facts(self.devices[0])}
        self.about["versions"] = packages

    def encode(self, inputs: Inputs, output: PathLike | None, progress: Progress | None) -> Encoded:
        """The vectors of a set; arguments and errors as for the function ``encode``."""
        encoder, split, parts = self.encoder, inputs.split, Parts(self.about)
        strings = list(map(self.choices.applied, split.columns.texts or ()))
        try:
            with logged() as log:
                self._check_encoder(strings)
                vectors = self._vectors(inputs.images, strings, parts, progress)
        except RuntimeError as error:
            from ..numeric.torch_support import is_out_of_memory

            if self.choices.precision == "fp32" or is_out_of_memory(error):
                raise
            what = f"'{self.title}' cannot compute in {self.choices.precision} here ({first_line(error)})"
            raise UsageError(what, fix=f"leave {spell('precision')} out, or try another") from error
        _check(vectors, split, self.title, self.choices)
        notes = (*self.log.notes, *inputs.notes, *log.notes, *_notes(encoder, inputs.unused, strings, parts))
        sides = (Embeddings("image", split.rows.ids, vectors[0]), Embeddings("caption", split.columns.ids, vectors[1]))
        more = {"dim": sides[0].dim, "context": encoder.context, "inputs": inputs.identity()}
        result = Encoded(*sides, split, {**self.about, **more}, notes, (*self.log.warnings, *log.warnings))
        if output is not None:
            result.save(output)
        parts.remove()
        return result

    def _check_encoder(self, captions: Sequence[str]) -> None:
        """Raise BadInput if vectors depend on missing weights, or on other items of the batch."""
        from PIL.Image import new as blank

        encoder = self.encoder
        some = of_each_length(captions)
        images = [encoder.prepare(blank("RGB", size, colour)) for size, colour in TEST_IMAGES]
        for vectors, items in ((encoder.captions, some), (encoder.images, images)):
            check_vectors(vectors, items, encoder.weights, f"model '{self.title}'", self.choices.precision)

    def _vectors(
        self, paths: Sequence[Image], captions: Sequence[str], parts: Parts, progress: Progress | None
    ) -> tuple[Vectors, Vectors]:
        # Images of a table or archive in their order there, in which they are read once.
        order = sorted(range(len(paths)), key=lambda at: _place(paths[at]))
        paths = [paths[at] for at in order]
        batch, total, lock, done = self.batch, len(paths) + len(captions), threading.Lock(), 0

        def say(count: int) -> None:
            nonlocal done
            with lock:
                done += count
                if progress is not None:
                    progress(done, total)

        def of_images(device: int, start: int, stop: int) -> Vectors:
            found, encoder = [], self.encoders[device]
            for inputs in _batches(paths[start:stop], batch, encoder.prepare):
                found.append(encoder.images(inputs))
                say(len(inputs))
            return np.concatenate(found)

        def of_captions(device: int, start: int, stop: int) -> Vectors:
            found = []
            for at in range(start, stop, batch):
                found.append(self.encoders[device].captions(list(captions[at : min(at + batch, stop)])))
                say(len(found[-1]))
            return np.concatenate(found)

        found = parts.vectors([state_of(path) for path in paths], batch, of_images, say, self.devices)
        images = np.empty_like(found)
        images[order] = found
        return images, parts.vectors(captions, batch, of_captions, say, self.devices)


def _place(image: Image) -> tuple[str, int]:
    return (str(image.path), image.place) if isinstance(image, Packed) else ("", 0)


def _batches(paths: Sequence[Image], batch: int, prepare: Callable[[Any], Any]) -> Iterator[list[Any]]:
    """The inputs of the images, ``batch`` at a time; meanwhile threads read the first images of the next batch.

    Few are read ahead, because images of any size may wait.
    """

    def read(path: Image) -> Any:
        return prepare(read_image(path))

    waiting: deque[Future[Any]] = deque()
    with ThreadPoolExecutor(READERS) as readers:
        try:
            for start in range(0, len(paths), batch):
                end = min(start + batch + READERS, len(paths))
                waiting.extend(submit(readers, read, path) for path in paths[start + len(waiting) : end])
                yield [waiting.popleft().result() for _ in range(min(batch, len(paths) - start))]
        finally:
            for future in waiting:
                future.cancel()


def _check(vectors: tuple[Vectors, Vectors], split: TestSet, title: str, choices: Choices) -> None:
    """Refuse vectors that are not finite, and sides of different width."""
    for side, ids, array in zip(("image", "caption"), (split.rows.ids, split.columns.ids), vectors, strict=True):
        wrong = np.flatnonzero(~np.isfinite(array).all(axis=1))
        if len(wrong):
            what = f"'{title}' gives vectors that are not finite for {len(wrong):,} {side}s (first: {ids[wrong[0]]})"
            half = choices.precision == "fp16"
            fix = f"check the weights of the model, or give {spell('precision', 'bf16')}"
            raise BadInput(what, fix=fix if half else "check the weights of the model")
    if vectors[0].shape[1] != vectors[1].shape[1]:
        what = f"'{title}' encodes images with {vectors[0].shape[1]} and captions with {vectors[1].shape[1]} dimensions"
        raise BadInput(what, fix="give a model that encodes both into one space")


def _notes(encoder: Encoder, unused: int, captions: Sequence[str], parts: Parts) -> tuple[str, ...]:
    notes = []
    if unused:
        notes.append(f"images of the folder without a caption are left out: {unused:,}")
    cut = sum(sum(encoder.is_cut(list(captions[at : at + 4096]))) for at in range(0, len(captions), 4096))
    if cut:
        scope = f"of {len(captions):,} captions"
        counted = count_of(cut, f"{scope} is", f"{scope} are")
        notes.append(f"{counted} longer than {encoder.context} tokens and truncated")
    if parts.restored:
        notes.append(f"{count_of(parts.restored, 'vector is', 'vectors are')} from an interrupted call")
    if parts.lost is not None:
        notes.append(f"after an interruption, the vectors of this call would be {parts.lost}")
    return tuple(notes)
