"""``matrix``: gains computed elsewhere, a matrix in a file."""

from __future__ import annotations

from ...data.formats.table import array_endings, array_suffixes
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
    needs=f"a file ({array_suffixes()})",
    module="vsebench.relevance.matrix",
    endings=array_endings(),
    needs_captions=False,
    uses_captions=False,
    finds_lowest=True,
)
