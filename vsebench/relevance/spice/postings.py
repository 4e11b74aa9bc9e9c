"""SPICE of all pairs as postings: which images does a tuple of a caption match, and how large is every graph.

tp of a caption and an image is then a count over the caption's tuples, and F follows from three whole numbers.
"""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np

from ...numeric.parallel import default_threads, spread
from ...types import Int, Vectors
from ..gains import Progress
from .encode import Encoded, Int32, build, grouped, offsets, similar_concepts, take_rows, transpose

FORMAT = "vsebench/spice-graphs/1"
OTHERS_AT_ONCE = 4096  # captions whose images are merged without them in one go; bounds the memory


@dataclass(frozen=True, eq=False)
class Postings:
    """What the F of every caption with every image is counted from.

    Attributes:
        caption_ptr, caption_tuple: (caption + 1,) int64 and int32, the distinct tuples of every caption's graph.
        hit_ptr, hit_image: (distinct tuple + 1,) int64 and int32, the images with a matching tuple.
        caption_size: (caption,) float32, tuples in the caption's graph.
        image_size: (image,) float32, tuples in the graph of all captions of the image.
        own: (caption,) float32 F of a caption with its own image, the caption left out of its references; empty
            when it is not left out.
        source: (8,) uint8, what the postings were made from.
    """

    caption_ptr: Int
    caption_tuple: Int32
    hit_ptr: Int
    hit_image: Int32
    caption_size: Vectors
    image_size: Vectors
    own: Vectors
    source: Any

    @cached_property
    def by_image(self) -> tuple[Int, Int32]:
        """The distinct tuples that match an image, as ragged lists."""
        return transpose(self.hit_ptr, self.hit_image, len(self.image_size))

    @cached_property
    def holders(self) -> tuple[Int, Int32]:
        """The captions that have a tuple, as ragged lists; twice where a caption has it twice."""
        return transpose(self.caption_ptr, self.caption_tuple, len(self.hit_ptr) - 1)

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits over the tuples and synsets that it was made from."""
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
    """Merge the graphs of all captions and images and join their tuples.

    Args:
        encoded: the tuples of unique texts.
        text_of: (caption,) int64, the text of a caption.
        image_of: (caption,) int64, the image of a caption; an image's captions are merged in their order.
        n_image: how many images there are; one without captions has an empty graph.
        leave_out: also compare every caption with its own image's other captions.
        threads: how many work at it; the result is the same.
        progress: told the share that is done.
    """
    tell = progress or (lambda share: None)
    end = 0.3 if leave_out else 1.0
    n_text = len(encoded.text_ptr) - 1
    by_image = np.argsort(image_of, kind="stable")
    captions_of = offsets(np.bincount(image_of, minlength=n_image))
    member_ptr = np.concatenate([np.arange(n_text), n_text + captions_of])
    graphs = build(encoded, member_ptr, np.concatenate([np.arange(n_text), text_of[by_image]]), threads)
    tell(0.5 * end)
    near_ptr, near = similar_concepts(encoded, graphs)
    cut = graphs.ptr[n_text]
    left, left_of = distinct(graphs.tuples[:cut], len(near_ptr) - 1)
    right, right_of = distinct(graphs.tuples[cut:], len(near_ptr) - 1)
    tell(0.75 * end)
    same_ptr, same = match(left, right, near_ptr, near, threads)
    from .kernels import compose

    of_image = np.repeat(np.arange(n_image, dtype=np.int32), graphs.size[n_text:])
    there_ptr, there = grouped(right_of, of_image, len(right))
    hit_ptr, hit_image = compose(same_ptr, same, there_ptr, there, n_image)
    caption_ptr, entry = take_rows(graphs.ptr[: n_text + 1], text_of)
    own = (
        _own_f(encoded, text_of, by_image, captions_of, threads, lambda s: tell(end + s * (1 - end)))
        if leave_out
        else ()
    )
    tell(1.0)
    return Postings(
        caption_ptr, left_of[entry], hit_ptr, hit_image,
        graphs.size[:n_text][text_of].astype(np.float32), graphs.size[n_text:].astype(np.float32),
        np.asarray(own, np.float32), np.frombuffer(_digest(encoded), np.uint8),
    )  # fmt: skip


def f_from_counts(found: Int, candidate: Int, reference: Int) -> Vectors:
    """float32 F = 2 tp / (|candidate| + |reference|), 0 for two empty graphs; the bits of the kernels."""
    both = np.maximum(candidate + reference, 1)
    f: Vectors = (2 * found).astype(np.float32) / both.astype(np.float32)
    return f


def distinct(tuples: Int32, n_concept: int) -> tuple[Int32, Int32]:
    """Distinct rows of (tuple, 3), and (tuple,) int32 which of them a row is."""
    pair = (tuples[:, 0].astype(np.int64) + 1) * (n_concept + 1) + tuples[:, 1] + 1
    _, pair = np.unique(pair, return_inverse=True)  # renumbered, so that the product with the third stays small
    key = pair.reshape(-1) * np.int64(n_concept + 1) + tuples[:, 2] + 1
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    return tuples[first], which.reshape(-1).astype(np.int32)


def match(left: Int32, right: Int32, near_ptr: Int, near: Int32, threads: int | None = None) -> tuple[Int, Int32]:
    """For every tuple of ``left`` (tuple, 3) those of ``right`` it matches: same size, all elements similar."""
    from .kernels import similar_tuples

    n_concept = len(near_ptr) - 1
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
        summed = np.zeros((len(near) + 1, 3), np.int64)
        np.cumsum(count.reshape(n_concept, 3)[near], axis=0, out=summed[1:])
        cost[p] = (summed[near_ptr[1:]] - summed[near_ptr[:-1]]).reshape(-1)
    threads = max(1, min(threads or default_threads(), len(left)))
    parts: list[Any] = [None] * threads

    def work(start: int, stop: int, part: int) -> None:
        parts[part] = similar_tuples(start, stop, left, right, near_ptr, near, group_ptr, group, cost)

    spread(work, len(left), threads)
    lengths = [np.diff(ptr) for ptr, _ in parts]
    return offsets(np.concatenate(lengths)), np.concatenate([items for _, items in parts])


def count_matches(
    left: tuple[Int, Int32], right: tuple[Int, Int32], near_ptr: Int, near: Int32, threads: int | None = None
) -> Int:
    """tp of pairs of graphs: how many tuples of row r of ``left`` match a tuple of row r of ``right``.

    Args:
        left, right: ragged rows of tuples, (pair + 1,) and (tuple, 3).
        near_ptr, near: the concepts similar to a concept.
        threads: how many work at it; the result is the same.

    Returns:
        (pair,) int64.
    """
    from .kernels import count_pairs

    n = len(left[0]) - 1
    found = np.zeros(n, np.int64)

    def work(start: int, stop: int, _part: int) -> None:
        count_pairs(start, stop, *left, *right, near_ptr, near, found)

    spread(work, n, threads or default_threads())
    return found


def save(stream: IO[bytes], postings: Postings) -> None:
    """Write postings as an .npz of plain arrays."""
    np.savez(stream, **{field.name: getattr(postings, field.name) for field in fields(Postings)})


def load(path: Path) -> Postings | None:
    """Read what ``save`` has written; None when the file is gone or damaged, to be made anew."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:  # members have check sums
            found = Postings(**{field.name: file[field.name] for field in fields(Postings)})
    except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile, zlib.error):
        return None
    return found if _fits(found) else None


def _fits(p: Postings) -> bool:
    """Whether kernels may walk the arrays: pointers rise and end where the items end, items are in range."""
    if any(getattr(p, f.name).ndim != 1 for f in fields(Postings)) or min(len(p.caption_ptr), len(p.hit_ptr)) == 0:
        return False
    for ptr, items, width in (
        (p.caption_ptr, p.caption_tuple, len(p.hit_ptr) - 1), (p.hit_ptr, p.hit_image, len(p.image_size)),
    ):  # fmt: skip
        if ptr.dtype != np.int64 or items.dtype != np.int32 or ptr[0] != 0 or ptr[-1] != len(items):
            return False
        if (np.diff(ptr) < 0).any() or (len(items) and not 0 <= items.min() <= items.max() < width):
            return False
    n = len(p.caption_ptr) - 1
    sizes = all(a.dtype == np.float32 for a in (p.caption_size, p.image_size, p.own))
    return sizes and len(p.caption_size) == n and len(p.own) in (0, n)


def _own_f(
    encoded: Encoded, text_of: Int, by_image: Int, captions_of: Int, threads: int | None, tell: Callable[[float], None]
) -> Vectors:
    """(caption,) float32 F of every caption with the other captions of its image."""
    f = np.zeros(len(text_of), np.float32)
    image_of_place = np.repeat(np.arange(len(captions_of) - 1), np.diff(captions_of))
    for start in range(0, len(by_image), OTHERS_AT_ONCE):
        place = np.arange(start, min(start + OTHERS_AT_ONCE, len(by_image)))
        n = len(place)
        ptr, other = take_rows(captions_of, image_of_place[place])
        mine = other == np.repeat(place, np.diff(ptr))
        member = np.concatenate([text_of[by_image[place]], text_of[by_image[other[~mine]]]])
        graphs = build(encoded, np.concatenate([np.arange(n), n + ptr - np.arange(n + 1)]), member, threads)
        near_ptr, near = similar_concepts(encoded, graphs)
        left, right = (graphs.ptr[: n + 1], graphs.tuples), (graphs.ptr[n:], graphs.tuples)
        found = count_matches(left, right, near_ptr, near, threads)
        f[by_image[place]] = f_from_counts(found, graphs.size[:n], graphs.size[n:])
        tell((start + n) / len(by_image))
    return f


def _digest(encoded: Encoded) -> bytes:
    digest = hashlib.sha256(FORMAT.encode())
    digest.update("\0".join(encoded.words).encode("utf-8", "surrogatepass"))
    for array in (encoded.text_ptr, encoded.tuples, encoded.syn_ptr, encoded.syn):
        digest.update(array.tobytes())
    return digest.digest()[:8]
