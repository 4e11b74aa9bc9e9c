"""The catalogue of test sets: list, load, build, verify, remove.

A test set is an entry of a table: ``declared.DECLARED`` (known to the id, in any order) or ``published.SETS`` (in the
layout of its authors); any other name is a custom data set. ``build`` stores the rows of its files in the
cache (``stored``), ``load_split`` reads them. Sets that come from elsewhere have a ``SetSource`` of a plug-in.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .. import plugins
from ..errors import BadInput, MissingPackage, UsageError, VsebenchError, closest, count_of, install, unknown
from ..files.atomic import refused
from ..files.caption_rows import CaptionRows, first_captions, rows_sha256, texts_sha256
from ..files.captions import all_of_file, from_file
from ..files.ids import counts_rows, places
from ..files.regular import expanded, is_folder, read_once
from ..options import public, spell
from ..types import Ids, TestSet
from . import stored
from .choices import layouts as choices
from .layouts import one_file
from .published import SETS, TEXTS_SHA256, PublishedSet, find, rows_of
from .stored import (
    DECLARED,
    DeclaredSplit,
    declare,
    declared_order,
    ids_installed,
    is_split,
    rebuild,
    restore,
    store,
    stored_path,
)

# Usual names of the files of a declared split, for a folder.
USUAL_FILES = {
    "coco-5k": ("dataset_coco.json", "captions_val2014.json", "captions.jsonl"),
    "f30k": ("dataset_flickr30k.json", "test.jsonl"),
}
RESERVED = ("custom",)
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_TABLE_SPLITS = [*DECLARED, *(split for found in SETS.values() for split in found.splits)]  # splits of the tables


@dataclass(frozen=True)
class SplitStatus:
    """One line of ``vsebench data list``.

    Attributes:
        name: the split.
        images, captions: their numbers.
        available: ``cached`` (built before), ``packages`` (read from installed packages), ``own`` (a data set of one's
            own, built before), ``absent`` or ``damaged`` (also: built by another version of the generator).
        has_captions: whether the captions can be read, not only the ids.
        needs: what to do to have all of it; empty when nothing is needed.
        files: what it is built from, where this is a file of the user's.
    """

    name: str
    images: int
    captions: int
    available: Literal["cached", "packages", "own", "absent", "damaged"]
    has_captions: bool
    needs: str
    files: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain values under the keys of ``vsebench data list --json``."""
        return {"texts" if key == "has_captions" else key: value for key, value in asdict(self).items()}


@dataclass(frozen=True)
class Check:
    """One check of a split: its name, whether it passed, and its finding."""

    name: str
    ok: bool
    detail: str


@dataclass(frozen=True)
class Build:
    """What a split is built from, and how: the arguments of ``build``."""

    source: str | os.PathLike[str] | None = None
    part: str | None = None
    captions_per_image: int | None = None
    replace: bool = False
    progress: Callable[[int, int], None] | None = None

    def refuse(self, name: str, why: str, *more: str) -> None:
        """Refuse options that only custom data sets have, and ``more`` options; raises UsageError."""
        if given := [key for key in (*more, "part", "captions_per_image") if getattr(self, key) is not None]:
            fix = "leave it out, or give your data set another name"
            raise UsageError(f"{spell(given[0])} does not apply to '{name}', {why}", fix=fix)

    def refuse_built(self, split: str, also: str = "") -> None:
        """Refuse a split that has a file in the cache, unless it is to be built again; raises UsageError."""
        if stored_path(split).exists() and not self.replace:
            what = f"split '{split}' is already built, and the source was not read"
            fix = f"add {spell('replace', True)} to build it again{also}"
            raise UsageError(what, where=stored_path(split), fix=fix)


class SetSource:
    """A source of test sets that stores built splits as files in the cache.

    A plug-in's source ``owns`` names; one without such files answers ``names``, ``declared`` and ``rows`` too.
    """

    def owns(self, name: str) -> bool:
        """Whether a name of a split, or of several, is one of this source, built or not."""
        raise LookupError(type(self).__name__)  # every source has names of its own

    def built(self) -> list[str]:
        """Its splits that are files in the cache."""
        return [name for name in stored.stored_names() if source_of(name) is self]

    def names(self) -> list[str]:
        """Its splits that are offered by name; those that are built, unless it offers others."""
        return self.built()

    def splits(self, name: str) -> list[str]:
        """The splits that a name stands for: itself, or all that there are of a set of several."""
        return [name]

    def again(self, name: str) -> str:
        """The command that builds a split again."""
        return rebuild(name)

    def missing(self, name: str) -> VsebenchError:
        """The error for a split of this source that is not built, with its fix."""
        return unknown("split", name, dict.fromkeys([*names(), *SETS]))

    def declared(self, name: str) -> DeclaredSplit:
        """Counts, fingerprints and origin of a split; raises ``missing``, and BadInput where its file is damaged."""
        if name not in self.built():
            raise self.missing(name)
        return stored.declaration(name, self.again(name))

    def rows(self, split: DeclaredSplit, *, captions: bool) -> CaptionRows:
        """The ids of a split, and with ``captions`` its captions, as they are stored; raises BadInput."""
        return restore(stored_path(split.name), captions=captions, again=self.again(split.name))

    def build(self, name: str, how: Build) -> Path:
        """Store the splits of a name: the file in the cache, or the folder of several; see ``catalogue.build``."""
        raise UsageError(f"'{name}' does not have to be built", fix=f"use it: {spell('split', name)}")

    def remove(self, name: str) -> Path:
        """Remove the splits of a name from the cache; the file, or the folder of several.

        Raises:
            UsageError, MissingPackage: as ``missing``.
            DiskError: the system refuses.
        """
        splits = self.splits(name)
        for path in map(stored_path, splits):
            try:
                path.unlink()
            except FileNotFoundError:
                raise self.missing(name) from None
            except OSError as error:
                raise refused(path, error) from error
        return stored_path(name) if splits == [name] else stored_path(splits[0]).parent

    def status(self) -> list[SplitStatus]:
        """A line for every split, and for every set that can be built; nothing is read."""
        return [self.line(name) for name in self.names()]

    def line(self, name: str) -> SplitStatus:
        """Whether a split that is a file in the cache can be used."""
        try:
            split = self.declared(name)
        except BadInput:
            needs = f"{self.again(name)}, or vsebench data remove {name}"
            return SplitStatus(name, 0, 0, "damaged", False, needs)
        return SplitStatus(name, split.images, split.captions, "own" if is_custom(name) else "cached", True, "")

    def checks(self, name: str) -> list[Check]:
        """The checks of a name beside those that every split has; raises as ``declared``."""
        return []


class Tables(SetSource):
    """The test sets of the two tables, and those of the user, under any name that no other source owns."""

    def built(self) -> list[str]:
        """The splits that are stored, those of the tables first."""
        found = [name for name in super().built() if name in _TABLE_SPLITS or _NAME.fullmatch(name)]
        return sorted(
            found, key=lambda name: _TABLE_SPLITS.index(name) if name in _TABLE_SPLITS else len(_TABLE_SPLITS)
        )

    def names(self) -> list[str]:
        """The declared splits, built or not, and all that are built."""
        return list(dict.fromkeys([*DECLARED, *self.built()]))

    def splits(self, name: str) -> list[str]:
        """The languages of a set that are built; else the name itself."""
        languages = SETS[name].splits if name in SETS else []
        return [split for split in languages if stored_path(split).exists()] or [name]

    def missing(self, name: str) -> VsebenchError:
        """The files to build it from; for a set with some languages built, the built ones."""
        if name in DECLARED:
            return UsageError(f"split '{name}' has no file in the cache", fix="see vsebench data list")
        if name.partition(":")[0] not in SETS:
            return super().missing(name)
        one, languages = find(name)
        if (built := self.splits(name)) != [name]:
            what = f"'{name}' has {len(languages)} languages, and each is a split"
            return UsageError(what, fix=f"give one of {', '.join(built)}")
        what = f"split '{name}' is not built here, and no installed package has it"
        return MissingPackage(what, fix=f"run: {_command(name)}, with {one.files_of(languages)}")

    def declared(self, name: str) -> DeclaredSplit:
        """The declaration of a split; a declared split needs no file."""
        return DECLARED[name] if name in DECLARED else super().declared(name)

    def rows(self, split: DeclaredSplit, *, captions: bool) -> CaptionRows:
        """From the cache, else from the packages that hold the split; raises MissingPackage if there are none."""
        path = stored_path(split.built_as)
        if path.exists() or split.order == "file":
            return restore(path, captions=captions, again=self.again(split.name))
        what, command = f"split '{split.name}' is not built here, and", f"vsebench data build {split.name} --from FILE"
        if split.order != "package":
            fix = f"run: {command}, where FILE is {' or '.join(split.sources)}"
            raise MissingPackage(f"{what} no installed package has it", fix=fix)
        try:
            return stored.coco_rows() if captions else stored.coco_id_rows()
        except MissingPackage as error:
            raise MissingPackage(f"{what} {error.what}", fix=f"{install('text')}, or run: {command}") from error

    def build(self, name: str, how: Build) -> Path:
        """Store the splits of a name."""
        if name in DECLARED:
            return _build_declared(DECLARED[name], how)
        return _build_published(name, how) if name.partition(":")[0] in SETS else _build_custom(name, how)

    def remove(self, name: str) -> Path:
        """Remove the file of a split, which others may be views of."""
        return super().remove(DECLARED[name].built_as if name in DECLARED else name)

    def status(self) -> list[SplitStatus]:
        """A line for every split, and one for the missing splits of a set."""
        return [*super().status(), *(line for found in SETS.values() for line in _absent(found))]

    def line(self, name: str) -> SplitStatus:
        """Whether a split can be used, from the cache or packages."""
        if name not in DECLARED:
            return super().line(name)
        split, command = DECLARED[name], _command(name)
        facts = name, split.images, split.captions
        if stored_path(split.built_as).exists():
            return SplitStatus(*facts, "cached", True, "")
        if split.order != "package":
            return SplitStatus(*facts, "absent", False, command, " or ".join(split.sources))
        if not ids_installed():
            return SplitStatus(*facts, "absent", False, f"{install('text')}, or {command}")
        has_captions = stored.has_captions()
        return SplitStatus(
            *facts, "packages", has_captions, "" if has_captions else f"{install('text')} for the captions"
        )


TABLES = Tables()
PLUGINS: list[SetSource] = []


def register(source: SetSource) -> None:
    """Add a source of test sets, which every command then knows."""
    PLUGINS.append(source)


def sources() -> list[SetSource]:
    """The tables, and the sources of plug-ins."""
    plugins.load()
    return [TABLES, *PLUGINS]


def source_of(name: str) -> SetSource:
    """The source that a name of a split, or of several splits, belongs to."""
    in_table = name in DECLARED or name.partition(":")[0] in SETS
    return TABLES if in_table else next((source for source in sources()[1:] if source.owns(name)), TABLES)


def is_custom(name: str) -> bool:
    """Whether a name belongs to a custom data set."""
    return name not in DECLARED and name.partition(":")[0] not in SETS and source_of(name) is TABLES


def names() -> list[str]:
    """The splits that commands know by name, source by source."""
    return [name for source in sources() for name in source.names()]


def split_of_ids(image_ids: Ids | None, caption_ids: Ids | None) -> list[str]:
    """The splits that have exactly these ids, in any order and spelling, declared ones first.

    Of a declared split one side is enough. Ids of one side, and ids that only count rows, are those of many others.

    Args:
        image_ids: (image,) int64 or unicode; repeated ids count once. None when unknown.
        caption_ids: (caption,) likewise.
    """
    found: list[str] = []
    if image_ids is not None or caption_ids is not None:
        splits = (split for split in DECLARED.values() if not split.in_folds)  # COCO 1K has the ids of COCO 5K
        found = [split.name for split in splits if is_split(split, image_ids, caption_ids)]
    if image_ids is None or caption_ids is None or counts_rows(caption_ids):
        return found
    for name in (name for source in sources() for name in source.built() if name not in DECLARED):
        with contextlib.suppress(BadInput):  # loading a damaged set by name raises
            if is_split(declared(name), image_ids, caption_ids):
                found.append(name)
    return sorted(found, key=is_custom)


def _command(name: str) -> str:
    return f"vsebench data build {name} --from PATH"


def _absent(found: PublishedSet) -> list[SplitStatus]:
    """One line for the missing splits of a published set, if any."""
    absent = [split for split in found.splits if not stored_path(split).exists()]
    if not absent:
        return []
    names = ", ".join(split.partition(":")[2] for split in absent) if len(absent) < 8 else f"{len(absent)} languages"
    files = found.files + (f"; {names}" if found.languages else "")
    return [
        SplitStatus(found.name, found.images or 0, found.captions or 0, "absent", False, _command(found.name), files)
    ]


def _build_declared(split: DeclaredSplit, how: Build) -> Path:
    """Store a declared split from packages or a file; one that is stored is checked."""
    how.refuse(split.name, "whose captions are declared")
    path = stored_path(split.built_as)
    if path.exists() and not how.replace:
        declared_order(restore(path, captions=True), split)  # raises when the file is damaged
        if how.source is not None:
            how.refuse_built(split.built_as)
    elif how.source is None:
        store(path, declared_order(TABLES.rows(split, captions=True), split))
    else:
        try:
            rows = declared_order(
                _test_rows(from_file(one_file(Path(how.source), *USUAL_FILES[split.built_as])), split), split
            )
        except BadInput as error:
            error.fix = error.fix or f"give one of: {'; '.join(split.sources)}"
            error.also("a custom data set needs another name")
            raise
        store(path, rows)
    return path


def _test_rows(rows: CaptionRows, split: DeclaredSplit) -> CaptionRows:
    """The captions of the test set among more, such as those of the official annotations."""
    if len(rows.caption_id) <= split.captions or split.order != "package" or not stored.ids_installed():
        return rows
    at = places(rows.caption_id, stored.coco_id_rows().caption_id)
    return rows.take(at) if (at >= 0).all() else rows


def _build_published(name: str, how: Build) -> Path:
    """Store the splits of a published set that the source has."""
    found, languages = find(name)
    how.refuse(name, "whose captions are declared")
    if how.source is None:
        what = f"'{name}' is built from your own files"
        raise UsageError(what, fix=f"run: {_command(name)}, with {found.files_of(languages)}")
    wanted = found.splits if len(languages) > 1 else [name]
    for split in wanted:
        how.refuse_built(split)
    read = list(rows_of(found, languages, expanded(how.source)))  # all, before any is stored
    for declaration, rows in read:
        store(stored_path(declaration.name), rows, asdict(declaration))
    path = stored_path(wanted[0])
    return path.parent if len(wanted) > 1 else path


def _build_custom(name: str, how: Build) -> Path:
    """Declare a custom data set, in the order of its file."""
    if how.source is None:
        build_custom = f"or build a custom data set: vsebench data build {name} --from captions.jsonl"
        raise unknown("split", name, names()).also(build_custom)
    if name in [one["name"] for one in choices.status()]:
        fix = "give its folder where it is used: vsebench choice FILE --set FOLDER"
        raise UsageError(f"'{name}' is a set of choices, which does not have to be built", fix=fix)
    if name in RESERVED:
        raise UsageError(f"the name '{name}' is reserved", fix="choose another name")
    if not _NAME.fullmatch(name):
        fix = "use up to 64 lower-case letters, digits, dots, dashes and underscores, such as my-data"
        raise UsageError(f"'{name[:80]}' is not a valid name of a data set", fix=fix)
    how.refuse_built(name, ", or choose another name")
    if is_folder(expanded(how.source)):
        near = closest(name, [x for x in dict.fromkeys([*names(), *SETS]) if not is_custom(x)])
        meant = f"; published sets of a similar name: {', '.join(near)}" if near else ""
        what = f"is a folder, and '{name}' is not a published set: a custom data set is built from one file"
        raise UsageError(what, where=how.source, fix=f"pass the file of captions{meant}")
    rows = all_of_file(how.source, how.part)
    if how.captions_per_image is not None:
        rows = first_captions(rows, how.captions_per_image)
    store(stored_path(name), rows, asdict(declare(name, rows)))
    return stored_path(name)


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
    >>> *split.shape, split.image_of[:6].tolist()
    (5000, 25000, [0, 0, 0, 0, 0, 1])

    Raises:
        UsageError: no such split.
        MissingPackage: neither built nor installed; the message gives the command that installs it.
        BadInput: the stored or installed files are damaged.
    """
    source = source_of(name)
    split = source.declared(name)
    return split_of(declared_order(source.rows(split, captions=captions), split, source.again(name)), split)


def split_of(rows: CaptionRows, split: DeclaredSplit) -> TestSet:
    """The split of rows that are proven to be the declared one, in canonical order."""
    image_ids, image_of = rows.images()
    fold = None if split.fold_size is None else np.arange(len(image_ids), dtype=np.int64) // split.fold_size
    return TestSet.captioned(
        split.name, image_ids, rows.caption_id, image_of, rows.captions, fold, in_folds=split.in_folds
    )


@read_once()
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
        part: of a custom data set: the captions whose field ``split`` has this value (``val``); by default
            ``test`` of a Karpathy file, and all of others.
        captions_per_image: of a custom data set: the first so many captions of every image; all by default.
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

    A custom data set is then no longer known. All languages of a set are removed.

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
        name: a split; for a data set of scenes or a set in several languages, all its splits are checked.

    Raises:
        UsageError: no such split.
        MissingPackage: neither built nor installed.
        BadInput: the files are too damaged to be checked.
    """
    splits, first = splits_of(name), source_of(name).checks(name)
    if splits == [name]:
        return [*_verify_split(name), *first]
    return [*first, *(replace(c, name=f"{split}: {c.name}") for split in splits for c in _verify_split(split))]


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
        each += f", captions of an image {'' if five else 'not '}together"
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
        return Check("texts", False, f"no captions here, only ids: {install('text')}")
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
