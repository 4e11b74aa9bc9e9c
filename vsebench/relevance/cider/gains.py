"""CIDEr-D and plain CIDEr of every caption with every image of a split, computed when it is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ...errors import BadInput, UsageError
from ...text.tokenise import tokenise
from ...types import Bool, Direction, Float, Int, Split, Vectors
from ..arrays import as_pairs, check_range
from ..gains import Progress, choice
from .features import Features, features
from .ngrams import Grams, grams, image_frequency

SIGMA = 6.0  # words; the width of the penalty for a difference in length


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
        features: what the values are computed from.
        settings: ``tokens``, ``variant``, ``df`` (with the fingerprint of a file) and ``own``.
        notes: edge cases that were met.
    """

    split: Split
    features: Features
    settings: Mapping[str, str]
    notes: tuple[str, ...]
    name: str = "cider"

    @property
    def shape(self) -> tuple[int, int]:
        """(images, captions)."""
        return len(self.split.image_ids), len(self.split.caption_ids)

    def rows(self, direction: Direction, start: int, stop: int) -> Vectors:
        """(stop - start, gallery) float32 gains of queries ``start:stop`` with everything; runs without the GIL.

        Raises:
            UsageError: no such rows or direction.
        """
        check_range(self.shape, direction, start, stop)
        out = self.features.rows(direction, start, stop)
        if self._own is not None and direction == "t2i":
            out[np.arange(stop - start), self.split.image_of[start:stop]] = self._own[start:stop]
        elif self._own is not None:
            first, captions = self.features.captions_of
            theirs = captions[first[start] : first[stop]]
            out[self.split.image_of[theirs] - start, theirs] = self._own[theirs]
        return out

    def at(self, direction: Direction, queries: Int, items: Int) -> Vectors:
        """(query, k) float32 gains of ``items`` (query, k) for ``queries`` (query,); the values of ``rows``.

        Raises:
            UsageError: an index is out of range, or the shapes do not fit.
        """
        images, captions = as_pairs(self.shape, direction, queries, items)
        out = self.features.pairs(captions, images)
        if self._own is not None:
            own = self.split.image_of[captions] == images
            out[own] = self._own[captions[own]]
        return out.reshape(np.shape(items))

    @cached_property
    def _own(self) -> Vectors | None:
        """(caption,) gain of its own image without itself, when captions are left out; None when they stay in."""
        return self.features.without_itself() if self.settings["own"] == "out" else None


def load(
    split: Split, argument: str | None, settings: Mapping[str, str], progress: Progress | None = None
) -> CiderGains:
    """CIDEr over a split.

    Args:
        split: with its captions.
        argument: CIDEr takes none.
        settings: ``tokens`` is ``ptb`` or ``whitespace``; ``variant`` is ``d`` (CIDEr-D) or ``plain``; ``df`` is
            ``split`` or a file of captions or of document frequencies (see ``cider_df``); ``own`` is ``in`` or
            ``out`` (the references of a caption's own image are the others).
        progress: told the share that is done.

    Raises:
        UsageError: an argument, or another value of a setting.
        BadInput: the split has no captions, or the file is damaged or of other tokens.
    """
    if argument is not None:
        raise UsageError(f"cider takes no '{argument}'", fix="settings are tokens, variant, df and own")
    if split.captions is None:
        raise BadInput(f"cider needs the captions of split '{split.name}'", fix="give a split with its captions")
    how, variant = settings.get("tokens", "ptb"), choice(settings, "variant", ("d", "plain"))
    own, source = choice(settings, "own", ("in", "out")), settings.get("df", "split")
    tell = progress or (lambda share: None)
    found = grams(tokenise(split.captions, how))
    tell(0.4)
    idf, corpus, notes = _weights(found, split, source, how)
    tell(0.6)
    made = features(found, split.image_of, len(split.image_ids), idf, clip=variant == "d", sigma=SIGMA)
    tell(1.0)
    chosen = {"tokens": how, "variant": variant, "df": corpus, "own": own}
    notes = (*found.tokens.notes, *_edges(found, split, own), *notes)
    return CiderGains(split, made, chosen, notes)


def _weights(found: Grams, split: Split, source: str, how: str) -> tuple[Float, str, tuple[str, ...]]:
    """(n-gram,) float64 log N - log max(1, df); what was counted, for the signature; notes."""
    if source == "split":
        df: npt.NDArray[np.int32] = image_frequency(found, split.image_of, len(split.image_ids))
        images, corpus = len(split.image_ids), "split"
        where = "the split"
    else:
        from .frequencies import corpus_df, fingerprint

        frequencies = corpus_df(source, how)
        df, images, corpus = frequencies.of(found), frequencies.images, fingerprint(source)
        where = source
    notes = []
    if images == 1:
        notes.append(f"there is one image in {where}, so no n-gram tells images apart and CIDEr is 0 everywhere")
    elif len(df) and (every := int((df >= images).sum())):
        shown = _spelled(found, int(np.flatnonzero(df >= images)[0]))
        notes.append(f"{every:,} n-grams occur with every image of {where} and have no weight (first: '{shown}')")
    if source != "split" and len(df) and (unseen := float((df == 0).mean())) > 0.5:
        notes.append(f"{unseen:.0%} of the n-grams of the captions do not occur in {where}")
    return np.log(float(images)) - np.log(np.maximum(df, 1).astype(np.float64)), corpus, tuple(notes)


def _edges(found: Grams, split: Split, own: str) -> list[str]:
    """What is unusual about the captions."""
    length = found.tokens.length
    notes = []
    if empty := np.flatnonzero(length == 0).tolist():
        notes.append(
            f"{len(empty):,} captions have no tokens (first: id {split.caption_ids[empty[0]]}): "
            "their CIDEr is 0, and as references they count as 0"
        )
    if short := int(((length > 0) & (length < 4)).sum()):
        notes.append(f"{short:,} captions have fewer than 4 tokens; the n-gram lengths they lack count as 0")
    references = np.bincount(split.image_of, minlength=len(split.image_ids))
    if none := int((references == 0).sum()):
        notes.append(f"{none:,} images have no captions, and CIDEr 0 with everything")
    alone: Bool = references == 1
    if own == "out" and alone.any():
        notes.append(f"{int(alone.sum()):,} images have one caption only, which then has no references and CIDEr 0")
    return notes


def _spelled(found: Grams, gram: int) -> str:
    words: list[str] = []
    while gram >= 0:
        words.append(found.tokens.words[found.last[gram]])
        gram = int(found.parent[gram])
    return " ".join(reversed(words))
