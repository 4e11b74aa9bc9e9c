"""``truth``: how far what a caption states is what an image shows, for scenes."""

from __future__ import annotations

from .declare import GainsKind

TRUTH = GainsKind(
    name="truth",
    title="Truth of captions of scenes",
    meaning="how many of the facts that a caption states hold in the scene of an image, and how many of the scene's "
    "facts it states; exact for every pair",
    formula="2 matched / (facts of the caption + facts of the scene)",
    low=0.0,
    high=1.0,
    settings={},
    needs="a split of scenes, such as scenes-10k-test (vsebench data build scenes-10k)",
    module="vsebench.relevance.scenes.gains",
    reference="Cai and Knight, Smatch: an Evaluation Metric for Semantic Feature Structures, ACL 2013",
    cite="cai2013smatch",
    needs_captions=False,
    uses_captions=False,
)
