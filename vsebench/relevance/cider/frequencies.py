"""Document frequencies of n-grams for CIDEr: counted in a corpus of captions, or saved in a file."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...data.atomic import write_atomically
from ...data.formats.guard import check_size
from ...data.formats.npz import npz_members
from ...data.regular import check_file, sha256_of
from ...data.splits.jsonl import is_jsonl
from ...data.textfile import field, parse_json, read_text, shown
from ...errors import BadInput, UsageError
from ...text.tokenise import tokenise
from ...text.tokens import Int32, Numbers
from .ngrams import Grams, grams, image_frequency

FORMAT = "vsebench-df-1"
_FIELDS = {"format", "tokens", "images", "words", "parent", "last", "df"}
_FIX = "give captions as JSON lines with image ids, or a file that save_df wrote (.npz or .json)"


@dataclass(frozen=True, eq=False)
class Frequencies:
    """The number of images of a corpus in whose captions each n-gram occurs.

    Attributes:
        tokens: the tokeniser.
        images: number of images, N.
        words: the distinct words.
        parent, last: (n-gram,) int32, the parent of every n-gram (-1 for a word) and its last word.
        df: (n-gram,) int32, from 1 to ``images``; 0 for a prefix of an n-gram that was not counted itself.
    """

    tokens: str
    images: int
    words: tuple[str, ...]
    parent: Int32
    last: Int32
    df: Int32

    def of(self, wanted: Grams) -> Int32:
        """(n-gram,) int32 frequencies of other n-grams; 0 for those that do not occur in the corpus."""
        from .ngram_kernels import find_grams

        number = {word: i for i, word in enumerate(wanted.tokens.words)}
        number_of = np.fromiter((number.get(word, -1) for word in self.words), np.int32, len(self.words))
        found = np.empty(len(self.parent), np.int32)
        find_grams(*wanted.table, len(number), self.parent, number_of[self.last], found)
        out = np.zeros(len(wanted), np.int32)
        out[found[found >= 0]] = self.df[found >= 0]
        return out


def corpus_df(path: str | os.PathLike[str], tokens: str) -> Frequencies:
    """The document frequencies of a file: counted in a file of captions, read from a file of frequencies.

    Args:
        path: captions as JSON lines (``image_id`` or ``image``, and ``caption`` or ``captions``) or COCO annotations,
            plain or gzip, or a file written by ``save_df``.
        tokens: the tokeniser; a file of frequencies must have been made with it.

    Raises:
        BadInput: no such file, damaged, or made with another tokeniser.
    """
    path = Path(path)
    if path.suffix == ".npz":
        stored = _read_npz(path)
    else:
        text = read_text(path)
        rows = '"captions"' in text.lstrip().split("\n", 1)[0][:100_000] and "\n{" in text  # an image a line
        document = None if is_jsonl(text) or rows else parse_json(text, path)
        if not isinstance(document, dict) or "df" not in document:
            images, captions = _captions(text, document, path)
            found = grams(tokenise(captions, tokens))
            df = image_frequency(found.gram, np.array(images, np.int64)[found.caption], len(found))
            return Frequencies(tokens, max(images) + 1, found.tokens.words, found.parent, found.last, df)
        stored = _from_json(document, path)
    if stored.tokens != tokens:
        what = f"these document frequencies are of tokens '{stored.tokens}', not '{tokens}'"
        raise BadInput(what, where=path, fix=f"add tokens={stored.tokens}, or count them again")
    return stored


def save_df(path: str | os.PathLike[str], frequencies: Frequencies) -> Path:
    """Save document frequencies to a file, for ``df=FILE``.

    Args:
        path: ``.npz`` (small), or ``.json``: ``{"format", "tokens", "images", "df": {"a man": 17}}``.
        frequencies: from ``corpus_df``.

    Raises:
        UsageError: another ending.
        DiskError: the file cannot be written.
    """
    path, f = Path(path), frequencies
    if path.suffix == ".npz":
        words = np.frombuffer("\n".join(f.words).encode(), np.uint8)
        with write_atomically(path) as stream:
            np.savez_compressed(
                stream, format=np.array(FORMAT), tokens=np.array(f.tokens), images=np.array(f.images), words=words,
                parent=f.parent, last=f.last, df=f.df,
            )  # fmt: skip
    elif path.suffix == ".json":
        spelled: list[str] = []
        for parent, last in zip(f.parent.tolist(), f.last.tolist(), strict=True):
            spelled.append(f.words[last] if parent < 0 else f"{spelled[parent]} {f.words[last]}")
        counts = {gram: n for gram, n in zip(spelled, f.df.tolist(), strict=True) if n}
        with write_atomically(path, "w") as stream:
            content = {"format": FORMAT, "tokens": f.tokens, "images": f.images, "df": counts}
            json.dump(content, stream, ensure_ascii=False)
    else:
        raise UsageError(f"document frequencies are not saved as '{path.suffix}'", where=path, fix="use .npz or .json")
    return path


def fingerprint(path: str | os.PathLike[str]) -> str:
    """File name and the first 12 hexadecimal digits of the SHA-256 of its content."""
    return f"{Path(path).name}#{sha256_of(path)[:12]}"


def _captions(text: str, document: Any, path: Path) -> tuple[list[int], list[str]]:
    """(caption,) number of the image and (caption,) string, from JSON lines or a file of annotations."""
    if document is None:
        lines = [(f"{path}: line {n}", line) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
        records = [(at, parse_json(line, at)) for at, line in lines]
    elif isinstance(document, dict) and isinstance(document.get("annotations"), list):
        records = [(f"{path}: annotation {n}", record) for n, record in enumerate(document["annotations"], 1)]
    else:
        raise BadInput("has neither captions nor document frequencies", where=path, fix=_FIX)
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


def _read_npz(path: Path) -> Frequencies:
    check_file(path, _FIX)
    members = [member for member in npz_members(path) if member.name in _FIELDS]
    check_size(members, path)
    stored = {member.name: member.load() for member in members}
    try:
        if str(stored["format"]) != FORMAT:
            raise BadInput(f"format '{stored['format']}' is not known", where=path, fix="count the frequencies again")
        words = tuple(stored["words"].astype(np.uint8).tobytes().decode().split("\n"))
        parent, last, df = (np.asarray(stored[key], np.int32) for key in ("parent", "last", "df"))
        images, tokens = int(stored["images"]), str(stored["tokens"])
    except (KeyError, UnicodeDecodeError, TypeError, ValueError, OverflowError, SystemError) as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput("not a file of document frequencies", where=path, fix=_FIX) from error
    place = np.arange(len(parent))
    valid = parent.ndim == 1 and parent.shape == last.shape == df.shape and len(words) <= max(len(parent), 1)
    if valid and len(parent):
        valid = bool((parent < place).all() and parent.min() >= -1 and last.min() >= 0 and last.max() < len(words))
    return _checked(Frequencies(tokens, images, words, parent, last, df), valid, path)


def _from_json(content: dict[str, Any], path: Path) -> Frequencies:
    counts, images, tokens = content.get("df"), content.get("images"), content.get("tokens")
    if not isinstance(counts, dict) or not isinstance(images, int) or not isinstance(tokens, str):
        raise BadInput("not a file of document frequencies", where=path, fix=_FIX)
    bad = next(
        (
            key
            for key, n in counts.items()
            if type(n) is not int or not 0 <= n < 1 << 31 or not 1 <= len(key.split()) <= 4
        ),
        None,
    )
    if bad is not None:
        raise BadInput(f"'{bad[:60]}' has frequency {str(counts[bad])[:40]}", where=path,
                       fix="give one to four words and an integer")  # fmt: skip
    words, chain = Numbers(), Numbers()
    parent, last, df = list[int](), list[int](), list[int]()
    for key, n in counts.items():
        g = -1
        for word in key.split():
            before = len(chain)
            step = chain[f"{g} {words[word]}"]
            if len(chain) > before:
                parent.append(g)
                last.append(words[word])
                df.append(0)
            g = step
        df[g] = n
    arrays = (np.array(x, np.int32) for x in (parent, last, df))
    return _checked(Frequencies(tokens, images, tuple(words), *arrays), True, path)


def _checked(found: Frequencies, valid: bool, path: Path) -> Frequencies:
    if not valid:
        raise BadInput("the n-grams are damaged", where=path, fix="count the frequencies again")
    low, high = (int(found.df.min()), int(found.df.max())) if len(found.df) else (0, 0)
    if found.images < 1 or low < 0 or high > found.images:
        raise BadInput(
            f"frequencies from {low} to {high} of {found.images} images", where=path,
            fix="give frequencies from 1 to the number of images",
        )  # fmt: skip
    return found
