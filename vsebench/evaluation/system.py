"""The system that is evaluated: its scores as they are read, fused with those of others, with a second stage."""

from __future__ import annotations

from ..log import note
from . import fused, inputs, only, second_stage
from .inputs import Input
from .options import Given, Options


def read(given: Given, options: Options) -> tuple[Input, Options]:
    """The scores or lists of all systems and stages that are given, aligned, and the options for what is left of them.

    Every process of an evaluation reads its input with this function.

    Raises:
        BadInput, MissingPackage, UsageError: as ``inputs.read``, ``fused.fuse``, ``second_stage.read``, ``only.only``.
    """
    data = inputs.read(given, options)
    if data.orders:
        note(
            "the scores of the directions have their rows in different orders: judgements, gains and captions without "
            f"ids are read in that of {next(iter(data.orders))}"
        )
    data = fused.fuse(data, given, options)
    return only.only(second_stage.read(data, given, options), options)
