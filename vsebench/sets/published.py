"""Published test sets that are built from the user's own files, as data, and their rows as they were published.

To add one, write an entry of ``SETS``: its name, what an image is, the numbers that the publication states, the names
of its files, their ``layouts`` (``records`` for JSON, JSON lines and tables: the fields of the image and of captions),
the protocol, the publication and the licence. ``vsebench data build NAME --from FOLDER``, ``load_split``, ``data
list``, ``verify``, all messages and docs/sets.md follow. docs/extending.md has an example with its test.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..errors import BadInput, UsageError, count_of
from ..files.caption_rows import CaptionRows, rows_sha256
from ..files.kinds import CAPTION
from ..files.regular import is_folder
from . import layouts
from .layouts import Layout
from .stored import DeclaredSplit, declare


@dataclass(frozen=True)
class PublishedSet:
    """A test set in the layout in which it was published; with languages each is a split, as ``xm3600:de``.

    Attributes:
        name: the name on the command line.
        items: what an image is here: ``images``, ``videos`` or ``audio clips``.
        images: number of images, those without a caption included; None if it is not known.
        captions: number of captions, of a language where there are languages; None likewise.
        names: the usual names of its files, with ``{}`` for the language, and where they come from.
        layout: what they look like, and their reader.
        protocol: how papers evaluate on it.
        cite: the publication.
        licence: what its source states.
        others: how many of the images have no caption: candidates that belong to no query.
        languages: codes as the files have them.
        sha256: ``rows_sha256`` of the ids, without languages; empty if the real files were not at hand.
        warning: of every report on it.
    """

    name: str
    items: str
    images: int | None
    captions: int | None
    names: str
    layout: Layout
    protocol: str
    cite: str
    licence: str
    others: int = 0
    languages: tuple[str, ...] = ()
    sha256: str = ""
    warning: str = ""

    @property
    def files(self) -> str:
        """The usual names of its files; the German ones of a set in several languages."""
        return self.files_of(())

    def files_of(self, languages: tuple[str, ...]) -> str:
        """The usual names of its files in one language, by default German."""
        return self.names.replace("{}", languages[0] if len(languages) == 1 else "de")

    @property
    def splits(self) -> list[str]:
        """The names of its splits: one a language, or its own."""
        return [f"{self.name}:{language}" for language in self.languages] or [self.name]


PAGE = "see the page of the data set"


def _karpathy(name: str, images: int, captions: int, files: str, cite: str) -> PublishedSet:
    """Remote sensing images, in the layout of Karpathy's files."""
    layout = layouts.records(
        files.split()[0], image="filename", captions="sentences.*.raw", inside="images", part="test"
    )
    return PublishedSet(
        name, "images", images, captions, files, layout, f"{images:,} test images, five captions each", cite, PAGE
    )  # fmt: skip


def _fine_grained(name: str, of: str, images: int, captions: int, others: int, sha256: str) -> PublishedSet:
    """MSCOCO-FG and Flickr30K-FG, with larger galleries than the test set."""
    stem = f"{of}_FG"
    return PublishedSet(
        name, "images", images, captions,
        f"{stem}_ann.json and {stem}_img_filenames.npy (or .txt) of GitHub cwj1412/MSCOCO-Flikcr30K_FG",
        layouts.pool(f"{stem}_ann.json", f"{stem}_img_filenames"),
        f"the {images - others:,} test images with finer captions; from text to image {others:,} similar images are "
        "candidates too", "Chen et al., Rethinking Benchmarks for Cross-modal Image-text Retrieval, SIGIR 2023",
        "none stated; names of images instead of images for reasons of copyright", others, sha256=sha256,
    )  # fmt: skip


SETS: dict[str, PublishedSet] = {
    found.name: found
    for found in (
        PublishedSet(
            "xflickrco", "images", 2_000, 2_000, "test_{}.jsonl or {}/test.jsonl of GitHub e-bug/iglue, "
            "datasets/xFlickrCO/annotations",
            layouts.records("test_{}.jsonl", "{}/test.jsonl", image="img_path", captions=CAPTION),
            "1,000 Flickr30K and 1,000 COCO test images in one gallery, one caption each; R@1 per language and mean",
            "Bugliarello et al., IGLUE: A Benchmark for Transfer Learning across Modalities, Tasks, and Languages, "
            "ICML 2022", "repository MIT; captions and images under the terms of their own sources",
            languages=("en", "de", "es", "id", "ja", "ru", "tr", "zh"),
            sha256="fc82d76ff3b590e0af2584d8934349a40f12617956d2d2808e67afea7afa90c6",
        ),
        PublishedSet(
            "xm3600", "images", 3_600, None, "captions.jsonl of captions.zip, google.github.io/crossmodal-3600",
            layouts.records("captions.jsonl", image="image/key", captions="{}.caption"),
            "all captions of a language, about two per image; some tools use the first of every image only",
            "Thapliyal et al., Crossmodal-3600: A Massively Multilingual Multimodal Evaluation Dataset, EMNLP 2022",
            "captions CC BY 4.0; images of Open Images under their own licences",
            languages=("ar", "bn", "cs", "da", "de", "el", "en", "es", "fa", "fi", "fil", "fr", "he", "hi", "hr", "hu",
            "id", "it", "ja", "ko", "mi", "nl", "no", "pl", "pt", "quz", "ro", "ru", "sv", "sw", "te", "th", "tr", "uk",
            "vi", "zh"),
        ),
        PublishedSet(
            "xtd10", "images", 1_000, 1_000, "test_image_names.txt and test_1kcaptions_{}.txt of GitHub "
            "adobe-research/Cross-lingual-Test-Dataset-XTD10, folders XTD10, MIC and STAIR",
            layouts.names_and_lines("test_image_names.txt", ("test_1kcaptions_{}.txt",)),
            "1,000 COCO images, one caption each; R@10 from text to image per language",
            "Aggarwal and Kale, Towards Zero-shot Cross-lingual Image Retrieval, arXiv 2012.05107; German and French "
            "of MIC, Japanese of STAIR", "Adobe's licence in LICENSE.md, for research",
            languages=("en", "de", "es", "fr", "it", "jp", "ko", "pl", "ru", "tr", "zh"),
            warning="some 800 of the 1,000 images of XTD10 are COCO training images: models that were trained on COCO "
            "have seen them",
        ),
        _fine_grained(
            "coco-fg", "MSCOCO", 31_244, 25_000, 26_244,
            "b5f2aa869272a0347609c46aa7b3d16fea82c91acffc029ece733ef0d40c77d4",
        ),
        _fine_grained(
            "f30k-fg", "Flickr30K", 6_867, 5_000, 5_867,
            "1404efb0f7c3aa61706dfd72adabf187cb793a4183219f743616ffb2a555a8d6",
        ),
        PublishedSet(
            "urban1k", "images", 1_000, 1_000, "folder caption of Urban1k.zip, Hugging Face BeichenZhang/Urban1k",
            layouts.texts_in_folder("caption", ".jpg"), "1,000 images, one caption of about 100 words each; R@1",
            "Zhang et al., Long-CLIP: Unlocking the Long-Text Capability of CLIP, ECCV 2024",
            PAGE,
        ),
        PublishedSet(
            "msrvtt-1k", "videos", 1_000, 1_000, "MSRVTT_JSFUSION_test.csv, as in msrvtt_data.zip of GitHub "
            "ArrowLuo/CLIP4Clip",
            layouts.records(
                "MSRVTT_JSFUSION_test.csv", image="video_id", captions=("sentence", "sentences"), caption_id="key"
            ),
            "the split 1k-A: 1,000 videos, one caption each",
            "Xu et al., MSR-VTT: A Large Video Description Dataset for Bridging Video and Language, CVPR 2016; split "
            "of Yu et al., A Joint Sequence Fusion Model for Video Question Answering and Retrieval, ECCV 2018",
            PAGE,
        ),
        PublishedSet(
            "msvd", "videos", 670, None, "AllVideoDescriptions.txt (English) and test_list.txt",
            layouts.described_clips("AllVideoDescriptions.txt", "test_list.txt"),
            "670 test videos, all their captions (about 40 each); every caption is a query from text to video",
            "Chen and Dolan, Collecting Highly Parallel Data for Paraphrase Evaluation, ACL 2011; split of "
            "Venugopalan et al., Translating Videos to Natural Language, NAACL 2015", PAGE,
        ),
        PublishedSet(
            "clotho", "audio clips", 1_045, 5_225, "clotho_captions_evaluation.csv, Zenodo record 4783391",
            layouts.records(
                "clotho_captions_evaluation.csv", image="file_name", captions=[f"caption_{i}" for i in range(1, 6)],
                each=True,
            ), "the evaluation set of version 2: 1,045 clips, five captions each",
            "Drossos et al., Clotho: An Audio Captioning Dataset, ICASSP 2020",
            "captions: Tampere University licence, not for commercial use; clips under their own licences",
        ),
        PublishedSet(
            "audiocaps", "audio clips", 975, 4_875, "test.csv of GitHub cdjkim/audiocaps, folder dataset",
            layouts.records("test.csv", image="youtube_id", captions="caption", caption_id="audiocap_id"),
            "975 test clips, five captions each; papers leave out clips that are gone (816 in Oncescu et al., "
            "Interspeech 2021)", "Kim et al., AudioCaps: Generating Captions for Audios in The Wild, NAACL 2019",
            "repository MIT; clips of AudioSet under their own licences",
        ),
        PublishedSet(
            "msrvtt-full", "videos", 2_990, 59_800, "test_videodatainfo.json, or MSRVTT_data.json of msrvtt_data.zip",
            layouts.records(
                "test_videodatainfo.json", "MSRVTT_data.json", image="video_id", captions="caption",
                caption_id="sen_id", inside="sentences", beside="videos", part="test",
            ), "the official test split: 2,990 videos, 20 captions each; every caption is a query from text to video",
            "Xu et al., MSR-VTT: A Large Video Description Dataset for Bridging Video and Language, CVPR 2016", PAGE,
        ),
        PublishedSet(
            "didemo", "videos", 1_004, 1_004, "test_data.json of GitHub LisaAnne/LocalizingMoments",
            layouts.records(
                "test_data.json", "didemo_ret_test.json", image="video", captions=("description", "caption"),
                joined=True,
            ), "1,004 test videos; all descriptions of a video are one paragraph; papers that lost a video have 1,003",
            "Hendricks et al., Localizing Moments in Video with Natural Language, ICCV 2017", PAGE,
        ),
        PublishedSet(
            "vatex", "videos", None, None, "vatex_public_test_english_v1.1.json or vatex_validation_v1.0.json",
            layouts.records(
                "vatex_public_test_english_v1.1.json", "vatex_validation_v1.0.json", image="videoID", captions="enCap"
            ), "all videos of the file, ten English captions each; many papers have half of the validation "
            "videos, 1,500 with 15,000 captions: build a custom data set",
            "Wang et al., VATEX: A Large-Scale, High-Quality Multilingual Dataset for Video-and-Language Research, "
            "ICCV 2019", PAGE,
        ),
        PublishedSet(
            "docci", "images", 5_000, 5_000, "docci_descriptions.jsonlines, google.github.io/docci",
            layouts.records("docci_descriptions.jsonlines", image="image_file", captions="description", part="test"),
            "5,000 test images, one long description each",
            "Onoe et al., DOCCI: Descriptions of Connected and Contrasting Images, ECCV 2024", "CC BY 4.0",
        ),
        PublishedSet(
            "dci", "images", 7_805, 7_805, "splits.json and folder annotations of densely_captioned_images, GitHub "
            "facebookresearch/DCI",
            layouts.annotated_images("splits.json", "annotations", "image", ("short_caption", "extra_caption")),
            "all 7,805 images, one long caption each: the short and the extra one, as in Wu et al., LoTLIP, NeurIPS "
            "2024", "Urbanek et al., A Picture is Worth More Than 77 Text Tokens, CVPR 2024", "CC BY-NC",
        ),
        PublishedSet(
            "sharegpt4v-1k", "images", 1_000, 1_000,
            "share-captioner_coco_lcs_sam_1246k_1107.json, Hugging Face Lin-Chen/ShareGPT4V",
            layouts.records(
                "share-captioner_coco_lcs_sam_1246k_1107.json", image="image", captions="conversations.1.value",
                first=1_000,
            ), "the first 1,000 images of the file, as in Long-CLIP",
            "Chen et al., ShareGPT4V: Improving Large Multi-Modal Models with Better Captions, ECCV 2024; choice of "
            "Zhang et al., Long-CLIP, ECCV 2024", PAGE,
        ),
        _karpathy("rsicd", 1_093, 5_465, "dataset_rsicd.json of GitHub 201528014227051/RSICD_optimal",
            "Lu et al., Exploring Models and Data for Remote Sensing Image Caption Generation, TGRS 2018"),
        _karpathy("rsitmd", 452, 2_260, "dataset_RSITMD.json of GitHub xiaoyuan1996/AMFMN",
            "Yuan et al., Exploring a Fine-Grained Multiscale Method for Cross-Modal Remote Sensing Image Retrieval, "
            "TGRS 2021"),
        PublishedSet(
            "cuhk-pedes", "images", 3_074, 6_156, "reid_raw.json of CUHK-PEDES",
            layouts.records("reid_raw.json", image="file_path", captions="captions", part="test"),
            "3,074 test images of 1,000 persons; papers count every image of the person as right: the labels are "
            "the field id of the file", "Li et al., Person Search with Natural Language Description, CVPR 2017", PAGE,
        ),
        PublishedSet(
            "multi30k", "images", 1_000, 1_000, "test_2016_flickr.txt (image_splits) and test_2016_flickr.{} (raw) of "
            "GitHub multi30k/dataset, folder data/task1",
            layouts.names_and_lines("test_2016_flickr.txt", ("test_2016_flickr.{}",)),
            "1,000 Flickr30K images, one caption each in English, and its translations",
            "Elliott et al., Multi30K: Multilingual English-German Image Descriptions, 2016", PAGE,
            languages=("en", "de", "fr", "cs"),
        ),
    )
}  # fmt: skip


# ``rows.texts_sha256`` of the captions of a split, of the sets that were tried with real files.
TEXTS_SHA256 = {
    "f30k": "d9367aedd30e83f0431e6cd1c5f5a932811448b9db720c2560c2e5b662a9c83d",
    "coco-fg": "151f73efe27c86586011d91aa173dbaeffd97095e9891cb87dc98cc147ccc62d",
    "f30k-fg": "60ddb5befdee96334daccdecee1cedf96c42f1a05875dc9562eba7722b32944a",
    "xflickrco:en": "710e3e3a3e47c699e241958314446f9619defed7a03dcd3dd16f1903f2dd2e4f",
    "xflickrco:de": "62af941efb8b25cc1e050fe0e4fc5f1b0b64dcac06f4e02a639f11446992148e",
    "xflickrco:es": "95d6e7dc0f93e79ab534f226c676770d4e8965e7744ec2c0533de7327ec8421e",
    "xflickrco:id": "29958c90e562668ddab405ca05d1bc32611b86607eb3ef54f92a64aa6e1a5f64",
    "xflickrco:ja": "b6f53343c65edc5bdd20f9413421a88f275631cbb01f0d789333c886f09c1e8e",
    "xflickrco:ru": "97eaeb66fb209ae7aa508340b1e35a8d478ad715204f4fff59398d7323703264",
    "xflickrco:tr": "71808e7e4b4e1cec43fad8cff2e50f5181f69a1e1ba54b61d9b4fb1420664ee8",
    "xflickrco:zh": "e76a3861374243fc99fa4ea59d1f5d41200fe8194f1cc6b466fd06540196fe76",
}


def find(name: str) -> tuple[PublishedSet, tuple[str, ...]]:
    """The set of a name, and the languages that it stands for, ``("",)`` without.

    Raises:
        UsageError: a language that the set does not have.
    """
    head, colon, language = name.partition(":")
    found = SETS[head]
    if colon and language not in found.languages:
        fix = f"its languages are {', '.join(found.languages)}" if found.languages else f"write {head}"
        raise UsageError(f"'{head}' has no language '{language}'", fix=fix)
    return found, (language,) if colon else found.languages or ("",)


def rows_of(
    found: PublishedSet, languages: tuple[str, ...], source: Path
) -> Iterator[tuple[DeclaredSplit, CaptionRows]]:
    """The declarations and rows of the splits of a set that a file or folder holds.

    Raises:
        BadInput: not the files of this set, or other ids; the message says what the published files look like.
        UsageError: no choice among several files.
    """
    is_folder(source)  # raises if the path does not exist
    try:
        for language, rows in found.layout.read(source, languages):
            _check(found, rows)
            if language:
                ids = np.char.add(f"{language}:", rows.caption_id.astype(np.str_))  # unique in the set
                rows = CaptionRows(rows.image_id, ids, rows.captions, rows.origin, rows.others)
            name = f"{found.name}:{language}" if language else found.name
            declared = replace(declare(name, rows), cite=found.cite, licence=found.licence)
            yield declared, rows
    except BadInput as error:
        layout = f"'{found.name}' is published as {found.files_of(languages)}: {found.layout.shape}"
        error.also(layout)
        raise


def _check(found: PublishedSet, rows: CaptionRows) -> None:
    """Refuse other numbers of images and captions than the set has, and other ids if these are known."""
    counts = len(rows.images()[0]), len(rows.caption_id)
    wanted = found.images or counts[0], found.captions or counts[1]
    if counts != wanted:
        has = f"{wanted[1]:,} of {wanted[0]:,}" if found.captions is not None else f"{wanted[0]:,}"
        what = f"{count_of(counts[1], 'caption')} of {count_of(counts[0], 'image')}; '{found.name}' has {has}"
        fix = "give the complete set; build a part of it as a custom data set, under another name"
        raise BadInput(what, where=rows.origin, fix=fix)
    if found.sha256 and rows_sha256(rows) != found.sha256:
        what = f"the ids are not the ids of '{found.name}', or are in another order (the counts match)"
        raise BadInput(what, where=rows.origin, fix="give the files as they were published")


def warning_of(split: str) -> str:
    """What every report on a split warns of; empty for most."""
    found = SETS.get(split.partition(":")[0])
    return "" if found is None else found.warning


def language_of(split: str) -> tuple[str, str] | None:
    """The set and the language of a split that is one of several languages; None for any other."""
    head, colon, language = split.partition(":")
    return (head, language) if colon and head in SETS else None


def named_language(name: str, languages: Iterable[str]) -> tuple[str, str] | None:
    """The system and the language of a name that ends in one: ``ours:de``, ``ours/DE``, or ``de`` of no system."""
    found = re.fullmatch(r"(?:(.+)[:/._-])?([^:/._-]+)", name)
    return (found[1] or "", found[2].lower()) if found is not None and found[2].lower() in languages else None
