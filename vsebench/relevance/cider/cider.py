"""CIDEr-D and plain CIDEr of every caption with every image of a split, computed on request."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ...errors import count_of
from ...files.regular import sha256_of
from ...log import note
from ...numeric import elementary
from ...text.tokenise import tokenise
from ...types import Bool, Float, Split
from ..gains import Gains, Progress, shape_of
from .features import features
from .ngrams import Grams, grams, image_frequency


def load(split: Split, argument: None, settings: Mapping[str, str], progress: Progress | None) -> Gains:
    """CIDEr-D (or plain CIDEr) of every caption c against the captions S of an image, from 0 to 10.

    CIDEr-D(c, S) = 10 mean_{n=1..4} mean_{r in S} sum_g min(w_g(c), w_g(r)) w_g(r) / (|w(c)|_n |w(r)|_n)
    exp(-(l_c - l_r)^2 / (2 sigma^2)), with w_g = count_g (log N - log max(1, df_g)), l the number of bigrams and
    sigma = 6; plain CIDEr has neither the minimum nor the penalty. Values are float32, equal to those of
    ``pycocoevalcap`` to 1e-6. Source: Vedantam et al., CVPR 2015, and the released code, which averages where the
    paper's eq. 3-4 weigh the n-gram lengths equally.

    Args, see ``sources.Loader``:
        settings: ``tokens`` (ptb, whitespace); ``variant``: ``d`` (CIDEr-D) or ``plain``; ``df``: ``split``
            or a file of captions (see ``frequencies``); ``own``: ``in``, or ``out`` to
            compare a caption with the other captions of its own image.

    Raises:
        BadInput: the file is damaged.
    """
    tokens, own = settings["tokens"], settings["own"]
    report = progress or (lambda done: None)
    found = grams(tokenise(split.captions or (), tokens))
    report(0.4)
    note(*found.tokens.notes)
    _note_edge_cases(found, split, own)
    idf, corpus = _weights(found, split, settings["df"], tokens)
    report(0.6)
    clip = settings["variant"] == "d"
    weighted = features(found, split.owners, len(split.image_ids), idf, clip=clip)
    report(1.0)
    of_own = (weighted.without_itself(), split.owners) if own == "out" else None
    return Gains("cider", {**settings, "df": corpus}, shape_of(split), weighted, lowest=0.0, own=of_own)


def _weights(found: Grams, split: Split, source: str, tokens: str) -> tuple[Float, str]:
    """(n-gram,) float64 log N - log max(1, df); the corpus, for the signature."""
    if source == "split":
        df: npt.NDArray[np.int32] = image_frequency(found.gram, split.owners[found.caption], len(found))
        images, corpus, where = len(np.unique(split.owners)), "split", "the split"  # those with captions
    else:
        from .frequencies import corpus_df

        df, images = corpus_df(source, tokens, found)
        corpus, where = f"{Path(source).name}#{sha256_of(source)[:12]}", source
    if images == 1:
        note(f"there is one image in {where}, so every n-gram has weight 0 and CIDEr is 0 for every pair")
    elif len(df) and (everywhere := int((df >= images).sum())):
        example = _spelled(found, int(np.flatnonzero(df >= images)[0]))
        counted = count_of(everywhere, "n-gram occurs", "n-grams occur")
        note(f"{counted} with every image of {where}: weight 0 (first: '{example}')")
    if source != "split" and len(df) and (unseen := float((df == 0).mean())) > 0.5:
        note(f"{unseen:.0%} of the n-grams of the captions do not occur in {where}")
    return elementary.log(images) - elementary.log(np.maximum(df, 1)), corpus


def _note_edge_cases(found: Grams, split: Split, own: str) -> None:
    """Note empty and short captions, and images with no or one caption."""
    length = found.tokens.length
    if empty := np.flatnonzero(length == 0).tolist():
        counted = count_of(len(empty), "caption has", "captions have")
        note(f"{counted} no tokens (first: id {split.caption_ids[empty[0]]}): CIDEr 0, also as a reference")
    if short := int(((length > 0) & (length < 4)).sum()):
        note(f"{count_of(short, 'caption has', 'captions have')} fewer than 4 tokens; longer n-grams count as 0")
    references = np.bincount(split.owners, minlength=len(split.image_ids))
    if none := int((references == 0).sum()):
        note(f"{count_of(none, 'image has', 'images have')} no captions, and CIDEr 0 with every caption")
    single: Bool = references == 1
    if own == "out" and single.any():
        alone = count_of(int(single.sum()), "image has", "images have")
        note(f"{alone} one caption only, which then has no references and CIDEr 0")


def _spelled(found: Grams, gram: int) -> str:
    """The words of an n-gram."""
    words: list[str] = []
    while gram >= 0:
        words.append(found.tokens.words[found.last[gram]])
        gram = int(found.parent[gram])
    return " ".join(reversed(words))
