"""What a data set consists of, in numbers, and examples of its images: the values that a description is made of."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Spread:
    """Numbers of items: their mean, and the values that 5 %, half and 95 % of the items do not exceed."""

    mean: float
    p5: float
    median: float
    p95: float


@dataclass(frozen=True)
class Histogram:
    """How many items have which value.

    Attributes:
        title: what is counted.
        labels: of the bars.
        counts: items of every bar.
    """

    title: str
    labels: tuple[str, ...]
    counts: tuple[int, ...]


def spread(values: npt.NDArray[Any]) -> Spread:
    """The spread of (item,) integers; zeros without items."""
    if not len(values):
        return Spread(0.0, 0.0, 0.0, 0.0)
    low, median, high = np.percentile(values, (5, 50, 95), method="inverted_cdf").tolist()
    return Spread(float(values.mean()), low, median, high)


def bars(title: str, values: npt.NDArray[Any]) -> Histogram:
    """A bar for every integer from the smallest on; the largest 0.5 % of the (item,) integers are in one bar."""
    if not len(values):
        return Histogram(title, (), ())
    low, high = int(values.min()), int(np.percentile(values, 99.5, method="inverted_cdf"))
    counts = np.bincount(np.minimum(values.astype(np.int64), high) - low)
    last = f"{high}+" if values.max() > high else f"{high}"
    return Histogram(title, (*map(str, range(low, high)), last), tuple(counts.tolist()))


@dataclass(frozen=True)
class SceneFacts:
    """What is known of a part of scenes.

    A pair of an image and a caption is true when all facts of the caption, at least one, hold in the image.

    Attributes:
        facts: facts of a caption, generic ones left out.
        kinds: share of captions by kind: true, wrong, generic.
        near_duplicates: share of images that differ from another image of the part in at most one attribute, number or
            background.
        false_negatives: of all true pairs, the share whose caption was written for another image.
        ambiguous: of the captions that are true of their image, the share that is true of another one, too.
        images_a_caption: images that a caption is true of, for the captions that are true of their own.
        captions_an_image: mean number of captions that are true of an image and were written for another one.
        step: pairs were counted for every ``step``-th caption.
    """

    facts: Spread
    kinds: dict[str, float]
    near_duplicates: float
    false_negatives: float
    ambiguous: float
    images_a_caption: Spread
    captions_an_image: float
    step: int


@dataclass(frozen=True)
class Part:
    """What one split consists of.

    Attributes:
        name: ``train``, ``val`` or ``test``, or the name of the split.
        images, captions: how many.
        captions_per_image: the least and the most.
        words: of a caption.
        vocabulary: different words.
        repeated: share of captions that have the same words as another one of the split.
        frequent: the most frequent words, with their number.
        scenes: what is known of scenes; None for other data.
        histograms: for the page.
    """

    name: str
    images: int
    captions: int
    captions_per_image: tuple[int, int]
    words: Spread
    vocabulary: int
    repeated: float
    frequent: tuple[tuple[str, int], ...]
    scenes: SceneFacts | None
    histograms: tuple[Histogram, ...] = field(default=(), repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, without the histograms."""
        found = {"part": self.name, **asdict(self), "frequent": dict(self.frequent)}
        found["captions_per_image"] = list(self.captions_per_image)
        left_out = ("name", "histograms", *(["scenes"] if self.scenes is None else []))
        return {key: value for key, value in found.items() if key not in left_out}


@dataclass(frozen=True)
class ExampleCaption:
    """A caption of an example.

    Attributes:
        text: as written.
        kind: true, wrong or generic; None where that is not known.
        false: of a wrong caption, the kinds of facts, such as colour, of which one would make it true were it another.
    """

    text: str
    kind: str | None = None
    false: tuple[str, ...] = ()


@dataclass(frozen=True)
class Example:
    """An image with its captions.

    Attributes:
        image_id: its id in the split.
        png: the image, a PNG file; None where the pixels are not known.
        captions: its own.
        others: captions of other images that are true of it, too.
    """

    image_id: str
    png: bytes | None = field(repr=False)
    captions: tuple[ExampleCaption, ...]
    others: tuple[str, ...] = ()
