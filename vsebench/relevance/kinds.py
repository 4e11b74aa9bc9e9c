"""The graded relevances by name, and how a specification such as ``cider:tokens=whitespace`` is read."""

from __future__ import annotations

import importlib
from dataclasses import dataclass

from ..errors import BadInput, UsageError
from ..registry import unknown
from ..types import Split
from .gains import Gains, Progress, Spec, choice
from .nonnegative import NEGATIVE, NonNegative

MATRIX_SETTINGS = ("rows", "negative")


@dataclass(frozen=True)
class Graded:
    """One graded relevance in words.

    Attributes:
        name: the kind, and the view in metric names.
        title: its full name.
        formula: one line.
        low, high: range of a value; None when there is no bound.
        argument: what follows the first colon (``""`` for nothing).
        settings: key -> allowed values, the default first; an empty tuple means free text.
        reference: the publication.
        cite: citation key.
        needs: what has to be installed or built beyond the core.
        module: where ``load(split, argument, settings, progress) -> Gains`` is.
    """

    name: str
    title: str
    formula: str
    low: float | None
    high: float | None
    argument: str
    settings: dict[str, tuple[str, ...]]
    reference: str
    cite: str
    needs: str
    module: str


GRADED: dict[str, Graded] = {
    g.name: g
    for g in (
        Graded(
            name="cider",
            title="CIDEr-D",
            formula="10/4 sum_n mean_r sum_g min(w_g(c), w_g(r)) w_g(r) / (|w(c)| |w(r)|) exp(-(l_c - l_r)^2 / 72)",
            low=0.0,
            high=10.0,
            argument="",
            settings={
                "tokens": ("ptb", "whitespace", "ptb-java"),
                "variant": ("d", "plain"),
                "df": ("split",),
                "own": ("in", "out"),
            },
            reference="Vedantam et al., CIDEr: Consensus-based Image Description Evaluation, CVPR 2015",
            cite="vedantam2015cider",
            needs="the captions of the split",
            module="cider.gains",
        ),
        Graded(
            name="spice",
            title="SPICE",
            formula="F of scene-graph tuples: 2 tp / (|candidate| + |reference|)",
            low=0.0,
            high=1.0,
            argument="",
            settings={"text": ("original", "ptb"), "own": ("in", "out")},
            reference="Anderson et al., SPICE: Semantic Propositional Image Caption Evaluation, ECCV 2016",
            cite="anderson2016spice",
            needs="parsed captions (vsebench relevance build spice)",
            module="spice.gains",
        ),
        Graded(
            name="sentence",
            title="Cosine of a sentence encoder",
            formula="max over the image's captions m of cos(e_m, e_j)",
            low=-1.0,
            high=1.0,
            argument="a sentence-transformers model (name or folder) or a .npy of caption embeddings;"
            " all-MiniLM-L6-v2 when nothing is named",
            settings={"agg": ("max", "mean", "first"), "own": ("in", "one", "out"), "negative": NEGATIVE},
            reference="Reimers and Gurevych, Sentence-BERT, EMNLP 2019",
            cite="reimers2019sbert",
            needs="sentence-transformers, or embeddings of the captions",
            module="embedding.sentence",
        ),
        Graded(
            name="bow",
            title="Cosine of mean word vectors",
            formula="max over the image's captions m of cos(mean v_w in m, mean v_w in j)",
            low=-1.0,
            high=1.0,
            argument="a file of word vectors (GloVe or word2vec text format)",
            settings={"idf": ("no", "yes"), "agg": ("max", "mean", "first"), "own": ("in", "one", "out"),
                      "tokens": ("ptb", "whitespace"), "negative": NEGATIVE},
            reference="Mikolov et al., Efficient Estimation of Word Representations, 2013",
            cite="mikolov2013cbow",
            needs="a file of word vectors",
            module="embedding.bow",
        ),
        Graded(
            name="wmd",
            title="Word mover's distance of caption sets, as a gain",
            formula="1 / (1 + W(X, Y)), W = sum of minima of WMD both ways",
            low=0.0,
            high=1.0,
            argument="a file of word vectors (GloVe or word2vec text format)",
            settings={"tokens": ("ptb", "whitespace"), "own": ("in", "out")},
            reference="Kusner et al., From Word Embeddings To Document Distances, ICML 2015",
            cite="kusner2015wmd",
            needs="POT and a file of word vectors",
            module="wmd.gains",
        ),
        Graded(
            name="coarse",
            title="Coarse to fine",
            formula="costly(i, j) where cheap(i, j) > threshold, cheap(i, j) elsewhere",
            low=None,
            high=None,
            argument="CHEAP:above=NUMBER:COSTLY, two graded relevances and a threshold",
            settings={"elsewhere": ("cheap", "zero"), "negative": NEGATIVE},
            reference="Zhou et al., Ladder Loss for Coherent Visual-Semantic Embedding, AAAI 2020",
            cite="zhou2020ladder",
            needs="what the two relevances need",
            module="coarse",
        ),
    )
}  # fmt: skip


def parse_spec(text: str) -> Spec:
    """The gains a specification names.

    Raises:
        UsageError: no such relevance (close matches are named), or a setting it does not have.
    """
    head, *rest = text.strip().split(":")
    if head.endswith((".npy", ".npz")):
        return _matrix(head, rest)
    if head not in GRADED:
        raise unknown("graded relevance", head, GRADED)
    known = GRADED[head]
    words: list[str] = []
    settings: dict[str, str] = {}
    if head == "coarse":  # what follows its own settings belongs to the two relevances it is made of
        if rest and rest[-1].startswith("negative="):  # at the end it is about the whole, as with any other gains
            rest = [rest[-1], *rest[:-1]]
        own = next((at for at, part in enumerate(rest) if part.partition("=")[0] not in known.settings), len(rest))
        words, rest = rest[own:], rest[:own]
    for part in rest:
        key, equals, value = part.partition("=")
        if not equals or key not in known.settings:
            if equals and "/" not in key and "." not in key:
                raise unknown(f"setting of {head}", key, known.settings)
            words.append(part)
            continue
        allowed = known.settings[key]
        if allowed and key != "df" and value not in allowed:
            raise UsageError(f"{head}: {key} is '{value}'", fix=f"use {', '.join(allowed)}")
        if key in settings:
            raise UsageError(f"{head}: {key} is given twice: {settings[key]} and {value}", fix="give it once")
        settings[key] = value
    argument = ":".join(words) or None
    if argument is not None and not known.argument:
        raise UsageError(f"{head} takes no '{argument}'", fix=f"settings are {', '.join(known.settings)}")
    return Spec(head, argument, settings)


def _matrix(path: str, rest: list[str]) -> Spec:
    settings: dict[str, str] = {}
    for part in rest:
        key, _, value = part.partition("=")
        if key not in MATRIX_SETTINGS:
            raise unknown("setting of a file of gains", key, MATRIX_SETTINGS)
        if key in settings:
            raise UsageError(f"setting {key} is given twice: {settings[key]} and {value}", fix="give it once")
        settings[key] = value
    return Spec("matrix", path, settings)


def load_gains(text: str | Spec, split: Split, progress: Progress | None = None) -> Gains:
    """The gains of a split.

    Args:
        text: ``cider``, ``spice``, ``sentence:NAME``, ``bow:FILE``, ``wmd:FILE``, or a ``.npy`` of gains.
        split: with its captions, unless the gains come from a file.
        progress: told the share of the preparation that is done.

    Raises:
        UsageError: an unknown name or setting.
        BadInput: the split has no captions, or a file is damaged.
        MissingPackage: something has to be installed or built first; the message holds the command.
    """
    spec = parse_spec(text) if isinstance(text, str) else text
    cut = choice(spec.settings, "negative", NEGATIVE) == "zero"
    # These can do without: a matrix, vectors of captions in a file, and what is made of two others.
    if spec.kind not in ("matrix", "sentence", "coarse") and split.captions is None:
        raise BadInput(
            f"{spec.kind} needs the captions of split '{split.name}', which are not known",
            fix="give them with --captions FILE",
        )
    module = "matrix" if spec.kind == "matrix" else GRADED[spec.kind].module
    loader = importlib.import_module(f".{module}", __package__)
    gains: Gains = loader.load(split, spec.argument, spec.settings, progress)
    return NonNegative(gains) if cut else gains
