"""An evaluation on one page: request, read, align, plan, rank, score, report.

    arguments -> Request -> system (read, align) -> plan -> rank -> score -> assemble -> Report

``request`` parses the arguments, once. ``inputs`` reads vectors, a score matrix or retrieved lists and aligns them
with a split, by the table of file formats in ``files``; ``misread`` refuses rows in another order; ``plan`` decides
what is measured, from the tables of judgements and of gains in ``relevance`` and of metrics in ``metrics``. Ranks of
the relevant items come from one pass over the scores (``rank.observe``), from lists of an index if these suffice
(``engines.route``), or from given lists, and ``binary`` makes results of them; ``graded`` ranks complete galleries
(``graded.engine``); ``intra`` retrieves images by images and captions by captions. ``assemble`` adds sums, intervals,
the signature and warnings, the top of the rankings if it is kept, and what was evaluated, where and when.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy.typing as npt

from ..errors import DeviceFault, first_line, is_of_torch
from ..files.atomic import refuse_overwriting
from ..files.regular import read_once
from ..log import logged
from ..metrics.suites import Names
from ..options import public
from ..rank import corrected
from ..rank.backends import AUTO, chosen
from ..results.model import Measurement
from ..results.report import Report
from ..sets.match import Captions
from ..types import Direction, Embeddings, GainsLike, JudgementsLike, Observation, PathLike, ReportProgress, TestSet
from . import assemble, binary, corrections, engines, graded, intra, misread, saved_run, second_stage, system
from .assemble import Key
from .indexed import recall
from .inputs import Input
from .plan import Plan, make_plan
from .request import check_input, request

Vectors = npt.ArrayLike | Embeddings


@functools.partial(public, types=False)  # by its options
def evaluate(
    images: Vectors | PathLike | None = None,
    texts: Vectors | PathLike | None = None,
    *,
    scores: npt.ArrayLike | PathLike | Mapping[Direction, npt.ArrayLike | PathLike] | None = None,
    run: PathLike | Sequence[PathLike] | Mapping[Any, Any] | None = None,
    fuse: Sequence[npt.ArrayLike | PathLike | Mapping[Direction, Any]]
    | npt.ArrayLike
    | PathLike
    | Mapping[Direction, Any]
    | None = None,
    rerank: Mapping[Direction, npt.ArrayLike | PathLike] | Sequence[PathLike] | None = None,
    index: PathLike | Mapping[Direction, PathLike] | Sequence[PathLike] | None = None,
    split: TestSet | str | PathLike | None = None,
    metrics: Names | None = None,
    gains: GainsLike = (),
    judgements: JudgementsLike = (),
    level: float = 1.0,
    candidates: PathLike | Mapping[Any, Any] | Sequence[PathLike] = (),
    exclude: PathLike | Mapping[Any, Any] | Sequence[PathLike | Mapping[Any, Any]] = (),
    captions: Captions | None = None,
    human_data: PathLike | None = None,
    direction: str = "both",
    similarity: str = "auto",
    ties: str = "index",
    no_positive: str = "skip",
    short_lists: str = "refuse",
    captions_per_image: int | None = None,
    image_key: str | None = None,
    text_key: str | None = None,
    scores_key: str | None = None,
    image_ids: npt.ArrayLike | PathLike | None = None,
    text_ids: npt.ArrayLike | PathLike | None = None,
    query_ids: npt.ArrayLike | PathLike | None = None,
    corpus_ids: npt.ArrayLike | PathLike | None = None,
    image_id_of_text: npt.ArrayLike | None = None,
    only: str | None = None,
    trust: bool = False,
    save_run: PathLike | None = None,
    depth: int | None = None,
    lists: int | None = None,
    ci: float = 95.0,
    weights: str | None = None,
    normalise: str | None = None,
    combine: str = "replace",
    rerank_depth: int | None = None,
    resamples: int = 1000,
    seed: int = 0,
    interval: str = "bca",
    threads: int | None = None,
    backend: str = "auto",
    engine: str = "local",
    scheduler: str | None = None,
    workers: int | None = None,
    resume: bool = False,
    progress: ReportProgress | None = None,
) -> Report:
    """Rank, measure and report; the same names and defaults as ``vsebench eval``.

    >>> import numpy as np, vsebench as vb
    >>> images = np.eye(3)
    >>> report = vb.evaluate(images, np.repeat(images, 5, axis=0), metrics="R@1", ci=0)
    >>> report["R@1", "i2t"].value
    1.0

    Args, input:
        images: image vectors, (image, dim), or the file of embeddings or the folder of a training run. An array, a
            torch tensor or ``Embeddings``; in the order of the split unless they carry ids (see ``docs/formats.md``).
        texts: text vectors, if FILE holds images only. (caption, dim) floats or a file.
        scores: score matrix, one row per image; i2t=FILE for one direction. In Python also an array (image, caption),
            or ``{"i2t": ..., "t2i": ...}`` for one of each direction.
        run: ranked lists, TREC, JSON or .npz (FAISS); i2t=FILE for one direction, rank:FILE to read the rank column. In
            Python also
            ``{"i2t": FILE, "t2i": FILE}``, where lists in memory may stand for a file: ``{query id: item ids, best
            first}``, or ``{query id: {item id: score}}``; or such lists alone. Scores order the items; equal ones are
            in the order of the gallery (in trec_eval: of descending ids). ``rank:FILE`` or ``rank:i2t`` takes the order
            of the rank column.
        split: test set: coco-5k, coco-1k, f30k, custom, or the FOLDER of a BEIR or MTEB set; by default found by ids.
            In Python also a ``TestSet``. Arrays are a custom split of ``captions_per_image`` texts an image, in order.
            A folder of BEIR, MTEB or ViDoRe with queries, a corpus and judgements is ``FOLDER``, ``FOLDER:SUBSET`` or
            ``FOLDER:SPLIT``.
        captions: captions, if the test set does not come with them. A file, or a list in the order of the text vectors
            (of a declared split: in its order).
        image_key, text_key, scores_key: name of an array in the file.
        image_ids: ids of the rows: .npy, JSON list, or text file with one id per line. In Python (image,) integers or
            strings.
        text_ids: ids of the text rows.
        query_ids: ids of the query rows; the first array then holds queries, the second the corpus. ``judgements`` say
            what is relevant.
        corpus_ids: ids of the corpus rows.
        image_id_of_text: (text,) the id of the image of every text, if neither a declared split nor the ids give it;
            without ``image_ids`` the row of the image, from 0.
        captions_per_image: texts per image, in order, for files without ids; 5 by default.
        only: evaluate items with this value only: lang=de for a column of ``captions``, or FILE:COLUMN=VALUE. The
            values are separated by commas: ``FILE:COLUMN=VALUE[,VALUE...]``.
        trust: evaluate even if the input looks wrong (recall at chance, misordered rows). It is a warning then.

    Args, what is measured:
        metrics: metrics, suites (recall, 1k, eccv, cxc, cs, ncs, sr, ndcg) or all; the headline suites by default.
        direction: ``both``, ``i2t``, ``t2i`` or ``query2corpus``.
        similarity: ``auto``, ``cosine`` or ``dot``.
        candidates: items that may be returned for each query: FILE or i2t=FILE. In Python also ``{query id: item
            ids}``, or one of these under each of ``i2t`` and ``t2i``. Queries without candidates count in no metric.
            See ``docs/judgements.md``.
        exclude: items that may not be returned: FILE, i2t=FILE, or self for the item with the query's id.
        fuse: another system to fuse: scores are added, runs are fused by reciprocal rank. Files of embeddings or of
            score matrices, or arrays of scores. Runs are fused by reciprocal ranks: ``sum of weight / (60 + rank)``.
        weights: weights for ``fuse``: of FILE, then of each fused system; all 1 by default.
        normalise: hubness correction: csls:k=10, dsl:beta=100, qb:beta=20, or qb:BANK.npz:beta=20 with a query bank.
            The offsets come from the test queries (transductive) or from the file. See ``docs/scores.md``.
        rerank: second-stage scores for the top of each ranking: i2t=FILE, t2i=FILE. In Python a mapping from ``i2t``,
            ``t2i`` or both to a matrix (image, caption), or to a file of a matrix or of pairs. NaN, infinite values and
            one constant stand for pairs without a score. See ``docs/scores.md``.
        combine: how ``rerank`` combines the two scores: ``replace`` the first, or ``add:WEIGHT`` times the second.
        rerank_depth: items per query for ``rerank``; by default as many as every query has scores for.
        index: saved FAISS index, whose lists are re-scored exactly: i2t=FILE, t2i=FILE:nprobe=16. In Python also
            ``{"t2i": "images.faiss"}``, with parameters of the search behind the name:
            ``images.faiss:nprobe=16,k=1000``. See ``docs/scores.md``.

    Args, relevance:
        gains: graded relevance: cider, spice or another kind (see vsebench metrics), or a file; cider by default. In
            Python also (image, caption) numbers, an array of the view ``matrix``; one or a list.
        judgements: your judgements: FILE, NAME=FILE, NAME=i2t:FILE or NAME=labels:FILE. In Python also ``{NAME:
            JUDGEMENTS}``. JUDGEMENTS are a file, ``{query id: item ids}``, ``{query id: {item id: grade}}``, or one of
            these under each of ``i2t`` and ``t2i``. They can also be a list of (image id, caption id) or (image id,
            caption id, grade), a matrix (image, caption), or class labels ``{"labels": (of the images, of the
            captions)}``. See ``docs/judgements.md``.
        level: smallest grade that counts as positive (with ``judgements``).
        human_data: folder of the CxC ratings, for the suite cxc-intra.

    Args, ties and missing items:
        ties: order of equal scores: index, optimistic, pessimistic, expected or docid-desc. ``expected`` is the mean of
            a metric over all orders of tied items.
        no_positive: judged queries without a positive: ``skip`` them, or count each as a ``miss``.
        short_lists: metrics deeper than the ranked lists: ``refuse`` them, or count a ``miss``.

    Args, result:
        save_run: write the top of each ranking: JSON, or one TREC run per direction (.trec, .run, .txt). JSON is
            eccv-style; ``top.trec`` is written as ``top.i2t.trec`` and ``top.t2i.trec``.
        depth: items per query for ``save_run``; 100 by default.
        lists: items per query to keep in the report for its page; 10 by default in JSON reports. At most 100; none by
            default in Python.
        progress: called with (done, in all).

    Args, intervals:
        ci: confidence level of the intervals in percent; 0 for none.
        resamples: number of bootstrap resamples.
        seed: random seed.
        interval: interval method: ``bca`` or ``percentile``.

    Args, where it is computed:
        threads: number of threads; never changes a result.
        backend: what ranks: auto, numpy, torch (torch:cpu, torch:cuda:1) or faiss; never changes a digit. ``numpy`` is
            the reference; ``faiss`` is for metrics of the top of rankings (a note says which metrics read more and are
            ranked by numpy).
        engine: where it runs: local, or dask for a Dask cluster (docs/backends.md); never changes a digit. They read
            the input from its files.
        scheduler: address of a running Dask scheduler; by default one starts on this machine. It is such as
            ``tcp://10.0.0.1:8786``.
        workers: Dask processes on this machine; 2 by default.
        resume: continue an interrupted evaluation of ``engine`` dask.

    Raises:
        BadInput: unreadable, misshapen, unmatched or suspicious data; metrics that cannot be measured with it.
        UsageError: unknown metrics, splits or options, or options that do not fit together.
        MissingPackage: a format, a split or a kind of gains needs a package that is not installed.
        WorkersLost: the workers of a cluster cannot be reached, or end before their work does.
    """
    parsed, started = request(**locals()), assemble.now()
    check_input(parsed)
    sources = parsed.beside
    with logged(), read_once():
        data = system.read(parsed)
        sources = [*data.sources, *sources]
        if parsed.save_run is not None:
            refuse_overwriting(list(saved_run.files(Path(parsed.save_run)).values()), sources)
        plan = make_plan(data, parsed)
        system.audit(data, plan.targets[0])
        report, observed, backend = run_evaluation(data, plan)
    other = {"backend": backend} if backend != parsed.backend else {}
    report = assemble.attach(report, started, parsed.threads, sources, backend, {**parsed.settings, **other})
    if parsed.save_run is not None:
        saved_run.write(Path(parsed.save_run), data.split, observed, parsed.kept)
    return report


def run_evaluation(data: Input, plan: Plan) -> tuple[Report, dict[Direction, Observation], str]:
    """Rank, score and report; repeat with numpy if a GPU chosen by ``auto`` fails.

    A GPU chosen by the user is not replaced: its error is raised.

    Args:
        data: what is ranked.
        plan: what is measured.

    Returns:
        The report, the ranks and the top of the rankings, and the back-end that ranked.
    """
    misread.check(data, plan)
    # Before all the work, which would be lost if the ratings are missing.
    within = intra.results(plan, data.vectors) if plan.intra and data.vectors else ({}, None)
    if plan.request.correction is not None:
        data = corrections.apply(data, plan)
    backend = plan.request.backend
    try:
        return *_measured(data, plan, backend, *within), backend
    except (DeviceFault, RuntimeError) as error:
        of_device = isinstance(error, DeviceFault) or (is_of_torch(error) and "cuda" in chosen(AUTO)[0])
        if backend != AUTO or not of_device:
            raise
        failed = error.what if isinstance(error, DeviceFault) else f"torch failed on the GPU: {first_line(error)}"
    report, observed = _measured(data, plan, "numpy", *within)
    return replace(report, notes=(*report.notes, f"numpy ranked, because {failed}")), observed, "numpy"


def _measured(
    data: Input, plan: Plan, backend: str, within: dict[Key, Measurement], ratings: str | None
) -> tuple[Report, dict[Direction, Observation]]:
    """The report, with values ``within`` the modalities, and the ranks and the top of the rankings."""
    with engines.start(data, plan, backend) as engine:
        observed = dict(plan.listed)
        if data.system is not None:
            for d, one in engine.observe(data.system).items():
                observed[d] = replace(one, top=one.top and corrected.with_scores(data.scorer(d), one.top))
        if data.second:
            data, observed = second_stage.apply(data, plan, observed)
        results = binary.hubness(plan, data, observed)
        results |= binary.results(plan, observed)
        if plan.graded:
            results |= graded.results(plan, data, engine, observed)
        report = assemble.report(plan, data, observed, results | within, ratings)
        listed = {"index": recall(data, plan, backend)} if data.index else {}
        report = replace(report, provenance={**engine.facts, **listed})
    if plan.lists:
        report = replace(report, lists=assemble.kept_lists(plan, observed))
    return report, observed
