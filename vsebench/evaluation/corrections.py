"""Corrected scores: the scores of the bank, and the corrected scores of every direction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ..data import audit
from ..data import read as files
from ..data.store import fingerprint
from ..errors import BadInput, UsageError, count_of
from ..options import spell
from ..rank import corrected
from ..rank.scorers import Dot, Matrix, Scorer
from ..types import Direction, Vectors
from .inputs import Input
from .options import Options
from .plan import Plan

TRANSDUCTIVE = "transductive"


def apply(plan: Plan, data: Input, options: Options) -> tuple[Plan, Input]:
    """The input with corrected scores in every direction, and the plan with the rule and notes.

    Args:
        plan: what is measured.
        data: the scores of images with captions.
        options: with ``normalise``; nothing is done without.

    Raises:
        UsageError: retrieved lists or folds, which are not corrected; a bank of scores with both directions.
        BadInput, MissingPackage: the bank cannot be read or does not fit, or a matrix does not fit into memory.
    """
    how, directions = options.correction, plan.directions
    if how is None:
        return plan, data
    if data.lists is not None or data.split.in_folds:
        what = "retrieved lists, which have no scores" if data.lists is not None else f"the folds of {data.split.name}"
        raise UsageError(f"{spell('normalise')} has no meaning for {what}", fix="leave it out")
    banks, whose, notes = {d: data.scorers[d] for d in directions}, TRANSDUCTIVE, list[str]()
    if how.bank is not None:
        banks, whose, shared = _bank(how.bank, data, directions, options.similarity)
        if shared:
            whose += f",{TRANSDUCTIVE}"
            notes.append(f"{how.bank.name}: {count_of(shared, 'query', 'queries')} of the bank are test queries")
    rule, settings = corrected.RULES[how.rule], dict(how.settings)
    scorers = {d: rule.correct(data.scorers[d], d, banks[d], **settings, threads=options.threads) for d in directions}
    if TRANSDUCTIVE in whose:
        notes.append(
            f"{spell('normalise', how.rule)} is {TRANSDUCTIVE}: the ranking of a query depends on the other test "
            "queries; compare with systems that are corrected in the same way"
        )
    written = ",".join(f"{key}={value:g}" for key, value in settings.items())
    stages = {**plan.stages, "normalise": f"{how.rule},{written},{whose}"}
    return replace(plan, stages=stages, notes=(*plan.notes, *notes)), replace(data, scorers=scorers)


def _bank(
    path: Path, data: Input, directions: Sequence[Direction], similarity: str
) -> tuple[dict[Direction, Scorer], str, int]:
    """Scores of the queries of a bank with the gallery of every direction, its identity, and how many are of the test.

    A bank of vectors has images and texts, the queries of the two directions. A bank of scores is of one direction.
    """
    scorer = data.scorers[directions[0]]
    if isinstance(scorer, Dot):
        raw = files.read_embeddings(path)
        audit.check_vectors(raw.images, raw.texts, path, None, None)
        if raw.images.shape[1] != scorer.images.shape[1]:
            what = f"vectors have {raw.images.shape[1]} dimensions, and those of the test set {scorer.images.shape[1]}"
            raise BadInput(what, where=path, fix="encode the bank with the same model")
        images, texts = (x[:].astype("f4") for x in (raw.images, raw.texts))
        cosine, both = similarity != "dot", {"i2t": images, "t2i": texts}
        every: dict[Direction, Scorer] = {
            "i2t": Dot(images, scorer.captions, cosine),
            "t2i": Dot(scorer.images, texts, cosine),
        }
        test = {"i2t": scorer.images, "t2i": scorer.captions}
        identity = fingerprint(*(both[d].tobytes() for d in directions))[:8]
        return {d: every[d] for d in directions}, f"bank#{identity}", sum(_shared(both[d], test[d]) for d in directions)
    assert isinstance(scorer, Matrix)
    if len(directions) > 1:
        what = f"{spell('normalise')} names a bank of scores, which is of one direction"
        raise UsageError(what, fix=f"add {spell('direction', 't2i')}")
    scores = files.read_scores(path).values
    audit.check_scores(scores, path)
    (direction,) = directions
    side, words = (1, "one column a caption") if direction == "i2t" else (0, "one row an image")
    if scores.shape[side] != scorer.scores.shape[side]:
        what = f"score matrix has shape {scores.shape}, and the test set {scorer.scores.shape}"
        raise BadInput(what, where=path, fix=f"give the scores of the bank with the gallery, {words}")
    orders = (scorer.image_order, None) if direction == "t2i" else (None, scorer.caption_order)
    return {direction: Matrix(scores, *orders)}, f"bank#{fingerprint(scores.tobytes())[:8]}", 0


def _shared(bank: Vectors, test: Vectors) -> int:
    """How many rows of the bank, (row, dim), are rows of the test set."""
    known = {row.tobytes() for row in test}
    return sum(row.tobytes() in known for row in bank)
