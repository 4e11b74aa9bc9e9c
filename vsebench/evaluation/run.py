"""An evaluation on one page: request, read, align, plan, rank, score, report.

    arguments -> Request -> system (read, align) -> plan -> rank -> score -> assemble -> Report

``request`` parses the arguments, once. ``inputs`` reads vectors, a score matrix or retrieved lists and aligns them
with a split, by the table of file formats in ``files``; ``misread`` refuses rows in another order; ``plan`` decides
what is measured, from the tables of judgements and of gains in ``relevance`` and of metrics in ``metrics``. Ranks of
the relevant items come from one pass over the scores (``rank.observe``), from lists of an index if these suffice
(``engines.route``), or from given lists, and ``binary`` makes results of them; ``graded`` ranks complete galleries
(``graded.engine``); ``intra`` retrieves images by images and captions by captions. ``assemble`` adds sums, intervals,
the signature and warnings, with the top of the rankings where it is kept, and what was evaluated, where and when.
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
from ..results.model import Result
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
    run: PathLike | Sequence[PathLike] | Mapping[Direction, PathLike | Mapping[Any, Any]] | None = None,
    fuse: Sequence[npt.ArrayLike | PathLike | Mapping[Direction, Any]]
    | npt.ArrayLike
    | PathLike
    | Mapping[Direction, Any]
    | None = None,
    rerank: Mapping[Direction, npt.ArrayLike | PathLike] | Sequence[PathLike] | None = None,
    index: PathLike | Mapping[Direction, PathLike] | Sequence[PathLike] | None = None,
    split: TestSet | str | None = None,
    metrics: Names | None = None,
    gains: GainsLike = (),
    judgements: JudgementsLike = (),
    level: float = 1.0,
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
        images: a file of embeddings (see ``docs/formats.md``), the folder of a training run, or image vectors:
            (image, dim) floats as an array, a torch tensor or ``Embeddings``, in the order of the split unless they
            carry ids.
        texts: the text vectors, when ``images`` is an .npy file of image vectors or an array: (caption, dim).
        scores: a score matrix instead: (image, caption) floats, as an array or a file; ``{"i2t": ..., "t2i": ...}`` for
            one of each direction.
        run: retrieved lists instead: TREC runs or JSON; a file, several, or ``{"i2t": FILE, "t2i": FILE}``, where lists
            in memory may stand for a file: ``{query id: item ids, best first}``, or ``{query id: {item id: score}}``.
            Scores order the items; equal ones are in the order of the gallery (in trec_eval: of descending ids).
            ``rank:FILE`` or ``rank:i2t`` takes the order of the rank column.
        split: a ``TestSet``, ``coco-5k``, ``coco-1k``, ``f30k`` or ``custom``; by default the ids of a file decide, and
            arrays are a custom split of ``captions_per_image`` texts an image, in order.
        captions: a file of captions, or a list of them in the order of the text vectors (of a declared split: in its
            order), for splits whose captions are not known here.
        image_key, text_key, scores_key: names of the arrays in a file.
        image_ids, text_ids: (image,) and (text,) ids of rows that have none, integers or strings; or a file of them:
            ``.npy``, a JSON list, or a text with one a line.
        query_ids, corpus_ids: the same where the rows of images are queries and those of texts a corpus, of which
            ``judgements`` say what is relevant.
        image_id_of_text: (text,) the id of the image of every text, if neither a declared split nor the ids give it;
            without ``image_ids`` the row of the image, from 0.
        captions_per_image: texts an image, in order, for vectors and scores without ids; 5 by default.
        only: the part of the images and captions that is evaluated as a gallery of its own: ``lang=de``, by a column of
            the file of captions, or ``FILE:COLUMN=VALUE[,VALUE...]``.
        trust: warn, instead of refusing, when recall is at chance or the rows seem to be in another order.

    Args, what is measured:
        metrics: names, suites or ``all``; None for the headline suites of the split.
        direction: ``both``, ``i2t`` or ``t2i``.
        similarity: ``auto``, ``cosine`` or ``dot``.
        fuse: other systems, whose scores are added to those of the first: files of embeddings or of score matrices, or
            arrays of scores. Of ``run``: other runs, fused by reciprocal ranks: ``sum of weight / (60 + rank)``.
        weights: of ``fuse``: a number above 0 for each system, the first one first, as in ``0.7,0.3``; by default
            all are 1.
        normalise: a correction of hubness: ``csls:k=10``, ``dsl:beta=100`` or ``qb:beta=20``, from the test queries
            (transductive), or from those of a file, ``qb:BANK.npz:beta=20``. See ``docs/scores.md``.
        rerank: scores of a second stage, such as a cross-encoder, for the top of every ranking: a mapping from ``i2t``,
            ``t2i`` or both to a matrix (image, caption), or to a file of a matrix or of pairs. NaN, infinite values and
            one constant stand for pairs without a score. See ``docs/scores.md``.
        combine: of ``rerank``: ``replace`` the first scores of the top, or ``add:WEIGHT`` times the second to them.
        rerank_depth: of ``rerank``: items a query; by default as many as every query has scores for.
        index: saved FAISS indexes, ``{"t2i": "images.faiss"}``, with parameters of the search behind the name:
            ``images.faiss:nprobe=16,k=1000``. Their lists are re-ranked by exact scores. See ``docs/backends.md``.

    Args, relevance:
        gains: kinds of graded relevance, such as ``spice`` or ``sentence:NAME``, or gains computed elsewhere: a file,
            or (image, caption) numbers, an array of the view ``matrix``; one or a list. CIDEr-D when none is named.
        judgements: your relevance judgements, as ``{NAME: JUDGEMENTS}``, or as on the command line ``FILE`` (named
            after the file) or ``NAME=FILE``, one or a list. JUDGEMENTS are a file, ``{query id: item ids}``,
            ``{query id: {item id: grade}}``, or one of these under each of ``i2t`` and ``t2i``. They can also be a list
            of (image id, caption id) or (image id, caption id, grade), a matrix (image, caption), or class labels
            ``{"labels": (of the images, of the captions)}``. See ``docs/judgements.md``.
        level: the smallest grade of a positive of ``judgements``.
        human_data: folder of the CxC ratings, for the suite ``cxc-intra``.

    Args, ties and missing items:
        ties: tie rule: ``index``, ``optimistic``, ``pessimistic`` or ``expected`` (the mean of a metric over all
            orders of tied items).
        no_positive: queries that the judgements cover and that have no positive: ``skip`` them, or count a ``miss``.
        short_lists: metrics that read deeper than the retrieved lists: ``refuse`` them, or count a ``miss``.

    Args, output:
        save_run: a file for the top of every ranking: eccv-style JSON, or TREC runs with scores when it ends in .trec,
            .run or .txt, one a direction (``top.trec`` is written as ``top.i2t.trec`` and ``top.t2i.trec``).
        depth: items a query in ``save_run``; 100 by default.
        lists: items a query that the report keeps, at most 100, with scores and gains: what the page of a report shows
            of single queries. None by default; a JSON report of the command line has 10.
        progress: called with (done, in all).

    Args, intervals:
        ci: level of the intervals in percent; 0 for none.
        resamples: how many resamples an interval is made of.
        seed: of what is drawn at random.
        interval: ``bca`` or ``percentile``.

    Args, where it is computed:
        threads: how many compute; never changes a result.
        backend: what ranks: ``auto``, ``numpy`` (the reference), ``torch`` (``torch:cpu``, ``torch:cuda:1``), or
            ``faiss`` for metrics of the top of rankings (a note says which metrics read more and are ranked by numpy);
            never changes a result.
        engine: which processes compute: ``local``, this one with threads, or ``dask``, the workers of a Dask cluster,
            which read the input from its files (see ``docs/backends.md``); never changes a result.
        scheduler: the address of a running Dask scheduler, such as ``tcp://10.0.0.1:8786``; by default one is started
            on this machine.
        workers: worker processes of that one; 2 by default.
        resume: continue an evaluation with ``engine="dask"`` that was ended, with the shards that were finished.

    Raises:
        BadInput: unreadable, misshapen, unmatched or suspicious data; metrics that cannot be measured with it.
        UsageError: unknown metrics, splits or options, or options that do not fit together.
        MissingPackage: a format, a split or a kind of gains needs a package that is not installed.
        WorkersLost: the workers of a cluster cannot be reached, or end before their work does.
    """
    asked, started = request(**locals()), assemble.now()
    check_input(asked)
    sources = asked.beside
    with logged(), read_once():
        data = system.read(asked)
        sources = [*data.sources, *sources]
        if asked.save_run is not None:
            refuse_overwriting(list(saved_run.files(Path(asked.save_run)).values()), sources)
        report, observed, backend = run_evaluation(data, make_plan(data, asked))
    other = {"backend": backend} if backend != asked.backend else {}
    report = assemble.attach(report, started, asked.threads, sources, backend, {**asked.settings, **other})
    if asked.save_run is not None:
        saved_run.write(Path(asked.save_run), data.split, observed, asked.kept)
    return report


def run_evaluation(data: Input, plan: Plan) -> tuple[Report, dict[Direction, Observation], str]:
    """Rank, score and report, once more by numpy where a GPU fails that ``auto`` has chosen.

    A GPU that the user has named is not replaced: the error says what is wrong with it.

    Args:
        data: what is ranked.
        plan: what is measured.

    Returns:
        The report, the ranks and the top of the rankings, and the back-end that ranked.
    """
    misread.check(data, plan)
    # Before all the work, which would be lost where the ratings are missing.
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
    data: Input, plan: Plan, backend: str, within: dict[Key, Result], ratings: str | None
) -> tuple[Report, dict[Direction, Observation]]:
    """The report, with values ``within`` the modalities, and the ranks and the top of the rankings."""
    with engines.start(data, plan, backend) as engine:
        observed = dict(plan.listed)
        if data.system is not None:
            for d, one in engine.observe(data.system).items():
                observed[d] = replace(one, top=one.top and corrected.shown(data.scorer(d), one.top))
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
