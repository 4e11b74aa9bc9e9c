"""``cider``: CIDEr-D or plain CIDEr of a caption against the captions of an image."""

from __future__ import annotations

from .declare import GainsKind

CIDER = GainsKind(
    name="cider",
    title="CIDEr-D",
    meaning="how many n-grams (1 to 4 words) a caption shares with the captions of an image; n-grams that occur with "
    "few images count more",
    formula="10/4 sum_n mean_r sum_g min(w_g(c), w_g(r)) w_g(r) / (|w(c)| |w(r)|) exp(-(l_c - l_r)^2 / 72)",
    low=0.0,
    high=10.0,
    settings={
        "tokens": ("ptb", "whitespace", "ptb-java"),
        "variant": ("d", "plain"),
        "df": ("split",),
        "own": ("in", "out"),
    },
    open_settings=("df",),
    reference="Vedantam et al., CIDEr: Consensus-based Image Description Evaluation, CVPR 2015",
    cite="vedantam2015cider",
    needs="the captions of the split",
    module="vsebench.relevance.cider.gains",
)
