"""``eccv``: ECCV Caption, positives beyond the original pairs of the COCO 5K test set."""

from __future__ import annotations

from functools import partial

from .coco_files import Files, identity, load
from .declare import Judgements

FILES: Files = {"i2t": "eccv_image_to_caption.json", "t2i": "eccv_caption_to_image.json"}

ECCV = Judgements(
    name="eccv",
    title="ECCV Caption",
    heading="ECCV Caption",
    meaning="ECCV Caption judgements over COCO 5K; the complete gallery is ranked",
    rule="the original pairs, and those among the top candidates of five models that people accepted",
    judged_by="crowd workers, over candidates proposed by five retrieval models",
    cite="chun2022eccv",
    reference="Chun et al., ECCV Caption: Correcting False Negatives, ECCV 2022",
    positives="eccv",
    load=partial(load, "eccv", FILES),
    identity=partial(identity, FILES),
    splits=("coco-5k",),
    # Two positives are not among the 25,000 captions: 144675 of image 575916 and 467259 of image 421999.
    counts={"i2t": (1_261, 22_550, 2), "t2i": (1_332, 11_279, 0)},
)
