"""The declarations of the kinds of gains; each names the function that loads its gains."""

from __future__ import annotations

from dataclasses import replace

from ...files.formats import array_endings, array_suffixes
from .declare import GainsKind

OWN = ("in", "out")  # a caption and its own image: included, left out
OWN_OF_VECTORS = ("in", "one", "out")  # one: the gain is set to 1
AGGREGATES = ("max", "mean", "first")  # of the cosines with the captions of an image
TOKENS = ("ptb", "whitespace")
NEGATIVE = ("keep", "zero")
WORD_VECTORS = "a file of word vectors (GloVe or word2vec text format)"

CIDER = GainsKind(
    name="cider",
    title="CIDEr-D",
    meaning="how many n-grams (1 to 4 words) a caption shares with the captions of an image; n-grams that occur with "
    "few images count more",
    formula="10/4 sum_n mean_r sum_g min(w_g(c), w_g(r)) w_g(r) / (|w(c)| |w(r)|) exp(-(l_c - l_r)^2 / 72)",
    low=0.0,
    high=10.0,
    settings={
        "tokens": ("ptb", "whitespace"),
        "variant": ("d", "plain"),
        "df": ("split",),
        "own": OWN,
    },
    open_settings=("df",),
    reference="Vedantam et al., CIDEr: Consensus-based Image Description Evaluation, CVPR 2015",
    cite="vedantam2015cider",
    needs="the captions of the split",
    load="vsebench.relevance.cider.cider.load",
)

SPICE = GainsKind(
    name="spice",
    title="SPICE",
    meaning="how many objects, attributes and relations a caption shares with the captions of an image, by words or "
    "synonyms",
    formula="F of scene-graph tuples: 2 tp / (|candidate| + |reference|)",
    low=0.0,
    high=1.0,
    settings={"text": ("original", "ptb"), "own": OWN},
    reference="Anderson et al., SPICE: Semantic Propositional Image Caption Evaluation, ECCV 2016",
    cite="anderson2016spice",
    needs="parsed captions (vsebench relevance build spice)",
    load="vsebench.relevance.spice.spice.load",
)

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
    settings={"agg": AGGREGATES, "own": OWN_OF_VECTORS, "negative": NEGATIVE},
    reference="Reimers and Gurevych, Sentence-BERT, EMNLP 2019",
    cite="reimers2019sbert",
    needs="sentence-transformers, or embeddings of the captions",
    load="vsebench.relevance.embedding.sentence.load",
    needs_captions=False,  # vectors may come from a file
)

BOW = GainsKind(
    name="bow",
    title="Cosine of mean word vectors",
    meaning="how similar the mean word vectors of a caption and of the captions of an image are",
    formula="max over the image's captions m of cos(mean v_w in m, mean v_w in j)",
    low=-1.0,
    high=1.0,
    argument=WORD_VECTORS,
    placeholder="FILE",
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
    load="vsebench.relevance.embedding.bow.load",
)

WMD = GainsKind(
    name="wmd",
    title="Word mover's distance of caption sets, as a gain",
    meaning="how little the words of the captions of an image have to move, in the space of word vectors, to become "
    "those of a caption",
    formula="1 / (1 + W(X, Y)), W = sum of minima of WMD both ways",
    low=0.0,
    high=1.0,
    argument=WORD_VECTORS,
    placeholder="FILE",
    settings={"tokens": TOKENS, "own": OWN},
    reference="Kusner et al., From Word Embeddings To Document Distances, ICML 2015",
    cite="kusner2015wmd",
    needs="POT and a file of word vectors",
    load="vsebench.relevance.wmd.word_mover.load",
    from_distance=True,
    rows_affordable=False,
)

HOLDS = GainsKind(
    name="holds",
    title="Facts of a caption that hold",
    meaning="how much of what a caption of scenes says is true of an image: 1 exactly where all of it is; exact for "
    "every pair",
    formula="matched / facts of the caption",
    low=0.0,
    high=1.0,
    settings={},
    needs="a split of scenes, such as scenes-10k-test (vsebench data build scenes-10k)",
    load="vsebench.relevance.scenes.shares.load_holds",
    reference="Young et al., From Image Descriptions to Visual Denotations, TACL 2014",
    cite="young2014denotations",
    needs_captions=False,
    uses_captions=False,
)

MATCH = replace(
    HOLDS,
    name="match",
    title="Match of captions and scenes",
    meaning="how many of the facts that a caption states hold in the scene of an image, and how many of the scene's "
    "facts it states: a true caption that says little has a small gain; exact for every pair",
    formula="2 matched / (facts of the caption + facts of the scene)",
    load="vsebench.relevance.scenes.shares.load_match",
    reference="Cai and Knight, Smatch: an Evaluation Metric for Semantic Feature Structures, ACL 2013",
    cite="cai2013smatch",
)

COARSE = GainsKind(
    name="coarse",
    title="Coarse to fine",
    meaning="costly gains for promising pairs only: a cheap gain decides which they are",
    formula="costly(i, j) where cheap(i, j) > threshold, cheap(i, j) elsewhere",
    low=None,
    high=None,
    argument="CHEAP:above=NUMBER:COSTLY, two graded relevances and a threshold",
    placeholder="CHEAP:above=NUMBER:COSTLY",
    settings={"elsewhere": ("cheap", "zero"), "negative": NEGATIVE},
    reference="Zhou et al., Ladder Loss for Coherent Visual-Semantic Embedding, AAAI 2020",
    cite="zhou2020ladder",
    needs="what the two relevances need",
    load="vsebench.relevance.coarse.load",
    nested=True,
    needs_captions=False,  # the two kinds decide
)

MATRIX = GainsKind(
    name="matrix",
    title="A file of gains",
    meaning="gains that were computed elsewhere",
    formula="the number that the file has for image i and caption j",
    low=None,
    high=None,
    settings={"rows": ("auto", "images", "captions"), "negative": NEGATIVE},
    needs=f"a file ({array_suffixes()})",
    load="vsebench.relevance.matrix.load",
    endings=array_endings(),
    needs_captions=False,
    uses_captions=False,
    finds_lowest=True,
)
