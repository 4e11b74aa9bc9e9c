"""CIDEr-D and plain CIDEr of every caption with every image of a split, and document frequencies of a corpus."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ...errors import count_of
from ...files.captions import EVERY, caption_file
from ...files.regular import sha256_of
from ...log import note
from ...numeric import elementary
from ...text.ptb import tokenise
from ...text.tokens import Int32
from ...types import Bool, Float, TestSet
from ..gains import Gains, Progress, Replaced
from .features import Grams, features, grams, image_frequency


def load(test: TestSet, argument: None, settings: Mapping[str, str], progress: Progress | None) -> Gains:
    """CIDEr-D (or plain CIDEr) of every caption c against the captions S of an image, from 0 to 10.

    CIDEr-D(c, S) = 10 mean_{n=1..4} mean_{r in S} sum_g min(w_g(c), w_g(r)) w_g(r) / (|w(c)|_n |w(r)|_n)
    exp(-(l_c - l_r)^2 / (2 sigma^2)), with w_g = count_g (log N - log max(1, df_g)), l the number of bigrams and
    sigma = 6; plain CIDEr has neither the minimum nor the penalty. Values are float32, equal to those of
    ``pycocoevalcap`` to 1e-6. Source: Vedantam et al., CVPR 2015, and the released code, which averages where the
    paper's eq. 3-4 weigh the n-gram lengths equally.

    Args, see ``sources.Loader``:
        settings: ``tokens`` (ptb, whitespace); ``variant``: ``d`` (CIDEr-D) or ``plain``; ``df``: ``split``
            or a file of captions (see ``corpus_df``); ``own``: ``in``, or ``out`` to
            compare a caption with the other captions of its own image.

    Raises:
        BadInput: the file is damaged.
    """
    tokens, own = settings["tokens"], settings["own"]
    report = progress or (lambda done: None)
    found = grams(tokenise(test.columns.texts or (), tokens))
    report(0.4)
    note(*found.tokens.notes)
    _note_edge_cases(found, test, own)
    idf, corpus = _weights(found, test, settings["df"], tokens)
    report(0.6)
    clip = settings["variant"] == "d"
    weighted = features(found, test.owners, len(test.rows), idf, clip=clip)
    report(1.0)
    values = Replaced(weighted, test.owners, weighted.without_itself()) if own == "out" else weighted
    return Gains("cider", {**settings, "df": corpus}, test.shape, values, lowest=0.0)


def _weights(found: Grams, test: TestSet, source: str, tokens: str) -> tuple[Float, str]:
    """(n-gram,) float64 log N - log max(1, df); the corpus, for the signature."""
    if source == "split":
        df: npt.NDArray[np.int32] = image_frequency(found.gram, test.owners[found.caption], len(found))
        images, corpus, where = len(np.unique(test.owners)), "split", "the split"  # those with captions
    else:
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


def _note_edge_cases(found: Grams, test: TestSet, own: str) -> None:
    """Note empty and short captions, and images with no or one caption."""
    length, (row, column) = found.tokens.length, test.sides
    if empty := np.flatnonzero(length == 0).tolist():
        note(f"{column.have(len(empty))} no tokens (first: id {column.ids[empty[0]]}): CIDEr 0, also as a reference")
    if short := int(((length > 0) & (length < 4)).sum()):
        note(f"{column.have(short)} fewer than 4 tokens; longer n-grams count as 0")
    references = np.bincount(test.owners, minlength=len(test.rows))
    if none := int((references == 0).sum()):
        note(f"{row.have(none)} no {column.plural}, and CIDEr 0 with every {column.name}")
    single: Bool = references == 1
    if own == "out" and single.any():
        note(f"{row.have(int(single.sum()))} one {column.name} only, which then has no references and CIDEr 0")


def _spelled(found: Grams, gram: int) -> str:
    """The words of an n-gram."""
    words: list[str] = []
    while gram >= 0:
        words.append(found.tokens.words[found.last[gram]])
        gram = int(found.parent[gram])
    return " ".join(reversed(words))


def corpus_df(path: str | os.PathLike[str], tokens: str, wanted: Grams) -> tuple[Int32, int]:
    """In how many images of a corpus each n-gram occurs, and the number of these images.

    Args:
        path: a file of captions with the ids of their images, see ``docs/formats.md``.
        tokens: the tokeniser.
        wanted: the n-grams.

    Returns:
        (n-gram,) int32, 0 for those that do not occur; the number of images, N.

    Raises:
        BadInput: no such file, or damaged.
    """
    from .kernels import find_grams

    rows = caption_file(path).rows(EVERY)
    images = rows.images()[1]
    found = grams(tokenise(rows.captions or (), tokens))
    df = image_frequency(found.gram, images[found.caption], len(found))
    words, number = found.tokens.words, {word: i for i, word in enumerate(wanted.tokens.words)}
    number_of = np.fromiter((number.get(word, -1) for word in words), np.int32, len(words))
    place = np.empty(len(found), np.int32)
    find_grams(*wanted.table, len(number), found.parent, number_of[found.last], place)
    out = np.zeros(len(wanted), np.int32)
    out[place[place >= 0]] = df[place >= 0]
    return out, int(images.max()) + 1
