"""Where test sets come from: what every source of them answers, and the table of the sources."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from .. import plugins
from ..errors import BadInput, UsageError, VsebenchError
from ..files.atomic import refused
from ..files.caption_rows import CaptionRows, set_sha256
from ..files.ids import canonical, counts_rows
from ..options import spell
from ..registry import unknown
from ..types import Ids
from . import stored
from .declared import DeclaredSplit

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


@dataclass(frozen=True)
class Build:
    """What a split is built from, and how: the arguments of ``catalogue.build``."""

    source: str | os.PathLike[str] | None = None
    part: str | None = None
    captions_per_image: int | None = None
    replace: bool = False
    progress: Callable[[int, int], None] | None = None

    def refuse(self, name: str, why: str, source: bool = False) -> None:
        """Refuse the options that only data sets of one's own have, and with ``source`` a source; raises UsageError."""
        given = {"source": self.source if source else None, "part": self.part, "": self.captions_per_image}
        if any(value is not None for value in given.values()):
            *most, last = (spell(key) for key in ("source", "part", "captions_per_image") if source or key != "source")
            what = f"{', '.join(most)} and {last} have no meaning for '{name}', {why}"
            raise UsageError(what, fix="leave them out, or give a data set of your own another name")

    def refuse_built(self, split: str, path: Path, also: str = "") -> None:
        """Refuse a split that has a file in the cache, unless it is to be built again; raises UsageError."""
        if path.exists() and not self.replace:
            what = f"split '{split}' is built already, and the source was not read"
            raise UsageError(what, where=path, fix=f"add {spell('replace', True)} to build it again{also}")


class SetSource:
    """One source of test sets. The answers given here are those of a source whose splits are files in the cache.

    A file in the cache (``stored``) has the captions of a split and its declaration. A source of another kind answers
    ``names``, ``declared`` and ``rows`` itself, and every source ``owns``.

    Attributes:
        available: of a split that is built, in ``SplitStatus``.
        last: asked after the others, as it takes any name.
    """

    available: Available = "cached"
    last = False

    def owns(self, name: str) -> bool:
        """Whether a name of a split, or of several, is one of this source, built or not."""
        raise LookupError(type(self).__name__)  # every source has names of its own

    def built(self) -> list[str]:
        """Its splits that are files in the cache."""
        return [name for name in stored.stored_names() if source_of(name) is self]

    def names(self) -> list[str]:
        """Its splits that are offered by name; those that are built, unless it offers others."""
        return self.built()

    def offered(self) -> list[str]:
        """Names of sets that can be built, and are no splits before."""
        return []

    def splits(self, name: str) -> list[str]:
        """The splits that a name stands for: itself, or all that there are of a set of several."""
        return [name]

    def again(self, name: str) -> str:
        """The command that builds a split again."""
        return stored.rebuild(name)

    def missing(self, name: str) -> VsebenchError:
        """The error for a name of this source whose split is not here; it says what to do."""
        return unknown("split", name, dict.fromkeys(known()))

    def declared(self, name: str) -> DeclaredSplit:
        """Counts, fingerprints and origin of a split; raises ``missing``, and BadInput where its file is damaged."""
        if name not in self.built():
            raise self.missing(name)
        return stored.declaration(name, self.again(name))

    def rows(self, split: DeclaredSplit, *, captions: bool) -> CaptionRows:
        """The ids of a split, and with ``captions`` its captions, as they are stored; raises BadInput."""
        return stored.restore(stored.stored_path(split.name), captions=captions, again=self.again(split.name))

    def build(self, name: str, how: Build) -> Path:
        """Store the splits of a name: the file in the cache, or the folder of several; see ``catalogue.build``."""
        raise UsageError(f"'{name}' is there without being built", fix=f"use it: {spell('split', name)}")

    def remove(self, name: str) -> Path:
        """Remove the splits of a name from the cache; the file, or the folder of several.

        Raises:
            UsageError, MissingPackage: as ``missing``.
            DiskError: the system refuses.
        """
        paths = [stored.stored_path(split) for split in self.splits(name)]
        for path in paths:
            try:
                path.unlink()
            except FileNotFoundError:
                raise self.missing(name) from None
            except OSError as error:
                raise refused(path, error) from error
        return paths[0] if self.splits(name) == [name] else paths[0].parent

    def status(self) -> list[SplitStatus]:
        """A line for every split, and for every set that can be built; nothing is read."""
        return [self.line(name) for name in self.names()]

    def line(self, name: str) -> SplitStatus:
        """The line of a split that is a file in the cache."""
        try:
            split = self.declared(name)
        except BadInput:
            needs = f"{self.again(name)}, or vsebench data remove {name}"
            return SplitStatus(name, 0, 0, "damaged", False, needs)
        return SplitStatus(name, split.images, split.captions, self.available, True, "")

    def checks(self, name: str) -> list[Check]:
        """The checks of a name beside those that every split has; raises as ``declared``."""
        return []

    def split_of_ids(self, image_ids: Ids | None, caption_ids: Ids | None, fewer_images: bool = False) -> list[str]:
        """Its splits that have exactly these ids, in any order and spelling.

        Both sides must be given: ids of one side, and ids that only count rows, are those of many data sets.

        Args:
            image_ids: (image,) int64 or unicode; repeated ids count once. None when unknown.
            caption_ids: (caption,) likewise.
            fewer_images: the splits that have these captions and more images.
        """
        if image_ids is None or caption_ids is None or counts_rows(caption_ids):
            return []
        found = []
        for name in self.built():
            with contextlib.suppress(BadInput):  # whoever needs a damaged file is told
                split = self.declared(name)
                if (len(image_ids) < split.images) == fewer_images and has_ids(
                    split, None if fewer_images else image_ids, caption_ids
                ):
                    found.append(name)
        return found

    def split_like(self, image_id: str, caption_id: str, images: int) -> tuple[str, str] | None:
        """The split that ids are of by their spelling, whether or not it is built, and the id that shows it.

        Args:
            image_id: the first one of a file; empty when unknown.
            caption_id: likewise.
            images: their number in the file.
        """
        return None


def has_ids(split: DeclaredSplit, image_ids: Ids | None, caption_ids: Ids | None) -> bool:
    """Whether a split has exactly these ids, by their fingerprints; of one side where the other is unknown."""
    return all(
        len(ids) >= size and set_sha256(canonical(ids)) == sha256
        for ids, size, sha256 in (
            (caption_ids, split.captions, split.captions_sha256),
            (image_ids, split.images, split.images_sha256),
        )
        if ids is not None
    )


SOURCES: list[SetSource] = []


def register(source: SetSource) -> None:
    """Add a source of test sets, which every command then knows."""
    SOURCES.append(source)


def sources() -> list[SetSource]:
    """All sources, those of plug-ins too, in the order in which they are asked."""
    plugins.load()
    return sorted(SOURCES, key=lambda source: source.last)


def source_of(name: str) -> SetSource:
    """The source that a name of a split, or of several splits, belongs to."""
    return next(source for source in sources() if source.owns(name))


def names() -> list[str]:
    """The splits that commands know by name, source by source."""
    return [name for source in sources() for name in source.names()]


def known() -> list[str]:
    """The names of all splits, and of all sets that can be built."""
    return [*names(), *(name for source in sources() for name in source.offered())]


def split_of_ids(image_ids: Ids | None, caption_ids: Ids | None, fewer_images: bool = False) -> list[str]:
    """The splits of all sources that have exactly these ids, in any spelling; see ``SetSource.split_of_ids``."""
    return [name for source in sources() for name in source.split_of_ids(image_ids, caption_ids, fewer_images)]
