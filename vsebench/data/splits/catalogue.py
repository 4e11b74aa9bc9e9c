"""The declared test splits: which there are, what is available here, load, build, verify."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ...errors import MissingPackage, UsageError, VsebenchError
from ...registry import unknown
from ...types import Split
from . import packages as wheels
from .declared import DECLARED, DeclaredSplit
from .identity import matches_ids, rows_sha256, settle
from .rows import CaptionRows
from .sources import from_file
from .stored import restore, store, stored_path

__all__ = [
    "Check", "SplitStatus", "build", "declared", "load", "matches_ids", "names", "status", "verify",
]  # fmt: skip


@dataclass(frozen=True)
class SplitStatus:
    """One line of ``vsebench data list``.

    Attributes:
        name: the split.
        images: number of images.
        captions: number of captions.
        available: ``cached`` (built before), ``packages`` (read from installed packages) or ``absent``.
        texts: whether the captions can be read, not only the ids.
        needs: what to do to have all of it; empty when nothing is needed.
    """

    name: str
    images: int
    captions: int
    available: Literal["cached", "packages", "absent"]
    texts: bool
    needs: str

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


@dataclass(frozen=True)
class Check:
    """One thing that must hold of a split: its name, whether it does, and what was seen."""

    name: str
    ok: bool
    detail: str


def names() -> list[str]:
    """The declared splits."""
    return list(DECLARED)


def declared(name: str) -> DeclaredSplit:
    """Counts, fingerprints, citation, licence and sources of a split.

    Raises:
        UsageError: no such split; close matches are named.
    """
    if name not in DECLARED:
        raise unknown("split", name, DECLARED)
    return DECLARED[name]


def load(name: str, *, captions: bool = False) -> Split:
    """A declared split, from the cache or else from installed packages; nothing is written.

    Both ``coco-5k`` and ``coco-1k`` carry the five folds of 1,000 images. Ids alone take some
    milliseconds; texts take about a second from packages. The ids are checked against the declared fingerprint.

    Raises:
        UsageError: no such split.
        MissingPackage: neither built nor installed; the message says how to get it.
        BadInput: the stored or installed files are damaged.
    """
    split = declared(name)
    rows = settle(_read(split, captions=captions), split)
    image_ids, image_of = rows.images()
    fold = None if split.fold_size is None else np.arange(len(image_ids), dtype=np.int64) // split.fold_size
    return Split(name, image_ids, rows.caption_id, image_of, rows.captions, fold)


def build(name: str, source: str | os.PathLike[str] | None = None, *, force: bool = False) -> Path:
    """Read a split from its source, check it, and keep it in the cache.

    Args:
        name: the split; ``coco-1k`` builds ``coco-5k``, whose view it is.
        source: official COCO annotations, a Karpathy file or JSON lines, plain or gzip; the installed packages
            when None.
        force: build again when it is there; otherwise a split that is there is left as it is.

    Returns:
        The file in the cache.

    Raises:
        UsageError: no such split, or the cache cannot be written.
        MissingPackage: no source given and none installed.
        BadInput: the source is damaged or not this split.
    """
    split = declared(name)
    path = stored_path(split.built_as)
    if path.exists() and not force:
        settle(restore(path, captions=True), split)  # a damaged file is not passed off as built
        if source is not None:
            raise UsageError(
                f"split '{name}' is built already, and the source was not read",
                where=path,
                fix="add --force to build it again",
            )
        return path
    rows = from_file(source) if source is not None else _installed(split, captions=True)
    store(path, settle(rows, split))
    return path


def status() -> list[SplitStatus]:
    """Every declared split and whether it can be used here, without reading any."""
    return [_status(split) for split in DECLARED.values()]


def verify(name: str) -> list[Check]:
    """Read a split anew and check everything that must hold of it.

    Raises:
        UsageError: no such split.
        MissingPackage: neither built nor installed.
        BadInput: the files are damaged beyond checking.
    """
    split = declared(name)
    rows = _read(split, captions=_status(split).texts)
    image_ids, image_of = rows.images()
    per_image = np.bincount(image_of, minlength=len(image_ids))
    five = bool((per_image == 5).all()) and bool((image_of == np.arange(len(image_of)) // 5).all())
    found = rows_sha256(rows.image_id, rows.caption_id)
    known = found == split.rows_sha256
    checks = [
        Check("source", True, rows.origin),
        Check("images", len(image_ids) == split.images, f"{len(image_ids):,} of {split.images:,}"),
        Check("captions", len(image_of) == split.captions, f"{len(image_of):,} of {split.captions:,}"),
        Check(
            "captions per image",
            five,
            f"{per_image.min()} to {per_image.max()}, {'' if five else 'not '}in runs of five",
        ),
        Check("ids and order", known, f"sha256 {found[:16]}{'' if known else ', expected ' + split.rows_sha256[:16]}"),
        _texts(rows),
    ]
    if split.built_as == "coco-5k":
        checks += _package_order(rows) + _judgements()
    return checks


def _read(split: DeclaredSplit, *, captions: bool) -> CaptionRows:
    path = stored_path(split.built_as)
    return restore(path, captions=captions) if path.exists() else _installed(split, captions=captions)


def _installed(split: DeclaredSplit, *, captions: bool) -> CaptionRows:
    command = f"vsebench data build {split.name} --from FILE"
    if split.built_as != "coco-5k":
        raise MissingPackage(
            f"split '{split.name}' is not built here, and no package holds it",
            fix=f"run: {command}, where FILE is {' or '.join(split.sources)}",
        )
    try:
        return wheels.coco_rows() if captions else wheels.coco_id_rows()
    except MissingPackage as error:
        raise MissingPackage(
            f"split '{split.name}' is not built here, and {error.what}", fix=f"{wheels.INSTALL}, or run: {command}"
        ) from error


def _status(split: DeclaredSplit) -> SplitStatus:
    def line(available: Literal["cached", "packages", "absent"], texts: bool, needs: str) -> SplitStatus:
        return SplitStatus(split.name, split.images, split.captions, available, texts, needs)

    command = f"vsebench data build {split.name} --from FILE"
    if stored_path(split.built_as).exists():
        return line("cached", True, "")
    if split.built_as != "coco-5k":
        return line("absent", False, f"{command}  (FILE: {' or '.join(split.sources)})")
    if not wheels.has_ids():
        return line("absent", False, f"{wheels.INSTALL}, or {command}")
    return line("packages", wheels.has_texts(), "" if wheels.has_texts() else f"{wheels.INSTALL} for the captions")


def _texts(rows: CaptionRows) -> Check:
    if rows.captions is None:
        return Check("texts", False, f"no captions here, only ids: {wheels.INSTALL}")
    empty = [i for i, text in enumerate(rows.captions) if not text.strip()]
    detail = f"{len(rows.captions):,} captions, {len(empty)} empty"
    return Check("texts", not empty, detail + (f" (first: id {rows.caption_id[empty[0]]})" if empty else ""))


def _package_order(rows: CaptionRows) -> list[Check]:
    if not wheels.has_ids():
        return []
    same = np.array_equal(rows.caption_id, wheels.coco_id_rows().caption_id)
    return [Check("order of eccv_caption", same, "the same" if same else "differs")]


def _judgements() -> list[Check]:
    """Do the installed ECCV Caption and CxC judgements resolve, in the numbers that are published?"""
    from ... import relevance

    if not wheels.has_ids():
        return []
    checks = []
    split = load("coco-5k")
    for (name, direction), wanted in relevance.COUNTS.items():
        try:
            judged = relevance.load(name, split, direction)
        except VsebenchError as error:
            checks.append(Check(f"{name} {direction}", False, error.what))
            continue
        seen = (len(judged.queries), int(judged.size.sum()), judged.unreachable)
        detail = "{:,} queries, {:,} positives, {} not among the captions".format(*seen)
        checks.append(Check(f"{name} {direction}", seen == wanted, detail))
    return checks
