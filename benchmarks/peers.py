"""Other implementations of the same metrics, to compare values and time with: two common loops and eight packages.

They are written from their descriptions and share no code with the library.
"""

from __future__ import annotations

import contextlib
import io
import statistics
import time
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from vsebench.rank.faiss_index import package
from vsebench.text.ptb import tokenise
from vsebench.types import DIRECTIONS

from .inputs import Array, Inputs
from .library import DEPTHS, KS, OFFICIAL, ks
from .run import FLOAT32, Outcome, Task, Work

RECALLS = "R@1, R@5, R@10, MedR, MeanR"


def summary(i2t: Array, t2i: Array) -> dict[str, float]:
    """R@1, R@5, R@10, median and mean rank of both directions, from 1-based ranks."""
    out: dict[str, float] = {}
    for name, ranks in (("i2t", i2t), ("t2i", t2i)):
        out |= {f"R@{k} {name}": float(np.mean(ranks <= k)) for k in KS}
        out[f"MedR {name}"] = float(np.floor(np.median(ranks - 1)) + 1)
        out[f"MeanR {name}"] = float(np.mean(ranks))
    return out


# As in the evaluation code of VSE++ and its many descendants: one query at a time, in float64; every image is repeated
# for each of its captions. The sort is not stable: the order of ties is not defined.


def vsepp_inputs(images: Array, captions: Array, times: int = 5) -> tuple[Array, Array]:
    """(caption, dim) float64 images and captions; image rows are repeated ``times`` times."""
    return np.repeat(images, times, axis=0).astype(np.float64), captions.astype(np.float64)


def vsepp_i2t(images: Array, captions: Array, queries: Array, times: int = 5) -> Array:
    """(query,) int64, 1-based rank of the best own caption; ``queries`` are image indices."""
    best = np.empty(len(queries), np.int64)
    for i, image in enumerate(queries.tolist()):
        descending = np.argsort(captions @ images[times * image])[::-1]
        places = [np.flatnonzero(descending == own)[0] for own in range(times * image, times * image + times)]
        best[i] = min(places) + 1
    return best


def vsepp_t2i(images: Array, captions: Array, queries: Array, times: int = 5) -> Array:
    """(times * query,) int64, 1-based ranks of the own image for all captions of the images ``queries``."""
    distinct = images[::times]
    ranks = np.empty(times * len(queries), np.int64)
    for i, image in enumerate(queries.tolist()):
        scores = captions[times * image : times * image + times] @ distinct.T
        for j, row in enumerate(scores):
            ranks[times * i + j] = np.flatnonzero(np.argsort(row)[::-1] == image)[0] + 1
    return ranks


def vsepp(given: Inputs) -> Work:
    """Both directions of the queries that are measured; the float64 arrays are made once."""

    def work() -> Outcome:
        start = time.perf_counter()
        sides = vsepp_inputs(*given.world[:2])
        prepared = time.perf_counter() - start
        queries = given.queries("i2t")
        return Outcome(summary(vsepp_i2t(*sides, queries), vsepp_t2i(*sides, queries)), given.scale, prepared)

    return work


def scan_ranks(scores: Array, times: int = 5) -> tuple[Array, Array]:
    """Ranks in one score matrix, as cross-attention models (SCAN) are evaluated: every row and column is sorted.

    Args:
        scores: (image, caption) floats, ``times`` captions an image, in order.
        times: captions an image.

    Returns:
        (image,) best rank among the own captions and (caption,) rank of the own image, 1-based.
    """

    def places(row: Array) -> Array:
        place = np.empty(len(row), np.int64)
        place[np.argsort(-row)] = np.arange(1, len(row) + 1)
        return place

    best = [places(row)[times * image : times * image + times].min() for image, row in enumerate(scores)]
    return np.array(best), np.array([places(column)[n // times] for n, column in enumerate(scores.T)])


def scan(given: Inputs) -> Work:
    """Both directions, from vectors."""
    images, captions = given.world[:2]
    return lambda: Outcome(summary(*scan_ranks(images @ captions.T)))


# Packages.

TARGETS = ("coco_1k_recalls", "coco_5k_recalls", "cxc_recalls", "eccv_r1", "eccv_rprecision", "eccv_map_at_r")


def eccv(given: Inputs) -> Work:
    """Every metric of ``eccv_caption`` for K = 1, 5, 10, from vectors.

    It measures COCO 1K by filtering the 5K rankings, so these must be complete: two times 125 million integers.
    """
    images, captions, image_ids, caption_ids = given.world

    def rankings(scores: Array, queries: Array, gallery: Array) -> dict[int, list[int]]:
        return {query: gallery[np.argsort(-row)].tolist() for query, row in zip(queries.tolist(), scores, strict=True)}

    def work() -> Outcome:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from eccv_caption import Metrics

            metrics = Metrics()
        scores, found = images @ captions.T, dict[str, Any]()
        lists = rankings(scores, image_ids, caption_ids), rankings(scores.T, caption_ids, image_ids)
        with contextlib.redirect_stderr(io.StringIO()):  # a progress bar that cannot be turned off
            for targets in (TARGETS, ("eccv_recalls",)):  # it leaves the latter out together with mAP@R
                found |= metrics.compute_all_metrics(*lists, target_metrics=targets, Ks=KS, verbose=False)
        return Outcome({f"{OFFICIAL[name]} {d}": v for name, both in found.items() for d, v in both.items()})

    return work


def torchmetrics(given: Inputs, graded: bool) -> Work:
    """Hit rates and R-precision of the captions written for the image, or nDCG@10 of integer gains.

    Every metric groups all pairs again, so that only R@10 is timed.
    """
    import torch
    from torchmetrics import retrieval as r

    metrics: dict[str, Any] = {"nDCG@10": lambda: r.RetrievalNormalizedDCG(top_k=10)}
    if graded:
        given.judged  # noqa: B018 (in memory before the time is measured)
    else:
        metrics = {f"R@{k}": partial(r.RetrievalHitRate, top_k=k) for k in (KS if given.quick else (10,))}
        metrics |= {"R-P": r.RetrievalRPrecision} if given.quick else {}

    def work() -> Outcome:
        values = {}
        for direction in DIRECTIONS:
            queries = torch.from_numpy(given.queries(direction))
            vectors, gallery = map(torch.from_numpy, given.sides(direction))
            scores = vectors[queries] @ gallery.T
            own, others = map(torch.from_numpy, given.labels(direction))
            target = own[queries, None] == others[None]
            if graded:
                gains = given.judged if direction == "i2t" else given.judged.T
                target = torch.from_numpy(gains[queries.numpy()]).long()
            indexes = torch.arange(len(queries))[:, None].expand(scores.shape)
            for name, make in metrics.items():
                metric = make()
                metric.update(scores.ravel(), target.ravel(), indexes.reshape(-1))
                values[f"{name} {direction}"] = float(metric.compute())
        return Outcome(values, given.scale)

    return work


def metric_learning(given: Inputs) -> Work:
    """The metrics of ``AccuracyCalculator`` that need as many neighbours as a query has positives."""
    import torch

    faiss = package()  # with the kernels of numpy's BLAS, before the next module imports it
    from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator
    from pytorch_metric_learning.utils.inference import FaissKNN

    names = {"precision_at_1": "R@1", "r_precision": "R-P", "mean_average_precision_at_r": "mAP@R"}
    nearest = FaissKNN(index_init_fn=faiss.IndexFlatIP)
    calculator = AccuracyCalculator(tuple(names), k="max_bin_count", device=torch.device("cpu"), knn_func=nearest)

    def work() -> Outcome:
        values = {}
        for direction in DIRECTIONS:
            (queries, gallery), (own, others) = given.sides(direction), given.labels(direction)
            found = calculator.get_accuracy(queries, own, gallery, others, ref_includes_query=False)
            values |= {f"{ours} {direction}": float(found[theirs]) for theirs, ours in names.items()}
        return Outcome(values)

    return work


def key(index: int) -> str:
    """The id of a query or item; all have one length, as ranx compiles its code again for every length."""
    return f"{index:06d}"


def dictionaries(given: Inputs, direction: str) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """``{query: {item: score}}`` of the lists, of binary judgements (the own captions) and of integer gains."""
    items, scores = given.lists[direction]
    run = {key(q): dict(zip(map(key, row), values, strict=True))
           for q, (row, values) in enumerate(zip(items.tolist(), scores.tolist(), strict=True))}  # fmt: skip
    own, others = given.labels(direction)
    first, last = np.searchsorted(others, own), np.searchsorted(others, own, side="right")
    binary = {key(q): dict.fromkeys(map(key, range(a, b)), 1)
              for q, (a, b) in enumerate(zip(first.tolist(), last.tolist(), strict=True))}  # fmt: skip
    graded: dict[str, Any] = {}
    image, caption, gain = (x.tolist() for x in given.judgements)
    for q, i, g in zip(*((image, caption) if direction == "i2t" else (caption, image)), gain, strict=True):
        graded.setdefault(key(q), {})[key(i)] = g
    return run, binary, graded


def by_dictionaries(given: Inputs, measured: Any, names: Sequence[dict[str, str]]) -> Work:
    """The values of ``measured(judgements, run, names)``, binary and graded, with making the dictionaries.

    Args:
        given: the inputs; lists and judgements are in memory before the time is measured.
        measured: returns the values by the names of the package.
        names: of binary and of graded metrics, from those of the package to ours.
    """
    given.lists, given.judgements  # noqa: B018 (made here)

    def work() -> Outcome:
        values: dict[str, float] = {}
        for direction in DIRECTIONS:
            run, *judged = dictionaries(given, direction)
            for qrels, ours in zip(judged, names, strict=True):
                found = measured(qrels, run, ours)
                values |= {f"{name} {direction}": float(found[theirs]) for theirs, name in ours.items()}
        return Outcome(values)

    return work


def ranx(given: Inputs) -> Work:
    """Metrics of retrieved lists; the compilation of its kernels is not timed."""
    from ranx import Qrels, Run, evaluate

    binary = {"hit_rate@1": "R@1", "hit_rate@5": "R@5", "hit_rate@10": "R@10", "recall@100": "Recall@100",
              "r-precision": "R-P"}  # fmt: skip

    def measured(judged: dict[str, Any], run: dict[str, Any], names: dict[str, str]) -> dict[str, float]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of numba, about the hash of ids
            found = evaluate(Qrels(judged), Run(run), list(names))
        return found if isinstance(found, dict) else dict.fromkeys(names, found)  # one name: a number

    graded = {"ndcg@10": "nDCG@10"}
    measured({key(0): {key(0): 1}}, {key(0): {key(0): 1.0, key(1): 0.5}}, binary | graded)
    return by_dictionaries(given, measured, (binary, graded))


def trec_eval(given: Inputs) -> Work:
    """Metrics of retrieved lists by ``pytrec_eval``, the C code of trec_eval."""
    from pytrec_eval import RelevanceEvaluator

    binary = {"success_1": "R@1", "success_5": "R@5", "success_10": "R@10", "recall_100": "Recall@100", "Rprec": "R-P"}

    def measured(judged: dict[str, Any], run: dict[str, Any], names: dict[str, str]) -> dict[str, float]:
        asked = {"success.1,5,10", "recall.100", "Rprec"} if names is binary else {"ndcg_cut.10"}
        found = RelevanceEvaluator(judged, asked).evaluate(run).values()
        return {name: statistics.fmean(one[name] for one in found) for name in names}

    return by_dictionaries(given, measured, (binary, {"ndcg_cut_10": "nDCG@10"}))


def faiss_flat(given: Inputs, k: int) -> Work:
    """The k largest inner products of every query by ``IndexFlatIP``, both directions."""
    faiss = package()  # with the kernels of numpy's BLAS

    def work() -> Outcome:
        values = {}
        for direction in DIRECTIONS:
            queries, gallery = given.sides(direction)
            index = faiss.IndexFlatIP(gallery.shape[1])
            index.add(gallery)
            _, values[f"top {direction}"] = index.search(queries, min(k, len(gallery)))
        return Outcome(values)

    return work


def kendalltau(given: Inputs) -> Work:
    """CS@k of the queries by scipy, one query and one k at a time, as in the code of ladder losses."""
    from scipy.stats import kendalltau as tau

    images, captions = given.world[:2]
    scores, (i2t, t2i) = images @ captions.T, given.gains.values
    both = {"i2t": (scores, i2t), "t2i": (scores.T, t2i)}

    def work() -> Outcome:
        values: dict[str, Any] = {}
        for direction, sides in both.items():
            for s, g in zip(*(side[given.queries(direction)] for side in sides), strict=True):
                order = np.argsort(-s, kind="stable")
                for k in ks(given):
                    found = tau(s[order[:k]], g[order[:k]]).statistic
                    values.setdefault(f"CS[captions=all]@{k} {direction}", []).append(found)
        return Outcome(values, given.scale)

    return work


def one_caption(given: Inputs) -> Work:
    """CIDEr-D of the middle caption with every image, as the scorer of ``pycocoevalcap`` computes it."""
    split = given.captions
    tokenised = [" ".join(words) for words in tokenise(split.columns.texts or ()).lists()]
    n = len(tokenised)
    of = [np.flatnonzero(split.image_of == image).tolist() for image in range(len(split.rows.ids))]

    def work() -> Outcome:
        from pycocoevalcap.cider.cider_scorer import CiderScorer

        scorer = CiderScorer(n=4, sigma=6.0)
        for captions in of:
            scorer += (tokenised[n // 2], [tokenised[c] for c in captions])
        return Outcome({f"CIDEr-D of {n // 2} t2i": np.asarray(scorer.compute_score()[1])}, n)

    return work


def _task(name: str, words: str, make: Any, goal: str, of: str, tolerance: float, *about: str, **more: Any) -> Task:
    package, start, differs = about
    return Task(f"peers/{name}", words, make, goal, None, of=of, tolerance=tolerance, package=package, start=start,
                differs=differs, **more)  # fmt: skip


OF_LISTS = "R@1, R@5, R@10, Recall@100, R-P, nDCG@10"
TASKS = (
    _task("vsepp loops", RECALLS, vsepp, ">= 30 x", "ranking/ranks", 1e-12, "", "vectors",
          "One query at a time in float64; the order of exact ties is that of an unstable sort, so it is not "
          "defined, and every image must have five captions in order.", part=0.05),
    _task("scan loops", RECALLS, scan, ">= 4 x", "ranking/ranks", FLOAT32, "", "vectors",
          "Scores are rounded to float32, so near-ties depend on the matrix product of the machine; the order of "
          "ties is not defined."),
    _task("eccv_caption", "recalls of COCO 5K, COCO 1K, CxC and ECCV Caption, eccv:R-P, eccv:mAP@R", eccv,
          ">= 50 x, >= 10 x MiB", "ranking/official", FLOAT32, "eccv-caption", "vectors",
          "It measures lists of ids, so the order of ties is that of the caller. It counts an item each time that a "
          "list repeats it, and COCO 1K is right only with complete lists, which it therefore gets.",
          modules=("eccv_caption",), gb=14, full=True),
    _task("torchmetrics hit rate", "R@10 (a metric at a time)", partial(torchmetrics, graded=False), ">= 30 x",
          "ranking/ranks", FLOAT32, "torchmetrics", "vectors",
          "It reads one entry for every pair of query and candidate, in float32, and sorts by an unstable sort, so "
          "ties are not defined. Its recall and reciprocal rank take relevant candidates with a score of 0 or less "
          "for irrelevant, so they are not compared. Our time is that of all metrics of the ranks.",
          modules=("torchmetrics", "torch"), part=0.02),
    _task("torchmetrics nDCG", "nDCG@10", partial(torchmetrics, graded=True), "", "metrics/judged", 1e-5,
          "torchmetrics", "vectors, gains",
          "Gains must be integers and sums are float32; tied candidates get the mean of their gains, where ours are "
          "ordered by index.", modules=("torchmetrics", "torch"), part=0.02),
    _task("pytorch-metric-learning", "R@1, R-P, mAP@R", metric_learning, ">= 3 x", "ranking/ranks", FLOAT32,
          "pytorch-metric-learning", "vectors",
          "k is the largest number of positives of a query (`max_bin_count`), beyond which its reciprocal rank is 0, "
          "so that is not compared. An item is left out of its own list only where queries and gallery are one set. "
          "Products are float32, with the inner product instead of its default, Euclidean distance.",
          modules=("pytorch_metric_learning", "faiss", "torch")),
    _task("ranx", OF_LISTS, ranx, "", "metrics/lists", 1e-9, "ranx", "lists of 100",
          "Equal scores keep the order in which they were inserted. Items that are not in a list count as not found, "
          "so reciprocal ranks are not compared. The first call compiles, which takes up to half a minute and is "
          "not counted.", modules=("ranx",)),
    _task("pytrec_eval", OF_LISTS, trec_eval, "", "metrics/lists", FLOAT32, "pytrec-eval-terrier", "lists of 100",
          "Scores are rounded to float32 and equal ones are ordered by the id, from last to first; gains must be "
          "integers.", modules=("pytrec_eval",)),
    _task("faiss k=10", "the first 10 of every query", partial(faiss_flat, k=10), ">= 1.5 x", "ranking/first 10",
          1e-6, "faiss-cpu", "vectors",
          "It returns items and no rank of a positive beyond k, which our time includes; products are float32, so "
          "near-ties are ordered differently.", modules=("faiss",)),
    _task("faiss k=1000", "the first 1,000 of every query", partial(faiss_flat, k=1000), ">= 1 x",
          "ranking/first 1000", 1e-6, "faiss-cpu", "vectors", "As with k=10.", modules=("faiss",)),
    _task("scipy kendalltau", ", ".join(f"CS@{k}" for k in DEPTHS), kendalltau, ">= 35 x", "metrics/cs", 1e-12,
          "scipy", "scores, gains",
          "tau-b of one list of scores and gains; which of equal scores are among the first k is decided by the loop "
          "that calls it (here by the index, as in vsebench).", modules=("scipy",), part=0.03),
    _task("pycocoevalcap", "CIDEr-D of every caption with every image", one_caption, ">= 50_000 x",
          "relevance/captions t2i", 1e-6, "pycocoevalcap", "captions, for it tokens",
          "Scores are those of its scorer with the captions of each image as references; our gains are rounded to "
          "float32, and our time includes the tokens.", modules=("pycocoevalcap",)),
)  # fmt: skip
