"""Which scenes of a set differ from another one in at most one attribute, number or background."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..types import Bool, Int
from .encode import MENTION, SCENE_BACKGROUND, SCENE_FACTS, SCENE_FIRST, SCENE_GROUPS, SCENE_RELATIONS, Codes
from .world import COLOURS, MAX_GROUPS, RELATIONS

_HIDDEN = -9  # in place of the value that two scenes may differ in


def near_duplicates(scenes: Codes) -> Bool:
    """Whether another scene has the same groups with the same relations, but for one attribute, number or background.

    Scenes are alike when they are equal once one value is hidden: therefore every value is hidden in turn, and scenes
    that have become equal are found by sorting.

    Args:
        scenes: (image, SCENE_WIDTH) int8, rows of ``encode.encode_scene``.

    Returns:
        (image,) bool.
    """
    found = np.zeros(len(scenes), np.bool_)
    everyone = np.arange(len(scenes))
    hidden = _written(scenes, None)
    hidden[:, 0] = _HIDDEN
    found[_repeated(hidden, everyone)] = True
    keys = [_written(scenes, g) for g in range(MAX_GROUPS)]
    present = [everyone[scenes[:, SCENE_GROUPS] > g] for g in range(MAX_GROUPS)]
    image = np.concatenate(present)
    for value in range(MENTION):
        hidden = np.concatenate([key[rows] for key, rows in zip(keys, present, strict=True)])
        hidden[:, 1 + value] = _HIDDEN
        found[_repeated(hidden, image)] = True
    return found


def _written(scenes: Codes, first: int | None) -> Codes:
    """(image, column) int8: background, groups and relations with group ``first`` before the others.

    The others are ordered by shape and colour, which no two groups of a scene share; None orders all groups so.
    """
    n = len(scenes)
    groups = scenes[:, SCENE_FIRST:SCENE_BACKGROUND].reshape(n, MAX_GROUPS, MENTION)
    place = groups[:, :, 0].astype(np.int64) * len(COLOURS) + groups[:, :, 1]
    place[np.arange(MAX_GROUPS) >= scenes[:, [SCENE_GROUPS]]] = np.iinfo(np.int64).max
    if first is not None:
        place[:, first] = -1
    order = np.argsort(place, axis=1, kind="stable")
    by_group = scenes[:, SCENE_RELATIONS:SCENE_FACTS].reshape(n, len(RELATIONS), MAX_GROUPS)
    holds = by_group[:, :, None, :] >> np.arange(MAX_GROUPS, dtype=np.int8)[:, None] & 1  # (image, relation, a, b)
    image = np.arange(n)[:, None, None]
    moved = holds.transpose(0, 2, 3, 1)[image, order[:, :, None], order[:, None, :]]
    sorted_groups = groups[np.arange(n)[:, None], order]
    parts = [scenes[:, [SCENE_BACKGROUND]], sorted_groups.reshape(n, -1), np.packbits(moved.reshape(n, -1), axis=1)]
    return np.concatenate([np.ascontiguousarray(part).view(np.int8) for part in parts], axis=1)


def _repeated(rows: npt.NDArray[np.int8], image: Int) -> Int:
    """The images of rows that occur more than once."""
    whole = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.shape[1]))).ravel()
    _, inverse, count = np.unique(whole, return_inverse=True, return_counts=True)
    return image[count[inverse.ravel()] > 1]
