"""The tasks of the library: ranking, metrics, relevance, back-ends, large galleries, commands, compilation."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from vsebench import evaluate, parse, relevance
from vsebench.evaluation import assemble
from vsebench.evaluation.inputs import read
from vsebench.evaluation.plan import make_plan
from vsebench.evaluation.request import request
from vsebench.evaluation.run import run_evaluation
from vsebench.graded import engine
from vsebench.graded.rankings import plan as rankings_of
from vsebench.numeric.parallel import default_threads, spread
from vsebench.rank import backends
from vsebench.rank.count import Targets, observe
from vsebench.rank.faiss_index import package
from vsebench.rank.order import largest
from vsebench.rank.scorers import Dot, Matrix, System
from vsebench.rank.tops import ranks as ranks_of_lists
from vsebench.relevance.matrix import of_matrix
from vsebench.stats import bootstrap
from vsebench.stats.columns import prepare
from vsebench.text.ptb import tokenise
from vsebench.types import DIRECTIONS, Both, Observation, Relevance, Tops

from .inputs import Array, Inputs, unit
from .run import Outcome, Task, Work, run_command

KS = (1, 5, 10)
METRICS = ("R@1", "R@5", "R@10", "Recall@10", "MedR", "MeanR", "MRR", "R-P", "mAP@R")
# Name of a metric in the package eccv_caption -> name in vsebench.
VIEWS = {"coco_5k": "", "coco_1k": "1k:", "cxc": "cxc:", "eccv": "eccv:"}
OFFICIAL = {f"{theirs}_r{k}": f"{ours}R@{k}" for theirs, ours in VIEWS.items() for k in KS}
OFFICIAL |= {"eccv_rprecision": "eccv:R-P", "eccv_map_at_r": "eccv:mAP@R"}
DEPTHS = (100, 500, 1000, 5000)  # of CS@k
GAINS = ("cider", "spice")
# A full report: every metric of binary relevance, and these of CIDEr-D and SPICE.
GRADED = ("ncs", "sr", "R@1", "R@5", "R@10", "ndcg", "nDCG@100")
FULL = ("binary", *(f"{v}:{m}" for v in GAINS for m in (*(f"CS[captions=all]@{k}" for k in DEPTHS), *GRADED)))
RESAMPLES = 10_000


def values_of(found: Both[Observation], names: Sequence[str]) -> dict[str, Any]:
    """Values of every query of metrics of the captions written for the image."""
    sides = zip(DIRECTIONS, found, strict=True)
    return {f"{name} {d}": parse(name).per_query(one.ranks["gt"]) for d, one in sides for name in names}


def ranks(given: Inputs, k: int | None = None) -> Work:
    """Exact ranks of the captions written for the image: all metrics of them, or the first k of every query."""
    rows, columns = ([Targets("gt", relevance.load("gt", given.split, d))] for d in DIRECTIONS)

    def work() -> Outcome:
        found = observe(System(Dot(*given.world[:2])), (rows, columns), depth=(k or 0, k or 0))
        tops = {f"top {d}": one.top.items for d, one in zip(DIRECTIONS, found, strict=True) if one.top is not None}
        return Outcome(tops if k else values_of(found, METRICS))

    return work


def evaluation(given: Inputs, metrics: str = "binary", ci: float = 95.0, reading: bool = False) -> Work:
    """The steps of ``vsebench eval FILE``: reading and matching alone, or what follows."""
    asked = request(images=given.file, split=given.split.name, metrics=metrics, ci=ci)
    if reading:
        return lambda: read(asked)
    data = read(asked)

    def work() -> Outcome:
        report = run_evaluation(data, make_plan(data, asked))[0]
        report.to_json(per_query=False)
        values = {f"{r.metric} {r.direction}": r.value for r in report.results}
        return Outcome(values, notes=(f"binary metrics: {len(values)} results",) if ci else ())

    return work


def command(given: Inputs) -> Work:
    """``vsebench eval`` in a process of its own."""
    arguments = ["eval", given.file, "--split", given.split.name, "--metrics", "binary", "--json", "--quiet"]
    return lambda: Outcome(measured={"MiB": run_command(*arguments) - sum(x.nbytes for x in given.world[:2]) / 2**20})


def ks(given: Inputs) -> list[int]:
    """The k of CS@k: those of the paper, or two of a small gallery."""
    return list(DEPTHS) if given.complete else [given.images // 2, given.images]


def of_gains(given: Inputs, metrics: Sequence[str] = (), view: str = "cider", in_memory: bool = False) -> Work:
    """Metrics (CS@k without names) of gains in memory, or of judgements as a matrix; from vectors, or from scores."""
    images, captions = given.world[:2]
    gains = {view: given.gains if view == "cider" else of_matrix(given.split, given.judged)}
    system = System(Matrix(images @ captions.T) if in_memory else Dot(images, captions))
    names = {parse(f"{view}:{m}"): m for m in metrics or [f"CS[captions=all]@{k}" for k in ks(given)]}

    def work() -> Outcome:
        found = engine.run(system, rankings_of(list(names), given.split), gains)
        return Outcome({f"{names[m]} {DIRECTIONS[side]}": out.values for (m, side), out in found.items()})

    return work


def of_lists(given: Inputs) -> Work:
    """Metrics of retrieved lists."""
    lists = tuple(Tops.of(given.lists[d][0], None, len(given.sides(d)[1])) for d in DIRECTIONS)
    gains = {"matrix": of_matrix(given.split, given.judged)}
    relevant = [relevance.load("gt", given.split, d) for d in DIRECTIONS]
    rankings = rankings_of([parse("matrix:nDCG@10")], given.split)

    def work() -> Outcome:
        rows, columns = (Observation({"gt": ranks_of_lists(*one)}) for one in zip(lists, relevant, strict=True))
        found = engine.run(dict(enumerate(lists)), rankings, gains)
        graded = {f"nDCG@10 {DIRECTIONS[side]}": out.values for (_, side), out in found.items()}
        return Outcome({**values_of((rows, columns), ("R@1", "R@5", "R@10", "Recall@100", "R-P")), **graded})

    return work


def features(given: Inputs, views: Sequence[str]) -> Work:
    """Features of CIDEr-D from captions, graphs of SPICE from the cache."""
    split = given.captions
    return lambda: [relevance.load_gains(view, split) for view in views]


def report(given: Inputs, metrics: Sequence[str]) -> Work:
    """A report from vectors and captions, with intervals; SPICE from the cache."""
    features(given, GAINS)()
    call = partial(evaluate, *given.world[:2], split=given.captions, metrics=",".join(metrics), gains=GAINS)
    return lambda: call().to_json()


def resampled(given: Inputs) -> Work:
    """Intervals of all metrics of the full report with values of queries, from resamples of the images."""
    split = given.captions
    results = evaluate(*given.world[:2], split=split, metrics=",".join(FULL), gains=GAINS, ci=0).results
    columns = [assemble.column(r, split) for r in results if r.per_query is not None]

    def work() -> None:
        ready = prepare(columns, assemble.population(split), [])
        bootstrap.percentile(bootstrap.resample(ready, RESAMPLES, 0, None), 0.95)

    return work


def all_rows(rows: Any, given: Inputs, direction: str, use: Any = len) -> None:
    """Call ``use`` on the gains of all queries of a side, in blocks of 10 MB on all threads; no block is kept."""
    n, gallery = (len(side) for side in given.sides(direction))
    height = max(1, min(512, (10 << 20) // (4 * gallery)))

    def work(start: int, stop: int, _part: int) -> None:
        for first in range(start, stop, height):
            use(rows(first, min(first + height, stop)))

    spread(work, n, default_threads())


def rows(given: Inputs, view: str, direction: str) -> Work:
    """All rows of gains that are loaded."""
    gains = relevance.load_gains(view, given.captions)
    gains = gains if direction == "i2t" else gains.T
    gains.rows(0, 1)
    return lambda: all_rows(gains.rows, given, direction)


def from_captions(given: Inputs, direction: str) -> Work:
    """All rows of CIDEr-D from caption strings; the row of the middle query is a value."""
    relevance.load_gains("cider", Inputs(4).captions).T.rows(0, 1)  # kernels are loaded before memory is measured
    split, middle = given.captions, len(given.sides(direction)[0]) // 2

    def work() -> Outcome:
        gains = relevance.load_gains("cider", split)
        gains = gains if direction == "i2t" else gains.T
        all_rows(gains.rows, given, direction)
        return Outcome({f"CIDEr-D of {middle} {direction}": gains.rows(middle, middle + 1)[0]})

    return work


def ideal(given: Inputs) -> Work:
    """The 100 largest gains of every query, rows of CIDEr-D in memory."""
    values = relevance.load_gains("cider", given.captions).rows(0, given.images)
    both = {"i2t": values, "t2i": np.ascontiguousarray(values.T)}
    top, part = partial(largest, k=100), lambda d: lambda start, stop: both[d][start:stop]
    return lambda: [all_rows(part(d), given, d, top) for d in DIRECTIONS]


# The same report by every installed back-end. FAISS lists what ``top`` reads itself: a second way to the same digits.
GOALS = {"full by faiss": "<= 1.3 x", "binary by torch:cpu": "<= 2.5 x", "full by torch:cpu": "<= 1.5 x"}
REPORTS: dict[str, tuple[str, ...]] = {
    "binary": ("binary",),
    "full": ("binary", *(f"cider:{m}" for m in ("CS[captions=all]@100", "CS[captions=all]@1000", *GRADED[:-1]))),
    "top": ("R@1", "R@5", "R@10", "cider:CS[captions=all]@50"),
}


def by_backend(given: Inputs, backend: str, which: str) -> Work:
    """A report from vectors and captions, without intervals."""
    split, names = given.captions, ",".join(REPORTS[which])

    def work() -> Outcome:
        found = evaluate(*given.world[:2], split=split, metrics=names, gains=("cider",), ci=0, backend=backend)
        values = {f"mean {r.metric} {r.direction}": r.value for r in found.results}
        every = {f"{r.metric} {r.direction}": r.per_query for r in found.results if r.per_query is not None}
        return Outcome({**values, **every})

    return work


def of_backends() -> list[Task]:
    """The tasks of every installed back-end, numpy first; torch on the processor, and on a GPU if there is one."""
    names = [name for name, b in backends.BACKENDS.items() if b.installed and not b.devices and name != "numpy"]
    names += sorted({"torch:cpu", backends.chosen("torch")[0]}) if backends.BACKENDS["torch"].installed else []
    found = []
    for which, metrics in REPORTS.items():
        ours = f"backends/{which} by numpy"
        found.append(Task(ours, ", ".join(metrics), partial(by_backend, backend="numpy", which=which)))
        for name in names:
            goal, make = GOALS.get(f"{which} by {name}", ""), partial(by_backend, backend=name, which=which)
            found.append(Task(f"backends/{which} by {name}", "", make, goal, None, of=ours, tolerance=0.0))
    return found


QUERIES, DEPTH = 2_000, 1_000  # of large galleries
SIZES = (50_000, 100_000, 200_000)
BLOCK = 20_000  # candidates whose scores the floor makes together
NOISE = 4.0  # length of the noise by that of the signal, so that ranks are spread over the gallery


def directions_of(n: int, dim: int) -> Array:
    """(n, dim) float32 unit vectors in random directions."""
    return unit(np.random.default_rng(0).standard_normal((n, dim), dtype=np.float32))


def gallery_of(given: Inputs, n: int) -> tuple[Array, Array, Array]:
    """(query, dim) and (candidate, dim) float32 unit vectors, and (query,) the candidate that a query is near to."""
    n, queries = (n // 40, QUERIES // 10) if given.quick else (n, QUERIES)
    gallery = directions_of(n, given.dim)
    rng = np.random.default_rng(1)
    positive = np.sort(rng.choice(n, queries, replace=n < queries))
    noise = rng.standard_normal((queries, given.dim), dtype=np.float32)
    return unit(gallery[positive] + NOISE / given.dim**0.5 * noise), gallery, positive


def blocks(queries: Array, gallery: Array, scale: float = 1.0) -> Work:
    """The float32 product in blocks of candidates into one array."""
    out = np.zeros((len(queries), min(BLOCK, len(gallery))), np.float32)

    def work() -> Outcome:
        for start in range(0, len(gallery), BLOCK):
            part = gallery[start : start + BLOCK]
            np.matmul(queries, part.T, out=out[:, : len(part)])
        return Outcome(scale=scale)

    return work


def long_lists(given: Inputs, n: int) -> Work:
    """The top of every ranking, and the exact rank of the positive of every query."""
    queries, gallery, positive = gallery_of(given, n)
    of = np.arange(len(queries) + 1)
    relevant = Relevance("gt", of[:-1], of, positive, np.zeros(len(queries), np.int64))
    system, targets = System(Dot(queries, gallery)), [Targets("gt", relevant)]
    return lambda: observe(system, (targets, []), depth=(DEPTH, 0))


def of_faiss(given: Inputs, n: int) -> Work:
    """The top of every ranking by the flat index of FAISS."""
    queries, gallery, _ = gallery_of(given, n)
    index = package().IndexFlatIP(given.dim)  # with the kernels of numpy's BLAS
    index.add(gallery)
    return lambda: index.search(queries, DEPTH)


def of_size(n: int) -> list[Task]:
    """The tasks of a gallery of n candidates; goals are those of the largest."""
    goals = ("<= 1.15 F, <= 200 MiB", ">= 1 x") if n == max(SIZES) else ("", "")
    name, of = f"scale/lists of {n:,}", {"floor": lambda given: blocks(*gallery_of(given, n)[:2])}
    words = f"the first {DEPTH:,} of {n:,} candidates for {QUERIES:,} queries, and exact ranks"
    faiss = partial(of_faiss, n=n), goals[1]
    return [
        Task(name, words, partial(long_lists, n=n), goals[0], **of),
        Task(f"scale/faiss of {n:,}", "the lists by IndexFlatIP", *faiss, of=name, modules=("faiss",), **of),
    ]


IMAGES, EACH = 25_000, 40  # of the command on mapped files, 4.2 GB in ``TMPDIR``: images, and captions of each


def floor_of_mapped(given: Inputs) -> Work:
    """A part of the product, extrapolated."""
    part, n = directions_of(BLOCK, given.dim), 1_000 if given.quick else IMAGES
    return blocks(part[:QUERIES], part, n**2 * EACH / (BLOCK * QUERIES))


def mapped(given: Inputs) -> Work:
    """``vsebench eval`` of two .npy files; ``EACH`` captions are near every image."""
    folder, images = Path(given.folder.name), directions_of(1_000 if given.quick else IMAGES, given.dim)
    rng = np.random.default_rng((0, 1))  # other numbers than those of the images
    np.save(folder / "images.npy", images)
    shape = (EACH * len(images), given.dim)
    captions = np.lib.format.open_memmap(folder / "captions.npy", "w+", np.float32, shape)
    for start in range(0, len(images), BLOCK // EACH):
        near = np.repeat(images[start : start + BLOCK // EACH], EACH, axis=0)
        noise = rng.standard_normal(near.shape, dtype=np.float32)
        captions[EACH * start : EACH * start + len(near)] = near + NOISE / given.dim**0.5 * noise
    captions.flush()
    options = f"--captions-per-image {EACH} --metrics recall --json --quiet".split()
    files = f"{folder / 'images.npy'}", f"{folder / 'captions.npy'}"
    return lambda: Outcome(measured={"MiB": run_command("eval", *files, *options)})


def compiled(given: Inputs, metrics: str) -> Work:
    """An evaluation with an empty cache of numba, which ``run`` makes: CPU seconds of its compilations."""
    from numba.core import event

    running, seconds, kernels = threading.local(), list[float](), Counter[str]()

    class Listener(event.Listener):  # type: ignore[misc]
        def on_start(self, _event: Any) -> None:
            running.began = [*getattr(running, "began", []), time.thread_time()]

        def on_end(self, given: Any) -> None:
            began = running.began.pop()
            if not running.began:  # a compilation contains those of the functions that are called
                seconds.append(time.thread_time() - began)
            function = given.data["dispatcher"].py_func
            kernels[f"{function.__module__.removeprefix('vsebench.')}.{function.__name__}"] += 1

    images, captions, split = *given.world[:2], given.captions

    def work() -> Outcome:
        with event.install_listener("numba:compile", Listener()):
            evaluate(images, captions, split=split, metrics=metrics)
        notes = [f"--metrics {metrics}: {kernels.total()} compilations"]
        notes += [f"{name} {n} times" for name, n in kernels.items() if n > 1 and not name.startswith("numba.")]
        return Outcome(measured={"CPU s": sum(seconds)}, notes=(", ".join(notes),))

    return work


CS, TOP = ",".join(map(str, DEPTHS)), [f"{m}@{k}" for m in ("NCS", "SR", "nDCG") for k in KS]
SAME = partial(evaluation, metrics=",".join(OFFICIAL.values()), ci=0)
CIDER, SPICE, BOTH = partial(rows, view="cider"), partial(rows, view="spice"), ("t2i", "i2t")
FROM_SCORES = partial(of_gains, in_memory=True)
TASKS = (
    Task("ranking/ranks", "exact ranks, and all metrics of them", ranks, "<= 1.3 F, <= 200 MiB"),
    Task("ranking/first 10", "the first 10 of every query, and exact ranks", partial(ranks, k=10)),
    Task("ranking/first 1000", "the first 1,000 of every query, and exact ranks", partial(ranks, k=1000)),
    Task("ranking/loading", "reading, audit and matching of a file", partial(evaluation, reading=True), floor=None),
    Task("ranking/binary", "--metrics binary, with intervals", evaluation, "<= 1.5 F, <= 200 MiB"),
    Task("ranking/official", "the values of eccv_caption", SAME, modules=("eccv_caption",), full=True),
    Task("ranking/command", "command: vsebench eval --metrics binary", command),
    Task("ranking/help", "command: vsebench --help",
         lambda given: lambda: Outcome(measured={"MiB": run_command("--help")}), "<= 0.5 s", None),
    Task("metrics/cs", f"CS@{CS}, scores and gains in memory", FROM_SCORES, "<= 2.5 F, <= 200 MiB"),
    Task("metrics/cs from vectors", "the same from vectors", of_gains, "<= 200 MiB"),
    Task("metrics/first captions", "CS@100,1000 of first captions", partial(of_gains, metrics=("CS@100", "CS@1000"))),
    Task("metrics/top", "NCS, SR, nDCG @1,5,10", partial(of_gains, metrics=TOP), "<= 200 MiB"),
    Task("metrics/kendall", "Kendall of complete galleries", partial(of_gains, metrics=("Kendall",)), "<= 200 MiB"),
    Task("metrics/judged", "nDCG@10 of integer gains in memory", partial(of_gains, metrics=["nDCG@10"], view="matrix")),
    Task("metrics/lists", "metrics of lists of 100", of_lists),
    Task("metrics/features", "features of CIDEr-D, graphs of SPICE from the cache", partial(features, views=GAINS)),
    Task("metrics/report", "full report, CIDEr-D and SPICE", partial(report, metrics=FULL), "<= 8 F, <= 250 MiB"),
    Task("metrics/all", "the same of --metrics all", partial(report, metrics=("all",)), "<= 12 F, <= 250 MiB"),
    Task("metrics/intervals", f"its intervals, {RESAMPLES:,} resamples", resampled, "<= 5 s, <= 200 MiB"),
    Task("relevance/tokens", "Penn Treebank tokens",
         lambda given: partial(tokenise, given.captions.columns.texts or (), "ptb")),
    Task("relevance/features", "CIDEr-D: captions to features", partial(features, views=("cider",))),
    *(Task(f"relevance/rows {d}", f"CIDEr-D: all rows {d}, from features", partial(CIDER, direction=d)) for d in BOTH),
    *(Task(f"relevance/captions {d}", f"CIDEr-D: all rows {d}, from captions", partial(from_captions, direction=d),
           "<= 1.3 F, <= 200 MiB") for d in BOTH),
    Task("relevance/ideal", "ideal top-100 of both directions, rows in memory", ideal, "<= 1 F"),
    *(Task(f"relevance/spice {d}", f"SPICE: all rows {d}, from stored graphs", partial(SPICE, direction=d), "<= 0.25 F")
      for d in BOTH),
    *of_backends(),
    *(task for n in SIZES for task in of_size(n)),
    Task("large/command", "command: vsebench eval of mapped .npy files, exact ranks of both directions", mapped,
         "<= 1024 MiB", floor_of_mapped),
    *(
        Task(f"compilation/--metrics {metrics}", "compilation in a new environment", partial(compiled, metrics=metrics),
             f"<= {goal} CPU s", None, full=True, once=True)
        for metrics, goal in (("recall", 3), ("cs,ncs", 8))
    ),
)  # fmt: skip
