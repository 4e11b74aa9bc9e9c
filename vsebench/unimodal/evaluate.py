"""Retrieval inside one modality, measured by continuous labels: nDCG and the mean label distance of the top k.

Kim et al., Deep Metric Learning Beyond Binary Supervision, CVPR 2019, section 4.1: items are ranked by the distance of
their embeddings, and compared by the distance of their labels to that of the query.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import __version__, signature
from ..arrays import as_array, is_path, numbers
from ..errors import BadInput, UsageError
from ..evaluation import assemble
from ..evaluation.assemble import Key
from ..evaluation.options import INTERVALS
from ..files.raw import Raw
from ..files.regular import read_once
from ..log import logged
from ..metrics import Metric, parse
from ..metrics.discounted import gain_of_distance
from ..metrics.graded_ranking import GradedRanking
from ..metrics.suites import Names, words
from ..metrics.values import differ_in_k, values
from ..numeric.parallel import default_threads, in_turn
from ..options import ARRAYS, check_word, public, spell
from ..rank.order import TILE_QUERIES
from ..relevance.sources import LABELS
from ..results.model import Measurement, Resampling
from ..results.report import Report
from ..types import Direction, Embeddings, Float, Ids, Int, Modality, PathLike, ReportProgress, TestSet, Vectors
from .distances import LabelDistance
from .files import read_vectors
from .labels import label_distance_of, read_labels
from .queries import Selection, first_queries, query_indices, read_queries, select
from .scorers import SIMILARITIES, nearest, scorer_of

KS = (1, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
STEMS = {stem.lower(): stem for stem in ("nDCG", "MLD")}
SUITES: dict[str, tuple[str, ...]] = {word: tuple(f"{LABELS}:{stem}@{k}" for k in KS) for word, stem in STEMS.items()}
DIRECTION: dict[Modality, Direction] = {"image": "i2i", "caption": "t2t"}
BLOCK_BYTES = 8 << 20  # label distances that one thread compares together
MAX_QUERIES_PER_BLOCK = 32  # with label distances in memory


@public
@read_once()
def evaluate_unimodal(
    vectors: npt.ArrayLike | Embeddings | PathLike,
    labels: npt.ArrayLike | PathLike | LabelDistance,
    *,
    label_distance: str | None = None,
    labels_are: str | None = None,
    queries: npt.ArrayLike | str | int | None = None,
    keep_queries: bool = False,
    modality: str | None = None,
    metrics: Names | None = None,
    similarity: str = "euclidean",
    key: str | None = None,
    labels_key: str | None = None,
    ci: float = 95.0,
    resamples: int = 1000,
    seed: int = 0,
    interval: str = "bca",
    threads: int | None = None,
    block: int | None = None,
    progress: ReportProgress | None = None,
) -> Report:
    """Evaluate retrieval within one modality by labels: nDCG and mean label distance.

    >>> import numpy as np, vsebench as vb
    >>> poses = np.array([[0.0], [1.0], [3.0], [4.0]])
    >>> report = vb.evaluate_unimodal(poses, poses, metrics="nDCG@1", ci=0)
    >>> report["labels:nDCG@1", "i2i"].value
    1.0

    Args:
        vectors: vectors (.npy, .npz, safetensors, torch or HDF5). In Python also an array (item, dim) of finite
            numbers, ranked as float32, or ``Embeddings`` with ids.
        labels: labels, in the same formats as vectors (see docs/choice.md). In Python also an array (item, ...), or a
            ``LabelDistance``.
        label_distance: distance between labels: ``euclidean``, ``precomputed``, ``miou[:ignore=N]`` or ``wmd:VECTORS``;
            their shape decides by default.
        labels_are: labels with one value per item: ``classes`` or ``numbers``; strings are classes by default.
        queries: number of first items that are queries, or a file that lists them; every item by default. In Python
            also (query,) item indices, or (item,) truth values.
        keep_queries: keep the other queries in the gallery.
        modality: ``image`` (the default) or ``caption``, whose direction is ``i2i`` or ``t2t``. ``Embeddings`` have
            one of their own.
        metrics: ``nDCG@k`` and ``MLD@k`` for any k; nDCG and MLD stand for k = 1, 10, 20, ..., 100; both by default.
        similarity: ``euclidean``, ``cosine`` or ``dot``.
        key: name of the array of vectors in a file.
        labels_key: name of the array of labels in a file.
        ci: confidence level of the intervals in percent; 0 for none.
        resamples: number of bootstrap resamples.
        seed: random seed.
        interval: ``bca`` or ``percentile``; queries are resampled.
        threads: number of threads; never changes a result.
        block: queries of a block; never changes a result.
        progress: called with (done, in all).

    Raises:
        BadInput: vectors or labels that are unreadable, misshapen or not finite; queries that do not exist.
        UsageError: unknown metrics or options.
        MissingPackage: a package that a format or a distance needs is not installed.
    """
    started = assemble.now()
    measured = label_metrics(metrics)
    check_word("interval", interval, INTERVALS)
    check_word("similarity", similarity, SIMILARITIES)
    if modality is None:
        modality = vectors.modality if isinstance(vectors, Embeddings) and vectors.modality else "image"
    if modality not in DIRECTION:
        raise UsageError(f"{spell('modality')} is '{modality}'", fix="use image or caption")
    side: Modality = "image" if modality == "image" else "caption"
    how = None if ci == 0 else Resampling(ci, resamples, seed, interval)  # type: ignore[arg-type]
    with logged() as log:
        read, sources = _vectors(vectors, side, key)
    n, where = len(read.values), None if queries is None else spell("queries")
    if isinstance(queries, int | np.integer) and not isinstance(queries, bool):
        indices: Int | None = first_queries(int(queries), n)
    elif is_path(queries):
        text = str(queries)
        sources += [Path(text)] if Path(text).exists() else []
        indices = read_queries(text, n, read.image_ids)
    else:
        indices = None if queries is None else query_indices(numbers(queries, "queries"), n)
    chosen = select(n, indices, keep_queries, where=where)
    if is_path(labels):
        distance = read_labels(Path(labels), label_distance, read.image_ids, side, labels_key, labels_are)
        sources.insert(1, Path(labels))
    elif isinstance(labels, LabelDistance):
        distance = labels
    else:
        distance = label_distance_of(_label_array(labels), label_distance, labels_are)
    if similarity != "euclidean" and len(empty := np.flatnonzero(~read.values.any(axis=1))):
        what = f"item {empty[0]} is all zeros: it has no direction to compare"
        fix = f"encode it again, or rank by {spell('similarity', 'euclidean')}"
        raise BadInput(what, where=sources[0] if sources else None, fix=fix)
    found = list_values(read.values, distance, chosen, measured, similarity, threads, block, progress)
    ids = np.arange(n) if read.image_ids is None else read.image_ids
    report = _report(found, distance, chosen, ids, DIRECTION[side], similarity, how, threads, log.notes)
    return assemble.attach(report, started, threads, sources)


def label_metrics(metrics: Names | None) -> list[Metric]:
    """The metrics of a comma-separated list, in order, without repeats.

    Raises:
        UsageError: an unknown metric, or one that is not defined for label distances.
    """
    listed = ["all"] if metrics is None else words(metrics)
    if not listed:
        raise UsageError("no metric is given", fix=f"give {spell('metrics', 'nDCG@10,MLD@10')} or all")
    found: list[Metric] = []
    for word in listed:
        stem, at, k = word.removeprefix(f"{LABELS}:").partition("@")
        if not at and stem.lower() in ("all", LABELS):
            found += [parse(m) for suite in SUITES.values() for m in suite]
        elif not at and stem.lower() in SUITES:
            found += [parse(m) for m in SUITES[stem.lower()]]
        else:
            name = STEMS.get(stem.lower(), stem) + at + k
            m = parse(f"{LABELS}:{name}" if ":" not in name else name)
            if m.view != LABELS or m.options or m.family.stem.lower() not in SUITES:
                raise UsageError(f"{word} is not defined for label distances", fix="use nDCG@k or MLD@k")
            found.append(m)
    return list(dict.fromkeys(found))


def list_values(
    vectors: Vectors,
    labels: LabelDistance,
    chosen: Selection,
    metrics: Sequence[Metric],
    similarity: str = "euclidean",
    threads: int | None = None,
    block: int | None = None,
    progress: ReportProgress | None = None,
) -> dict[Metric, Float]:
    """(query,) float64 values of every metric; a block of queries at a time is ordered and measured.

    Args:
        vectors: (item, dim) float32.
        labels: label distances of the items.
        chosen: queries and gallery.
        metrics: nDCG and MLD at any k; a k beyond the gallery means the complete gallery.
        similarity, threads, block, progress: as for ``evaluate_unimodal``.
    """
    labels.check(len(vectors))
    scorer = scorer_of(vectors[chosen.queries], vectors[chosen.gallery], similarity)
    total, depth = len(chosen.queries), min(max(m.k or 1 for m in metrics), chosen.depth)
    groups: dict[object, list[Metric]] = {}
    for m in metrics:
        groups.setdefault(differ_in_k(m), []).append(m)
    found = {m: np.empty(total) for m in metrics}
    step = block or max(1, min(MAX_QUERIES_PER_BLOCK, BLOCK_BYTES // (8 * len(chosen.gallery))))
    together = block or max(step, min(TILE_QUERIES, -(-total // (threads or default_threads()))))

    def work(start: int) -> None:
        stop = min(start + together, total)
        lists = nearest(scorer, np.arange(start, stop), depth, chosen.self_index(slice(start, stop)))
        for a in range(start, stop, step):
            measure(slice(a, min(a + step, stop)), lists[a - start : a - start + step])

    def measure(rows: slice, lists: Int) -> None:
        retrieved, ideal = labels.measure(chosen, rows, lists)
        ranking = GradedRanking(
            gain_of_distance(retrieved), np.zeros(retrieved.shape, np.bool_), np.full(len(lists), depth),
            gain_of_distance(ideal), distance=retrieved,
        )  # fmt: skip
        for group in groups.values():
            for m, column in zip(group, values(group, ranking).T, strict=True):
                found[m][rows] = column

    in_turn(range(0, total, together), lambda _: work, threads or default_threads(), progress)
    return found


def _label_array(labels: Any) -> npt.NDArray[Any]:
    """Labels in memory: numbers, or strings, which are classes."""
    array = as_array(labels, "labels")
    if array.dtype.kind in "SU" or (array.dtype.kind == "O" and all(isinstance(x, str) for x in array.flat)):
        return array.astype(str)
    return numbers(labels, "labels", most=None)


def _vectors(
    vectors: npt.ArrayLike | Embeddings | PathLike, modality: Modality, key: str | None
) -> tuple[Raw, list[Path]]:
    """The vectors of a file or an array, and the files that were read."""
    if is_path(vectors):
        path = Path(vectors)
        return read_vectors(path, modality, key), [path]
    ids = vectors.ids if isinstance(vectors, Embeddings) else None
    array = vectors.vectors if isinstance(vectors, Embeddings) else numbers(vectors, "vectors")
    if array.ndim != 2 or 0 in array.shape or not np.isfinite(array).all():
        raise BadInput(f"vectors of shape {array.shape}", fix="give (item, dim) finite numbers")
    return Raw((np.require(array, np.float32, ["C", "A"]),), ids, sources=(Path(ARRAYS),)), []


def _report(
    found: Mapping[Metric, Float],
    labels: LabelDistance,
    chosen: Selection,
    ids: Ids,
    direction: Direction,
    similarity: str,
    how: Resampling | None,
    threads: int | None,
    notes: Sequence[str],
) -> Report:
    """The report of an evaluation; ``ids`` are those of all items."""
    queries = ids[chosen.queries]
    results: dict[Key, Measurement] = {
        (m, direction): Measurement(m, direction, float(v.mean()), len(v), queries=queries, per_query=v)
        for m, v in found.items()
    }
    warnings = list(labels.warnings)
    if deep := [m.name for m in found if (m.k or 0) > chosen.depth]:
        clipped = f"k is larger than the {chosen.depth:,} items that a query can retrieve; all of them count"
        warnings.append(f"{', '.join(deep)}: {clipped}")
    if how is not None and len(queries) > 1:
        # Each query is resampled separately.
        units = TestSet.captioned("custom", queries, queries, np.arange(len(queries)))
        results = assemble.add(results, {}, units, how, threads, grid=0.0)  # the values are not on a grid
    sizes = f"{len(chosen.queries):,} queries, {len(chosen.gallery):,} items in the gallery"
    sizes += "; a query is not a candidate in its own list" if chosen.kept else "; no query is among them"
    fields = {
        "vsebench": __version__,
        "split": f"custom#{_fingerprint(ids, chosen)}",
        "labels": labels.name,
        "score": similarity,
        "order": "f64",
        "ties": "index",
        "queries": "kept" if chosen.kept else "apart",
    }
    return Report(
        "custom",
        signature.write(fields),
        tuple(results.values()),
        warnings=tuple(warnings),
        notes=(*notes, *labels.notes, sizes, *assemble.of_queries_alone(results.values())),
        intervals=how,
        # A split has captions; here every item is its own caption.
        items=TestSet.captioned("custom", ids, ids, np.arange(len(ids))),
    )


def _fingerprint(ids: Ids, chosen: Selection) -> str:
    """Eight hexadecimal digits of the items and of the queries and gallery."""
    digest = hashlib.sha256("\n".join(map(str, ids.tolist())).encode("utf-8", "surrogatepass"))
    for index in (chosen.queries, chosen.gallery):
        digest.update(np.ascontiguousarray(index, "<i8").tobytes())
    return digest.hexdigest()[:8]
