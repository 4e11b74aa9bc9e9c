"""SPICE of all pairs from an inverted index: which images every tuple matches, and the size of every graph.

tp of a caption and an image is then a count over the caption's tuples, and F follows from three integers.
"""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np

from ...numeric.parallel import default_threads, spread
from ...types import Direction, Int, Vectors
from ..gains import Progress, captions_of, offsets
from .encode import Encoded, Int32, build, grouped, similar_concepts, take_rows, transpose

FORMAT = "vsebench/spice-graphs/1"
OWN_CHUNK = 4096  # captions whose images are merged without them at a time, to limit the memory


@dataclass(frozen=True, eq=False)
class Postings:
    """Matching tuples and sizes of graphs, from which F of every caption and image is counted.

    Attributes:
        caption_ptr, caption_tuple: (caption + 1,) int64 and int32 ragged lists, the tuples of every caption's graph, as
            numbers of distinct tuples.
        match_ptr, match_image: (distinct tuple + 1,) int64 and int32 ragged lists, the images with a matching tuple.
        caption_size: (caption,) float32, number of tuples in the caption's graph.
        image_size: (image,) float32, number of tuples in the graph of all captions of the image.
        own: (caption,) float32 F of a caption with the other captions of its own image; empty when all captions of
            the image are references.
        source: (8,) uint8, first bytes of the SHA-256 of the tuples and synsets.
    """

    caption_ptr: Int
    caption_tuple: Int32
    match_ptr: Int
    match_image: Int32
    caption_size: Vectors
    image_size: Vectors
    own: Vectors
    source: Any

    def rows(self, direction: Direction, start: int, stop: int) -> Vectors:
        """(query, gallery) float32 F of queries ``start:stop``, a caption among the references of its own image."""
        from .kernels import f_rows

        lists = self.lists(direction)
        out = np.empty((stop - start, len(lists[-1])), np.float32)
        f_rows(start, stop, *lists, out)
        return out

    def pairs(self, direction: Direction, images: Int, captions: Int) -> Vectors:
        """(pair,) float32 F, as in ``rows``; the pairs of a query are computed together."""
        from .kernels import f_at

        queries, items = (images, captions) if direction == "i2t" else (captions, images)
        out = np.empty((len(queries), 1), np.float32)
        f_at(queries, np.argsort(queries, kind="stable"), items[:, None], *self.lists(direction), out)
        return out[:, 0]

    def lists(self, direction: Direction) -> tuple[Int, Int32, Int, Int32, Vectors, Vectors]:
        """The arguments of the kernels: tuples of every query, gallery items of every tuple, sizes of the graphs."""
        if direction == "t2i":
            return (
                self.caption_ptr, self.caption_tuple, self.match_ptr, self.match_image, self.caption_size,
                self.image_size,
            )  # fmt: skip
        return *self._tuples_of_image, *self._captions_of_tuple, self.image_size, self.caption_size

    @cached_property
    def _tuples_of_image(self) -> tuple[Int, Int32]:
        """The distinct tuples that match a tuple of an image, as ragged lists."""
        return transpose(self.match_ptr, self.match_image, len(self.image_size))

    @cached_property
    def _captions_of_tuple(self) -> tuple[Int, Int32]:
        """The captions with a distinct tuple, as ragged lists; twice where a caption has it twice."""
        return transpose(self.caption_ptr, self.caption_tuple, len(self.match_ptr) - 1)

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits of the SHA-256 of the tuples and synsets."""
        return bytes(self.source.tolist()).hex()


def postings(
    encoded: Encoded,
    text_of: Int,
    image_of: Int,
    n_image: int,
    *,
    leave_out: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Postings:
    """Merge the graphs of all captions and images, and match their tuples.

    Args:
        encoded: the tuples of distinct texts.
        text_of: (caption,) int64, the text of every caption.
        image_of: (caption,) int64, the image of every caption; the captions of an image are merged in their order.
        n_image: number of images; one without captions has an empty graph.
        leave_out: whether every caption is also compared with the other captions of its own image.
        threads: number of threads; does not change the result.
        progress: called with the fraction that is done.
    """
    report = progress or (lambda done: None)
    end = 0.3 if leave_out else 1.0
    n_text = len(encoded.text_ptr) - 1
    image_ptr, by_image = captions_of(image_of, n_image)
    member_ptr = np.concatenate([np.arange(n_text), n_text + image_ptr])
    graphs = build(encoded, member_ptr, np.concatenate([np.arange(n_text), text_of[by_image]]), threads)
    report(0.5 * end)
    similar_ptr, similar = similar_concepts(encoded, graphs)
    cut = graphs.ptr[n_text]
    left, left_of = distinct(graphs.tuples[:cut], len(similar_ptr) - 1)
    right, right_of = distinct(graphs.tuples[cut:], len(similar_ptr) - 1)
    report(0.75 * end)
    same_ptr, same = match(left, right, similar_ptr, similar, threads)
    from .kernels import compose

    of_image = np.repeat(np.arange(n_image, dtype=np.int32), graphs.size[n_text:])
    there_ptr, there = grouped(right_of, of_image, len(right))
    match_ptr, match_image = compose(same_ptr, same, there_ptr, there, n_image)
    caption_ptr, entry = take_rows(graphs.ptr[: n_text + 1], text_of)
    own = np.empty(0, np.float32)
    if leave_out:
        own = _own_f(encoded, text_of, by_image, image_ptr, threads, lambda done: report(end + done * (1 - end)))
    report(1.0)
    return Postings(
        caption_ptr, left_of[entry], match_ptr, match_image,
        graphs.size[:n_text][text_of].astype(np.float32), graphs.size[n_text:].astype(np.float32),
        own, np.frombuffer(_digest(encoded), np.uint8),
    )  # fmt: skip


def distinct(tuples: Int32, n_concept: int) -> tuple[Int32, Int32]:
    """Distinct rows of (tuple, 3), and (tuple,) int32 the index of every row among them."""
    pair = (tuples[:, 0].astype(np.int64) + 1) * (n_concept + 1) + tuples[:, 1] + 1
    _, pair = np.unique(pair, return_inverse=True)  # renumbered, so that the key below stays small
    key = pair.reshape(-1) * np.int64(n_concept + 1) + tuples[:, 2] + 1
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return tuples[first], inverse.reshape(-1).astype(np.int32)


def match(left: Int32, right: Int32, similar_ptr: Int, similar: Int32, threads: int | None = None) -> tuple[Int, Int32]:
    """For every tuple of ``left`` (tuple, 3) the matching ones of ``right``: equal size, all elements similar."""
    from .kernels import similar_tuples

    n_concept = len(similar_ptr) - 1
    size = (right >= 0).sum(1)
    group_ptr = np.zeros((3, 3 * n_concept + 1), np.int64)
    group = np.zeros((3, len(right)), np.int32)
    cost = np.zeros((3, 3 * n_concept), np.int64)
    for p in range(3):
        there = np.flatnonzero(right[:, p] >= 0)
        key = 3 * right[there, p].astype(np.int64) + size[there] - 1
        group[p, : len(there)] = there[np.argsort(key, kind="stable")]
        count = np.bincount(key, minlength=3 * n_concept)
        group_ptr[p] = offsets(count)
        summed = np.zeros((len(similar) + 1, 3), np.int64)
        np.cumsum(count.reshape(n_concept, 3)[similar], axis=0, out=summed[1:])
        cost[p] = (summed[similar_ptr[1:]] - summed[similar_ptr[:-1]]).reshape(-1)
    threads = max(1, min(threads or default_threads(), len(left)))
    parts: list[Any] = [None] * threads

    def work(start: int, stop: int, part: int) -> None:
        parts[part] = similar_tuples(start, stop, left, right, similar_ptr, similar, group_ptr, group, cost)

    spread(work, len(left), threads)
    lengths = [np.diff(ptr) for ptr, _ in parts]
    return offsets(np.concatenate(lengths)), np.concatenate([items for _, items in parts])


def save(stream: IO[bytes], postings: Postings) -> None:
    """Write postings as an .npz of plain arrays."""
    np.savez(stream, **{field.name: getattr(postings, field.name) for field in fields(Postings)})


def load(path: Path) -> Postings | None:
    """Read a file written by ``save``; None when it was removed or is damaged."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:  # members have checksums
            found = Postings(**{field.name: file[field.name] for field in fields(Postings)})
    except (OSError, KeyError, ValueError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error):
        return None
    return found if _is_consistent(found) else None


def _is_consistent(p: Postings) -> bool:
    """Whether the arrays are safe for the kernels: row pointers ascend and end at the last item, items are in range."""
    if any(getattr(p, f.name).ndim != 1 for f in fields(Postings)) or min(len(p.caption_ptr), len(p.match_ptr)) == 0:
        return False
    for ptr, items, width in (
        (p.caption_ptr, p.caption_tuple, len(p.match_ptr) - 1), (p.match_ptr, p.match_image, len(p.image_size)),
    ):  # fmt: skip
        if ptr.dtype != np.int64 or items.dtype != np.int32 or ptr[0] != 0 or ptr[-1] != len(items):
            return False
        if (np.diff(ptr) < 0).any() or (len(items) and not 0 <= items.min() <= items.max() < width):
            return False
    n = len(p.caption_ptr) - 1
    float32 = all(a.dtype == np.float32 for a in (p.caption_size, p.image_size, p.own))
    return float32 and len(p.caption_size) == n and len(p.own) in (0, n)


def _own_f(
    encoded: Encoded, text_of: Int, by_image: Int, image_ptr: Int, threads: int | None, report: Progress
) -> Vectors:
    """(caption,) float32 F of every caption with the other captions of its image."""
    from .kernels import count_pairs

    f = np.zeros(len(text_of), np.float32)
    image_of_place = np.repeat(np.arange(len(image_ptr) - 1), np.diff(image_ptr))
    for start in range(0, len(by_image), OWN_CHUNK):
        place = np.arange(start, min(start + OWN_CHUNK, len(by_image)))
        n = len(place)
        ptr, other = take_rows(image_ptr, image_of_place[place])
        is_self = other == np.repeat(place, np.diff(ptr))
        member = np.concatenate([text_of[by_image[place]], text_of[by_image[other[~is_self]]]])
        graphs = build(encoded, np.concatenate([np.arange(n), n + ptr - np.arange(n + 1)]), member, threads)
        similar_ptr, similar = similar_concepts(encoded, graphs)
        found = np.zeros(n, np.int64)  # tp of every caption and the other captions
        left, right = (graphs.ptr[: n + 1], graphs.tuples), (graphs.ptr[n:], graphs.tuples)
        count_pairs(0, n, *left, *right, similar_ptr, similar, found)
        both = np.maximum(graphs.size[:n] + graphs.size[n:], 1)  # two empty graphs have F 0
        f[by_image[place]] = (2 * found).astype(np.float32) / both.astype(np.float32)  # the bits of the kernels
        report((start + n) / len(by_image))
    return f


def _digest(encoded: Encoded) -> bytes:
    digest = hashlib.sha256(FORMAT.encode())
    digest.update("\0".join(encoded.words).encode("utf-8", "surrogatepass"))
    for array in (encoded.text_ptr, encoded.tuples, encoded.syn_ptr, encoded.syn):
        digest.update(array.tobytes())
    return digest.digest()[:8]
