"""Caption rows, the form to which every source of captions is converted; fingerprints of ids, which prove splits."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import unescape

import numpy as np

from ..arrays import composed, frozen
from ..errors import BadInput, count_of
from ..options import spell
from ..types import Ids, Int

_NO_WORD = re.compile(r"[\W_]+")


@dataclass(frozen=True, eq=False)
class CaptionRows:
    """One row a caption, in the order of the source.

    Attributes:
        image_id: (caption,) int64 or unicode, the image each caption was written for; repeats.
        caption_id: (caption,) int64 or unicode.
        captions: (caption,) the captions as written, or None when only ids were read.
        origin: the file or package, for messages.
        others: (other,) images without a caption, behind those with captions: candidates that belong to no query.

    Raises:
        BadInput: lengths differ, a caption id or an image without a caption occurs twice, or an id is of another kind.
    """

    image_id: Ids
    caption_id: Ids
    captions: tuple[str, ...] | None
    origin: str
    others: Ids | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "image_id", frozen(self.image_id))
        object.__setattr__(self, "caption_id", frozen(self.caption_id))
        n = len(self.caption_id)
        for ids, what in ((self.image_id, "image"), (self.caption_id, "caption")):
            if ids.ndim != 1 or ids.dtype.kind not in "iU":
                fix = "give ids that are integers of at most 18 digits, or texts"
                raise BadInput(f"{what} ids are neither integers of 64 bits nor texts", where=self.origin, fix=fix)
        if len(self.image_id) != n or (self.captions is not None and len(self.captions) != n):
            what = "the numbers of image ids, caption ids and captions differ"
            raise BadInput(what, where=self.origin, fix="give every caption one id and the id of its image")
        if self.others is not None:
            object.__setattr__(self, "others", frozen(self.others) if len(self.others) else None)
            self._check_others()
        unique, first, count = np.unique(self.caption_id, return_index=True, return_counts=True)
        if len(unique) != n:
            again = first[count > 1].min()
            raise BadInput(
                f"{count_of(int((count > 1).sum()), 'caption id occurs', 'caption ids occur')} more than once "
                f"(first: {self.caption_id[again]})",
                where=self.origin,
                fix="give every caption one row and one id",
            )

    def _check_others(self) -> None:
        both = self.image_id if self.others is None else np.concatenate([np.unique(self.image_id), self.others])
        again, times = np.unique(both, return_counts=True)
        if self.others is not None and (self.others.dtype.kind != self.image_id.dtype.kind or (times > 1).any()):
            first = again[times > 1][0] if (times > 1).any() else self.others[0]
            what = f"images without a caption have ids of another type, or ids of other images (first: {first})"
            raise BadInput(what, where=self.origin, fix="give every image one id")

    @staticmethod
    def joined(several: Sequence[CaptionRows]) -> CaptionRows:
        """The captions of several parts of a file, one part after the other; raises BadInput."""
        if len(several) == 1:
            return several[0]
        image_id, caption_id = (np.concatenate([getattr(r, n) for r in several]) for n in ("image_id", "caption_id"))
        captions = tuple(caption for rows in several for caption in rows.captions or ())
        others = [rows.others for rows in several if rows.others is not None]
        without = np.concatenate(others) if others else None
        return CaptionRows(image_id, caption_id, captions, several[0].origin, without)

    def take(self, order: Int) -> CaptionRows:
        """The same rows in another order, ``order`` (caption,) int64."""
        captions = None if self.captions is None else tuple(self.captions[i] for i in order.tolist())
        return CaptionRows(self.image_id[order], self.caption_id[order], captions, self.origin, self.others)

    def images(self) -> tuple[Ids, Int]:
        """Images in order of first appearance, then the others (image,), and the image of every caption (caption,)."""
        unique, first, inverse = np.unique(self.image_id, return_index=True, return_inverse=True)
        order = np.argsort(first)
        index = np.empty(len(order), np.int64)
        index[order] = np.arange(len(order))
        images = unique[order] if self.others is None else np.concatenate([unique[order], self.others])
        return images, index[inverse]


def first_captions(rows: CaptionRows, count: int) -> CaptionRows:
    """The first ``count`` captions of every image, in the order of the rows.

    Raises:
        BadInput: an image has fewer (named).
    """
    _, image_of = rows.images()
    by_image = np.argsort(image_of, kind="stable")
    found = np.bincount(image_of)
    nth = np.empty(len(image_of), np.int64)  # number of the caption within its image
    nth[by_image] = np.arange(len(image_of)) - np.repeat(np.cumsum(found) - found, found)
    if (found < count).any():
        first = int(np.flatnonzero(found < count)[0])
        name = rows.image_id[np.flatnonzero(image_of == first)[0]]
        short = count_of(int((found < count).sum()), "image has", "images have")
        what = f"{short} fewer than {count} captions (first: {name}, {found[first]})"
        raise BadInput(what, where=rows.origin, fix=f"give a smaller {spell('captions_per_image')}, or leave it out")
    return rows.take(np.flatnonzero(nth < count))


def rows_sha256(rows: CaptionRows) -> str:
    """SHA-256 of the lines ``<image id> <caption id>\\n``, then ``<image id>\\n`` of the others, in their order."""
    lines = [f"{i} {c}\n" for i, c in zip(rows.image_id.tolist(), rows.caption_id.tolist(), strict=True)]
    lines += [] if rows.others is None else [f"{i}\n" for i in rows.others.tolist()]
    return hashlib.sha256("".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


def texts_sha256(captions: Sequence[str]) -> str:
    """SHA-256 of the letters and digits of the captions, in lower case and in their order, one caption a line.

    Editions of a set differ in white space, marks, capitals, and whether marks are written for HTML (``&amp;``), which
    do not make it another one.
    """
    text = "".join(f"{_NO_WORD.sub('', composed(unescape(caption)).lower())}\n" for caption in captions)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def set_sha256(ids: Ids) -> str:
    """SHA-256 of the distinct ids, sorted, one a line; neither order nor repetition matters."""
    text = "".join(f"{x}\n" for x in np.unique(ids).tolist())
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
