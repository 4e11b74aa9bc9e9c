"""The sources of relevance that come with vsebench; what computes gains is imported when they are loaded.

``eccv`` and ``cxc`` are judgements of the COCO 5K test set from the package ``eccv_caption``, matched by COCO id.
"""

from __future__ import annotations

import hashlib
import importlib
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path

import numpy as np

from ..errors import BadInput, UsageError, count_of
from ..files.formats import array_endings, array_suffixes
from ..files.ids import places
from ..options import spell
from ..sets.stored import ids_installed, judgement_file, read_judgements
from ..types import Both, TestSet, Which
from .gains import Grades, of_pairs
from .sources import FILE, Loader, Source, register

OWN_CAPTIONS = ("in", "out")  # a caption and its own image: included, left out
OWN_CAPTIONS_OF_VECTORS = ("in", "one", "out")  # one: the gain is set to 1
AGGREGATES = ("max", "mean", "first")  # of the cosines with the captions of an image
TOKENS = ("ptb", "whitespace")
NEGATIVE = ("keep", "zero")
WORD_VECTORS = "FILE: a file of word vectors (GloVe or word2vec text format)"
JUDGED_SPLIT = "coco-5k"
# File names in the package, after the name of the judgements: query id -> ids of positives.
FILES = "_image_to_caption.json", "_caption_to_image.json"


def _later(module: str) -> Loader:
    """The function ``load`` of a module of this package, which is imported when it is called."""
    return lambda *of: importlib.import_module(f"{__package__}.{module}").load(*of)


@lru_cache(maxsize=2)  # a training loop evaluates the same split again and again
def ground_truth(test: TestSet) -> Both[Grades]:
    """The pairs of a split: every caption with the image it was written for.

    Images without a caption are candidates and no queries: ``no_positive="miss"`` does not count them either.
    """
    shape, image, caption = test.shape, test.owners, np.arange(len(test.owners))
    return of_pairs("gt", shape, image, caption), of_pairs("gt", shape[::-1], caption, image)


def judged(name: str, test: TestSet, *, all_queries: bool = False) -> Both[Grades]:
    """The judgements over the items of COCO 5K, in any order: of images as queries, and of captions.

    Args:
        name: of the judgements.
        test: ``coco-5k``.
        all_queries: whether every item of the split was judged as a query, so that those without positives are
            misses of ``no_positive``; otherwise the authors chose the queries.

    Raises:
        UsageError: another split.
        MissingPackage: eccv_caption is not installed.
        BadInput: the file is damaged, or the split lacks judged queries.
    """
    if test.name != JUDGED_SPLIT:
        what = f"judgements '{name}' are of the complete gallery of COCO 5K, not of split '{test.name}'"
        raise UsageError(what, fix=f"use {spell('split', JUDGED_SPLIT)}")
    images, captions = (judgement_file(name + file) for file in FILES)
    return _load(name, test, 0, all_queries, images), _load(name, test, 1, all_queries, captions)


@lru_cache(maxsize=8)  # a training loop evaluates the same split again and again
def _load(name: str, test: TestSet, side: Which, all_queries: bool, path: Path) -> Grades:
    lists = read_judgements(path.name)
    try:
        query_ids = np.fromiter(map(int, lists), np.int64, len(lists))
        sizes = np.fromiter(map(len, lists.values()), np.int64, len(lists))
        positive_ids = np.fromiter(chain.from_iterable(lists.values()), np.int64, int(sizes.sum()))
    except (TypeError, ValueError) as error:
        raise BadInput(f"not a mapping of ids to lists of ids ({error})", where=path) from error
    queries, gallery = (one.ids for one in (test.sides[::-1] if side else test.sides))
    query = places(queries, query_ids)
    if (query < 0).any():
        unknown_ids = query_ids[query < 0]
        counted = count_of(len(unknown_ids), "judged query is", "judged queries are")
        what = f"{counted} not in split '{test.name}' (first: {unknown_ids[0]})"
        raise BadInput(what, where=path, fix="check the ids of the split: vsebench data verify coco-5k")
    covered = np.arange(len(queries)) if all_queries else query[sizes > 0]
    pairs = np.repeat(query, sizes), places(gallery, positive_ids)
    return of_pairs(name, (len(queries), len(gallery)), *pairs, judged=covered, where=path)


def identity(name: str, test: TestSet) -> str | None:
    """``eccv_caption#`` and eight digits of the SHA-256 of files; None for other splits or without the package."""
    if test.name != JUDGED_SPLIT or not ids_installed():
        return None
    content = b"".join(judgement_file(name + file).read_bytes() for file in FILES)
    return f"eccv_caption#{hashlib.sha256(content).hexdigest()[:8]}"


GROUND_TRUTH = Source(
    name="gt",
    title="ground truth",
    meaning="the captions written for the image; the complete gallery is ranked",
    rule="a caption and the image it was written for; every other pair counts as wrong, even if the caption fits",
    cite="chen2015coco",
    grades=ground_truth,
)

COCO_1K = Source(
    name="1k",
    title="COCO 1K (mean of 5 folds)",
    meaning="the captions written for the image; only the query's fold is ranked; mean over the five folds (COCO 1K)",
    rule="a caption and the image it was written for; candidates are the items of the query's fold of 1,000 images",
    cite="faghri2018vsepp",
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
    grades=partial(judged, "eccv"),
    identity=partial(identity, "eccv"),
    splits=(JUDGED_SPLIT,),
)

CXC = Source(
    name="cxc",
    title="CxC",
    meaning="Crisscrossed Captions judgements (similarity of at least 3) over COCO 5K; the complete gallery is ranked",
    rule="image-text similarity (SITS) with agg_score >= 3 on the scale 0 to 5, the mean of several raters a pair, "
    "over pairs sampled by similarity",
    cite="parekh2021cxc",
    grades=partial(judged, "cxc", all_queries=True),
    identity=partial(identity, "cxc"),
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
        "df": ("split", FILE),
        "own": OWN_CAPTIONS,
    },
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
    settings={"text": ("original", "ptb"), "own": OWN_CAPTIONS},
    cite="anderson2016spice",
    needs="parsed captions (vsebench spice)",
    load=_later("spice.spice"),
)

SENTENCE = Source(
    name="sentence",
    title="Cosine of a sentence encoder",
    meaning="how similar the sentence vectors of a caption and of the captions of an image are",
    rule="max over the image's captions m of cos(e_m, e_j)",
    low=-1.0,
    high=1.0,
    argument="NAME: a sentence-transformers model (name or folder) or a .npy of caption embeddings; default: "
    "all-MiniLM-L6-v2",
    settings={"agg": AGGREGATES, "own": OWN_CAPTIONS_OF_VECTORS, "negative": NEGATIVE},
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
        "own": OWN_CAPTIONS_OF_VECTORS,
        "tokens": TOKENS,
        "negative": NEGATIVE,
    },
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
    settings={"tokens": TOKENS, "own": OWN_CAPTIONS},
    cite="kusner2015wmd",
    needs="POT and a file of word vectors",
    load=_later("wmd.word_mover"),
    from_distance=True,
)

COARSE = Source(
    name="coarse",
    title="Coarse to fine",
    meaning="costly gains for promising pairs only: a cheap gain decides which they are",
    rule="costly(i, j) if cheap(i, j) > threshold, cheap(i, j) elsewhere",
    argument="CHEAP:above=NUMBER:COSTLY: two graded relevances and a threshold",
    settings={"elsewhere": ("cheap", "zero"), "negative": NEGATIVE},
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
