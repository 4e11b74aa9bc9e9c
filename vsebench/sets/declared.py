"""The test splits that vsebench declares, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class DeclaredSplit:
    """A test set that papers report on: its size, the fingerprints of its ids, its licence and its sources.

    Attributes:
        name: the name on the command line.
        built_as: the split whose cached file holds the items (COCO 1K is a view of COCO 5K).
        images: number of images.
        captions: number of captions; of those below five for every image, consecutive.
        fold_size: images in each contiguous fold, or None.
        rows_sha256: of the lines ``<image id> <caption id>\\n`` of all captions in canonical order.
        images_sha256: of the sorted image ids in the form of ``ids.canonical``, one a line; needs no order.
        captions_sha256: of the sorted caption ids likewise.
        order: origin of the canonical order: that of the ``package`` eccv_caption, the ids ``sorted`` as text, or that
            of the ``file`` a data set of one's own was built from.
        cite: publications to cite.
        licence: the known terms of use.
        sources: the files and packages it can be built from, for messages.
    """

    name: str
    built_as: str
    images: int
    captions: int
    fold_size: int | None
    rows_sha256: str
    images_sha256: str
    captions_sha256: str
    order: Literal["package", "sorted", "file"]
    cite: str
    licence: str
    sources: tuple[str, ...]

    @property
    def in_folds(self) -> bool:
        """Whether it is the view of another split in which every query is ranked within its fold."""
        return self.built_as != self.name


_COCO_CITE = (
    "Lin et al., Microsoft COCO: Common Objects in Context, ECCV 2014; Chen et al., Microsoft COCO Captions, "
    "arXiv 1504.00325; split of Karpathy and Fei-Fei, Deep Visual-Semantic Alignments, CVPR 2015"
)
_COCO_LICENCE = "terms of use at cocodataset.org; vsebench reads your own copy and redistributes nothing"
_COCO_SOURCES = (
    "packages eccv_caption and pycocoevalcap (pip install 'vsebench[text]')",
    "captions_val2014.json of the official annotations",
    "Karpathy's dataset_coco.json",
    "JSON lines with caption_id, image_id, caption",
)


def _coco(name: str) -> DeclaredSplit:
    return DeclaredSplit(
        name=name,
        built_as="coco-5k",
        images=5_000,
        captions=25_000,
        fold_size=1_000,
        rows_sha256="63e3f11b32d1f151532c4b83e73625d8f377e55a22f35562e92e3f0a05a736cc",
        images_sha256="d20da3dd48646d91a7ff7837c1c1f591d52c75e72921b2fd7f6854dc1093339f",
        captions_sha256="913c01643dcef07102e6874469fcb25e3f1017f88c228729153e6aca80954722",
        order="package",
        cite=_COCO_CITE,
        licence=_COCO_LICENCE,
        sources=_COCO_SOURCES,
    )


DECLARED: dict[str, DeclaredSplit] = {
    split.name: split
    for split in (
        _coco("coco-5k"),
        _coco("coco-1k"),
        DeclaredSplit(
            name="f30k",
            built_as="f30k",
            images=1_000,
            captions=5_000,
            fold_size=None,
            rows_sha256="b7d567c0c89b84cc5968239cec5579e7f8f55f0883acd7a58af17fd3b5100d36",
            images_sha256="54dc951c21dacbfb66999ddcb4216ec13e09468bb4af3e4cad4a0b015ebc6d07",
            captions_sha256="b7e29f741fd072fdf210b5210a835613dc266e99e53981317449d47b6656457b",
            order="sorted",
            cite=(
                "Young et al., From Image Descriptions to Visual Denotations, TACL 2014; split of Karpathy and "
                "Fei-Fei, Deep Visual-Semantic Alignments, CVPR 2015"
            ),
            licence="distributed for research use; vsebench reads your own copy and redistributes nothing",
            sources=("Karpathy's dataset_flickr30k.json", "JSON lines with image, caption_index, caption"),
        ),
    )
}
