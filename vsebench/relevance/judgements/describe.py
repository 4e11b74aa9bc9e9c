"""What each relevance means, as data for the documentation and the command line."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Description:
    """One relevance in words.

    Attributes:
        name: as in ``eccv:mAP@R``.
        title: its full name.
        rule: when an item is relevant to a query.
        judged_by: who said so.
        cite: citation key.
        reference: the publication.
        splits: where it applies; empty means everywhere.
    """

    name: str
    title: str
    rule: str
    judged_by: str
    cite: str
    reference: str
    splits: tuple[str, ...] = ()


DESCRIPTIONS: dict[str, Description] = {
    d.name: d
    for d in (
        Description(
            name="gt",
            title="Ground truth of the data set",
            rule="a caption and the image it was written for",
            judged_by="nobody: every other pair counts as wrong, also where the caption fits",
            cite="chen2015coco",
            reference="Chen et al., Microsoft COCO Captions, arXiv 1504.00325, 2015",
        ),
        Description(
            name="eccv",
            title="ECCV Caption",
            rule="the original pairs and those of the top candidates of five models that people accepted",
            judged_by="crowd workers, over candidates proposed by five retrieval models",
            cite="chun2022eccv",
            reference="Chun et al., ECCV Caption: Correcting False Negatives, ECCV 2022",
            splits=("coco-5k",),
        ),
        Description(
            name="cxc",
            title="Crisscrossed Captions",
            rule="image-text similarity (SITS) with agg_score >= 3 on the scale 0 to 5",
            judged_by="the mean of several raters a pair, over pairs sampled by similarity",
            cite="parekh2021cxc",
            reference="Parekh et al., Crisscrossed Captions, EACL 2021",
            splits=("coco-5k",),
        ),
    )
}
