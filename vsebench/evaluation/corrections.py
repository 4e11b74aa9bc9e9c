"""Corrections of hubness: read the bank, and correct the scores of both directions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..errors import BadInput, UsageError, count_of
from ..files import read as files
from ..files.ids import match
from ..files.members import opened
from ..files.raw import check_finite, check_scores, check_vectors
from ..files.store import fingerprint
from ..log import logged, note
from ..options import spell
from ..rank import backends, corrected
from ..rank.scorers import Dot, Matrix, Scorer, System, rows_of
from ..rank.sums import finite
from ..sets import owners
from ..types import DIRECTIONS, SIDES, Direction
from .inputs import Input
from .plan import Plan

TRANSDUCTIVE = "transductive"
SAMPLED_ITEMS = 32  # items of the gallery; queries with the same scores of these are the same query
Scorers = Mapping[Direction, Scorer]


def apply(data: Input, plan: Plan) -> Input:
    """The system with corrected scores in the directions that are measured.

    Args:
        data: what is ranked.
        plan: of a request with ``correction``.

    Raises:
        UsageError: a bank of scores with both directions, or one of vectors for a sum of systems.
        BadInput, MissingPackage: the bank cannot be read or does not fit, a matrix does not fit into memory, or
            corrected scores are too large.
    """
    request, how = plan.request, plan.request.correction
    assert how is not None
    plain = {d: data.scorer(d) for d in plan.directions}
    banks: Scorers = plain
    queries_from, bank = TRANSDUCTIVE, how.bank
    if bank is not None:
        of_vectors = isinstance(data.scorer(plan.directions[0]), Dot)
        banks, queries_from = _of_vectors(data, plan, bank) if of_vectors else _of_scores(data, plan, bank, how.rows)
        if shared := sum(_shared(banks[d], plain[d]) for d in plain):
            queries_from += f",{TRANSDUCTIVE}"
            note(f"{bank.name}: {count_of(shared, 'query', 'queries')} of the bank are test queries")
    if request.intra:
        note(f"{spell('normalise')}: intra-modal values are not corrected", weight="detail")
    rule = corrected.RULES[how.rule]
    with finite("normalise"):
        scorers: Scorers = {d: rule(plain[d], banks[d], request.threads, **how.settings) for d in plain}
    if plan.request.engine == "local" and (ranker := backends.chosen(request.backend)[0]) != "numpy":
        what = f"numpy computed the sums over the bank, {ranker} ranks the corrected scores"
        note(f"{spell('normalise')}: {what}", weight="detail")
    if TRANSDUCTIVE in queries_from:
        what = "the ranking of a query depends on the other test queries; compare with systems that are corrected in"
        note(f"{spell('normalise', how.rule)} is {TRANSDUCTIVE}: {what} the same way", weight="result")
    written = ",".join(f"{key}={value:.12g}" for key, value in how.settings.items())
    return replace(
        data, system=System.of(*map(scorers.get, DIRECTIONS)), scored=plan.directions,
        stages={**data.stages, "normalise": f"{how.rule},{written},{queries_from}"},
    )  # fmt: skip


def _of_vectors(data: Input, plan: Plan, path: Path) -> tuple[Scorers, str]:
    """The scores of a bank of images and texts, the queries of the two directions, and its identity."""
    if "fuse" in data.stages:
        what = f"{spell('normalise')} with a bank of vectors does not apply to the sum of systems"
        raise UsageError(what, fix=f"leave out {spell('fuse')}, or the bank")
    with logged():
        if not files.holds_both(file := opened(path)):
            what, fix = (
                "has no image and text vectors, but vectors are ranked",
                "give a bank of both, from the same model",
            )
            raise BadInput(what, where=path, fix=f"{fix}; or rank a score matrix, which takes a bank of scores")
        raw = files.read_embeddings(file.path)
    check_vectors(raw.images, raw.texts, path, None, None)
    found = dict[Direction, Dot]()
    for d, vectors, words in zip(DIRECTIONS, (raw.images, raw.texts), SIDES["i2t"], strict=True):
        test = data.scorer(d)
        assert isinstance(test, Dot)
        if vectors.shape[1] != test.y.shape[1]:
            what = f"vectors have {vectors.shape[1]} dimensions, the test set has {test.y.shape[1]}"
            raise BadInput(what, where=path, fix="encode the bank with the same model")
        if d in plan.directions:
            cosine = plan.request.similarity != "dot"
            found[d] = Dot(vectors[:].astype("f4"), test.y, cosine, words=(words, test.words[1]))
    return found, f"bank#{fingerprint(*(bank.x.tobytes() for bank in found.values()))[:8]}"


def _of_scores(data: Input, plan: Plan, path: Path, rows: str | None) -> tuple[Scorers, str]:
    """The scores of a bank, of one direction; its gallery is matched by ids, or in the order of the score file."""
    if len(plan.directions) > 1:
        what = f"a bank of scores ({spell('normalise')}) has one direction only"
        raise UsageError(what, fix=f"add {spell('direction', 't2i')}")
    (direction,) = plan.directions
    with logged():
        raw = files.read_scores(path)
    check_scores(raw.values, path)
    check_finite(raw.values, "image (score)", path)
    square = raw.values.shape[0] == raw.values.shape[1]
    if square and rows is None and raw.image_ids is None and raw.text_ids is None:
        fixes = (spell("normalise", f"{plan.request.normalise}:rows={each}") for each in ("images", "texts"))
        what = f"a square bank of shape {raw.values.shape} without ids does not say whether its rows are images or"
        raise BadInput(f"{what} texts", where=path, fix=f"write {' or '.join(fixes)}")
    if rows == "texts":
        raw = replace(raw, arrays=(raw.values.T,), image_ids=raw.text_ids, text_ids=raw.image_ids)
    gallery, words = (1, "one column per caption") if direction == "i2t" else (0, "one row per image")
    side, shape = SIDES["i2t"][gallery], tuple(len(data.split.side(side).ids) for side in SIDES["i2t"])
    if raw.values.shape[gallery] != shape[gallery]:
        what = f"score matrix has shape {raw.values.shape}, but the test set has {shape}"
        raise BadInput(what, where=path, fix=f"give the scores of the bank with the gallery, {words}")
    if (ids := (raw.image_ids, raw.text_ids)[gallery]) is None:
        order = owners.order(data.split, side)
        note(owners.order_note(path.name, [side], data.split))
    else:
        order, dropped = match(data.split.side(side).ids, ids)
        note(f"{path.name}: {side} ids are matched {dropped}" if dropped else "", weight="detail")
        if order.min() < 0:
            raise BadInput("has ids that are not in the gallery", where=path, fix="score the gallery of the test set")
    bank = Matrix(raw.values if gallery else raw.values.T, None, order)
    return {direction: bank}, f"bank#{fingerprint(raw.values.tobytes())[:8]}"


def _shared(bank: Scorer, test: Scorer) -> int:
    """How many queries of the bank are test queries, as far as two decimals of their scores with some items tell."""
    some = np.arange(min(SAMPLED_ITEMS, test.shape[1]))
    found, known = (np.asarray(rows_of(x.T, some, wide=True), np.float64).T for x in (bank, test))
    scale = np.abs(known).max() or 1.0
    rows = [np.ascontiguousarray(np.round(x / scale, 2) + 0.0) for x in (found, known)]  # no negative zeros
    queries = {row.tobytes() for row in rows[1]}
    return sum(row.tobytes() in queries for row in rows[0])
