"""Whether rows without ids are those of the captions of a test set, by captions of like wording.

Images and captions in another order that is the same for both, or those of other data, keep their recall, and lose the
captions and judgements of the test set. There captions of like wording, of different images, are at chance.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ..errors import VsebenchError
from ..log import warn
from ..rank.scorers import rows_in_threads
from ..results.format import fixed
from ..sets.catalogue import load_split
from ..types import Direction, Float, Int, Split
from .chance import LEVEL, of_mean, ranks_of
from .inputs import System
from .top_scored import SMALLEST

WORDED = 2000  # images whose first captions are compared
LIKE = 128  # of the pairs of captions of like wording those that are most alike
FAR = 0.3  # mean place of such an image, where own images are ten times nearer to the top
APART, PARTLY = 0.2, 0.15  # place of such an image, and the share of them, that is warned of
ALIKE = 0.2  # cosine of the words of two such captions, at least


def of_others(data: System) -> str:
    """What says that rows are not those of the captions of the split; empty where they are, or nothing tells."""
    split = data.split
    if set(data.without_ids) != {"image", "caption"} or split.name == "custom":
        return ""
    try:
        captions = split.captions or load_split(split.name, captions=True).captions
    except VsebenchError:  # not installed, not built
        return ""
    if captions is None:
        return ""
    texts, others = alike(split, captions)
    if len(texts) < SMALLEST:
        return ""
    as_read, own = (_places(data, texts, images) for images in (others, split.owners[texts]))
    at_chance = of_mean(as_read - 0.5)[0] >= LEVEL
    if not at_chance and (as_read.mean() < FAR or own.mean() > as_read.mean() / 10):
        lost = float(((as_read > APART) & (own < APART / 10)).mean())
        if lost > PARTLY and (own > APART).mean() < PARTLY / 3:
            warn(
                f"{lost:.0%} of the captions with their own image near the top have that of a caption of like wording "
                f"far down (COCO 5K: 2% to 4%): a part of both sides may be in another order than {split.name}. "
                "Save image_ids and text_ids with the rows, so that they are matched by id"
            )
        return ""
    place = "at chance" if at_chance else "nearly at chance"
    return (
        f"captions of like wording, of different images of '{split.name}', are {place}: their mean place in a ranking "
        f"is {fixed(float(as_read.mean()), 2)}; chance is 0.50 (object labels alone give 0.02 on COCO 5K). The rows "
        "are those of other images, or in another order for both sides"
    )


def alike(split: Split, captions: Sequence[str]) -> tuple[Int, Int]:
    """(pair,) captions, and (pair,) other images of which a caption has the most similar words."""
    from scipy.sparse import csr_array

    images, first = np.unique(split.owners, return_index=True)
    some = np.unique(np.linspace(0, len(images) - 1, min(WORDED, len(images))).astype(np.int64))
    images, first = images[some], first[some]
    words = [set(re.findall(r"\w{3,}", captions[caption].lower())) for caption in first.tolist()]
    number = {word: at for at, word in enumerate(dict.fromkeys(word for each in words for word in sorted(each)))}
    columns = np.array([number[word] for each in words for word in sorted(each)], np.int64)
    rows = np.repeat(np.arange(len(words)), [len(each) for each in words])
    weight = np.log(len(words) / np.bincount(columns, minlength=1))[columns] if len(columns) else np.zeros(0)
    length = np.sqrt(np.bincount(rows, weight**2, len(words)))
    table = csr_array((weight / np.maximum(length, 1e-9)[rows], (rows, columns)), shape=(len(words), len(number) or 1))
    cosine = (table @ table.T).toarray()
    np.fill_diagonal(cosine, 0)
    nearest = cosine.argmax(axis=1)
    best = np.argsort(-cosine[np.arange(len(words)), nearest], kind="stable")[:LIKE]
    best = np.sort(best[cosine[best, nearest[best]] >= ALIKE])
    return first[best], images[nearest[best]]


def _places(data: System, texts: Int, images: Int) -> Float:
    """(pair,) the place, from 0 to 1, of an image in the ranking of a caption."""
    direction: Direction = "t2i" if "t2i" in data.scorers else "i2t"
    scores = rows_in_threads(data.scorers[direction], "t2i", texts)
    ranks = [ranks_of(*one)[0] for one in zip(scores, images[:, None], strict=True)]
    return np.asarray((np.array(ranks) - 0.5) / scores.shape[1], np.float64)
