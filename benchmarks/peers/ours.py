"""The library computing what the peers compute, one function a task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from vsebench.types import DIRECTIONS, Direction, Observation, Tops

from .inputs import Array, Inputs, Outcome, Work

METRICS = ("R@1", "R@5", "R@10", "Recall@10", "MedR", "MeanR", "MRR", "R-P", "mAP@R")
OF_LISTS = ("R@1", "R@5", "R@10", "Recall@100", "R-P")


def ranks(given: Inputs) -> Work:
    """Exact ranks of the captions written for the image, and all metrics of them, from vectors."""
    observe = _observer(given)
    return lambda: Outcome(_per_query(observe(None), METRICS))


def top(given: Inputs, k: int) -> Work:
    """The first k of every query and the exact ranks, from vectors."""
    observe = _observer(given)

    def work() -> Outcome:
        return Outcome({f"top {d}": found.top.items for d, found in observe(k).items() if found.top is not None})

    return work


def _observer(given: Inputs) -> Callable[[int | None], dict[Direction, Observation]]:
    from vsebench.rank.count import Targets
    from vsebench.rank.observe import observe
    from vsebench.rank.scorers import Dot
    from vsebench.relevance import load

    requests = [Targets("gt", load("gt", given.split, d)) for d in DIRECTIONS]

    def observed(k: int | None) -> dict[Direction, Observation]:
        scorer = Dot(given.world.images, given.world.captions)
        return observe(scorer, requests, depth=None if k is None else dict.fromkeys(DIRECTIONS, k))

    return observed


def _per_query(observed: dict[Direction, Observation], names: tuple[str, ...]) -> dict[str, Array]:
    from vsebench.metrics import parse

    return {
        f"{name} {direction}": parse(name).per_query(found.ranks["gt"])
        for direction, found in observed.items()
        for name in names
    }


def lists(given: Inputs) -> Work:
    """Metrics of retrieved lists."""
    from vsebench.graded.lists import from_lists
    from vsebench.metrics import parse
    from vsebench.rank.tops import ranks
    from vsebench.relevance import load
    from vsebench.relevance.matrix import of_array

    retrieved = {d: Tops.of(items, None, len(given.sides(d)[1])) for d, (items, _) in given.lists.items()}
    gains = {"matrix": of_array(given.split, given.gains)}
    judged = {d: load("gt", given.split, d) for d in DIRECTIONS}

    def work() -> Outcome:
        observed = {d: Observation(d, {"gt": ranks(retrieved[d], judged[d])}) for d in DIRECTIONS}
        found = from_lists(retrieved, given.split, [parse("matrix:nDCG@10")], gains)
        graded = {f"nDCG@10 {direction}": out.values for (_, direction), out in found.items()}
        return Outcome({**_per_query(observed, OF_LISTS), **graded})

    return work


def graded(given: Inputs) -> Work:
    """nDCG@10 of gains in memory, from vectors."""
    from vsebench.graded.engine import run
    from vsebench.metrics import parse
    from vsebench.rank.scorers import Dot
    from vsebench.relevance.matrix import of_array

    gains = {"matrix": of_array(given.split, given.gains)}

    def work() -> Outcome:
        scorer = Dot(given.world.images, given.world.captions)
        found = run(scorer, given.split, [parse("matrix:nDCG@10")], gains)
        return Outcome({f"nDCG@10 {direction}": out.values for (_, direction), out in found.items()})

    return work


def official(given: Inputs) -> Work:
    """The values that eccv_caption has, from vectors."""
    from vsebench import evaluate

    from ..check import library_values
    from ..synthetic import COCO_IMAGES
    from . import eccv

    world, names = given.world, [(name, d) for name in eccv.NAMES.values() for d in DIRECTIONS]
    if len(world.images) != COCO_IMAGES:
        judged = eccv.judgements(eccv.restrict(eccv.official(), world.image_ids, world.caption_ids))
        return lambda: Outcome({f"{m} {d}": v for (m, d), v in library_values(world, judged, names).items()})

    def work() -> Outcome:
        report = evaluate(world.images, world.captions, split="coco-5k", metrics=eccv.OUR_NAMES, ci=0)
        return Outcome({f"{m} {d}": report[m, d].value for m, d in names})

    return work


def coherent_ks(given: Inputs) -> list[int]:
    """The k of CS@k: those of the paper, or two of a small gallery."""
    from ..metrics import KS

    images = len(given.world.images)
    return list(KS) if max(KS) <= images else [images // 2, images]


def coherent_inputs(given: Inputs) -> tuple[Array, Any]:
    """(image, caption) float32 scores, and gains with a distribution like that of CIDEr-D, in both orientations."""
    from ..metrics import MatrixGains

    return given.world.images @ given.world.captions.T, MatrixGains(len(given.world.images))


def coherent(given: Inputs) -> Work:
    """CS@k, scores and gains in memory."""
    from vsebench.graded.engine import run
    from vsebench.metrics import parse
    from vsebench.rank.scorers import Matrix

    scores, gains = coherent_inputs(given)
    metrics = {parse(f"CS[captions=all]@{k}"): f"CS@{k}" for k in coherent_ks(given)}

    def work() -> Outcome:
        found = run(Matrix(scores), given.split, list(metrics), {"cider": gains})
        return Outcome({f"{metrics[m]} {direction}": out.values for (m, direction), out in found.items()})

    return work


def cider(given: Inputs) -> Work:
    """CIDEr-D of all captions with all images, from caption strings; the row of one caption is returned."""
    from vsebench.relevance import load_gains

    from .. import captions
    from ..relevance import all_rows

    split, _ = captions.load(len(given.world.images))
    load_gains("cider", captions.synthetic_captions(20)).rows("t2i", 0, 1)  # compiles
    n = len(split.caption_ids)

    def work() -> Outcome:
        loaded = load_gains("cider", split)
        all_rows(loaded, "t2i")
        return Outcome({f"cider caption {n // 2} t2i": np.asarray(loaded.rows("t2i", n // 2, n // 2 + 1)[0])})

    return work
