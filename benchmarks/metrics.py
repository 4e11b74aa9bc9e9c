"""Tasks of metrics of gains, of full reports and of intervals, both directions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from vsebench.types import DIRECTIONS, Observation, Tops

from .inputs import Inputs
from .ranking import per_query
from .task import F, Outcome, Task, Work

KS = (100, 500, 1000, 5000)
COHERENT = tuple(f"CS[captions=all]@{k}" for k in KS)
TOP = tuple(f"{m}@{k}" for m in ("NCS", "SR", "nDCG") for k in (1, 5, 10))
OF_LISTS = ("R@1", "R@5", "R@10", "Recall@100", "R-P")
# A full report: every metric of binary relevance, and these of CIDEr-D and SPICE.
FULL = (
    "binary",
    *(
        f"{v}:{m}"
        for v in ("cider", "spice")
        for m in (*COHERENT, "ncs", "sr", "R@1", "R@5", "R@10", "ndcg", "nDCG@100")
    ),
)
GAINS = ("cider", "spice")
RESAMPLES = 10_000


def ks(given: Inputs) -> list[int]:
    """The k of CS@k: those of the paper, or two of a small gallery."""
    return list(KS) if given.complete else [given.images // 2, given.images]


def of_gains(given: Inputs, metrics: Sequence[str], in_memory: bool = False) -> Work:
    """Metrics of gains in memory, from vectors, or from scores in memory."""
    from vsebench.graded.engine import run
    from vsebench.metrics import parse
    from vsebench.rank.scorers import Dot, Matrix

    images, captions = given.world[:2]
    scorer = Matrix(images @ captions.T) if in_memory else Dot(images, captions)
    names, gains = {parse(m): m for m in metrics}, {"cider": given.gains}

    def work() -> Outcome:
        found = run(scorer, given.split, list(names), gains)
        return Outcome({f"{names[m]} {direction}": out.values for (m, direction), out in found.items()})

    return work


def coherent(given: Inputs, in_memory: bool) -> Work:
    """CS@k of gains in memory."""
    return of_gains(given, [f"CS[captions=all]@{k}" for k in ks(given)], in_memory)


def judged(given: Inputs) -> Work:
    """nDCG@10 of integer gains in memory, from vectors."""
    from vsebench.graded.engine import run
    from vsebench.metrics import parse
    from vsebench.rank.scorers import Dot
    from vsebench.relevance.matrix import of_array

    gains, metrics = {"matrix": of_array(given.split, given.judged)}, [parse("matrix:nDCG@10")]

    def work() -> Outcome:
        found = run(Dot(*given.world[:2]), given.split, metrics, gains)
        return Outcome({f"nDCG@10 {direction}": out.values for (_, direction), out in found.items()})

    return work


def of_lists(given: Inputs) -> Work:
    """Metrics of retrieved lists."""
    from vsebench.graded.lists import from_lists
    from vsebench.metrics import parse
    from vsebench.rank.tops import ranks
    from vsebench.relevance import load
    from vsebench.relevance.matrix import of_array

    retrieved = {d: Tops.of(items, None, len(given.sides(d)[1])) for d, (items, _) in given.lists.items()}
    gains = {"matrix": of_array(given.split, given.judged)}
    relevant = {d: load("gt", given.split, d) for d in DIRECTIONS}

    def work() -> Outcome:
        observed = {d: Observation(d, {"gt": ranks(retrieved[d], relevant[d])}) for d in DIRECTIONS}
        found = from_lists(retrieved, given.split, [parse("matrix:nDCG@10")], gains)
        graded = {f"nDCG@10 {direction}": out.values for (_, direction), out in found.items()}
        return Outcome({**per_query(observed, OF_LISTS), **graded})

    return work


def features(given: Inputs) -> Work:
    """Features of CIDEr-D from captions and graphs of SPICE from the cache."""
    from vsebench.relevance import load_gains, parse_spec

    split = given.captions
    return lambda: [load_gains(parse_spec(view), split) for view in GAINS]


def _report(given: Inputs, metrics: Sequence[str], **more: Any) -> Any:
    from vsebench import evaluate

    images, captions = given.world[:2]
    return evaluate(images, captions, split=given.captions, metrics=",".join(metrics), gains=GAINS, **more)


def report(given: Inputs, metrics: Sequence[str]) -> Work:
    """A report from vectors and caption strings, with intervals; SPICE from the cache."""
    features(given)()
    return lambda: _report(given, metrics).to_json()


def resampled(given: Inputs) -> Work:
    """Intervals of all metrics of the full report with values of queries, from resamples of the images."""
    from vsebench.evaluation import intervals
    from vsebench.stats import bootstrap
    from vsebench.stats.columns import prepare

    split = given.captions
    columns = [intervals.column(r, split) for r in _report(given, FULL, ci=0).results if r.per_query is not None]

    def work() -> None:
        ready = prepare(columns, intervals.population(split), [])
        bootstrap.percentile(bootstrap.resample(ready, RESAMPLES, 0, None), 0.95)

    return work


_CS = ",".join(map(str, KS))
TASKS = (
    Task("cs", f"CS@{_CS}, scores and gains in memory", partial(coherent, in_memory=True), F, "<= 2.5 F, <= 200 MiB"),
    Task("cs from vectors", "the same from vectors", partial(coherent, in_memory=False), F, "<= 200 MiB"),
    Task("first captions", "CS@100,1000 of first captions", partial(of_gains, metrics=("CS@100", "CS@1000"))),
    Task("top", "NCS, SR, nDCG @1,5,10", partial(of_gains, metrics=TOP), F, "<= 200 MiB"),
    Task("kendall", "Kendall of complete galleries", partial(of_gains, metrics=("Kendall",)), F, "<= 200 MiB"),
    Task("judged", "nDCG@10 of integer gains in memory", judged),
    Task("lists", "metrics of lists of 100", of_lists),
    Task("features", "features of CIDEr-D, graphs of SPICE from the cache", features),
    Task("report", "full report, CIDEr-D and SPICE", partial(report, metrics=FULL), F, "<= 8 F, <= 250 MiB"),
    Task("all", "the same of --metrics all", partial(report, metrics=("all",)), F, "<= 12 F, <= 250 MiB"),
    Task("intervals", f"its intervals, {RESAMPLES:,} resamples", resampled, F, "<= 5 s, <= 200 MiB"),
)
