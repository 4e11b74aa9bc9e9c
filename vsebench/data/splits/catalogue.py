"""The declared test splits: their names, what is available on this machine, load, build and verify."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ...arguments import public
from ...errors import MissingPackage, UsageError
from ...registry import unknown
from ...types import Split
from .declared import DECLARED, DeclaredSplit
from .identity import rows_sha256, settle
from .packages import INSTALL, coco_id_rows, has_ids
from .rows import CaptionRows
from .sources import PACKAGES, from_file
from .stored import restore, store, stored_path


@dataclass(frozen=True)
class SplitStatus:
    """One line of ``vsebench data list``.

    Attributes:
        name: the split.
        images: number of images.
        captions: number of captions.
        available: ``cached`` (built before), ``packages`` (read from installed packages) or ``absent``.
        has_captions: whether the captions can be read, not only the ids.
        needs: what to do to have all of it; empty when nothing is needed.
    """

    name: str
    images: int
    captions: int
    available: Literal["cached", "packages", "absent"]
    has_captions: bool
    needs: str

    def to_json(self) -> dict[str, Any]:
        """Plain values under the keys of ``vsebench data list --json``."""
        return {"texts" if key == "has_captions" else key: value for key, value in asdict(self).items()}


@dataclass(frozen=True)
class Check:
    """One check of a split: its name, whether it passed, and what was found."""

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


@public
def load_split(name: str, *, captions: bool = False) -> Split:
    """A declared split, from the cache or else from installed packages; nothing is written.

    Both ``coco-5k`` and ``coco-1k`` have the five folds of 1,000 images. Ids alone take some milliseconds, captions
    from packages about a second. The ids are checked against the declared fingerprint.

    Args:
        name: the split, one of ``names()``.
        captions: also read the captions.

    >>> import vsebench
    >>> split = vsebench.load_split("coco-5k")
    >>> len(split.image_ids), len(split.caption_ids), split.image_of[:6].tolist()
    (5000, 25000, [0, 0, 0, 0, 0, 1])

    Raises:
        UsageError: no such split.
        MissingPackage: neither built nor installed; the message gives the command that installs it.
        BadInput: the stored or installed files are damaged.
    """
    split = declared(name)
    rows = settle(_read(split, captions=captions), split)
    image_ids, image_of = rows.images()
    fold = None if split.fold_size is None else np.arange(len(image_ids), dtype=np.int64) // split.fold_size
    return Split(name, image_ids, rows.caption_id, image_of, rows.captions, fold)


def build(name: str, source: str | os.PathLike[str] | None = None, *, force: bool = False) -> Path:
    """Read a split from its source, check it, and store it in the cache.

    Args:
        name: the split; ``coco-1k`` builds ``coco-5k``, of which it is a view.
        source: official COCO annotations, a Karpathy file or JSON lines, plain or gzip; the installed packages
            when None.
        force: build it again; otherwise a split in the cache is left as it is.

    Returns:
        The file in the cache.

    Raises:
        UsageError: no such split.
        DiskError: the cache cannot be written.
        MissingPackage: no source given and none installed.
        BadInput: the source is damaged or not this split.
    """
    split = declared(name)
    path = stored_path(split.built_as)
    if path.exists() and not force:
        settle(restore(path, captions=True), split)  # raises when the file is damaged
        if source is not None:
            what = f"split '{name}' is built already, and the source was not read"
            raise UsageError(what, where=path, fix="add --force to build it again")
        return path
    rows = from_file(source) if source is not None else _installed(split, captions=True)
    store(path, settle(rows, split))
    return path


def status() -> list[SplitStatus]:
    """Every declared split and whether it can be used on this machine, without reading any."""
    return [_status(split) for split in DECLARED.values()]


def verify(name: str) -> list[Check]:
    """Read a split again and check its counts, ids, order and captions.

    Raises:
        UsageError: no such split.
        MissingPackage: neither built nor installed.
        BadInput: the files are too damaged to be checked.
    """
    split = declared(name)
    rows = _read(split, captions=_status(split).has_captions)
    image_ids, image_of = rows.images()
    per_image = np.bincount(image_of, minlength=len(image_ids))
    five = bool((per_image == 5).all()) and bool((image_of == np.arange(len(image_of)) // 5).all())
    runs = f"{per_image.min()} to {per_image.max()}, {'' if five else 'not '}in runs of five"
    found = rows_sha256(rows.image_id, rows.caption_id)
    known = found == split.rows_sha256
    digest = f"sha256 {found[:16]}{'' if known else ', expected ' + split.rows_sha256[:16]}"
    return [
        Check("source", True, rows.origin),
        Check("images", len(image_ids) == split.images, f"{len(image_ids):,} of {split.images:,}"),
        Check("captions", len(image_of) == split.captions, f"{len(image_of):,} of {split.captions:,}"),
        Check("captions per image", five, runs),
        Check("ids and order", known, digest),
        _check_captions(rows),
        *_check_package_order(rows, split),
    ]


def _read(split: DeclaredSplit, *, captions: bool) -> CaptionRows:
    path = stored_path(split.built_as)
    return restore(path, captions=captions) if path.exists() else _installed(split, captions=captions)


def _installed(split: DeclaredSplit, *, captions: bool) -> CaptionRows:
    command = f"vsebench data build {split.name} --from FILE"
    source = PACKAGES.get(split.built_as)
    if source is None:
        what = f"split '{split.name}' is not built here, and no package holds it"
        raise MissingPackage(what, fix=f"run: {command}, where FILE is {' or '.join(split.sources)}")
    try:
        return source.rows() if captions else source.ids()
    except MissingPackage as error:
        what = f"split '{split.name}' is not built here, and {error.what}"
        raise MissingPackage(what, fix=f"{INSTALL}, or run: {command}") from error


def _status(split: DeclaredSplit) -> SplitStatus:
    def line(available: Literal["cached", "packages", "absent"], has_captions: bool, needs: str) -> SplitStatus:
        return SplitStatus(split.name, split.images, split.captions, available, has_captions, needs)

    command = f"vsebench data build {split.name} --from FILE"
    source = PACKAGES.get(split.built_as)
    if stored_path(split.built_as).exists():
        return line("cached", True, "")
    if source is None:
        return line("absent", False, f"{command}  (FILE: {' or '.join(split.sources)})")
    if not source.has_ids():
        return line("absent", False, f"{INSTALL}, or {command}")
    has_captions = source.has_captions()
    return line("packages", has_captions, "" if has_captions else f"{INSTALL} for the captions")


def _check_captions(rows: CaptionRows) -> Check:
    if rows.captions is None:
        return Check("texts", False, f"no captions here, only ids: {INSTALL}")
    empty = [i for i, caption in enumerate(rows.captions) if not caption.strip()]
    detail = f"{len(rows.captions):,} captions, {len(empty)} empty"
    return Check("texts", not empty, detail + (f" (first: id {rows.caption_id[empty[0]]})" if empty else ""))


def _check_package_order(rows: CaptionRows, split: DeclaredSplit) -> list[Check]:
    if split.order != "package" or not has_ids():
        return []
    same = np.array_equal(rows.caption_id, coco_id_rows().caption_id)
    return [Check("order of eccv_caption", same, "the same" if same else "differs")]
