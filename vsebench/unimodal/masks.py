"""``1 - mIoU`` of segmentation masks, as bit sets: one bit a pixel and class."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..types import Bool, Float, Int
from .distances import Array, LabelDistance, ListDistances, by_rows, check_length, fingerprint
from .queries import Selection

Words = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Maps:
    """The classes of every item and their pixels, as bit sets.

    Attributes:
        start: (item + 1,) int64, where the classes of an item begin.
        classes: (occurrence,) int64, ascending inside an item.
        bits: (occurrence, word) uint64, the pixels of the class.
        size: (occurrence,) int64, their number.
        valid: (item, word) uint64, the pixels that have a label.
        partial: (item,) bool, some pixel has none.
    """

    start: Int
    classes: Int
    bits: Words
    size: Int
    valid: Words
    partial: Bool


def miou(masks: npt.ArrayLike, ignore: int | None = None, where: str | Path | None = None) -> LabelDistance:
    """One minus the mean, over the classes that occur in either of two items, of intersection over union.

    The label distance of room layouts (Kim et al., CVPR 2019, section 4.4). Pixels without a label in one of the two
    items are left out for both.

    Args:
        masks: (item, height, width) integers, one class a pixel, negative where there is no label; or (item,
            class, height, width) of 0 and 1, one map a class, where classes may overlap.
        ignore: a further class that means no label, for example 255.
        where: the file, for messages.

    Raises:
        BadInput: another shape or kind of number, or an item without any labelled pixel.
    """
    given = np.asarray(masks)
    if given.ndim not in (3, 4) or given.dtype.kind not in "biu" or 0 in given.shape:
        what = f"masks have shape {given.shape} and dtype {given.dtype}"
        fix = "save integers (item, height, width), or 0 and 1 (item, class, height, width)"
        raise BadInput(what, where=where, fix=fix)
    maps = _by_class(given, where) if given.ndim == 4 else _by_pixel(given, ignore, where)

    def bind(n: int, chosen: Selection) -> ListDistances:
        check_length(len(given), n, where)

        def rows(start: int, stop: int) -> Float:
            from .kernels import mask_distances

            queries, gallery = chosen.queries[start:stop], chosen.gallery
            out = np.empty((len(queries), len(gallery)))
            mask_distances(
                queries, gallery, maps.start, maps.classes, maps.bits, maps.size, maps.valid, maps.partial, out
            )
            undefined = np.argwhere(np.isnan(out))
            if len(undefined):
                q, g = undefined[0]
                what = f"items {queries[q]} and {gallery[g]} have no pixel that is labelled in both"
                raise BadInput(what, where=where, fix="leave one of them out")
            return out

        return by_rows(rows, chosen)

    setting = "" if ignore is None else f",ignore={ignore}"
    return LabelDistance(f"miou{setting}#{fingerprint(given)}", bind)


def _by_pixel(masks: Array, ignore: int | None, where: str | Path | None) -> Maps:
    """Bit sets of (item, height, width) class numbers."""
    start, classes, bits, valid, partial = [0], [], [], [], []
    for item, mask in enumerate(masks):
        pixels = mask.reshape(-1)
        labelled = pixels >= 0 if ignore is None else (pixels >= 0) & (pixels != ignore)
        present = np.unique(pixels[labelled])
        if not len(present):
            raise BadInput(f"item {item} has no labelled pixel", where=where, fix="leave it out, or label it")
        classes += [int(c) for c in present]
        bits += [_packed(pixels == c) for c in present]
        start.append(len(classes))
        valid.append(_packed(labelled))
        partial.append(not labelled.all())
    return _maps(start, classes, bits, valid, partial)


def _by_class(masks: Array, where: str | Path | None) -> Maps:
    """Bit sets of (item, class, height, width) maps."""
    start, classes, bits, valid = [0], [], [], []
    all_pixels = _packed(np.ones(masks.shape[2] * masks.shape[3], bool))
    for item, stack in enumerate(masks):
        flat = stack.reshape(len(stack), -1)
        if flat.dtype != np.bool_ and (flat.max() > 1 or flat.min() < 0):
            what = f"item {item} holds {flat.max() if flat.max() > 1 else flat.min()} in a map of one class"
            raise BadInput(what, where=where, fix="save 0 and 1, or class numbers of shape (item, height, width)")
        present = np.flatnonzero(flat.any(axis=1))
        if not len(present):
            raise BadInput(f"item {item} has no labelled pixel", where=where, fix="leave it out, or label it")
        classes += [int(c) for c in present]
        bits += [_packed(flat[c] != 0) for c in present]
        start.append(len(classes))
        valid.append(all_pixels)
    return _maps(start, classes, bits, valid, [False] * len(masks))


def _packed(pixels: Bool) -> Words:
    """(word,) uint64 of (pixel,) truth values; the last word is filled with zeros."""
    octets = np.packbits(pixels)
    return np.pad(octets, (0, -len(octets) % 8)).view(np.uint64)


def _maps(start: list[int], classes: list[int], bits: list[Words], valid: list[Words], partial: list[bool]) -> Maps:
    packed = np.stack(bits)
    size = np.unpackbits(packed.view(np.uint8), axis=1).sum(axis=1, dtype=np.int64)
    return Maps(np.array(start), np.array(classes), packed, size, np.stack(valid), np.array(partial))
