"""What ``--metrics`` understands: names, families and ``all``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..errors import UsageError
from ..registry import closest, unknown
from ..relevance.judgements.table import JUDGEMENTS
from .declare import DEFAULT_GAINS, GRADED, Metric, known_names, parse, separate

FAMILIES: dict[str, tuple[str, ...]] = {
    "recall": ("R@1", "R@5", "R@10", "MedR", "MeanR", "RSum"),
    "1k": ("1k:R@1", "1k:R@5", "1k:R@10", "1k:MedR", "1k:MeanR", "1k:RSum"),
    "eccv": ("eccv:R@1", "eccv:R-P", "eccv:mAP@R"),
    "cxc": ("cxc:R@1", "cxc:R@5", "cxc:R@10", "cxc:RSum"),
}

# In the view of the gains that were chosen, or in the one written in front: spice:ncs.
GRADED_FAMILIES: dict[str, tuple[str, ...]] = {
    "cs": ("CS@100", "CS@200", "CS@1000"),
    "ncs": ("NCS@1", "NCS@5", "NCS@10", "Nsum", "NsumN"),
    "sr": ("SR@1", "SR@5", "SR@10"),
    "ndcg": ("nDCG@1", "nDCG@5", "nDCG@10"),
}
# What a family means; "cxc-intra" is told apart by the evaluation, since it ranks something else.
MEANINGS: dict[str, str] = {
    "recall": "recall of the captions written for the image, ranks of the first of them, and the sum of the recalls",
    "1k": "the same on COCO 1K, mean over the five folds",
    "eccv": "ECCV Caption judgements, which know relevant items beyond the captions written for the image",
    "cxc": "recall of images and captions that Crisscrossed Captions judges similar",
    "cs": "Coherent Score: how far the order of the first k items agrees with the order of their gains",
    "ncs": "Normalised Cumulative Semantics: the gains of the first k items over the largest possible, and sums",
    "sr": "Semantic Recall: the share of the five items with the largest gains that is among the first k",
    "ndcg": "normalised discounted cumulative gain of the first k items",
    "cxc-intra": "images retrieved by images, captions by captions, judged by Crisscrossed Captions; needs its ratings "
    "(--human-data)",
}
WHOLE = {
    "all": "every metric in every view of the split, and every graded metric that suits its gains, "
    "where the captions are known",
    "binary": "every metric of the judgements that a split has",
    "graded": "every metric of graded relevance that suits the gains",
}


def expand(
    text: str | Sequence[str],
    views: Sequence[str],
    gains: Sequence[str] = (),
    known: Sequence[str] = (DEFAULT_GAINS,),
    suits: Callable[[Metric], bool] = bool,
) -> list[Metric]:
    """The metrics meant by a comma-separated list, in order, without repeats.

    Args:
        text: names, families, or ``all`` (every metric in every view of the split).
        views: the views that the split has; ``all`` and the default stay within them.
        gains: graded views that ``all`` and ``graded`` go through; the first is that of graded names without a view.
        known: every graded view there is.
        suits: whether a graded metric means anything with the gains of its view; ``all`` leaves out others.

    Raises:
        UsageError: an unknown name, with close matches.
    """
    words = separate(text) if isinstance(text, str) else [w.strip() for w in text if w.strip()]
    if not words:
        raise UsageError("no metric was asked for", fix="give --metrics R@1,eccv or all")
    default = gains[0] if gains else DEFAULT_GAINS
    chosen: list[Metric] = []
    for word in words:
        lower = word.lower()
        if lower in WHOLE:
            if lower != "graded":
                chosen += [parse(f"{v}:{name}") for v in views for name in known_names()]
            if lower != "binary":
                through = gains or ((default,) if lower == "graded" else ())
                each = (parse(f"{v}:{name}") for v in through for name in known_names(GRADED))
                chosen += [m for m in each if suits(m)]
        else:
            names = members(word, default)
            chosen += [_one(word, default)] if names is None else [parse(name) for name in names]
    for chosen_metric in chosen:
        if chosen_metric.view not in JUDGEMENTS and chosen_metric.view not in known:
            raise unknown("view", chosen_metric.view, [*JUDGEMENTS, *known])
    return list(dict.fromkeys(chosen))


def members(word: str, default: str = DEFAULT_GAINS) -> tuple[str, ...] | None:
    """The names a family stands for, None when the word names none; ``spice:ncs`` is a family in a view.

    Raises:
        UsageError: a family of graded metrics in a view that only says who is relevant.
    """
    view, _, tail = word.rpartition(":")
    family = tail.lower()
    if not view and family in FAMILIES:
        return FAMILIES[family]
    if family not in GRADED_FAMILIES:
        return None
    if view in JUDGEMENTS:
        raise UsageError(
            f"'{view}' says who is relevant, and {tail} needs graded gains, which say how much",
            fix=f"write {default}:{family}",
        )
    return tuple(f"{view or default}:{name}" for name in GRADED_FAMILIES[family])


def _one(word: str, default: str) -> Metric:
    try:
        found = parse(word)
    except UsageError as error:
        near = closest(word, [*WHOLE, *FAMILIES, *GRADED_FAMILIES])
        unread = error.what.startswith(("unknown", f"'{word}' is not a metric name"))
        if near and ":" not in word and unread and "did you mean" not in (error.fix or ""):
            raise UsageError(error.what, fix=f"did you mean '{near[0]}'?") from None
        raise
    return found if found.view in JUDGEMENTS or ":" in word else replace(found, view=default)


def default_words(views: Sequence[str]) -> list[str]:
    """What is measured when nothing is asked for: the headline families that the split has."""
    return ["recall", *(v for v in views if v != "gt")]
