"""``wmd``: word mover's distance between a caption and the captions of an image, as a gain."""

from __future__ import annotations

from .declare import GainsKind

WMD = GainsKind(
    name="wmd",
    title="Word mover's distance of caption sets, as a gain",
    meaning="how little the words of the captions of an image have to move, in the space of word vectors, to become "
    "those of a caption",
    formula="1 / (1 + W(X, Y)), W = sum of minima of WMD both ways",
    low=0.0,
    high=1.0,
    argument="a file of word vectors (GloVe or word2vec text format)",
    placeholder="FILE",
    settings={"tokens": ("ptb", "whitespace"), "own": ("in", "out")},
    reference="Kusner et al., From Word Embeddings To Document Distances, ICML 2015",
    cite="kusner2015wmd",
    needs="POT and a file of word vectors",
    module="vsebench.relevance.wmd.gains",
    from_distance=True,
    rows_affordable=False,
)
