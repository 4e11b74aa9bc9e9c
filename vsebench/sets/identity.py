"""The declared test sets: which rows are one of them, proven by fingerprints of ids, and where they come from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadInput, MissingPackage, UsageError, VsebenchError, count_of
from ..files.caption_rows import CaptionRows, rows_sha256
from ..files.ids import places
from ..types import Ids, Int
from . import stored
from .caption_files import from_file
from .declared import DECLARED, DeclaredSplit
from .layouts import one_file
from .source import Build, Check, SetSource, SplitStatus, has_ids
from .stored import INSTALL, rebuild, restore, store, stored_path

# Usual names of the files, for a folder.
USUAL = {
    "coco-5k": ("dataset_coco.json", "captions_val2014.json", "captions.jsonl"),
    "f30k": ("dataset_flickr30k.json", "test.jsonl"),
}


def settle(rows: CaptionRows, split: DeclaredSplit, again: str = "") -> CaptionRows:
    """The rows in canonical order, proven to be the declared split.

    Rows in another order are sorted: COCO by the ids of the installed package, Flickr30K by name.

    Args:
        rows: of a file or package.
        split: what they are to be.
        again: the command that builds a split again that is in the order of its file.

    Raises:
        BadInput: other numbers of images or captions, other ids, captions of other images, or another order, which
            cannot be corrected without the package.
    """
    if rows_sha256(rows) == split.rows_sha256:
        return rows
    if split.order == "file":
        what = f"the ids of '{split.name}' are not those that were declared"
        raise BadInput(what, where=rows.origin, fix=f"build it again: {again or rebuild(split.name)}")
    fix = f"give one of: {'; '.join(split.sources)}"
    n_image, n_caption = len(rows.images()[0]), len(rows.caption_id)
    if (n_image, n_caption) != (split.images, split.captions):
        raise BadInput(
            f"{count_of(n_caption, 'caption')} of {count_of(n_image, 'image')}; "
            f"'{split.name}' has {split.captions:,} of {split.images:,}",
            where=rows.origin,
            fix=fix,
        )
    if not has_ids(split, rows.image_id, rows.caption_id):
        raise BadInput(f"{_differing_ids(rows, split)} (the numbers are right)", where=rows.origin, fix=fix)
    order = _canonical(rows, split)
    if order is None:
        raise BadInput(
            f"the ids of '{split.name}' in another order",
            where=rows.origin,
            fix=f"{stored.INSTALL} (it holds the order), or give a file in Karpathy's order",
        )
    sorted_rows = rows.take(order)
    if rows_sha256(sorted_rows) != split.rows_sha256:
        raise BadInput(f"captions belong to other images than in '{split.name}'", where=rows.origin, fix=fix)
    return sorted_rows


def _differing_ids(rows: CaptionRows, split: DeclaredSplit) -> str:
    what = f"these are not the ids of '{split.name}'"
    if split.order == "package" and stored.has_ids() and rows.caption_id.dtype.kind == "i":
        unknown = np.setdiff1d(rows.caption_id, stored.coco_id_rows().caption_id)
        if len(unknown):
            return f"{what}: {count_of(len(unknown), 'caption is', 'captions are')} unknown, first {unknown[0]}"
    first: Any = rows.caption_id[0].item()
    return f"{what}: the first caption id is {first!r}"


def _canonical(rows: CaptionRows, split: DeclaredSplit) -> Int | None:
    """Row of every caption of the canonical order, (caption,); None when the order is not known here."""
    if split.order == "sorted":
        return np.argsort(rows.caption_id, kind="stable")
    return places(rows.caption_id, stored.coco_id_rows().caption_id) if stored.has_ids() else None


class DeclaredSets(SetSource):
    """COCO 5K and 1K, and Flickr30K."""

    def owns(self, name: str) -> bool:
        """Whether it is declared."""
        return name in DECLARED

    def names(self) -> list[str]:
        """All, built or not."""
        return list(DECLARED)

    def declared(self, name: str) -> DeclaredSplit:
        """The declaration of a split, which needs no file."""
        return DECLARED[name]

    def missing(self, name: str) -> VsebenchError:
        """A split without a file."""
        return UsageError(f"split '{name}' has no file in the cache", fix="see vsebench data list")

    def rows(self, split: DeclaredSplit, *, captions: bool) -> CaptionRows:
        """From the cache, else from the packages that hold the split; raises MissingPackage where there are none."""
        path, command = stored_path(split.built_as), f"vsebench data build {split.name} --from FILE"
        if path.exists():
            return restore(path, captions=captions)
        if split.order != "package":
            what = f"split '{split.name}' is not built here, and no package holds it"
            raise MissingPackage(what, fix=f"run: {command}, where FILE is {' or '.join(split.sources)}")
        try:
            return stored.coco_rows() if captions else stored.coco_id_rows()
        except MissingPackage as error:
            what = f"split '{split.name}' is not built here, and {error.what}"
            raise MissingPackage(what, fix=f"{INSTALL}, or run: {command}") from error

    def build(self, name: str, how: Build) -> Path:
        """Store a split from packages or a file; one that is stored is checked."""
        how.refuse(name, "whose captions are declared")
        split = DECLARED[name]
        path = stored_path(split.built_as)
        if path.exists() and not how.replace:
            settle(restore(path, captions=True), split)  # raises when the file is damaged
            if how.source is not None:
                how.refuse_built(name, path)
        elif how.source is None:
            store(path, settle(self.rows(split, captions=True), split))
        else:
            try:
                rows = settle(from_file(one_file(Path(how.source), *USUAL[split.built_as])), split)
            except BadInput as error:
                error.fix = error.fix or f"give one of: {'; '.join(split.sources)}"
                error.also("a data set of your own needs another name")
                raise
            store(path, rows)
        return path

    def remove(self, name: str) -> Path:
        """Remove the file of the split, which others may be views of."""
        return super().remove(DECLARED[name].built_as)

    def line(self, name: str) -> SplitStatus:
        """Whether a split is in the cache, or in packages."""
        split, command = DECLARED[name], f"vsebench data build {name} --from PATH"
        of = name, split.images, split.captions
        if stored_path(split.built_as).exists():
            return SplitStatus(*of, "cached", True, "")
        if split.order != "package":
            return SplitStatus(*of, "absent", False, command, " or ".join(split.sources))
        if not stored.has_ids():
            return SplitStatus(*of, "absent", False, f"{INSTALL}, or {command}")
        has_captions = stored.has_captions()
        return SplitStatus(*of, "packages", has_captions, "" if has_captions else f"{INSTALL} for the captions")

    def checks(self, name: str) -> list[Check]:
        """Whether the order is that of the package, where it is installed."""
        split = DECLARED[name]
        if split.order != "package" or not stored.has_ids():
            return []
        order = self.rows(split, captions=False).caption_id
        same = np.array_equal(order, stored.coco_id_rows().caption_id)
        return [Check("order of eccv_caption", same, "the same" if same else "differs")]

    def split_of_ids(self, image_ids: Ids | None, caption_ids: Ids | None, fewer_images: bool = False) -> list[str]:
        """The split that has these ids, of one side where the other is unknown; COCO 1K has those of COCO 5K."""
        if fewer_images or (image_ids is None and caption_ids is None):
            return []
        splits = (split for split in DECLARED.values() if split.built_as == split.name)
        return [split.name for split in splits if has_ids(split, image_ids, caption_ids)]
