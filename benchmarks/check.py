"""Correctness: the library and the peers compute the same values, on small data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vsebench.errors import MissingPackage
from vsebench.evaluation.binary import measure
from vsebench.metrics import parse
from vsebench.rank.count import Targets
from vsebench.rank.observe import observe
from vsebench.rank.scorers import Dot
from vsebench.relevance import load
from vsebench.types import DIRECTIONS, EVERYTHING, Candidates, Direction, Observation, Relevance, Split

from . import synthetic
from .peers import eccv, scan_style, vsepp_style
from .synthetic import World

IMAGES, DIM = 500, 64
TOLERANCE = 1e-12  # of a mean of fractions; ranks have to be equal
Values = dict[tuple[str, str], float]


@dataclass(frozen=True)
class Comparison:
    """One comparison: the number of values, and those that differ."""

    name: str
    compared: int
    differences: tuple[str, ...] = ()
    skipped: str = ""

    def __str__(self) -> str:
        if self.skipped:
            return f"skipped  {self.name}: {self.skipped}"
        if self.differences:
            return f"DIFFERS  {self.name}: {len(self.differences)} of {self.compared}, first {self.differences[0]}"
        return f"equal    {self.name}: {self.compared:,} numbers"


def run() -> list[Comparison]:
    """All comparisons: tie-free data against every peer, tied data against those with a defined order."""
    plain, tied = synthetic.world(IMAGES, DIM), synthetic.tied_world(IMAGES, 12)
    return [
        against_vsepp("vsepp-style ranks, no ties", plain),
        against_scan("scan-style ranks, no ties", plain),
        against_scan("scan-style ranks, many ties", tied),
        against_eccv("eccv_caption, no ties", plain),
        against_eccv("eccv_caption, many ties", tied),
    ]


def against_vsepp(name: str, world: World) -> Comparison:
    """Best ranks of every query, both directions."""
    left, right = vsepp_style.inputs(world.images, world.captions)
    queries = np.arange(len(world.images))
    i2t = vsepp_style.i2t_ranks(left, right, queries)
    return _ranks(name, world, i2t, vsepp_style.t2i_ranks(left, right, queries))


def against_scan(name: str, world: World) -> Comparison:
    """Best ranks of every query from one matrix, sorted stably so that the lower index of a tie comes first."""
    return _ranks(name, world, *scan_style.ranks(_exact_scores(world), kind="stable"))


def against_eccv(name: str, world: World) -> Comparison:
    """Every value of the official package on the judgements about the first images of COCO 5K."""
    try:
        metrics = eccv.official()
    except MissingPackage as error:
        return Comparison(name, 0, skipped=error.what)
    eccv.restrict(metrics, world.image_ids, world.caption_ids)
    lists = eccv.rankings(_exact_scores(world), world.image_ids, world.caption_ids, stable=True)
    theirs = eccv.values(metrics, lists)
    return compare(name, library_values(world, eccv.judgements(metrics), list(theirs)), theirs)


def library_values(world: World, judged: Mapping[str, eccv.Judgements], names: Sequence[tuple[str, str]]) -> Values:
    """The library's values of ``names``, (metric, direction), under judgements given as dictionaries of ids."""
    split = world.split()
    observed = _observe(world, split, judged)
    out: Values = {}
    for direction in DIRECTIONS:
        for text in dict.fromkeys(n for n, d in names if d == direction):
            m = parse(text)
            result = measure(m, observed[direction].ranks[m.view], split, direction, "skip")
            out[text, direction] = result.value
    return out


def compare(name: str, ours: Values, theirs: Values) -> Comparison:
    """Values of the same metrics, which may differ by the rounding of a mean."""
    wrong = [
        f"{metric} {direction}: {ours[metric, direction]!r}, peer {value!r}"
        for (metric, direction), value in theirs.items()
        if not abs(ours[metric, direction] - value) <= TOLERANCE
    ]
    return Comparison(name, len(theirs), tuple(wrong))


def _ranks(name: str, world: World, i2t: npt.NDArray[Any], t2i: npt.NDArray[Any]) -> Comparison:
    split = world.split()
    requests = [Targets("gt", load("gt", split, d)) for d in DIRECTIONS]
    observed = observe(Dot(world.images, world.captions), requests)
    wrong = []
    for direction, theirs in (("i2t", i2t), ("t2i", t2i)):
        ours = observed[direction].ranks["gt"].best()  # type: ignore[index]
        wrong += [f"{direction} query {q}: {ours[q]}, peer {theirs[q]}" for q in np.flatnonzero(ours != theirs)]
    return Comparison(name, len(i2t) + len(t2i), tuple(wrong))


def _exact_scores(world: World) -> npt.NDArray[np.float64]:
    return np.asarray(world.images.astype(np.float64) @ world.captions.T.astype(np.float64))


def _observe(world: World, split: Split, judged: Mapping[str, eccv.Judgements]) -> dict[Direction, Observation]:
    sides = (split.fold, split.caption_fold)
    folds = {"i2t": Candidates(fold=sides), "t2i": Candidates(fold=sides[::-1])}  # type: ignore[arg-type]
    requests = []
    for direction in DIRECTIONS:
        for view in ("gt", "1k", "cxc", "eccv"):
            lists = judged["gt" if view == "1k" else view][direction]
            among: Candidates = folds[direction] if view == "1k" else EVERYTHING
            requests.append(Targets(view, _relevance(view, direction, lists, world), among))
    return observe(Dot(world.images, world.captions), requests)


def _relevance(view: str, direction: Direction, lists: Mapping[int, Sequence[int]], world: World) -> Relevance:
    """Positives given as ids; those that are not among the items count as unreachable."""
    sides = (world.image_ids.tolist(), world.caption_ids.tolist())
    queries, gallery = (
        {identity: row for row, identity in enumerate(side)} for side in (sides if direction == "i2t" else sides[::-1])
    )
    rows = {
        queries[q]: (sorted(gallery[x] for x in set(items) if x in gallery), sum(x not in gallery for x in set(items)))
        for q, items in lists.items()
    }
    order = sorted(rows)
    found = [rows[q][0] for q in order]
    return Relevance(
        view,
        direction,
        np.array(order),
        np.cumsum([0, *map(len, found)]),
        np.array([x for items in found for x in items]),
        np.array([rows[q][1] for q in order]),
    )
