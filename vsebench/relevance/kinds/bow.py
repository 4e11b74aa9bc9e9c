"""``bow``: cosine of mean word vectors."""

from __future__ import annotations

from ..nonnegative import NEGATIVE
from .declare import GainsKind
from .sentence import AGGREGATES, OWN

BOW = GainsKind(
    name="bow",
    title="Cosine of mean word vectors",
    meaning="how similar the mean word vectors of a caption and of the captions of an image are",
    formula="max over the image's captions m of cos(mean v_w in m, mean v_w in j)",
    low=-1.0,
    high=1.0,
    argument="a file of word vectors (GloVe or word2vec text format)",
    placeholder="FILE",
    settings={
        "idf": ("no", "yes"),
        "agg": AGGREGATES,
        "own": OWN,
        "tokens": ("ptb", "whitespace"),
        "negative": NEGATIVE,
    },
    reference="Mikolov et al., Efficient Estimation of Word Representations, 2013",
    cite="mikolov2013cbow",
    needs="a file of word vectors",
    module="vsebench.relevance.embedding.bow",
)
