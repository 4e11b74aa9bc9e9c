"""``sentence``: cosine of the vectors of a sentence encoder."""

from __future__ import annotations

from ..nonnegative import NEGATIVE
from .declare import GainsKind

AGGREGATES = ("max", "mean", "first")  # of the cosines with the captions of an image
OWN = ("in", "one", "out")  # a caption and its own image: included, set to 1, left out

SENTENCE = GainsKind(
    name="sentence",
    title="Cosine of a sentence encoder",
    meaning="how similar the sentence vectors of a caption and of the captions of an image are",
    formula="max over the image's captions m of cos(e_m, e_j)",
    low=-1.0,
    high=1.0,
    argument="a sentence-transformers model (name or folder) or a .npy of caption embeddings;"
    " all-MiniLM-L6-v2 when nothing is named",
    placeholder="NAME",
    settings={"agg": AGGREGATES, "own": OWN, "negative": NEGATIVE},
    reference="Reimers and Gurevych, Sentence-BERT, EMNLP 2019",
    cite="reimers2019sbert",
    needs="sentence-transformers, or embeddings of the captions",
    module="vsebench.relevance.embedding.sentence",
    needs_captions=False,  # vectors may come from a file
)
