"""``spice``: SPICE of a caption against the captions of an image."""

from __future__ import annotations

from .declare import GainsKind

SPICE = GainsKind(
    name="spice",
    title="SPICE",
    meaning="how many objects, attributes and relations a caption shares with the captions of an image, by words or "
    "synonyms",
    formula="F of scene-graph tuples: 2 tp / (|candidate| + |reference|)",
    low=0.0,
    high=1.0,
    settings={"text": ("original", "ptb"), "own": ("in", "out")},
    reference="Anderson et al., SPICE: Semantic Propositional Image Caption Evaluation, ECCV 2016",
    cite="anderson2016spice",
    needs="parsed captions (vsebench relevance build spice)",
    module="vsebench.relevance.spice.gains",
)
