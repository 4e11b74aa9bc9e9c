"""Corrected scores: the scores of the bank, and the corrected scores of every direction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..errors import BadInput, UsageError, count_of
from ..files import audit
from ..files import read as files
from ..files.ids import match
from ..files.store import fingerprint
from ..log import logged, note
from ..options import spell
from ..rank import backends, corrected
from ..rank.scorers import Dot, Matrix, Scorer, System, norms, rows_of
from ..sets import placing
from ..types import Direction, Float, Vectors
from .inputs import Input
from .plan import Plan

TRANSDUCTIVE = "transductive"
FEW = 32  # columns by which equal rows are found, also of files of another precision


def apply(data: Input, plan: Plan) -> Input:
    """The system with corrected scores in the directions that are measured.

    Args:
        data: the scores of images with captions.
        plan: of a request with ``correction``.

    Raises:
        UsageError: retrieved lists or folds, which are not corrected; a bank of scores with both directions.
        BadInput, MissingPackage: the bank cannot be read or does not fit, or a matrix does not fit into memory.
    """
    request, directions = plan.request, plan.directions
    how = request.correction
    assert how is not None
    if data.lists is not None or data.split.in_folds:
        what = "retrieved lists, which have no scores" if data.lists is not None else f"the folds of {data.split.name}"
        raise UsageError(f"{spell('normalise')} has no meaning for {what}", fix="leave it out")
    banks, whose = {d: data.scorer(d) for d in directions}, TRANSDUCTIVE
    if how.bank is not None:
        banks, whose, shared = _bank(how, how.bank, data, directions, request.similarity)
        if shared:
            whose += f",{TRANSDUCTIVE}"
            note(f"{how.bank.name}: {count_of(shared, 'query', 'queries')} of the bank are test queries")
    if request.intra:
        note(f"{spell('normalise')}: values inside the modalities are not corrected", weight="detail")
    rule, settings = corrected.RULES[how.rule], dict(how.settings)
    scorers = {d: rule.correct(data.scorer(d), banks[d], **settings, threads=request.threads) for d in directions}
    if plan.engine == "local" and (ranker := backends.chosen(plan.backend)[0]) != "numpy":
        note(
            f"{spell('normalise')}: numpy computed the sums over the bank, {ranker} ranks the corrected scores",
            weight="detail",
        )
    if TRANSDUCTIVE in whose:
        note(
            f"{spell('normalise', how.rule)} is {TRANSDUCTIVE}: the ranking of a query depends on the other test "
            "queries; compare with systems that are corrected in the same way",
            weight="result",
        )
    written = ",".join(f"{key}={value:.12g}" for key, value in settings.items())
    stages = {**data.stages, "normalise": f"{how.rule},{written},{whose}"}
    return replace(data, system=System.of(scorers.get("i2t"), scorers.get("t2i")), scored=directions, stages=stages)


def _bank(
    how: corrected.Correction, path: Path, data: Input, directions: Sequence[Direction], similarity: str
) -> tuple[dict[Direction, Scorer], str, int]:
    """Scores of a bank with the gallery of every direction, its identity, and how many are test queries."""
    assert data.system is not None
    scorer = data.system.forward
    if isinstance(scorer, Dot):
        return _of_vectors(path, scorer, data, directions, similarity)
    return _of_scores(how, path, data, directions)


def _of_vectors(
    path: Path, scorer: Dot, data: Input, directions: Sequence[Direction], similarity: str
) -> tuple[dict[Direction, Scorer], str, int]:
    """A bank of images and texts, the queries of the two directions."""
    if "fuse" in data.stages:
        what = f"{spell('normalise')} with a bank of vectors has no meaning for the sum of systems"
        raise UsageError(what, fix=f"leave out {spell('fuse')}, or the bank")
    with logged():
        raw = files.read_embeddings(path)
    audit.check_vectors(raw.images, raw.texts, path, None, None)
    if raw.images.shape[1] != scorer.x.shape[1]:
        what = f"vectors have {raw.images.shape[1]} dimensions, and those of the test set {scorer.x.shape[1]}"
        raise BadInput(what, where=path, fix="encode the bank with the same model")
    images, texts = (x[:].astype("f4") for x in (raw.images, raw.texts))
    cosine, both = similarity != "dot", {"i2t": images, "t2i": texts}
    every: dict[Direction, Scorer] = {
        "i2t": Dot(images, scorer.y, cosine, words=("image", "caption")),
        "t2i": Dot(texts, scorer.x, cosine, words=("caption", "image")),
    }
    test = {"i2t": scorer.x, "t2i": scorer.y}
    identity = fingerprint(*(both[d].tobytes() for d in directions))[:8]
    shared = sum(_shared(*(x / norms(x)[:, None] for x in (both[d], test[d]))) for d in directions)
    return {d: every[d] for d in directions}, f"bank#{identity}", shared


def _of_scores(
    how: corrected.Correction, path: Path, data: Input, directions: Sequence[Direction]
) -> tuple[dict[Direction, Scorer], str, int]:
    """A bank of scores, of one direction; its gallery is matched by ids, or in the order of the score file."""
    if len(directions) > 1:
        what = f"{spell('normalise')} names a bank of scores, which is of one direction"
        raise UsageError(what, fix=f"add {spell('direction', 't2i')}")
    (direction,) = directions
    scorer = data.scorer(direction)
    with logged():
        raw = files.read_scores(path)
    audit.check_scores(raw.values, path)
    audit.check_finite(raw.values, "image (score)", path)
    square = raw.values.shape[0] == raw.values.shape[1]
    if square and how.rows is None and raw.image_ids is None and raw.text_ids is None:
        spoken = [spell("normalise", str(replace(how, rows=rows))) for rows in ("images", "texts")]
        what = (
            f"a square bank of shape {raw.values.shape} without ids does not say whether its rows are images or texts"
        )
        raise BadInput(what, where=path, fix=f"write {spoken[0]} or {spoken[1]}")
    if how.rows == "texts":
        raw = replace(raw, arrays=(raw.values.T,), image_ids=raw.text_ids, text_ids=raw.image_ids)
    gallery, words = (1, "one column a caption") if direction == "i2t" else (0, "one row an image")
    shape = scorer.shape if gallery else scorer.shape[::-1]
    if raw.values.shape[gallery] != shape[gallery]:
        what = f"score matrix has shape {raw.values.shape}, and the test set {shape}"
        raise BadInput(what, where=path, fix=f"give the scores of the bank with the gallery, {words}")
    side, split = placing.SIDES[gallery], data.split_of(direction)
    if (ids := (raw.image_ids, raw.text_ids)[gallery]) is None:
        order = placing.order(split, side)
        note(placing.order_note(path.name, [side], split))
    else:
        order, dropped = match(split.ids(side), ids)
        note(f"{path.name}: {side} ids are matched {dropped}" if dropped else "", weight="detail")
        if order.min() < 0:
            raise BadInput("has ids that are not those of the gallery", where=path, fix="score the same gallery")
    bank = Matrix(raw.values if gallery else raw.values.T, None, order)
    some = np.arange(min(FEW, bank.shape[1]))  # items by which queries are told apart
    shared = _shared(*(np.asarray(rows_of(x.T, some, wide=True), np.float64).T for x in (bank, scorer)))
    return {direction: bank}, f"bank#{fingerprint(raw.values.tobytes())[:8]}", shared


def _shared(bank: Vectors | Float, test: Vectors | Float) -> int:
    """How many rows of the bank are rows of the test set, as far as two decimals of their first columns tell."""
    known = {row.tobytes() for row in _rounded(test)}
    return sum(row.tobytes() in known for row in _rounded(bank))


def _rounded(rows: Vectors | Float) -> Float:
    return np.ascontiguousarray(np.round(rows[:, :FEW].astype(np.float64), 2) + 0.0)  # no negative zeros
