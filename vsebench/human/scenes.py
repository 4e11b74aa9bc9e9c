"""Scenes: pairs of a caption and an image whose truth is known, and simulated ratings of them."""

from __future__ import annotations

import numpy as np

from ..data.splits import catalogue
from ..relevance.scenes.ratings import POOL, RATERS, ratings_of
from .protocols import Task

TASKS = ("truth", "judged")


def scene_tasks(name: str, *, captions: bool = False) -> tuple[list[Task], str]:
    """The rated pairs of a split of scenes with their truth, and with their mean ratings; and a note on the raters.

    Args:
        name: the split, such as ``scenes-10k-test``.
        captions: also read the captions as strings.

    Raises:
        UsageError: another split.
        MissingPackage: the data set is not built here.
        BadInput: it is damaged.
    """
    split = catalogue.load_split(name, captions=captions)
    ratings = ratings_of(split)
    subsets = {"all": None, "non-GT": ~ratings.own}
    scores = {"Truth": ratings.truth.astype(np.float64), "Judged": ratings.mean}
    tasks = [
        Task(
            title, split, ("caption", "image"), ratings.caption, ratings.image, human[:, None], split.image_of, subsets
        )
        for title, human in scores.items()
    ]
    note = (
        f"the ratings are simulated: {RATERS} of {POOL} raters a pair, from 0 to 5, with an agreement of "
        f"{ratings.alpha:.2f} (Krippendorff's alpha, intervals); as they err, not even truth has a correlation of 1"
    )
    return tasks, note
