"""What ``--metrics`` understands: names, families and ``all``."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import UsageError
from ..registry import closest, unknown
from .declare import Metric, known_names, parse

VIEWS: dict[str, str] = {
    "gt": "the captions written for the image; the whole gallery competes",
    "1k": "the captions written for the image; only the query's fold competes; mean over the five folds (COCO 1K)",
    "eccv": "ECCV Caption judgements over COCO 5K; the whole gallery competes",
    "cxc": "Crisscrossed Captions judgements (similarity of at least 3) over COCO 5K; the whole gallery competes",
}

FAMILIES: dict[str, tuple[str, ...]] = {
    "recall": ("R@1", "R@5", "R@10", "MedR", "MeanR", "RSum"),
    "1k": ("1k:R@1", "1k:R@5", "1k:R@10", "1k:MedR", "1k:MeanR", "1k:RSum"),
    "eccv": ("eccv:R@1", "eccv:R-P", "eccv:mAP@R"),
    "cxc": ("cxc:R@1", "cxc:R@5", "cxc:R@10", "cxc:RSum"),
}


def expand(text: str | Sequence[str], views: Sequence[str]) -> list[Metric]:
    """The metrics meant by a comma-separated list, in order, without repeats.

    Args:
        text: names, families, or ``all`` (every metric in every view of the split).
        views: the views that the split has; ``all`` and the default stay within them.

    Raises:
        UsageError: an unknown name, with close matches.
    """
    words = text.split(",") if isinstance(text, str) else list(text)
    words = [w.strip() for w in words if w.strip()]
    if not words:
        raise UsageError("no metric was asked for", fix="give --metrics R@1,eccv or all")
    chosen: list[Metric] = []
    for word in words:
        if word.lower() == "all":
            chosen += [parse(f"{view}:{name}") for view in views for name in known_names()]
        elif word.lower() in FAMILIES:
            chosen += [parse(name) for name in FAMILIES[word.lower()]]
        else:
            try:
                chosen.append(parse(word))
            except UsageError as error:
                near = closest(word, ["all", *FAMILIES])
                if near and ":" not in word and "did you mean" not in (error.fix or ""):
                    raise UsageError(error.what, fix=f"did you mean '{near[0]}'?") from None
                raise
    for chosen_metric in chosen:
        if chosen_metric.view not in VIEWS:
            raise unknown("view", chosen_metric.view, VIEWS)
    return list(dict.fromkeys(chosen))


def default_words(views: Sequence[str]) -> list[str]:
    """What is measured when nothing is asked for: the headline families that the split has."""
    return ["recall", *(v for v in views if v != "gt")]
