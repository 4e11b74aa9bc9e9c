"""The whole way on one page: split and scores in, report out. The only module that knows all the others."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import relevance
from ..data import align as prepare
from ..data import align_runs as match_runs
from ..data import read
from ..data import runs as run_files
from ..data.textfile import read_text
from ..errors import BadInput, MissingPackage, UsageError
from ..graded import run as graded_pass
from ..metrics import Metric
from ..metrics.declare import DEFAULT_GAINS, separate
from ..rank import lists as retrieved
from ..rank.observe import Request, Watch
from ..rank.scorers import Matrix, Scorer, choose
from ..rank.stream import stream
from ..relevance.gains import Gains, Spec
from ..report.model import Report, Result
from ..types import Direction, Embeddings, Everyone, Int, Observation, Ranks, SameFold, Split, TopK
from . import graded as graded_eval
from . import measure
from .misread import suspect
from .options import Options as Options
from .options import PathLike as PathLike

Inside = tuple[list[Result], str]
LEAVE_OUT = "leave it out, or evaluate the embeddings"


def evaluate(
    images: npt.ArrayLike | Embeddings,
    captions: npt.ArrayLike | Embeddings,
    split: Split | str = "custom",
    **options: Any,
) -> Report:
    """Measure image and caption vectors that are in memory.

    Args:
        images: (image, dim) floats in the order of the split, or Embeddings, which are matched by id.
        captions: (caption, dim) floats in the order of the split, or Embeddings.
        split: a Split, the name of a declared one, or ``custom``: five captions an image, in order (or
            ``captions_per_image``).
        **options: fields of ``Options``, for example ``metrics="R@1,eccv"``.

    Raises:
        BadInput: what the input audit refuses.
        UsageError: unknown metrics, splits or options.
    """
    from ..data.formats.raw import RawEmbeddings

    chosen = Options(**options)

    def vectors(side: npt.ArrayLike | Embeddings) -> npt.NDArray[Any]:
        return side.vectors if isinstance(side, Embeddings) else np.asarray(side)

    ids = [x.ids if isinstance(x, Embeddings) else None for x in (images, captions)]
    raw = RawEmbeddings(vectors(images), vectors(captions), ids[0], ids[1], None, "arrays", (Path("<arrays>"),))
    if isinstance(split, Split):
        ready = prepare.for_split(raw, split)
    else:
        ready = prepare.embeddings(raw, split, chosen.captions_per_image)
    return _evaluate_embeddings(ready, chosen).report


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A report, the split it is about, and the top lists if they were asked for."""

    report: Report
    split: Split
    lists: Mapping[Direction, TopK]
    sources: tuple[Path, ...] = ()


def evaluate_file(
    path: PathLike,
    *,
    texts: PathLike | None = None,
    split: str | None = None,
    image_key: str | None = None,
    text_key: str | None = None,
    options: Options | None = None,
) -> Evaluation:
    """Read, audit, match and measure a file of embeddings (see ``data.read`` for the formats).

    Raises:
        BadInput: unreadable, misshapen, unmatched or suspicious data.
        UsageError: unknown metrics, splits or options.
        MissingPackage: a format or a split needs a package that is not installed.
    """
    options = options or Options()
    raw = read.read_embeddings(
        Path(path), texts=None if texts is None else Path(texts), image_key=image_key, text_key=text_key
    )
    ready = prepare.embeddings(raw, split, options.captions_per_image)
    return replace(_evaluate_embeddings(ready, options), sources=(*raw.sources, *_beside(options)))


def _evaluate_embeddings(ready: prepare.PreparedEmbeddings, options: Options) -> Evaluation:
    scorer, decision = choose(ready.images, ready.captions, options.similarity)

    def inside() -> Inside:
        from .intra import evaluate_both

        return evaluate_both(
            ready.split, ready.images.vectors, ready.captions.vectors, options.human_data,
            similarity=options.similarity, ties=options.ties, empty=options.empty, threads=options.threads,
        )  # fmt: skip

    return _evaluate_scorer(
        scorer, ready.split, options, [*ready.notes, decision], list(ready.warnings), ready.where, ready.rows, inside
    )


def evaluate_scores(
    path: PathLike, *, split: str | None = None, key: str | None = None, options: Options | None = None
) -> Evaluation:
    """Measure a score matrix, one row an image and one column a text, for models without a joint space.

    Raises:
        BadInput, UsageError, MissingPackage: as ``evaluate_file``.
    """
    options = options or Options()
    if options.similarity != "auto":
        raise UsageError("--similarity has no meaning for a score matrix", fix="leave it out")
    raw = read.read_scores(Path(path), key=key)
    ready = prepare.scores(raw, split, options.captions_per_image)
    scorer = Matrix(ready.scores, ready.image_rows, ready.text_rows)
    rows = (ready.image_rows, ready.text_rows)
    done = _evaluate_scorer(scorer, ready.split, options, list(ready.notes), list(ready.warnings), Path(path), rows)
    return replace(done, sources=(*raw.sources, *_beside(options)))


def _evaluate_scorer(
    scorer: Scorer,
    split: Split,
    options: Options,
    notes: list[str],
    warnings: list[str],
    where: Path,
    file_rows: tuple[Int | None, Int | None],
    inside: Callable[[], Inside] | None = None,
) -> Evaluation:
    options, intra = _without_intra(options)
    if intra and inside is None:
        raise UsageError(f"{measure.INTRA} ranks images by images, which a score matrix does not hold", fix=LEAVE_OUT)
    metrics, split, gains = _plan(options, split, options.directions, notes, intra, file_rows)
    absent = measure.absent_views(split) if options.metrics is None else []
    if absent:
        notes.append(f"{', '.join(absent)} left out: the judgements are not installed (pip install 'vsebench[text]')")
    as_read, better = suspect(scorer, split, file_rows)
    if better is not None:
        what = (
            f"recall collapses: sampled text-to-image R@10 is {as_read.recall:.1%} as read and {better.recall:.1%} "
            f"{better.words}"
        )
        if not options.trust:
            raise BadInput(
                what,
                where=where,
                fix="save image_of_text (or correct ids) with the file; --trust ranks it as read",
            )
        warnings.append(what)
    requests = _requests(metrics, split, options.directions)
    measure.refuse_misses(metrics, requests, options.empty)
    within = inside() if intra and inside else None  # first, as it may lack its ratings
    depth = {} if options.depth is None else dict.fromkeys(options.directions, options.depth)
    asked = [m for m in metrics if graded_eval.is_graded(m)]
    watch = None
    if requests or depth:
        watch = Watch(scorer, requests, ties=options.ties, depth=depth, threads=options.threads)
    # One product serves both where graded metrics look at all scores anyway.
    together = watch is not None and graded_pass.passes_all(split, asked, options.directions)
    if watch and not together:
        stream(scorer, watch.look, watch.threads, None, options.progress)
    graded = None
    if gains:
        if options.ties != "index":
            notes.append("--ties is about binary relevance: graded metrics take ties in the order of the index")
        found = graded_pass.run(
            scorer, split, asked, gains, options.directions, threads=options.threads, progress=options.progress,
            also=watch.look if watch and together else None,
        )  # fmt: skip
        graded = graded_eval.Measured(found, gains, split)
    seen = watch.found() if watch else {}
    report = measure.report(
        metrics, seen, split, scorer.name, options.ties, options.empty, options.directions, notes, warnings,
        resampling=options.resampling(), threads=options.threads, graded=graded,
        inside=within,
    )  # fmt: skip
    return Evaluation(report, split, {d: o.lists["all"] for d, o in seen.items() if "all" in o.lists})


def _beside(options: Options) -> list[Path]:
    """Files that were read beside the scores: captions, and what gains were made from."""
    named = [options.caption_texts, *(spec.argument for spec in graded_eval.choose(options.gains).values())]
    return [path for path in (Path(x).expanduser() for x in named if x is not None) if path.is_file()]


def _without_intra(options: Options) -> tuple[Options, bool]:
    """The options without the word for retrieval inside the modalities, and whether it was there."""
    if options.metrics is None:
        return options, False
    words = separate(options.metrics) if isinstance(options.metrics, str) else list(options.metrics)
    rest = [w for w in words if w.lower() != measure.INTRA]
    return (replace(options, metrics=rest), True) if len(rest) < len(words) else (options, False)


def _plan(
    options: Options,
    split: Split,
    directions: Sequence[Direction],
    notes: list[str],
    intra: bool = False,
    rows: tuple[Int | None, Int | None] = (None, None),
) -> tuple[list[Metric], Split, dict[str, Gains]]:
    """What to measure, the split (with its captions where gains need them), and the gains by view."""
    chosen = graded_eval.choose(options.gains)
    if intra and not options.metrics:
        return [], split, {}
    views: Mapping[str, Spec | None] = {**chosen} or {DEFAULT_GAINS: None}
    metrics = measure.plan(options.metrics, split, directions, views)
    captions = None if options.caption_texts is None else Path(options.caption_texts)
    try:
        if captions is not None and not any(graded_eval.is_graded(m) for m in metrics):
            read_text(captions)  # a wrong path is told even where it has no effect
            notes.append("--captions: no metric uses them")
        split, gains, said = graded_eval.load(metrics, chosen, split, captions, rows)
    except (UsageError, MissingPackage) as error:
        binary = [m for m in metrics if not graded_eval.is_graded(m)]
        # `all` takes what there is; whoever names a graded metric, gains or captions is told what is missing.
        if chosen or captions or binary != measure.plan(options.metrics, split, directions):
            raise
        notes.append(f"graded relevance left out: {error.what} ({error.fix})")
        return binary, split, {}
    named = measure.plan(measure.named(options.metrics), split, directions, views) if gains or chosen else []
    metrics, left = graded_eval.settle(metrics, named, gains, chosen)
    notes += [*said, *left]
    return metrics, split, {view: held for view, held in gains.items() if view in {m.view for m in metrics}}


def _requests(metrics: Sequence[Metric], split: Split, directions: Sequence[Direction]) -> list[Request]:
    """One request for every view and direction that some metric looks at."""
    judged = functools.cache(lambda name, direction: relevance.load(name, split, direction))
    return [
        Request(view, judged("gt" if view == "1k" else view, d), _candidates(view, split, d) or Everyone())
        for view in dict.fromkeys(m.view for m in metrics if not graded_eval.is_graded(m))
        for d in directions
    ]


def _candidates(view: str, split: Split, direction: Direction) -> SameFold | None:
    if not (view == "1k" or split.name == "coco-1k"):
        return None
    if split.fold is None or split.caption_fold is None:
        raise UsageError(f"split '{split.name}' has no folds, which view '{view}' needs", fix="use --split coco-5k")
    sides = (split.fold, split.caption_fold)
    return SameFold(*(sides if direction == "i2t" else sides[::-1]))


def evaluate_runs(
    paths: Sequence[PathLike],
    *,
    directions: Sequence[Direction | None] = (),
    split: str | None = None,
    options: Options | None = None,
) -> Evaluation:
    """Measure retrieved lists (TREC run, eccv-style JSON).

    Metrics that look deeper than the lists reach are refused by name, or count what a list does not hold as
    not found when ``options.short`` is ``miss``.

    Raises:
        BadInput, UsageError, MissingPackage: as ``evaluate_file``.
    """
    options = options or Options()
    if options.depth is not None or options.ties != "index" or options.similarity != "auto":
        raise UsageError(
            "retrieved lists have an order and no scores", fix="leave out --ties, --similarity and --save-run"
        )
    raw = run_files.read_runs([Path(p) for p in paths], directions)
    held = match_runs.resolve(raw, split)
    if _without_intra(options)[1]:
        raise UsageError(f"{measure.INTRA} ranks images by images, which these lists do not hold", fix=LEAVE_OUT)
    asked = tuple(d for d in options.directions if d in held.lists)
    if not asked:
        raise BadInput(
            f"no list for {', '.join(options.directions)}",
            where=raw.sources[0],
            fix="give a run of that direction",
        )
    notes = list(raw.notes)
    metrics, split_with_captions, gains = _plan(options, held.split, asked, notes)
    held = replace(held, split=split_with_captions)
    seen: dict[Direction, Observation] = {}
    for direction in asked:
        ranks: dict[str, Ranks] = {}
        gallery = len(held.split.caption_ids if direction == "i2t" else held.split.image_ids)
        for request in (r for r in _requests(metrics, held.split, asked) if r.relevance.direction == direction):
            fold = request.candidates if isinstance(request.candidates, SameFold) else None
            ranks[request.view] = retrieved.ranks_from_lists(request.relevance, held.lists[direction], gallery, fold)
        seen[direction] = Observation(direction, ranks, {})
    warnings = measure.refuse_shallow(metrics, seen, held.split, raw.sources[0], options.short)
    graded = None
    if gains:
        wanted = [m for m in metrics if graded_eval.is_graded(m)]
        lists = {d: held.lists[d] for d in asked}
        found = graded_pass.from_lists(lists, held.split, wanted, gains, held.tied)
        graded = graded_eval.Measured(found, gains, held.split)
        notes += graded_eval.unknown_ties(wanted, [d for d in asked if d not in held.tied])
    report = measure.report(
        metrics, seen, held.split, "run", options.ties, options.empty, asked, notes, warnings, options.short,
        resampling=options.resampling(), threads=options.threads, graded=graded,
    )  # fmt: skip
    return Evaluation(report, held.split, {}, (*raw.sources, *_beside(options)))
