"""The words of ``--metrics``: metric names, suites of metrics, and ``all``, ``binary`` and ``graded``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from ..errors import UsageError, closest
from ..options import spell
from ..relevance.sources import is_gains
from .declare import DEFAULT_GAINS, HUBNESS, Metric, UnknownMetric, known_names, parse, separate

Names = str | Metric | Sequence[str | Metric]  # of metrics and suites; a string holds several, separated by commas


@dataclass(frozen=True)
class Suite:
    """Metrics that are named together.

    Attributes:
        name: the word in ``--metrics``.
        metrics: their names; metrics of a graded suite get the view of the gains, as in ``spice:ncs``.
        meaning: one line.
        headline: those that papers report first; ``vsebench compare`` tests them when no metric is named.
        default: measured when no metric is named and the split has these judgements.
    """

    name: str
    metrics: tuple[str, ...]
    meaning: str
    headline: tuple[str, ...]
    default: bool = True

    @property
    def graded(self) -> bool:
        """Whether the metrics read gains."""
        return parse(self.metrics[0]).graded


MULTI_POSITIVE = ("R@1", "R-P", "mAP@R")  # for judgements with several positives per query
JUDGEMENTS_ONLY = ("nDCG@10", "Recall@10", "R@1", "mAP")  # for judgements without ground truth
INTRA = "cxc-intra"
SUITES: dict[str, Suite] = {
    s.name: s
    for s in (
        Suite(
            "recall", ("R@1", "R@5", "R@10", "MedR", "MeanR", "RSum"),
            "recall of the captions written for the image, ranks of the first of them, and the sum of the recalls",
            ("R@1", "R@5", "R@10", "RSum"),
        ),
        Suite(
            "1k", ("1k:R@1", "1k:R@5", "1k:R@10", "1k:MedR", "1k:MeanR", "1k:RSum"),
            "the same on COCO 1K, mean over the five folds",
            ("1k:R@1", "1k:RSum"),
        ),
        Suite(
            "eccv", tuple(f"eccv:{name}" for name in MULTI_POSITIVE),
            "ECCV Caption judgements, which hold relevant items beyond the captions written for the image",
            ("eccv:mAP@R",),
        ),
        Suite(
            "cxc", ("cxc:R@1", "cxc:R@5", "cxc:R@10", "cxc:RSum"),
            "recall of images and captions that Crisscrossed Captions judges similar",
            ("cxc:R@1",),
        ),
        Suite(
            "entails", tuple(f"entails:{name}" for name in MULTI_POSITIVE),
            "every caption that is true of an image is relevant, whichever image it was written for; scenes only",
            ("entails:mAP@R",), default=False,  # takes minutes on a split of 5,000 images, for its many positives
        ),
        Suite(
            "cs", ("CS@100", "CS@200", "CS@1000"),
            "Coherent Score: how far the order of the first k items agrees with the order of their gains",
            ("CS@100",),
        ),
        Suite(
            "ncs", ("NCS@1", "NCS@5", "NCS@10", "Nsum", "NsumN"),
            "Normalised Cumulative Semantics: the gains of the first k items over the largest possible, and sums",
            ("NCS@10",),
        ),
        Suite(
            "sr", ("SR@1", "SR@5", "SR@10"),
            "Semantic Recall: the share of the five items with the largest gains that is among the first k",
            ("SR@10",),
        ),
        Suite(
            "ndcg", ("nDCG@1", "nDCG@5", "nDCG@10"),
            "normalised discounted cumulative gain of the first k items", ("nDCG@10",),
        ),
        Suite(
            HUBNESS, ("Skewness@10", "Anti-hubs@10", "Hubs@10"),
            "how unevenly the first ten places of all queries are spread over the gallery",
            ("Skewness@10",), default=False,
        ),
        Suite(
            INTRA, ("cxc:R@1", "cxc:R@5", "cxc:R@10", "cxc:MedR", "cxc:MeanR"),
            "images retrieved by images, captions by captions, judged by Crisscrossed Captions; needs its ratings "
            "(docs/which-metric.md)", ("cxc:R@1",),
        ),
    )
}  # fmt: skip
ALL = {
    "all": "every metric in every view of the split, and every graded metric that suits its gains, if the captions "
    "are known",
    "binary": "every metric of the judgements that a split has",
    "graded": "every graded metric that suits the gains",
}


def words(text: Names | Sequence[object] | None) -> list[str]:
    """The words of a comma-separated list, or of a sequence."""
    if isinstance(text, Metric):
        return [str(text)]
    return separate(text) if isinstance(text, str) else [w for w in (str(x).strip() for x in text or ()) if w]


def expand(
    text: str | Sequence[str],
    views: Sequence[str],
    gains: Sequence[str] = (),
    suits: Callable[[Metric], bool] = bool,
) -> list[Metric]:
    """The metrics of a comma-separated list, in order, without repeats.

    Args:
        text: names, suites, ``all``, ``binary`` or ``graded``; the name of judgements means their ``MULTI_POSITIVE``.
        views: the judgements that the split has; ``all`` and ``binary`` stay within them.
        gains: kinds of gains that ``all`` and ``graded`` go through; the first is that of graded names without a view.
        suits: whether a graded metric is defined with the gains of its view; ``all`` and ``graded`` leave out others.

    Raises:
        UsageError: an unknown name, with close matches.
    """
    listed = words(text)
    if not listed:
        raise UsageError("no metric is given", fix=f"give {spell('metrics', 'R@1,eccv')} or all")
    default = gains[0] if gains else DEFAULT_GAINS
    chosen: list[Metric] = []
    for word in listed:
        lower = word.lower()
        if lower in ALL:
            if lower != "graded":
                each = (parse(f"{v}:{name}") for v in views for name in known_names(graded=False))
                chosen += [m for m in each if m.weight == 1]  # the mean of a sum says nothing more than the sum
            if lower != "binary":
                through = gains or ((default,) if lower == "graded" else ())
                each = (parse(f"{v}:{name}") for v in through for name in known_names(graded=True))
                chosen += [m for m in each if suits(m)]
        else:
            names = members(word, default)
            if names is None and lower in views:
                names = tuple(f"{lower}:{name}" for name in MULTI_POSITIVE)
            chosen += [_parse_word(word, default)] if names is None else [parse(name) for name in names]
    return list(dict.fromkeys(chosen))


def members(word: str, default: str = DEFAULT_GAINS) -> tuple[str, ...] | None:
    """The names of a suite, None when the word names none; ``spice:ncs`` and ``eccv:recall`` are suites with a view."""
    view, _, tail = word.rpartition(":")
    suite = SUITES.get(tail.lower())
    if suite is None or (view and any(":" in name for name in suite.metrics)):
        return None
    prefix = view or (default if suite.graded else "")
    return tuple(f"{prefix}:{name}" if prefix else name for name in suite.metrics)


def headlines(metrics: Iterable[Metric]) -> list[Metric]:
    """The headline metrics among some; of judgements or gains without one, all.

    >>> from vsebench.metrics import parse
    >>> from vsebench.metrics.suites import headlines
    >>> [str(m) for m in headlines(map(parse, ["R@1", "MedR", "eccv:R-P", "spice:CS@100", "spice:CS@200"]))]
    ['R@1', 'eccv:R-P', 'spice:CS@100']
    """
    given = list(dict.fromkeys(metrics))
    binary = {name for s in SUITES.values() if not s.graded for name in s.headline}
    graded = {name for s in SUITES.values() if s.graded for name in s.headline}
    first = [m for m in given if (m.name in graded if m.graded else str(m) in binary)]
    represented = {m.view for m in first}
    return [m for m in given if m in first or m.view not in represented]


def _parse_word(word: str, default: str) -> Metric:
    try:
        found = parse(word)
    except UnknownMetric as error:
        near = [] if ":" in word or error.sure else closest(word, [*ALL, *SUITES, *known_names()])
        if near and near[0] in (*ALL, *SUITES):
            error.fix = f"did you mean {' or '.join(map(repr, near))}?"
        raise
    return replace(found, view=default) if is_gains(found.view) and ":" not in word else found


def default_words(views: Sequence[str], custom_views: Sequence[str] = (), alone: bool = False) -> list[str]:
    """What is measured if no metric is named: the headline suites of the split and the judgements of the user.

    Judgements alone are measured by ``JUDGEMENTS_ONLY``.
    """
    if alone:
        custom_views = [f"{view}:{name}" for view in custom_views for name in JUDGEMENTS_ONLY]
    recall = ["recall"] if "gt" in views else []
    return [*recall, *(v for v in views if v in SUITES and SUITES[v].default), *custom_views]
