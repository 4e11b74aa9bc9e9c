"""The sources of relevance that come with vsebench; what computes gains is imported when they are loaded."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import lru_cache, partial

import numpy as np

from ..files.formats import array_endings, array_suffixes
from ..types import Both, TestSet
from .coco import CXC_FILES, ECCV_FILES, JUDGED_SPLIT, identity, judged
from .gains import Gains, Grades, Progress, of_pairs
from .sources import Loader, Source, register

OWN = ("in", "out")  # a caption and its own image: included, left out
OWN_OF_VECTORS = ("in", "one", "out")  # one: the gain is set to 1
AGGREGATES = ("max", "mean", "first")  # of the cosines with the captions of an image
TOKENS = ("ptb", "whitespace")
NEGATIVE = ("keep", "zero")
WORD_VECTORS = "FILE: a file of word vectors (GloVe or word2vec text format)"


def _later(module: str, name: str = "load") -> Loader:
    """A function of a module of this package, which is imported when it is called."""

    def load(test: TestSet, argument: str | None, settings: Mapping[str, str], progress: Progress | None) -> Gains:
        found = importlib.import_module(f"{__package__}.{module}")
        return getattr(found, name)(test, argument, settings, progress)  # type: ignore[no-any-return]

    return load


@lru_cache(maxsize=2)  # a training loop evaluates the same split again and again
def ground_truth(test: TestSet) -> Both[Grades]:
    """The pairs of a split: every caption with the image it was written for.

    Images without a caption are candidates and no queries: ``no_positive="miss"`` does not count them either.
    """
    shape, image, caption = test.shape, test.owners, np.arange(len(test.owners))
    return of_pairs("gt", shape, image, caption), of_pairs("gt", shape[::-1], caption, image)


GROUND_TRUTH = Source(
    name="gt",
    title="ground truth",
    meaning="the captions written for the image; the complete gallery is ranked",
    rule="a caption and the image it was written for; every other pair counts as wrong, even if the caption fits",
    cite="chen2015coco",
    reference="Chen et al., Microsoft COCO Captions, arXiv 1504.00325, 2015",
    grades=ground_truth,
)

COCO_1K = Source(
    name="1k",
    title="COCO 1K (mean of 5 folds)",
    meaning="the captions written for the image; only the query's fold is ranked; mean over the five folds (COCO 1K)",
    rule="a caption and the image it was written for; candidates are the items of the query's fold of 1,000 images",
    cite="faghri2018vsepp",
    reference="Faghri et al., VSE++: Improving Visual-Semantic Embeddings with Hard Negatives, BMVC 2018",
    grades=ground_truth,
    folds=True,
)

ECCV = Source(
    name="eccv",
    title="ECCV Caption",
    meaning="ECCV Caption judgements over COCO 5K; the complete gallery is ranked",
    rule="the original pairs (6,296 of 6,305 image-to-text), those among the top candidates of five models that crowd "
    "workers accepted (the raters of CxC count as one more), and all positives of CxC",
    cite="chun2022eccv",
    reference="Chun et al., ECCV Caption: Correcting False Negatives, ECCV 2022",
    grades=partial(judged, "eccv", ECCV_FILES),
    identity=partial(identity, ECCV_FILES),
    splits=(JUDGED_SPLIT,),
)

CXC = Source(
    name="cxc",
    title="CxC",
    meaning="Crisscrossed Captions judgements (similarity of at least 3) over COCO 5K; the complete gallery is ranked",
    rule="image-text similarity (SITS) with agg_score >= 3 on the scale 0 to 5, the mean of several raters a pair, "
    "over pairs sampled by similarity",
    cite="parekh2021cxc",
    reference="Parekh et al., Crisscrossed Captions, EACL 2021",
    grades=partial(judged, "cxc", CXC_FILES, all_queries=True),
    identity=partial(identity, CXC_FILES),
    splits=(JUDGED_SPLIT,),
)

CIDER = Source(
    name="cider",
    title="CIDEr-D",
    meaning="how many n-grams (1 to 4 words) a caption shares with the captions of an image; n-grams that occur with "
    "few images count more",
    rule="10/4 sum_n mean_r sum_g min(w_g(c), w_g(r)) w_g(r) / (|w(c)| |w(r)|) exp(-(l_c - l_r)^2 / 72)",
    low=0.0,
    high=10.0,
    settings={
        "tokens": ("ptb", "whitespace"),
        "variant": ("d", "plain"),
        "df": ("split",),
        "own": OWN,
    },
    reference="Vedantam et al., CIDEr: Consensus-based Image Description Evaluation, CVPR 2015",
    cite="vedantam2015cider",
    needs="the captions of the split",
    load=_later("cider.cider"),
)

SPICE = Source(
    name="spice",
    title="SPICE",
    meaning="how many objects, attributes and relations a caption shares with the captions of an image, by words or "
    "synonyms",
    rule="F of scene-graph tuples: 2 tp / (|candidate| + |reference|)",
    low=0.0,
    high=1.0,
    settings={"text": ("original", "ptb"), "own": OWN},
    reference="Anderson et al., SPICE: Semantic Propositional Image Caption Evaluation, ECCV 2016",
    cite="anderson2016spice",
    needs="parsed captions (vsebench spice build)",
    load=_later("spice.spice"),
)

SENTENCE = Source(
    name="sentence",
    title="Cosine of a sentence encoder",
    meaning="how similar the sentence vectors of a caption and of the captions of an image are",
    rule="max over the image's captions m of cos(e_m, e_j)",
    low=-1.0,
    high=1.0,
    argument="NAME: a sentence-transformers model (name or folder) or a .npy of caption embeddings;"
    " all-MiniLM-L6-v2 when nothing is named",
    settings={"agg": AGGREGATES, "own": OWN_OF_VECTORS, "negative": NEGATIVE},
    reference="Reimers and Gurevych, Sentence-BERT, EMNLP 2019",
    cite="reimers2019sbert",
    needs="sentence-transformers, or embeddings of the captions",
    load=_later("embedding.sentence"),
    captions="used",  # vectors may come from a file
)

BOW = Source(
    name="bow",
    title="Cosine of mean word vectors",
    meaning="how similar the mean word vectors of a caption and of the captions of an image are",
    rule="max over the image's captions m of cos(mean v_w in m, mean v_w in j)",
    low=-1.0,
    high=1.0,
    argument=WORD_VECTORS,
    settings={
        "idf": ("no", "yes"),
        "agg": AGGREGATES,
        "own": OWN_OF_VECTORS,
        "tokens": TOKENS,
        "negative": NEGATIVE,
    },
    reference="Mikolov et al., Efficient Estimation of Word Representations, 2013",
    cite="mikolov2013cbow",
    needs="a file of word vectors",
    load=_later("embedding.bow"),
)

WMD = Source(
    name="wmd",
    title="Word mover's distance of caption sets, as a gain",
    meaning="how little the words of the captions of an image have to move, in the space of word vectors, to become "
    "those of a caption",
    rule="1 / (1 + W(X, Y)), W = sum of minima of WMD both ways",
    low=0.0,
    high=1.0,
    argument=WORD_VECTORS,
    settings={"tokens": TOKENS, "own": OWN},
    reference="Kusner et al., From Word Embeddings To Document Distances, ICML 2015",
    cite="kusner2015wmd",
    needs="POT and a file of word vectors",
    load=_later("wmd.word_mover"),
    from_distance=True,
)

COARSE = Source(
    name="coarse",
    title="Coarse to fine",
    meaning="costly gains for promising pairs only: a cheap gain decides which they are",
    rule="costly(i, j) where cheap(i, j) > threshold, cheap(i, j) elsewhere",
    argument="CHEAP:above=NUMBER:COSTLY: two graded relevances and a threshold",
    settings={"elsewhere": ("cheap", "zero"), "negative": NEGATIVE},
    reference="Zhou et al., Ladder Loss for Coherent Visual-Semantic Embedding, AAAI 2020",
    cite="zhou2020ladder",
    needs="what the two relevances need",
    load=_later("coarse"),
    nested=True,
    captions="used",  # the two sources decide
)

MATRIX = Source(
    name="matrix",
    title="A file of gains",
    meaning="gains that were computed elsewhere",
    rule="the number that the file has for image i and caption j",
    settings={"rows": ("auto", "images", "captions"), "negative": NEGATIVE},
    needs=f"a file ({array_suffixes()})",
    load=_later("matrix"),
    endings=array_endings(),
    captions="unused",
)

register(GROUND_TRUTH, COCO_1K, ECCV, CXC, CIDER, SPICE, SENTENCE, BOW, WMD, COARSE, MATRIX)
