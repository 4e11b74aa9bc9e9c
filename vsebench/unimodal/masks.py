"""``1 - mIoU`` of segmentation masks, as bit sets: one bit a pixel and class."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..types import Bool, Float, Int
from .distances import Array, LabelDistance, fingerprint, of_items

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
    maps = _maps(given, ignore, where)

    def between(queries: Int, gallery: Int) -> Float:
        from .kernels import mask_distances

        out = np.empty((len(queries), len(gallery)))
        mask_distances(queries, gallery, maps.start, maps.classes, maps.bits, maps.size, maps.valid, maps.partial, out)
        undefined = np.argwhere(np.isnan(out))
        if len(undefined):
            q, g = undefined[0]
            what = f"items {queries[q]} and {gallery[g]} have no pixel that is labelled in both"
            raise BadInput(what, where=where, fix="leave one of them out")
        return out

    setting = "" if ignore is None else f",ignore={ignore}"
    return LabelDistance(f"miou{setting}#{fingerprint(given)}", of_items(between), len(given), where)


def _maps(masks: Array, ignore: int | None, where: str | Path | None) -> Maps:
    """Bit sets of (item, height, width) class numbers, or of (item, class, height, width) maps."""
    start, classes, bits, valid, partial = [0], list[int](), list[Words](), list[Words](), list[bool]()
    for item, mask in enumerate(masks):
        if masks.ndim == 4:
            layers = mask.reshape(len(mask), -1)
            if layers.dtype != np.bool_ and (layers.max() > 1 or layers.min() < 0):
                what = f"item {item} holds {layers.max() if layers.max() > 1 else layers.min()} in a map of one class"
                raise BadInput(what, where=where, fix="save 0 and 1, or class numbers of shape (item, height, width)")
            present, labelled = np.flatnonzero(layers.any(axis=1)), np.ones(layers.shape[1], bool)
            bits += [_packed(layers[c] != 0) for c in present]
        else:
            pixels = mask.reshape(-1)
            labelled = pixels >= 0 if ignore is None else (pixels >= 0) & (pixels != ignore)
            present = np.unique(pixels[labelled])
            bits += [_packed(pixels == c) for c in present]
        if not len(present):
            raise BadInput(f"item {item} has no labelled pixel", where=where, fix="leave it out, or label it")
        classes += [int(c) for c in present]
        start.append(len(classes))
        valid.append(_packed(labelled))
        partial.append(not labelled.all())
    packed = np.stack(bits)
    size = np.unpackbits(packed.view(np.uint8), axis=1).sum(axis=1, dtype=np.int64)
    return Maps(np.array(start), np.array(classes), packed, size, np.stack(valid), np.array(partial))


def _packed(pixels: Bool) -> Words:
    """(word,) uint64 of (pixel,) truth values; the last word is filled with zeros."""
    octets = np.packbits(pixels)
    return np.pad(octets, (0, -len(octets) % 8)).view(np.uint64)
