"""``cxc``: Crisscrossed Captions, pairs of the COCO 5K test set that raters found similar."""

from __future__ import annotations

from functools import partial

from .coco_files import Files, identity, load
from .declare import Judgements

FILES: Files = {"i2t": "cxc_image_to_caption.json", "t2i": "cxc_caption_to_image.json"}

CXC = Judgements(
    name="cxc",
    title="Crisscrossed Captions",
    heading="CxC",
    meaning="Crisscrossed Captions judgements (similarity of at least 3) over COCO 5K; the complete gallery is ranked",
    rule="image-text similarity (SITS) with agg_score >= 3 on the scale 0 to 5",
    judged_by="the mean of several raters a pair, over pairs sampled by similarity",
    cite="parekh2021cxc",
    reference="Parekh et al., Crisscrossed Captions, EACL 2021",
    positives="cxc",
    load=partial(load, "cxc", FILES, all_queries=True),
    identity=partial(identity, FILES),
    splits=("coco-5k",),
    counts={"i2t": (5_000, 35_585, 0), "t2i": (24_972, 35_585, 0)},
)
