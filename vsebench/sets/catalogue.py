"""The public part of test sets: which there are, what is available here, load, build, verify, remove."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..errors import count_of
from ..files.caption_rows import CaptionRows, rows_sha256, texts_sha256
from ..options import public
from ..types import TestSet
from .declared import DeclaredSplit
from .identity import DeclaredSets, settle
from .own import OwnSets
from .published import TEXTS_SHA256, PublishedSets
from .source import Build, Check, SplitStatus, names, register, source_of, sources
from .stored import INSTALL

for _source in (DeclaredSets(), PublishedSets(), OwnSets()):
    register(_source)

__all__ = ["build", "caption_faults", "declared", "load_split", "names", "remove", "split_of", "splits_of", "status"]
__all__ += ["verify"]


def splits_of(name: str) -> list[str]:
    """The splits that a name stands for: of scenes, of a set in several languages those that are built, or itself."""
    return source_of(name).splits(name)


def declared(name: str) -> DeclaredSplit:
    """Counts, fingerprints, citation, licence and sources of a split.

    Raises:
        UsageError: no such split; close matches are named.
        MissingPackage: a split of scenes or a published one that is not built here; the message gives the command.
        BadInput: the file of a split in the cache is damaged.
    """
    return source_of(name).declared(name)


@public
def load_split(name: str, *, captions: bool = False) -> TestSet:
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
    source = source_of(name)
    split = source.declared(name)
    return split_of(settle(source.rows(split, captions=captions), split, source.again(name)), split)


def split_of(rows: CaptionRows, split: DeclaredSplit) -> TestSet:
    """The split of rows that are proven to be the declared one, in canonical order."""
    image_ids, image_of = rows.images()
    fold = None if split.fold_size is None else np.arange(len(image_ids), dtype=np.int64) // split.fold_size
    return TestSet.captioned(
        split.name, image_ids, rows.caption_id, image_of, rows.captions, fold, in_folds=split.in_folds
    )


def build(
    name: str,
    source: str | os.PathLike[str] | None = None,
    *,
    part: str | None = None,
    captions_per_image: int | None = None,
    replace: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    """Read a split from its source, check it, and store it in the cache.

    The name of a data set of scenes generates it and its three splits, see ``build_scenes``. A published set, such as
    ``xflickrco``, is read in the layout in which it was published, see ``docs/sets.md``; one in several languages
    becomes a split a language, ``xflickrco:de``, of which that name builds one. Any other name declares a data set of
    one's own: every command then knows the images and captions of ``source``, in its order.

    Args:
        name: the split (``coco-1k`` builds ``coco-5k``, of which it is a view), a data set of scenes such as
            ``scenes-10k``, or a new name.
        source: captions as JSON lines, a table (.csv, .tsv), official COCO annotations or a Karpathy file, plain or
            gzip, or the files of a published set or their folder; the installed packages when None.
        part: of a data set of one's own: the captions whose field ``split`` has this value (``val``); by default
            ``test`` of a Karpathy file, and all of others.
        captions_per_image: of a data set of one's own: the first so many captions of every image; all by default.
        replace: build it again; otherwise a split in the cache is left as it is.
        progress: of scenes: called with the number of images that are done, and of all.

    Returns:
        The file in the cache; of scenes, and of a set with all its languages, the folder.

    Raises:
        UsageError: no such split and no source, a name or an option that is not possible.
        DiskError: the cache cannot be written.
        MissingPackage: no source given and none installed.
        BadInput: the source is damaged or not this split.
    """
    return source_of(name).build(name, Build(source, part, captions_per_image, replace, progress))


def remove(name: str) -> Path:
    """Remove the file of a split, or the folder and the splits of scenes, from the cache.

    A data set of one's own is then no longer known. Of a set in several languages all that are built are removed.

    Returns:
        The file that was removed, or the folder.

    Raises:
        UsageError: no such split, or it has no file in the cache.
        MissingPackage: a published set that is not built here.
        DiskError: the system refuses.
    """
    return source_of(name).remove(name)


def status() -> list[SplitStatus]:
    """Every split and every set that can be built, and whether it can be used on this machine, without reading any."""
    return [line for source in sources() for line in source.status()]


def verify(name: str) -> list[Check]:
    """Read a split again and check its counts, ids, order and captions; of scenes also the content of every file.

    Args:
        name: the split, or a data set of scenes or a set in several languages, whose splits are all checked.

    Raises:
        UsageError: no such split.
        MissingPackage: neither built nor installed.
        BadInput: the files are too damaged to be checked.
    """
    of, first = splits_of(name), source_of(name).checks(name)
    if of == [name]:
        return [*_verify_split(name), *first]
    return [*first, *(replace(c, name=f"{split}: {c.name}") for split in of for c in _verify_split(split))]


def _verify_split(name: str) -> list[Check]:
    source, split = source_of(name), declared(name)
    rows = source.rows(split, captions=source.line(name).has_captions)
    image_ids, image_of = rows.images()
    per_image = np.bincount(image_of, minlength=len(image_ids))
    five = bool((per_image == 5).all()) and bool((image_of == np.arange(len(image_of)) // 5).all())
    few, many = per_image.min(), per_image.max()
    each, origin, as_in_file = f"{few}" if few == many else f"{few} to {many}", rows.origin, split.order == "file"
    if as_in_file:
        origin = f"{split.sources[0]}, in {origin}"
    else:
        each += f", those of an image {'' if five else 'not '}together"
    found = rows_sha256(rows)
    known = found == split.rows_sha256
    digest = f"sha256 {found[:16]}{'' if known else ', expected ' + split.rows_sha256[:16]}"
    return [
        Check("source", True, origin),
        Check("images", len(image_ids) == split.images, f"{len(image_ids):,} of {split.images:,}"),
        Check("captions", len(image_of) == split.captions, f"{len(image_of):,} of {split.captions:,}"),
        Check("captions per image", five or as_in_file, each),
        Check("ids and order", known, digest),
        _check_captions(rows, name),
    ]


def _check_captions(rows: CaptionRows, name: str) -> Check:
    """Whether the captions are those that were published, where these are known; else whether every one has words."""
    if rows.captions is None:
        return Check("texts", False, f"no captions here, only ids: {INSTALL}")
    empty = [i for i, caption in enumerate(rows.captions) if not caption.strip()]
    detail = f"{count_of(len(rows.captions), 'caption')}, {len(empty)} empty"
    detail += f" (first: id {rows.caption_id[empty[0]]})" if empty else ""
    wanted, found = TEXTS_SHA256.get(name), texts_sha256(rows.captions)
    if wanted is None or found == wanted:
        return Check("texts", wanted is not None or not empty, detail)
    other = next((split for split, sha256 in TEXTS_SHA256.items() if sha256 == found), None)
    are = f"these are the captions of {other}" if other else "other captions than the published ones, or another order"
    return Check("texts", False, f"{detail}; {are} (sha256 {found[:16]}, expected {wanted[:16]})")


def caption_faults(name: str) -> list[str]:
    """What ``verify`` finds wrong with the captions of a split, or of those of a set, that was built; one a split."""
    source = source_of(name)
    read = ((split, source.rows(source.declared(split), captions=True)) for split in source.splits(name))
    found = ((split, _check_captions(rows, split)) for split, rows in read)
    return [f"captions of {split}: {check.detail}" for split, check in found if not check.ok]
