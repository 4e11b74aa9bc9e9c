"""Word mover's distance between the caption sets of images as a label distance, computed with lower bounds.

    W(X, Y) = sum over x in X of min over y of WMD(x, y)  +  sum over y in Y of min over x of WMD(x, y)

Kim et al., Deep Metric Learning Beyond Binary Supervision, CVPR 2019, eq. 13.
"""

from __future__ import annotations

import hashlib
import heapq
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import BadInput, UsageError
from ..files.captions import from_file
from ..log import logged
from ..options import spell
from ..types import Float, Ids, Int, TestSet
from .distances import LabelDistance
from .queries import Selection, locate

if TYPE_CHECKING:
    from ..relevance.wmd.word_mover import Transport

EXAMPLE = "wmd:glove.6B.300d.txt"


def read_caption_sets(path: Path, argument: str | None, ids: Ids | None) -> LabelDistance:
    """Distances of the images of a file of captions.

    Args:
        path: captions with image ids: JSON lines, Karpathy's or the official annotations.
        argument: the file of word vectors, and ``:tokens=whitespace`` behind it for another tokeniser.
        ids: (item,) ids of the images; without them the items are the images in order of their first caption.

    Raises:
        BadInput: not such files, or an image without a caption that has a word vector.
        UsageError: no file of word vectors is named, or an unknown setting.
        MissingPackage: POT is not installed.
    """
    vectors, tokens = _parse(argument)
    rows = from_file(path)
    image_ids, image_of = rows.images()
    if rows.captions is None:
        raise BadInput("holds no captions", where=path, fix="give the file of their texts")
    if ids is not None:
        order = locate(image_ids, ids, path)
        place = np.full(len(image_ids), -1)
        place[order] = np.arange(len(order))
        used = np.flatnonzero(place[image_of] >= 0)
        rows, image_ids, image_of = rows.take(used), ids, place[image_of][used]
    return caption_sets(
        TestSet.captioned("custom", image_ids, rows.caption_id, image_of, rows.captions), vectors, tokens, path
    )


def caption_sets(split: TestSet, vectors: str, tokens: str = "ptb", where: str | Path | None = None) -> LabelDistance:
    """Distances of the images of a split by their captions.

    Args:
        split: with its captions.
        vectors: a file of word vectors in GloVe or word2vec text form, plain or gzip.
        tokens: ``ptb`` or ``whitespace``.
        where: the file of captions, for messages.

    Raises:
        BadInput: not a file of word vectors, or an image without a caption that has a word vector.
        MissingPackage: POT is not installed.
    """
    from ..relevance.embedding.bow import bags_of
    from ..relevance.wmd.word_mover import prepare

    with logged() as log:
        bags = bags_of(split, vectors, tokens, "wmd")
    transport = prepare(bags)
    order = np.argsort(split.owners, kind="stable")
    order = order[transport.filled[transport.bag_of[order]]]
    count = np.bincount(split.owners[order], minlength=len(split.rows.ids))
    if (count == 0).any():
        image = split.rows.ids[int(np.flatnonzero(count == 0)[0])]
        what = f"image {image} has no caption with a word that has a vector"
        raise BadInput(what, where=where, fix="leave it out, or give vectors of more words")
    sets = np.split(transport.bag_of[order], np.cumsum(count)[:-1])
    settings = ",".join(f"{key}={value}" for key, value in bags.settings.items())
    lines = "\n".join(f"{i}\t{t}" for i, t in zip(split.owners.tolist(), split.columns.texts or (), strict=True))
    digest = hashlib.sha256(lines.encode("utf-8", "surrogatepass"))
    name, distance = f"wmd,{settings}#{digest.hexdigest()[:8]}", partial(_measure, transport, sets)
    return LabelDistance(name, distance, len(sets), where, tuple(log.notes))


def _parse(argument: str | None) -> tuple[str, str]:
    """The file of word vectors and the tokeniser."""
    head, _, last = (argument or "").rpartition(":")
    tokens = last.removeprefix("tokens=") if last.startswith("tokens=") else ""
    vectors = head if tokens else (argument or "")
    if not vectors:
        raise UsageError("wmd needs a file of word vectors", where=spell("label_distance"), fix=f"write {EXAMPLE}")
    if tokens and tokens not in ("ptb", "whitespace"):
        raise UsageError(f"tokens is '{tokens}'", where=spell("label_distance"), fix="use ptb or whitespace")
    return vectors, tokens or "ptb"


def _measure(transport: Transport, sets: list[Int], chosen: Selection, rows: slice, lists: Int) -> tuple[Float, Float]:
    """``LabelDistance.measure`` for sets of captions; ideal lists are searched by ascending lower bounds."""
    self_index = chosen.self_index(rows)
    size = np.array([len(sets[i]) for i in chosen.gallery])
    all_bags = np.concatenate([sets[i] for i in chosen.gallery])
    starts = np.cumsum(size) - size
    retrieved, ideal = np.empty(lists.shape), np.empty(lists.shape)
    for row, query in enumerate(chosen.queries[rows].tolist()):
        lower = np.stack([transport.lower(int(bag))[all_bags] for bag in sets[query]])

        def distance_of(g: int, limit: float, query: int = query, lower: Float = lower) -> float:
            item, bounds = int(chosen.gallery[g]), lower[:, starts[g] : starts[g] + size[g]]
            if query <= item:
                return between(transport, sets[query], sets[item], bounds, limit)
            # The smaller item first: the order of summation is the same in both directions.
            return between(transport, sets[item], sets[query], bounds.T, limit)

        known = {g: distance_of(g, np.inf) for g in lists[row].tolist()}
        retrieved[row] = [known[g] for g in lists[row].tolist()]
        least = np.minimum.reduceat(lower, starts, axis=1).sum(axis=0) + np.add.reduceat(lower.min(axis=0), starts)
        best: list[float] = []  # negated, the largest distance on top
        for g in np.argsort(least, kind="stable").tolist():
            if self_index is not None and g == self_index[row]:
                continue
            limit = -best[0] if len(best) == lists.shape[1] else np.inf
            if least[g] * (1 - 1e-9) > limit:
                break
            distance = known[g] if g in known else distance_of(g, limit)
            if len(best) < lists.shape[1]:
                heapq.heappush(best, -distance)
            else:
                heapq.heappushpop(best, -distance)
        ideal[row] = sorted(-x for x in best)
    return retrieved, ideal


def between(transport: Transport, x: Int, y: Int, bounds: Float, limit: float) -> float:
    """W of two sets of captions, or some number above ``limit`` when W is above it.

    Args:
        transport: distances of bags of words.
        x, y: (caption,) bags of the two sets.
        bounds: (x, y) lower bounds of the distances.
        limit: the largest value of W that matters.
    """
    distances, exact = bounds.copy(), np.zeros(bounds.shape, bool)
    while True:
        rows, columns = distances.argmin(axis=1), distances.argmin(axis=0)
        total = float(distances.min(axis=1).sum() + distances.min(axis=0).sum())
        if total * (1 - 1e-9) > limit:
            return total
        # Every minimum has to be a distance instead of a bound; the smallest bound is replaced first.
        open_pairs = [(i, int(j)) for i, j in enumerate(rows) if not exact[i, j]]
        open_pairs += [(int(i), j) for j, i in enumerate(columns) if not exact[i, j]]
        if not open_pairs:
            return total
        i, j = min(open_pairs, key=lambda pair: distances[pair])
        distances[i, j] = transport.distance(int(x[i]), int(y[j]))
        exact[i, j] = True
