"""CIDEr-D and plain CIDEr of every caption with every image of a split, computed on request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ...errors import BadInput, UsageError, count_of
from ...numeric import elementary
from ...text.tokenise import tokenise
from ...types import Bool, Direction, Float, Int, Split, Vectors
from ..checks import as_pairs, check_range, put_own_in_pairs, put_own_in_rows
from ..gains import Progress
from ..kinds.cider import CIDER
from .features import Features, features
from .ngrams import Grams, grams, image_frequency

SIGMA = 6.0  # bigrams; the width of the penalty for a difference in length


@dataclass(frozen=True, eq=False)
class CiderGains:
    """CIDEr-D (or plain CIDEr) of a caption c against the captions of an image, from 0 to 10.

    CIDEr-D(c, S) = 10 mean_{n=1..4} mean_{r in S} sum_g min(w_g(c), w_g(r)) w_g(r) / (|w(c)|_n |w(r)|_n)
    exp(-(l_c - l_r)^2 / (2 sigma^2)), with w_g = count_g (log N - log max(1, df_g)), l the number of bigrams and
    sigma = 6; plain CIDEr has neither the minimum nor the penalty. Values are float32, equal to those of
    ``pycocoevalcap`` to 1e-6. Source: Vedantam et al., CVPR 2015, and the released code, which averages where the
    paper's eq. 3-4 weigh the n-gram lengths equally.

    Attributes:
        split: the items.
        features: weighted n-grams, from which the values are computed.
        settings: ``tokens``, ``variant``, ``df`` (with the fingerprint of a file) and ``own``.
        notes: edge cases.
    """

    split: Split
    features: Features
    settings: Mapping[str, str]
    notes: tuple[str, ...]
    name: str = "cider"
    lowest: float = 0.0
    rows_affordable: bool = True

    @property
    def shape(self) -> tuple[int, int]:
        """See ``Gains.shape``."""
        return len(self.split.image_ids), len(self.split.caption_ids)

    def rows(self, direction: Direction, start: int, stop: int) -> Vectors:
        """See ``Gains.rows``."""
        check_range(self.shape, direction, start, stop)
        out = self.features.rows(direction, start, stop)
        if self._own is not None:
            put_own_in_rows(out, self._own, self.split.image_of, direction, start, stop)
        return out

    def at(self, direction: Direction, queries: Int, items: Int) -> Vectors:
        """See ``Gains.at``."""
        images, captions = as_pairs(self.shape, direction, queries, items)
        out = self.features.pairs(captions, images)
        if self._own is not None:
            put_own_in_pairs(out, self._own, self.split.image_of, images, captions)
        return out.reshape(np.shape(items))

    @cached_property
    def _own(self) -> Vectors | None:
        """With ``own=out`` (caption,) the gain with the caption's own image, computed from its other captions."""
        return self.features.without_itself() if self.settings["own"] == "out" else None


def load(
    split: Split, argument: str | None, settings: Mapping[str, str], progress: Progress | None = None
) -> CiderGains:
    """CIDEr over a split.

    Args, see ``kinds.declare.Loader``:
        split: with its captions.
        argument: None.
        settings: ``tokens`` (ptb, whitespace, ptb-java); ``variant``: ``d`` (CIDEr-D) or ``plain``; ``df``: ``split``
            or a file of captions or of document frequencies (see ``frequencies``); ``own``: ``in``, or ``out`` to
            compare a caption with the other captions of its own image.

    Raises:
        UsageError: an argument, or another value of a setting.
        BadInput: the split has no captions, or the file is damaged or made with another tokeniser.
    """
    if argument is not None:
        raise UsageError(f"cider takes no '{argument}'", fix=f"settings are {', '.join(CIDER.settings)}")
    if split.captions is None:
        raise BadInput(f"cider needs the captions of split '{split.name}'", fix="give a split with its captions")
    tokens, variant, df, own = (CIDER.value(settings, key) for key in ("tokens", "variant", "df", "own"))
    report = progress or (lambda done: None)
    found = grams(tokenise(split.captions, tokens))
    report(0.4)
    idf, corpus, notes = _weights(found, split, df, tokens)
    report(0.6)
    weighted = features(found, split.image_of, len(split.image_ids), idf, clip=variant == "d", sigma=SIGMA)
    report(1.0)
    chosen = {"tokens": tokens, "variant": variant, "df": corpus, "own": own}
    return CiderGains(split, weighted, chosen, (*found.tokens.notes, *_edge_cases(found, split, own), *notes))


def _weights(found: Grams, split: Split, source: str, tokens: str) -> tuple[Float, str, tuple[str, ...]]:
    """(n-gram,) float64 log N - log max(1, df); the corpus, for the signature; notes."""
    if source == "split":
        df: npt.NDArray[np.int32] = image_frequency(found, split.image_of, len(split.image_ids))
        images, corpus, where = len(split.image_ids), "split", "the split"
    else:
        from .frequencies import corpus_df, fingerprint

        frequencies = corpus_df(source, tokens)
        df, images, corpus = frequencies.of(found), frequencies.images, fingerprint(source)
        where = source
    notes = []
    if images == 1:
        notes.append(f"there is one image in {where}, so every n-gram has weight 0 and CIDEr is 0 for every pair")
    elif len(df) and (everywhere := int((df >= images).sum())):
        example = _spelled(found, int(np.flatnonzero(df >= images)[0]))
        counted = count_of(everywhere, "n-gram occurs", "n-grams occur")
        notes.append(f"{counted} with every image of {where}: weight 0 (first: '{example}')")
    if source != "split" and len(df) and (unseen := float((df == 0).mean())) > 0.5:
        notes.append(f"{unseen:.0%} of the n-grams of the captions do not occur in {where}")
    return elementary.log(images) - elementary.log(np.maximum(df, 1)), corpus, tuple(notes)


def _edge_cases(found: Grams, split: Split, own: str) -> list[str]:
    """Notes about empty and short captions, and images with no or one caption."""
    length = found.tokens.length
    notes = []
    if empty := np.flatnonzero(length == 0).tolist():
        notes.append(
            f"{count_of(len(empty), 'caption has', 'captions have')} no tokens (first: id "
            f"{split.caption_ids[empty[0]]}): CIDEr 0, also as a reference"
        )
    if short := int(((length > 0) & (length < 4)).sum()):
        notes.append(
            f"{count_of(short, 'caption has', 'captions have')} fewer than 4 tokens; longer n-grams count as 0"
        )
    references = np.bincount(split.image_of, minlength=len(split.image_ids))
    if none := int((references == 0).sum()):
        notes.append(f"{count_of(none, 'image has', 'images have')} no captions, and CIDEr 0 with every caption")
    single: Bool = references == 1
    if own == "out" and single.any():
        alone = count_of(int(single.sum()), "image has", "images have")
        notes.append(f"{alone} one caption only, which then has no references and CIDEr 0")
    return notes


def _spelled(found: Grams, gram: int) -> str:
    """The words of an n-gram."""
    words: list[str] = []
    while gram >= 0:
        words.append(found.tokens.words[found.last[gram]])
        gram = int(found.parent[gram])
    return " ".join(reversed(words))
