"""``matrix``: gains computed elsewhere, a matrix in a file."""

from __future__ import annotations

from ..nonnegative import NEGATIVE
from .declare import GainsKind

MATRIX = GainsKind(
    name="matrix",
    title="A file of gains",
    meaning="gains that were computed elsewhere, or judgements of 0 and 1",
    formula="the number that the file has for image i and caption j",
    low=None,
    high=None,
    settings={"rows": ("auto", "images", "captions"), "negative": NEGATIVE},
    needs="--gains FILE.npy",
    module="vsebench.relevance.matrix",
    endings=(".npy", ".npz"),
    needs_captions=False,
    uses_captions=False,
    finds_lowest=True,
)
