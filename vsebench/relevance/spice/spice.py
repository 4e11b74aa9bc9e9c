"""SPICE of every caption with every image, from tuples in the cache; needs no Java."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...errors import count_of
from ...files import store
from ...log import note
from ...types import TestSet
from ..gains import Gains, Progress, Replaced
from . import postings as postings_file
from .cache import identity, load_tuples
from .encode import encode
from .file import TOOLS, Tuples, normal
from .postings import Postings, postings

GRAPHS = "spice-graphs"  # kind of the cache entries with postings


def load(test: TestSet, argument: None, settings: Mapping[str, str], progress: Progress | None) -> Gains:
    """F of the scene-graph tuples of a caption and of all captions of an image, from 0 to 1.

    SPICE(c, S) = 2 tp / (|c| + |S|), tp the number of tuples of c's graph that match a tuple of the graph of S:
    equal size, and every element shares a word or a WordNet synset; 0 when nothing matches. Values are the exact ratio
    rounded to float32. Source: Anderson et al., ECCV 2016; where the paper leaves it open, the tool SPICE 1.0.

    Args, see ``sources.Loader``:
        settings: ``text``: ``original``, or ``ptb`` for captions that are tokenised before they are parsed, as on the
            COCO evaluation server; ``own``: ``in``, or ``out`` to compare a caption with the other captions of its own
            image.

    Raises:
        NotParsed: captions are not parsed yet; the message has the command.
        BadInput: stored tuples are damaged.
    """
    form, own = settings["text"], settings["own"]
    texts = parsed_texts(test, form)
    unique = list(dict.fromkeys(texts))
    image_of = np.ascontiguousarray(test.owners, "<i8").tobytes()
    n_image = len(test.rows)
    key = store.fingerprint(postings_file.FORMAT, TOOLS, identity(), texts, image_of, n_image, own)[:40] + ".npz"
    path = store.get(GRAPHS, key)
    found = None if path is None else postings_file.load(path)
    if found is None:
        # ``NotParsed.about`` names the file of a custom split
        tuples = load_tuples(unique, "--captions FILE" if test.name == "custom" else f"--split {test.name}", form)
        if tuples.broken:  # not cached, as the parser may succeed next time
            return gains(test, tuples, text=form, own=own, progress=progress)
        found = _postings(test, tuples, texts, own, progress)
        if lost := store.keep(GRAPHS, key, lambda stream: postings_file.save(stream, found)):
            note(f"the graphs are {lost}")
    elif progress:
        progress(1.0)
    return _finish(test, found, form, own, 0)


def gains(
    test: TestSet, tuples: Tuples, *, text: str = "original", own: str = "in", threads: int | None = None,
    progress: Progress | None = None,
) -> Gains:  # fmt: skip
    """SPICE over a split, from the tuples of all its captions, with the settings ``text`` and ``own`` of ``load``.

    The number of threads does not change the values.
    """
    found = _postings(test, tuples, parsed_texts(test, text), own, progress, threads)
    return _finish(test, found, text, own, len(tuples.broken))


def parsed_texts(test: TestSet, form: str) -> list[str]:
    """(caption,) the strings that are parsed: captions (``original``), or their PTB tokens with spaces (``ptb``)."""
    texts: list[str] = list(test.columns.texts or ())
    if form == "ptb":
        from ...text.ptb import tokenise

        texts = [" ".join(tokens) for tokens in tokenise(texts, "ptb").lists()]
    return [normal(text) for text in texts]


def _postings(
    test: TestSet, tuples: Tuples, texts: list[str], own: str, progress: Progress | None, threads: int | None = None
) -> Postings:
    rows = np.fromiter((tuples.row[text] for text in texts), np.int64, len(texts))
    return postings(
        encode(tuples.tuples, tuples.synsets), rows, test.owners, len(test.rows),
        leave_out=own == "out", threads=threads, progress=progress,
    )  # fmt: skip


def _finish(test: TestSet, found: Postings, text: str, own: str, broken: int) -> Gains:
    captions, (row, column) = np.bincount(test.owners, minlength=len(test.rows)), test.sides
    empty, alone = int((found.caption_size == 0).sum()) - broken, int((captions == 1).sum()) if own == "out" else 0
    cases = [
        (broken, column, f"could not be parsed, gain 0 with every {row.name}"),
        (empty, column, f"without a tuple, gain 0 with every {row.name}"),
        (int((captions == 0).sum()), row, f"without {column.plural}, gain 0 with every {column.name}"),
        (alone, row, f"with one {column.name}, gain 0 with it (own=out)"),
    ]
    note(*(f"{count_of(n, side.name, side.plural)} {rest}" for n, side, rest in cases if n > 0))
    settings = {"text": text, "own": own, "tuples": found.fingerprint[:8]}
    values = Replaced(found, test.owners, found.own) if len(found.own) else found
    return Gains("spice", settings, test.shape, values, lowest=0.0)
