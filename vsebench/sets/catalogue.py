"""The declared splits, also of scenes and one's own: names, what is available here, load, build, verify, remove."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..arguments import public
from ..errors import BadInput, MissingPackage, UsageError, count_of
from ..files.atomic import refused
from ..files.caption_rows import CaptionRows, first_captions, rows_sha256, texts_sha256
from ..files.regular import is_folder
from ..options import spell
from ..registry import closest, unknown
from ..scenes.settings import CAPTIONS, PARTS, Part, is_name, parse, split_name
from ..types import Split
from . import layouts, own
from . import published as sets
from .declared import DECLARED, DeclaredSplit
from .identity import settle
from .packages import INSTALL, coco_id_rows, has_ids
from .scenes import known as scenes
from .sources import PACKAGES, all_of_file, from_file
from .stored import rebuild, restore, store, stored_path

# Usual names of the files of declared splits, for a folder.
USUAL = {
    "coco-5k": ("dataset_coco.json", "captions_val2014.json", "captions.jsonl"),
    "f30k": ("dataset_flickr30k.json", "test.jsonl"),
}
Available = Literal["cached", "packages", "own", "absent", "damaged"]


@dataclass(frozen=True)
class SplitStatus:
    """One line of ``vsebench data list``.

    Attributes:
        name: the split.
        images: number of images.
        captions: number of captions.
        available: ``cached`` (built before), ``packages`` (read from installed packages), ``own`` (a data set of one's
            own, built before), ``absent`` or ``damaged`` (also: built by another version of the generator).
        has_captions: whether the captions can be read, not only the ids.
        needs: what to do to have all of it; empty when nothing is needed.
        files: what it is built from, where this is a file of the user's.
    """

    name: str
    images: int
    captions: int
    available: Available
    has_captions: bool
    needs: str
    files: str = ""

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
    """The declared splits: those of vsebench, those of scenes, then the data sets of one's own that were built here."""
    of_scenes = (split for name in scenes.names() for split in scenes.splits(name))
    return list(dict.fromkeys([*DECLARED, *of_scenes, *sorted(own.names(), key=is_own)]))


def is_own(name: str) -> bool:
    """Whether a split is one that a user has named, and neither declared nor published nor of scenes."""
    return name not in DECLARED and name.partition(":")[0] not in sets.SETS and not is_name(name)


def splits_of(name: str) -> list[str]:
    """The splits of a data set of scenes, those of a set in several languages that are built; else that name alone."""
    if name in sets.SETS and sets.SETS[name].languages:
        return [split for split in sets.SETS[name].splits if stored_path(split).exists()] or [name]
    return scenes.splits(name) if name in scenes.names() else [name]


def declared(name: str) -> DeclaredSplit:
    """Counts, fingerprints, citation, licence and sources of a split.

    Raises:
        UsageError: no such split; close matches are named.
        MissingPackage: a split of scenes that is not built here; the message gives the command.
        BadInput: the file of a data set of one's own is damaged.
    """
    if name in DECLARED:
        return DECLARED[name]
    scenes.require(name)
    if name not in own.names():
        _refuse_not_built(name)
        raise unknown("split", name, dict.fromkeys([*names(), *sets.SETS]))
    return own.declared(name)


def _refuse_not_built(name: str) -> None:
    """Refuse a published set that is not built, or the name of all languages of one; any other name passes."""
    if (found := sets.find(name)) is None:
        return
    one, languages = found
    if (built := splits_of(name)) != [name]:
        what = f"'{name}' has {len(languages)} languages, and each is a split"
        raise UsageError(what, fix=f"give one of {', '.join(built)}")
    what = f"split '{name}' is not built here, and no package holds it"
    raise MissingPackage(what, fix=f"run: {_command(name)}, with {one.files_of(languages)}")


def _command(name: str) -> str:
    return f"vsebench data build {name} --from PATH"


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
    return split_of(settle(_read(split, captions=captions), split), split)


def split_of(rows: CaptionRows, split: DeclaredSplit) -> Split:
    """The split of rows that are proven to be the declared one, in canonical order."""
    image_ids, image_of = rows.images()
    fold = None if split.fold_size is None else np.arange(len(image_ids), dtype=np.int64) // split.fold_size
    return Split(split.name, image_ids, rows.caption_id, image_of, rows.captions, fold, in_folds=split.in_folds)


def build(
    name: str,
    source: str | os.PathLike[str] | None = None,
    *,
    part: str | None = None,
    captions_per_image: int | None = None,
    force: bool = False,
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
        force: build it again; otherwise a split in the cache is left as it is.
        progress: of scenes: called with the number of images that are done, and of all.

    Returns:
        The file in the cache; of scenes, and of a set with all its languages, the folder.

    Raises:
        UsageError: no such split and no source, a name or an option that is not possible.
        DiskError: the cache cannot be written.
        MissingPackage: no source given and none installed.
        BadInput: the source is damaged or not this split.
    """
    if is_name(name):
        if (source, part, captions_per_image) != (None, None, None):
            options = f"{spell('source')}, {spell('part')} and {spell('captions_per_image')}"
            what = f"{options} have no meaning for '{name}', which is generated"
            raise UsageError(what, fix="leave them out, or give a data set of your own another name")
        from .scenes.build import build_scenes  # and with it compiled code, which takes 0.4 s to import

        return build_scenes(name, force=force, progress=progress).folder
    if (found := sets.find(name)) is not None:
        _refuse_options(name, part, captions_per_image)
        return _build_set(name, *found, source, force)
    if name not in DECLARED:
        return _build_own(name, source, part, captions_per_image, force)
    _refuse_options(name, part, captions_per_image)
    split = declared(name)
    path = stored_path(split.built_as)
    if path.exists() and not force:
        settle(restore(path, captions=True), split)  # raises when the file is damaged
        if source is not None:
            what = f"split '{name}' is built already, and the source was not read"
            raise UsageError(what, where=path, fix=f"add {spell('force', True)} to build it again")
        return path
    if source is None:
        store(path, settle(_installed(split, captions=True), split))
        return path
    try:
        rows = settle(from_file(layouts.one_file(Path(source), *USUAL[split.built_as])), split)
    except BadInput as error:
        fix = error.fix or f"give one of: {'; '.join(split.sources)}"
        error.fix = f"{fix}; a data set of your own needs another name"
        raise
    store(path, rows)
    return path


def _refuse_options(name: str, part: str | None, captions_per_image: int | None) -> None:
    if part is not None or captions_per_image is not None:
        options = f"{spell('part')} and {spell('captions_per_image')}"
        what = f"{options} have no meaning for '{name}', whose captions are declared"
        raise UsageError(what, fix="leave them out, or give a data set of your own another name")


def _build_set(
    name: str, found: sets.PublishedSet, languages: tuple[str, ...], source: str | os.PathLike[str] | None, force: bool
) -> Path:
    """Store the splits of a published set that the source holds."""
    if source is None:
        raise UsageError(
            f"'{name}' is built from your own files", fix=f"run: {_command(name)}, with {found.files_of(languages)}"
        )
    wanted = found.splits if len(languages) > 1 else [name]
    built = [split for split in wanted if stored_path(split).exists()]
    if built and not force:
        what = f"split '{built[0]}' is built already, and the source was not read"
        fix = f"add {spell('force', True)} to build it again"
        raise UsageError(what, where=stored_path(built[0]), fix=fix)
    for split, rows in list(
        sets.rows_of(found, languages, Path(source).expanduser())
    ):  # all are read before any is stored
        store(stored_path(split.name), rows, asdict(split))
    path = stored_path(wanted[0])
    return path.parent if len(wanted) > 1 else path


def _build_own(
    name: str, source: str | os.PathLike[str] | None, part: str | None, captions_per_image: int | None, force: bool
) -> Path:
    from .choices import layouts as choices

    if source is None:
        error = unknown("split", name, names())
        fix = f"{error.fix}, or declare a data set of your own: vsebench data build {name} --from captions.jsonl"
        raise UsageError(error.what, fix=fix)
    if name in [one["name"] for one in choices.status()]:
        fix = "give its folder where it is used: vsebench choice FILE --set FOLDER"
        raise UsageError(f"'{name}' is a set of choices, which is not built", fix=fix)
    own.check_name(name)
    path = stored_path(name)
    if path.exists() and not force:
        what = f"split '{name}' is built already, and the source was not read"
        raise UsageError(what, where=path, fix=f"add {spell('force', True)} to build it again, or choose another name")
    if is_folder(Path(source).expanduser()):
        near = closest(name, [*DECLARED, *sets.SETS])
        meant = f"; published sets of a similar name: {', '.join(near)}" if near else ""
        what = f"is a folder, and '{name}' is no published set: a data set of your own is built from one file"
        raise UsageError(what, where=source, fix=f"name the file of captions{meant}")
    rows = all_of_file(source, part)
    if captions_per_image is not None:
        rows = first_captions(rows, captions_per_image)
    store(path, rows, asdict(own.declare(name, rows)))
    return path


def remove(name: str) -> Path:
    """Remove the file of a split, or the folder and the splits of scenes, from the cache.

    A data set of one's own is then no longer known. Of a set in several languages all that are built are removed.

    Returns:
        The file that was removed, or the folder.

    Raises:
        UsageError: no such split, or it has no file in the cache.
        DiskError: the system refuses.
    """
    if is_name(name):
        return scenes.remove(name)
    if name not in names():
        if (of := splits_of(name)) == [name]:
            _refuse_not_built(name)
            raise unknown("split", name, names())
        return [remove(split) for split in of][-1].parent
    path = stored_path(DECLARED[name].built_as if name in DECLARED else name)
    try:
        path.unlink()
    except FileNotFoundError:
        raise UsageError(f"split '{name}' has no file in the cache", fix="see vsebench data list") from None
    except OSError as error:
        raise refused(path, error) from error
    return path


def status() -> list[SplitStatus]:
    """Every declared split and whether it can be used on this machine, without reading any."""
    of_scenes = (_status_of_scenes(name, part) for name in scenes.names() for part in PARTS)
    of_own = (_status_of_own(name) for name in own.names() if not is_name(name))
    of_sets = (_status_of_set(found) for found in sets.SETS.values())
    return [*(_status(split) for split in DECLARED.values()), *filter(None, of_sets), *of_scenes, *of_own]


def verify(name: str) -> list[Check]:
    """Read a split again and check its counts, ids, order and captions; of scenes also the content of every file.

    Args:
        name: the split, or a data set of scenes or a set in several languages, whose splits are all checked.

    Raises:
        UsageError: no such split.
        MissingPackage: neither built nor installed.
        BadInput: the files are too damaged to be checked.
    """
    if (of := splits_of(name)) == [name] and not is_name(name):
        return _verify_split(name)
    first = [Check(*c) for c in scenes.verify_files(scenes.data_set(name) or name)] if is_name(name) else []
    if name in sets.SETS:
        languages = sets.SETS[name].languages
        absent = [x for x in languages if f"{name}:{x}" not in of]
        without = f", not {', '.join(absent)}" if absent else ""
        first = [Check("languages", True, f"{len(of)} of {len(languages)} are built{without}")]
    found = ((split, check) for split in of for check in _verify_split(split))
    return [*first, *(replace(c, name=f"{split}: {c.name}") for split, c in found)]


def _verify_split(name: str) -> list[Check]:
    split = declared(name)
    rows = _read(split, captions=_status(split).has_captions)
    image_ids, image_of = rows.images()
    per_image = np.bincount(image_of, minlength=len(image_ids))
    five = bool((per_image == 5).all()) and bool((image_of == np.arange(len(image_of)) // 5).all())
    few, many = per_image.min(), per_image.max()
    each = f"{few}" if few == many else f"{few} to {many}"
    if name in DECLARED:
        each += f", those of an image {'' if five else 'not '}together"
    found = rows_sha256(rows)
    known = found == split.rows_sha256
    digest = f"sha256 {found[:16]}{'' if known else ', expected ' + split.rows_sha256[:16]}"
    origin = rows.origin if name in DECLARED else f"{split.sources[0]}, in {rows.origin}"
    return [
        Check("source", True, origin),
        Check("images", len(image_ids) == split.images, f"{len(image_ids):,} of {split.images:,}"),
        Check("captions", len(image_of) == split.captions, f"{len(image_of):,} of {split.captions:,}"),
        Check("captions per image", five or name not in DECLARED, each),
        Check("ids and order", known, digest),
        _check_captions(rows, name),
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
    def line(available: Available, has_captions: bool, needs: str, files: str = "") -> SplitStatus:
        return SplitStatus(split.name, split.images, split.captions, available, has_captions, needs, files)

    command = _command(split.name)
    source = PACKAGES.get(split.built_as)
    if stored_path(split.built_as).exists():
        return line("cached", True, "")
    if source is None:
        return line("absent", False, command, " or ".join(split.sources))
    if not source.has_ids():
        return line("absent", False, f"{INSTALL}, or {command}")
    has_captions = source.has_captions()
    return line("packages", has_captions, "" if has_captions else f"{INSTALL} for the captions")


def _status_of_scenes(name: str, part: Part) -> SplitStatus:
    images = parse(name).sizes[part]
    split, captions = split_name(name, part), images * CAPTIONS
    try:
        scenes.require(split)
    except MissingPackage:
        return SplitStatus(split, images, captions, "absent", False, f"vsebench data build {name}")
    except BadInput:
        return SplitStatus(split, images, captions, "damaged", False, rebuild(split))
    return SplitStatus(split, images, captions, "cached", True, "")


def _status_of_set(found: sets.PublishedSet) -> SplitStatus | None:
    """One line for what is not built of a published set; None when it is."""
    absent = [split for split in found.splits if not stored_path(split).exists()]
    if not absent:
        return None
    names = ", ".join(split.partition(":")[2] for split in absent) if len(absent) < 8 else f"{len(absent)} languages"
    files = found.files + (f"; {names}" if found.languages else "")
    return SplitStatus(found.name, found.images, found.captions or 0, "absent", False, _command(found.name), files)


def _status_of_own(name: str) -> SplitStatus:
    try:
        split = own.declared(name)
    except BadInput:
        return SplitStatus(name, 0, 0, "damaged", False, f"{rebuild(name)}, or vsebench data remove {name}")
    kind: Available = "own" if sets.find(name) is None else "cached"
    return SplitStatus(name, split.images, split.captions, kind, True, "")


def _check_captions(rows: CaptionRows, name: str) -> Check:
    """Whether the captions are those that were published, where these are known; else whether every one has words."""
    if rows.captions is None:
        return Check("texts", False, f"no captions here, only ids: {INSTALL}")
    empty = [i for i, caption in enumerate(rows.captions) if not caption.strip()]
    detail = f"{count_of(len(rows.captions), 'caption')}, {len(empty)} empty"
    detail += f" (first: id {rows.caption_id[empty[0]]})" if empty else ""
    wanted, found = sets.TEXTS_SHA256.get(name), texts_sha256(rows.captions)
    if wanted is None or found == wanted:
        return Check("texts", wanted is not None or not empty, detail)
    other = next((split for split, sha256 in sets.TEXTS_SHA256.items() if sha256 == found), None)
    are = f"these are the captions of {other}" if other else "other captions than the published ones, or another order"
    return Check("texts", False, f"{detail}; {are} (sha256 {found[:16]}, expected {wanted[:16]})")


def caption_faults(name: str) -> list[str]:
    """What ``verify`` finds wrong with the captions of a split, or of those of a set, that was built; one a split."""
    found = ((split, _check_captions(_read(declared(split), captions=True), split)) for split in splits_of(name))
    return [f"captions of {split}: {check.detail}" for split, check in found if not check.ok]


def _check_package_order(rows: CaptionRows, split: DeclaredSplit) -> list[Check]:
    if split.order != "package" or not has_ids():
        return []
    same = np.array_equal(rows.caption_id, coco_id_rows().caption_id)
    return [Check("order of eccv_caption", same, "the same" if same else "differs")]
