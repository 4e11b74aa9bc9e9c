"""The system that is evaluated: its scores as they are read, fused with those of others, with a second stage."""

from __future__ import annotations

from ..log import note, warn
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
            "the scores of the directions have their rows in different orders: judgements, gains and captions without "
            f"ids are read in that of {next(iter(data.orders))}"
        )
    return only.only(second_stage.read(fused.fuse(data, request), request), request)
