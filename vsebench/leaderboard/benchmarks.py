"""The test sets of the leaderboards: ``BENCHMARKS``, the one table, and where a number is shown."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Benchmark:
    """A test set with its protocol.

    Attributes:
        name: of its page.
        title: heading.
        about: what is searched among what, one or two sentences.
        protocol: how measured numbers are measured that stand in one table with those of papers, as ``groups.rules``
            writes it; empty where no measured numbers do.
    """

    name: str
    title: str
    about: str
    protocol: str = ""


KARPATHY = "empty:skip|order:f64|split:coco-5k#caf8c7aa|ties:index"
BENCHMARKS = {
    b.name: b
    for b in (
        Benchmark(
            "coco-5k", "COCO 5K",
            "The Karpathy test part of MS-COCO: 5,000 images and 25,000 captions, one gallery each.",
            KARPATHY,
        ),
        Benchmark(
            "coco-1k", "COCO 1K, mean of five folds",
            "The five folds of 1,000 images of the COCO 5K test part; every value is the mean over the folds.",
            KARPATHY,
        ),
        Benchmark(
            "coco-1k-block", "COCO 1K, one block",
            "1,000 test images of MS-COCO as a single gallery, or a paper that does not say how many folds. These "
            "numbers are not comparable with the mean of five folds.",
        ),
        Benchmark(
            "f30k", "Flickr30K 1K", "The Karpathy test part of Flickr30K: 1,000 images and 5,000 captions.",
            "empty:skip|order:f64|split:f30k#9b06a459|ties:index",
        ),
        Benchmark(
            "eccv", "ECCV Caption",
            "COCO test images and captions with machine-and-human-verified positives beyond the captions written for "
            "an image.",
            f"eccv:eccv_caption#5639dd8b|{KARPATHY}",
        ),
        Benchmark("cxc", "CxC", "COCO 5K with the Crisscrossed Captions judgements of people as relevance."),
        Benchmark(
            "cxc-sits", "CxC, agreement with people",
            "How well a relevance score agrees with what people say about image-caption pairs (CxC SITS, test part).",
        ),
        Benchmark(
            "coco-captioning", "COCO captioning",
            "Image captioning on the Karpathy test part of MS-COCO: not retrieval, shown as a paper of metric learning "
            "reports it.",
        ),
        Benchmark(
            "scenes-10k-test", "Scenes",
            "Drawn images of which it is known what is true: the test part of scenes-10k.",
        ),
        Benchmark(
            "scenes-10k-images", "Scenes, images by layout",
            "The test part of scenes-10k without captions: images are searched with images, and compared by where "
            "objects are.",
        ),
    )
}  # fmt: skip

# Views of a report whose numbers belong on the page of another test set than that of the report.
PAGE_OF_VIEW = {"1k": "coco-1k", "eccv": "eccv", "cxc": "cxc"}


def page_of(benchmark: str, metric: str) -> str:
    """The test set on whose page a number stands: that of its view, else that of the entry."""
    view, colon, _ = metric.partition(":")
    return PAGE_OF_VIEW.get(view, benchmark) if colon else benchmark


def on_page(metric: str, page: str) -> str:
    """A metric without the view that its page is of, as papers print it there: ``1k:R@1`` is ``R@1``."""
    view, _, name = metric.rpartition(":")
    return name if view and PAGE_OF_VIEW.get(view) == page else metric


def described(name: str) -> Benchmark:
    """A test set by its name; one that is not in the table describes itself."""
    return BENCHMARKS.get(name) or Benchmark(name, name, "")


def slug(text: str) -> str:
    """A text as part of an id or of the name of a file: ``Table IX`` is ``table-ix``."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def file_of(name: str) -> str:
    """The page of a test set."""
    return f"{slug(name) or 'other'}.html"
