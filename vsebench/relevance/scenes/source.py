"""The scenes of a split and what its captions state, from the data set that was built here."""

from __future__ import annotations

import hashlib
from functools import lru_cache

from ...data.scenes.folder import check_content
from ...data.scenes.store import StoredScenes, open_scenes
from ...errors import UsageError
from ...options import spell
from ...scenes.settings import of_split
from ...types import Split
from .truth import Truth

PATTERN = "scenes-*"  # of the names of splits


@lru_cache(maxsize=4)  # gains and judgements of one split
def truth_of(split: Split) -> Truth:
    """The truth of the captions of a split, in its order.

    Raises:
        UsageError: a split of other data.
        MissingPackage: the data set is not built here.
        BadInput: it is damaged, or the split has other ids.
    """
    stored, _ = scenes_of(split)
    check_content(stored.name, "scenes.npy", "facts.npy")  # the kernels take codes as they are
    return Truth(
        stored.scenes[stored.image_rows(split.image_ids)], stored.facts[stored.caption_rows(split.caption_ids)]
    )


def scenes_of(split: Split) -> tuple[StoredScenes, slice]:
    """The data set that a split is a part of, and the images of that part; raises as ``truth_of``."""
    found = of_split(split.name)
    if found is None:
        what = f"truth is known of scenes, not of split '{split.name}'"
        fix = f"give {spell('split', 'scenes-10k-test')} or other scenes (vsebench data build scenes-10k)"
        raise UsageError(what, fix=fix)
    stored = open_scenes(found[0])
    return stored, stored.part(found[1])


def fingerprint(truth: Truth) -> str:
    """Eight hexadecimal digits of the SHA-256 of the scenes and the facts."""
    digest = hashlib.sha256(truth.scenes.tobytes())
    digest.update(truth.facts.tobytes())
    return digest.hexdigest()[:8]
