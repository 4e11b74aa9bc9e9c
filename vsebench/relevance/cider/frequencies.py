"""Document frequencies of n-grams for CIDEr, counted in a file of captions."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from ...errors import BadInput
from ...files.tables import is_jsonl
from ...files.textfile import field, parse_json, read_text, shown
from ...text.tokenise import tokenise
from ...text.tokens import Int32, Numbers
from .ngrams import Grams, grams, image_frequency

_FIX = "give captions with image ids, as JSON lines or as annotations of COCO"


def corpus_df(path: str | os.PathLike[str], tokens: str, wanted: Grams) -> tuple[Int32, int]:
    """In how many images of a corpus each n-gram occurs, and the number of these images.

    Args:
        path: captions as JSON lines (``image_id`` or ``image``, and ``caption`` or ``captions``) or COCO annotations,
            plain or gzip.
        tokens: the tokeniser.
        wanted: the n-grams.

    Returns:
        (n-gram,) int32, 0 for those that do not occur; the number of images, N.

    Raises:
        BadInput: no such file, or damaged.
    """
    from .ngram_kernels import find_grams

    images, captions = _captions(Path(path))
    found = grams(tokenise(captions, tokens))
    df = image_frequency(found.gram, np.array(images, np.int64)[found.caption], len(found))
    words, number = found.tokens.words, {word: i for i, word in enumerate(wanted.tokens.words)}
    number_of = np.fromiter((number.get(word, -1) for word in words), np.int32, len(words))
    place = np.empty(len(found), np.int32)
    find_grams(*wanted.table, len(number), found.parent, number_of[found.last], place)
    out = np.zeros(len(wanted), np.int32)
    out[place[place >= 0]] = df[place >= 0]
    return out, max(images) + 1


def _captions(path: Path) -> tuple[list[int], list[str]]:
    """(caption,) number of the image and (caption,) string, from JSON lines or a file of annotations."""
    text = read_text(path)
    rows = '"captions"' in text.lstrip().split("\n", 1)[0][:100_000] and "\n{" in text  # an image a line
    if rows or is_jsonl(text):
        lines = [(f"{path}: line {n}", line) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
        records = [(at, parse_json(line, at)) for at, line in lines]
    else:
        document = parse_json(text, path)
        listed = document.get("annotations") if isinstance(document, dict) else None
        if not isinstance(listed, list):
            raise BadInput("has no captions", where=path, fix=_FIX)
        records = [(f"{path}: annotation {n}", record) for n, record in enumerate(listed, 1)]
    number, images, captions = Numbers(), list[int](), list[str]()
    for at, record in records:
        key = "image_id" if isinstance(record, dict) and "image_id" in record else "image"
        image = number[str(field(record, key, (int, str), at))]
        listed = field(record, "captions", list, at) if "captions" in record else [record.get("caption")]
        for caption in listed:
            if not isinstance(caption, str):
                raise BadInput(f"the caption is {shown(caption)}, expected a text", where=at, fix=_FIX)
            images.append(image)
            captions.append(caption)
    if not captions:
        raise BadInput("has no captions", where=path, fix=_FIX)
    return images, captions
