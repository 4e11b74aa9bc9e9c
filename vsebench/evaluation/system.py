"""The system that is evaluated: its scores as they are read, fused with those of others, with a second stage."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..errors import BadInput
from ..log import note, warn
from ..options import spell
from ..rank.scorers import Matrix, Scorer
from ..sets.items import last_of_all
from ..sets.published import warning_of
from . import fused, inputs, only, second_stage
from .inputs import System
from .request import Request


def read(request: Request) -> System:
    """The scores or lists of all systems and stages that are given, aligned.

    Every process of an evaluation reads its input with this function.

    Raises:
        BadInput, MissingPackage, UsageError: as ``inputs.read``, ``fused.fuse``, ``second_stage.read``, ``only.only``.
    """
    data = inputs.read(request)
    warn(warning_of(data.split.name))
    if data.orders:
        note(
            "the score matrices of the two directions order their rows differently: judgements, gains, captions and "
            f"fused systems without ids are read in the order of {next(iter(data.orders))}"
        )
    data = _without_excluded(fused.fuse(data, request), request)
    return only.only(second_stage.read(data, request), request)


def _without_excluded(data: System, request: Request) -> System:
    """The system with finite scores: a pair with the score -inf is no candidate, and is ranked last.

    Raises:
        BadInput: such pairs beside a stage that would give them a score.
    """
    found: dict[int, Scorer] = {}
    for direction, scorer in data.scorers.items():
        if id(scorer) in found or not isinstance(scorer, Matrix) or direction not in request.directions:
            continue
        scores = last_of_all(scorer.scores, data.where)
        stages = [name for name, given in (("normalise", request.correction), ("rerank", request.rerank)) if given]
        if scores is not scorer.scores and stages:
            image, caption = np.argwhere(np.isneginf(scorer.scores))[0].tolist()
            what = f"the score in row {image}, column {caption} is -inf (no candidate); "
            what += f"{spell(stages[0])} needs a finite score of every pair"
            fix = f"leave out {spell(stages[0])}, or give finite scores"
            raise BadInput(what, where=data.where, fix=fix)
        found[id(scorer)] = scorer if scores is scorer.scores else replace(scorer, scores=scores)
    return replace(data, scorers={d: found.get(id(s), s) for d, s in data.scorers.items()}) if found else data
