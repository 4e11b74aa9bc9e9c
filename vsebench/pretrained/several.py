"""Several models and several sets: a file for each pair, and those that are there already are kept."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import UsageError
from ..files.atomic import check_writable, make_folder, refuse_overwriting
from ..files.regular import expanded
from ..options import public, spell
from ..types import PathLike
from .choices import Choices
from .device import float32
from .encode import BATCH, Loaded, Progress, known_model
from .inputs import Inputs, read_inputs

# Entries of ``Encoded.about`` that decide the vectors, apart from the last bits.
IDENTITY = (
    "model", "revision", "weights_sha256", "preprocess", "tokenizer", "precision", "normalised", "choices", "context",
    "inputs",
)  # fmt: skip


@dataclass(frozen=True)
class EncodedFile:
    """A file of ``encode_all``.

    Attributes:
        path: the .npz file.
        model, set: as parts of names of files.
        split: the name of the split, ``custom`` for a custom set.
        images, captions: how many there are.
        about: what the file has as ``encoder``.
        notes, warnings: as of ``Encoded``.
        kept: it was there already.
    """

    path: Path
    model: str
    set: str
    split: str
    images: int
    captions: int
    about: dict[str, Any]
    notes: tuple[str, ...] = ()
    kept: bool = False
    warnings: tuple[str, ...] = ()


@public
def encode_all(
    models: PathLike | Sequence[PathLike],
    images: PathLike | Sequence[PathLike],
    captions: PathLike | None = None,
    *,
    split: str | Sequence[str] | None = None,
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
) -> tuple[EncodedFile, ...]:
    """Encode several sets with several models, as ``vsebench encode`` does; each model is loaded once.

    A file that is there and complete is kept if its model (with weights and preprocessing), its choices, its ids,
    captions and images are given by the call. After an interrupt the same call continues.

    Args:
        models: as ``model`` of ``encode``; one or several.
        images: as for ``encode``; one for all sets, or one a set.
        captions: as for ``encode``; of one set.
        split: as for ``encode``, one or several; None: each of ``images`` is a separate set.
        part, lower, template, precision, context_length, batch, device, threads: as for ``encode``.
        output: a folder for the files ``MODEL-SET.npz``, which is made if missing; of one model and one set
            an .npz file. None: this folder.
        progress: as for ``encode``, over all files.

    >>> import vsebench
    >>> (file,) = vsebench.encode_all("tiny-clip", "photos", "captions.csv", output="encoded.npz")
    >>> file.path.name, file.images, file.kept
    ('encoded.npz', 3, False)
    >>> vsebench.encode_all("tiny-clip", "photos", "captions.csv", output="encoded.npz")[0].kept
    True

    Returns:
        The files, of the first model first.

    Raises:
        UsageError: as ``encode``; or two files would have the same name.
        BadInput, MissingPackage, DiskError: as ``encode``.
    """
    choices = Choices(lower=lower, template=template, precision=precision, context_length=context_length)
    named = [known_model(model) for model in _listed(models)]
    sets = _sets(_listed(images), captions, None if split is None else _listed(split))
    targets = _targets([one.slug for one in named], [name for name, _, _ in sets], output)
    given = [Path(x) for x in (*_listed(images), captions) if x is not None]
    refuse_overwriting(targets, [path for path in given if not path.is_dir()])
    inputs = [read_inputs(source, captions, known, part) for _, source, known in sets]
    total, before, files = len(named) * sum(one.count for one in inputs), 0, []
    with float32(threads):
        for at, model in enumerate(named):
            loaded = Loaded(model, device, choices, batch)
            for (name, _, _), one, path in zip(sets, inputs, targets[at * len(sets) :], strict=False):

                def say(done: int, _: int, before: int = before) -> None:
                    if progress is not None:
                        progress(before + done, total)

                files.append(_file(loaded, one, (path, model.slug, name), say))
                before += one.count
                say(0, 0, before)
    return tuple(files)


def _file(loaded: Loaded, inputs: Inputs, named: tuple[Path, str, str], progress: Progress) -> EncodedFile:
    path = named[0]
    facts = (*named, inputs.split.name, len(inputs.images), len(inputs.split.columns.ids))
    there = _described(path)
    wanted = {**loaded.about, "context": loaded.encoder.context, "inputs": inputs.identity()}
    wanted = json.loads(json.dumps(wanted))  # lists for tuples, as in the file
    if there is not None and all(there.get(key) == wanted.get(key) for key in IDENTITY):
        return EncodedFile(*facts, there, ("kept: same model, options, images and captions",), True)
    found = loaded.encode(inputs, path, progress)
    replaced = ("replaced: the model, the options, the images or the captions differ",) if there else ()
    return EncodedFile(*facts, found.about, (*found.notes, *replaced), warnings=found.warnings)


def _described(path: Path) -> dict[str, Any] | None:
    """What a file says about its encoder; None for one that is damaged, of another kind, or not there."""
    try:
        with zipfile.ZipFile(expanded(path)) as file:
            if file.testzip() is not None:
                return None
        with np.load(expanded(path), allow_pickle=False) as arrays:
            about = json.loads(str(arrays["encoder"]))
        return about if isinstance(about, dict) else None
    except (OSError, ValueError, KeyError, EOFError, RecursionError, zipfile.BadZipFile):
        return None


def _listed(values: Any) -> list[Any]:
    found = [values] if isinstance(values, str) or hasattr(values, "__fspath__") else list(values)
    if not found:
        raise UsageError("no model or no images are given", fix="give at least one of each")
    return found


def _sets(
    images: list[PathLike], captions: PathLike | None, splits: list[str] | None
) -> list[tuple[str, PathLike, str | None]]:
    """The name, the images and the split of every set."""
    count = len(images) if splits is None else len(splits)
    if len(images) not in (1, count):
        what = f"{spell('images')} is given {len(images)} times for {count} sets"
        raise UsageError(what, fix="give it once for all of them, or once for each, in their order")
    if captions is not None and count > 1:
        what = f"{spell('captions')} belongs to one set, and {count} are given"
        raise UsageError(what, fix="encode the sets one by one, or leave it out for declared splits")
    if splits is None:
        return [("custom" if captions is not None else Path(each).stem, each, None) for each in images]
    sources = images * count if len(images) == 1 else images
    return [(Path(name).name, source, name) for name, source in zip(splits, sources, strict=True)]


def _targets(models: list[str], sets: list[str], output: PathLike | None) -> list[Path]:
    """The file of every model and set; one that cannot be written is refused before any work."""
    given = None if output is None else Path(output)
    one = len(models) == len(sets) == 1
    if given is not None and one and not expanded(given).is_dir():
        check_writable(given)
        return [given]
    if given is not None and given.suffix == ".npz":
        what = f"{len(models) * len(sets)} files are written"
        raise UsageError(what, where=given, fix="give a folder for them")
    folder = Path() if given is None else given
    slugs = [re.sub(r"[^\w.]+", "-", name).strip("-") for name in sets]
    names = [f"{model}-{name}.npz" for model in models for name in slugs]
    for name in names:
        if names.count(name) > 1:
            what = f"two files would be called {name}"
            raise UsageError(what, fix="encode these models or sets one by one, each into its own file")
    make_folder(folder)
    for name in names:
        check_writable(folder / name)
    return [folder / name for name in names]
