"""What is evaluated: vectors, a score matrix or retrieved lists, aligned with a split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeGuard, cast

import numpy.typing as npt

from ..arguments import numbers
from ..data import read, run_folder, runs
from ..data.align import AlignedLists, align_embeddings, align_lists, align_scores
from ..data.formats.raw import Order, RawArray, RawEmbeddings
from ..data.splits import catalogue
from ..errors import BadInput, UsageError
from ..options import spell
from ..rank.scorers import Matrix, Scorer, choose
from ..types import DIRECTIONS, Direction, Embeddings, Ids, Int, PathLike, Split, id_rows
from . import gains
from .options import Options

ARRAYS = Path("<arrays>")
GivenIds = tuple[Ids | None, Ids | None, Ids | None]  # of images and texts, and the id of the image of every text
NO_IDS: GivenIds = (None, None, None)


@dataclass(frozen=True, eq=False)
class Input:
    """Scores or retrieved lists of the items of a split.

    Attributes:
        split: the items.
        scorer: scores of all images with all captions; None for retrieved lists.
        lists: retrieved lists; None for scores.
        vectors: image and caption vectors in the order of the split, where there are any.
        where: the file, for messages.
        rows: (image,) and (caption,) row of every item in the file, None when the file has the order of the split.
        notes, warnings: about reading and matching.
        sources: the files that were read.
    """

    split: Split
    scorer: Scorer | None
    where: Path
    lists: AlignedLists | None = None
    vectors: tuple[Embeddings, Embeddings] | None = None
    rows: tuple[Int | None, Int | None] = (None, None)
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    sources: tuple[Path, ...] = field(default=())

    @property
    def score(self) -> str:
        """What the order comes from, for the signature: ``dot``, ``cosine``, ``scores`` or ``run``."""
        return "run" if self.scorer is None else self.scorer.name

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The directions that can be measured."""
        return DIRECTIONS if self.lists is None else tuple(d for d in DIRECTIONS if d in self.lists.lists)


def from_vectors(
    images: npt.ArrayLike | Embeddings | PathLike | None,
    texts: npt.ArrayLike | Embeddings | PathLike | None,
    split: Split | str | None,
    image_key: str | None,
    text_key: str | None,
    options: Options,
    ids: GivenIds = NO_IDS,
) -> Input:
    """Vectors of a file (or a pair of .npy files), or in memory.

    Raises:
        BadInput: unreadable, misshapen or unmatched vectors.
        UsageError: an unknown split, or keys for arrays in memory.
        MissingPackage: a format or a split needs a package that is not installed.
    """
    if images is None or is_path(images) != (is_path(images) if texts is None else is_path(texts)):
        raise UsageError("images and texts are not both files or both arrays", fix="give two files or two arrays")
    if is_path(images):
        second = Path(texts) if is_path(texts) else None
        raw = read.read_embeddings(Path(images), texts=second, image_key=image_key, text_key=text_key)
    else:
        if texts is None:
            raise UsageError("image vectors need text vectors", fix="give both arrays")
        sides = [x if isinstance(x, Embeddings) else None for x in (images, texts)]
        arrays = [
            x.vectors if isinstance(x, Embeddings) else numbers(x, name)
            for name, x in (("images", images), ("texts", texts))
        ]
        own = [None if side is None else side.ids for side in sides]
        for name, a, b in zip(("image_ids", "text_ids"), own, ids[:2], strict=True):
            if a is not None and b is not None:
                raise UsageError(f"{name} beside Embeddings, which have ids", fix="leave it out")
        of_images, of_texts = (a if b is None else b for a, b in zip(own, ids[:2], strict=True))
        raw = RawEmbeddings(arrays[0], arrays[1], of_images, of_texts, ids[2], "arrays", (ARRAYS,), holds="ids")
    found = align_embeddings(raw, split, options.captions_per_image, captions_file(options))
    scorer, decision = choose(found.images, found.captions, options.similarity)
    return Input(
        found.split, scorer, found.where, None, (found.images, found.captions), found.rows, (*found.notes, decision),
        found.warnings, raw.sources,
    )  # fmt: skip


def from_scores(
    scores: npt.ArrayLike | PathLike,
    split: Split | str | None,
    scores_key: str | None,
    options: Options,
    ids: GivenIds = NO_IDS,
) -> Input:
    """A score matrix of a file or in memory, one row an image and one column a caption.

    Raises:
        BadInput, UsageError, MissingPackage: as ``from_vectors``.
    """
    if options.similarity != "auto":
        raise UsageError(f"{spell('similarity')} has no meaning for a score matrix", fix="leave it out")
    if is_path(scores):
        raw = read.read_scores(Path(scores), key=scores_key)
    else:
        raw = RawArray(numbers(scores, "scores"), *ids, "arrays", (ARRAYS,), holds="ids")
    found = align_scores(raw, split, options.captions_per_image, captions_file(options))
    return Input(
        found.split, Matrix(found.scores, *found.rows), found.where, rows=found.rows, notes=found.notes,
        warnings=found.warnings, sources=raw.sources,
    )  # fmt: skip


def from_run(
    run: PathLike | Sequence[PathLike] | Mapping[Direction, PathLike], split: Split | str | None, options: Options
) -> Input:
    """Retrieved lists of files: TREC runs and eccv-style JSON, by direction, given or in the file.

    Raises:
        BadInput, UsageError, MissingPackage: as ``from_vectors``.
    """
    if options.save_run is not None or options.ties != "index" or options.similarity != "auto":
        raise UsageError(
            "retrieved lists have an order and no scores",
            fix=f"leave out {spell('ties')}, {spell('similarity')} and {spell('save_run')}",
        )
    if isinstance(run, Mapping):
        strange = [d for d in run if d not in DIRECTIONS]
        if strange:
            raise UsageError(f"retrieved lists of direction '{strange[0]}'", fix="give i2t and t2i")
        named: list[tuple[Direction | None, Path]] = [(direction, Path(path)) for direction, path in run.items()]
    else:
        named = [run_path(run)] if is_path(run) else [run_path(x) for x in cast("Sequence[PathLike]", run)]
    raw = runs.read_runs([p for _, p in named], [d for d, _ in named], cast("Order", options.run_order))
    if raw.doubts and not options.trust:
        path, what = raw.doubts[0]
        by_rank = f"{spell('run_order', 'rank')} takes the order of the rank column (or write negated distances)"
        fix = f"{by_rank}; {spell('trust', True)} ranks it as read"
        raise BadInput(what, where=path, fix=fix)
    lists = align_lists(raw, split)
    warnings = tuple(f"{path.name}: {what}" for path, what in raw.doubts)
    return Input(lists.split, None, raw.sources[0], lists, notes=raw.notes, warnings=warnings, sources=raw.sources)


def ids_of(image_ids: Any, text_ids: Any, image_id_of_text: Any, rows: Any) -> GivenIds:
    """The ids of the rows of arrays in memory.

    Args:
        image_ids, text_ids, image_id_of_text: as for ``evaluate``.
        rows: vectors or scores.

    Raises:
        UsageError: ids beside a file or retrieved lists, which have their own, or of another type.
    """
    given = {"image_ids": image_ids, "text_ids": text_ids, "image_id_of_text": image_id_of_text}
    named = {name: ids for name, ids in given.items() if ids is not None}
    if named and (rows is None or is_path(rows)):
        raise UsageError(f"{next(iter(named))} has no meaning for a file", fix="save the ids in the file")
    images, texts, owners = (None if ids is None else id_rows(ids, name) for name, ids in given.items())
    return images, texts, owners


def run_path(text: PathLike) -> tuple[Direction | None, Path]:
    """The direction and the path of ``i2t=FILE``, ``t2i=FILE`` or ``FILE``."""
    head, equals, tail = str(text).partition("=")
    direction = next((d for d in DIRECTIONS if equals and d == head), None)
    return (direction, Path(tail)) if direction else (None, Path(text))


def of_run_folder(
    images: Any, texts: Any, scores: Any, similarity: str, split: Split | str | None
) -> tuple[Any, Any, str, Split | str | None]:
    """Images, scores, similarity and split; where ``images`` is the folder of a training run, those of the run.

    A similarity and a split that the user names are kept.

    Raises:
        BadInput: as ``run_folder.find``.
    """
    found = run_folder.find(Path(images).expanduser()) if is_path(images) and texts is None and scores is None else None
    if found is None:
        return images, scores, similarity, split
    if split is None and found.split in catalogue.names():
        split = found.split
    if found.scores:
        return None, found.file, similarity, split
    if similarity == "auto" and found.similarity is not None:
        similarity = found.similarity
    return found.file, None, similarity, split


def paths_of(images: Any, texts: Any, scores: Any, run: Any, options: Options) -> list[Path]:
    """The files and folders that the arguments of an evaluation name, before any is read."""
    runs_given = list(run.values()) if isinstance(run, Mapping) else [run] if is_path(run) else list(run or ())
    given = [run_path(x)[1] for x in runs_given if is_path(x)]
    return [*(Path(x) for x in (images, texts, scores) if is_path(x)), *given, *beside(options)]


def captions_file(options: Options) -> Path | None:
    """The file of captions, None without one."""
    return Path(options.captions).expanduser() if is_path(options.captions) else None


def beside(options: Options) -> list[Path]:
    """Files that were read beside the input: captions, and what gains were made from."""
    named = [captions_file(options), options.part[0], *(spec.argument for spec in gains.choose(options.gains).values())]
    return [path for path in (Path(x).expanduser() for x in named if x is not None) if path.is_file()]


def check_arguments(
    images: Any,
    texts: Any,
    scores: Any,
    run: Any,
    image_key: str | None,
    text_key: str | None,
    scores_key: str | None,
    run_order: str,
) -> None:
    """Refuse more than one input, and arguments that belong to another kind of input; raises UsageError."""
    given = [x for x in (images, scores, run) if x is not None]
    if len(given) != 1:
        several = f"more than one of embeddings, {spell('scores')} and {spell('run')}"
        what = "nothing to evaluate" if not given else several
        raise UsageError(
            what, fix=f"give a file of embeddings, or {spell('scores', 'FILE')}, or {spell('run', 'FILE')}"
        )
    for name, value, needed in (
        ("texts", texts, images),
        ("scores_key", scores_key, scores),
        ("image_key", image_key, images),
        ("text_key", text_key, images),
        ("run_order", None if run_order == "score" else run_order, run),
    ):
        if value is not None and (needed is None or (name.endswith("_key") and not is_path(needed))):
            what = "here" if needed is None else "for an array in memory"
            raise UsageError(f"{spell(name)} has no meaning {what}", fix="leave it out")


def is_path(x: object) -> TypeGuard[PathLike]:
    """Whether an argument is a path, not an array."""
    return isinstance(x, str) or hasattr(x, "__fspath__")
