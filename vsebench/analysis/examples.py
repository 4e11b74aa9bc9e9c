"""Images of a split with their captions, as examples; of scenes with what makes a caption wrong."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ..report.description_parts import Example, ExampleCaption
from ..scenes.content import KINDS, LARGEST_NUMBER
from ..scenes.encode import decode_facts, encode_facts
from ..scenes.facts import AT_LEAST_TWO, UNSAID, Facts
from ..scenes.world import ATTRIBUTES, BACKGROUNDS
from ..types import Split
from .true_pairs import Known, true_of

EXAMPLES = 12
OTHERS = 2  # captions of other images, an example


def plain_examples(split: Split) -> tuple[Example, ...]:
    """Images spread over a split, without pixels."""
    return tuple(
        Example(str(split.image_ids[image]), None, tuple(ExampleCaption(text) for _, text in _own(split, image)))
        for image in _spread_out(len(split.image_ids))
    )


def scene_examples(known: Known, split: Split) -> tuple[Example, ...]:
    """Images spread over a split of scenes; with one that has a wrong caption and one with a generic one, if any."""
    images = _spread_out(len(split.image_ids))
    for place, kind in enumerate(KINDS[1:], 1):
        having = split.image_of[known.kinds == KINDS.index(kind)]
        if len(having) and len(images) > place and not np.isin(images, having).any():
            images[place] = int(having[0])
    return tuple(_scene_example(known, split, image) for image in sorted(set(images)))


def _spread_out(images: int) -> list[int]:
    return sorted(set(np.linspace(0, images - 1, EXAMPLES).round().astype(int).tolist()))


def _own(split: Split, image: int) -> list[tuple[int, str]]:
    """The captions of an image: (index, text)."""
    captions = split.captions or ()
    return [(c, captions[c]) for c in np.flatnonzero(split.image_of == image).tolist()]


def _scene_example(known: Known, split: Split, image: int) -> Example:
    own = []
    for caption, text in _own(split, image):
        kind = KINDS[known.kinds[caption]]
        own.append(ExampleCaption(text, kind, _false_facts(known, caption, image) if kind == "wrong" else ()))
    others = _others(known, split, image, {caption.text for caption in own})
    return Example(str(split.image_ids[image]), png(np.asarray(known.images[image])), tuple(own), others)


def _others(known: Known, split: Split, image: int, own: set[str]) -> tuple[str, ...]:
    """The captions of other images that state the most, each of another image and in other words."""
    found: dict[int, str] = {}
    captions = split.captions or ()
    true = np.flatnonzero(true_of(known, image) & (split.image_of != image))
    seen = {_plain(text) for text in own}
    for c in true[np.argsort(-known.stated[true].astype(np.int64), kind="stable")].tolist():
        owner, words = int(split.image_of[c]), _plain(captions[c])
        if owner not in found and words not in seen:
            found[owner] = captions[c]
            seen.add(words)
        if len(found) == OTHERS:
            break
    return tuple(found.values())


def _plain(text: str) -> str:
    return text.lower().rstrip(" .")


def _false_facts(known: Known, caption: int, image: int) -> tuple[str, ...]:
    """The kinds of facts, such as colour, of which one would make a wrong caption true if it were another."""
    kinds, rows = [], []
    for kind, facts in _one_changed(decode_facts(known.facts[caption])):
        kinds.append(kind)
        rows.append(encode_facts(facts, "true"))
    if not rows:
        return ()
    others = Known(known.scenes[image : image + 1], np.array(rows), known.images[image : image + 1])
    return tuple(dict.fromkeys(kinds[n] for n in np.flatnonzero(true_of(others, 0)).tolist()))


def _one_changed(facts: Facts) -> Iterator[tuple[str, Facts]]:
    """(kind of fact, the facts with one of that kind changed), for all that one fact can be changed to."""
    for n, mention in enumerate(facts.mentions):
        said = {kind: range(len(words)) for kind, words in ATTRIBUTES.items() if getattr(mention, kind) != UNSAID}
        numbers = (*range(1, LARGEST_NUMBER + 1), AT_LEAST_TWO) if mention.number != UNSAID else ()
        for kind, codes in (*said.items(), ("number", numbers)):
            for code in codes:
                other = replace(mention, **{kind: code})
                yield kind, replace(facts, mentions=(*facts.mentions[:n], other, *facts.mentions[n + 1 :]))
    for n, (r, a, b) in enumerate(facts.relations):
        yield "relation", replace(facts, relations=(*facts.relations[:n], (r, b, a), *facts.relations[n + 1 :]))
    if facts.background != UNSAID:
        for code in range(len(BACKGROUNDS)):
            yield "background", replace(facts, background=code)


def png(pixels: npt.NDArray[np.uint8]) -> bytes:
    """Pixels as the bytes of a PNG file.

    Args:
        pixels: (height, width, 3) uint8, RGB.
    """
    height, width, _ = pixels.shape
    rows = np.ascontiguousarray(pixels).reshape(height, 3 * width)
    lines = np.pad(rows, ((0, 0), (1, 0))).tobytes()  # a zero before every line: no filter
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)  # 8 bits, RGB
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
