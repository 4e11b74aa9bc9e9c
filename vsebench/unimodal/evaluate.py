"""Retrieval inside one modality, judged by continuous labels: nDCG and the mean label distance of the top k.

Kim et al., Deep Metric Learning Beyond Binary Supervision, CVPR 2019, section 4.1: items are ranked by the distance of
their embeddings, and a list is good when the labels of its items are close to the label of the query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..metrics.gain import gain_of_distance, mean_of_first, ndcg
from ..numeric.parallel import default_threads, spread
from ..report.model import Report
from ..types import Float, Ids, Vectors
from .distances import LabelDistance
from .files import read_vectors
from .labels import read_labels
from .nearest import neighbours
from .plan import Options
from .queries import Selection, read_queries, select
from .results import list_lengths, make_report

BLOCK_BYTES = 8 << 20  # of the label distances that one thread looks at together
MOST_QUERIES = 32  # looked at together, so that progress is told while distances are slow to compute


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A report and the files it was made from."""

    report: Report
    sources: tuple[Path, ...]


def evaluate_file(
    path: Path,
    labels: Path,
    *,
    how: str | None = None,
    queries: str | None = None,
    key: str | None = None,
    labels_key: str | None = None,
    options: Options | None = None,
) -> Evaluation:
    """Read, audit, match and measure the embeddings of one modality.

    Args:
        path: vectors, see ``files.read_vectors``.
        labels: labels, see ``labels.read_labels``.
        how: the label distance, or None to go by the shape.
        queries: how many of the first items are queries, or a file that names them; None: every item is one.
        key: name of the array of vectors.
        labels_key: name of the array of labels.
        options: how to measure.

    Raises:
        BadInput, UsageError, MissingPackage: as the readers and ``evaluate``.
    """
    options = options or Options()
    read = read_vectors(path, options.modality, key)
    n = len(read.values)
    asking = None if queries is None else read_queries(queries, n, read.ids)
    chosen = select(n, asking, options.keep_queries, where=None if queries is None else "--queries")
    label_distance = read_labels(labels, how, read.ids, options.modality, labels_key)
    report = _measure(read.values, label_distance, chosen, read.ids, options, read.notes, path)
    file = () if queries is None or queries.isdecimal() else (Path(queries),)
    return Evaluation(report, (path, labels, *file))


def evaluate(
    vectors: npt.ArrayLike,
    labels: LabelDistance,
    queries: npt.ArrayLike | None = None,
    ids: Ids | None = None,
    options: Options | None = None,
) -> Report:
    """Measure vectors that are in memory.

    Args:
        vectors: (item, dim) finite numbers, ranked as float32.
        labels: ``distances.euclidean(array)``, ``distances.precomputed(array)``, ``masks.miou(array)``, ...
        queries: (query,) item indices; None makes every item a query.
        ids: (item,) names of the items for per-query values; row numbers by default.
        options: how to measure.

    Raises:
        BadInput: vectors that are not two-dimensional or not finite, queries that do not exist, labels of other items.
    """
    options = options or Options()
    array = np.asarray(vectors)
    if array.ndim != 2 or 0 in array.shape or not np.isfinite(array).all():
        raise BadInput(f"vectors of shape {array.shape}", fix="give (item, dim) finite numbers")
    chosen = select(len(array), None if queries is None else np.asarray(queries), options.keep_queries)
    return _measure(np.require(array, np.float32, ["C", "A"]), labels, chosen, ids, options, (), None)


def judge_lists(
    vectors: Vectors, labels: LabelDistance, chosen: Selection, ks: Sequence[int], options: Options
) -> tuple[Float, Float]:
    """Per-query values of the two metrics.

    Args:
        vectors: (item, dim) float32.
        labels: label distances of the items.
        chosen: who asks and who competes.
        ks: list lengths from 1 to the depth of the selection.
        options: similarity, threads, block and progress.

    Returns:
        (query, len(ks)) nDCG and (query, len(ks)) mean label distances, float64.
    """
    judge = labels.bind(len(vectors), chosen)
    queries, gallery = vectors[chosen.queries], vectors[chosen.gallery]
    own = chosen.own if chosen.kept else None
    total, threads = len(queries), options.threads or default_threads()
    told = options.progress
    lists = neighbours(
        queries, gallery, max(ks), options.similarity, own, threads, options.block,
        None if told is None else lambda done, of: told(done, 2 * of),
    )  # fmt: skip
    gain, distance = np.empty((total, len(ks))), np.empty((total, len(ks)))
    step = options.block or max(1, min(MOST_QUERIES, BLOCK_BYTES // (8 * len(gallery))))
    done = [0] * threads

    def work(start: int, stop: int, part: int) -> None:
        for a in range(start, stop, step):
            b = min(a + step, stop)
            retrieved, ideal = judge(a, b, lists[a:b])
            gain[a:b] = ndcg(gain_of_distance(retrieved), gain_of_distance(ideal), ks)
            distance[a:b] = mean_of_first(retrieved, ks)
            done[part] += b - a
            if told:
                told(total + sum(done), 2 * total)

    spread(work, total, threads)
    return gain, distance


def _measure(
    vectors: Vectors,
    labels: LabelDistance,
    chosen: Selection,
    ids: Ids | None,
    options: Options,
    notes: Sequence[str],
    where: Path | None,
) -> Report:
    if options.similarity != "euclidean" and len(empty := np.flatnonzero(~vectors.any(axis=1))):
        raise BadInput(
            f"item {empty[0]} is all zeros: it has no direction to compare",
            where=where,
            fix="encode it again, or rank by --similarity euclidean",
        )
    values = judge_lists(vectors, labels, chosen, list_lengths(options, chosen), options)
    names = np.arange(len(vectors)) if ids is None else ids
    return make_report(values, labels, chosen, names, options, notes)
