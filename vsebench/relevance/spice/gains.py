"""SPICE of every caption with every image, from tuples that were parsed before; no Java is needed here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...data import store
from ...errors import BadInput, UsageError
from ...types import Direction, Int, Split, Vectors
from ..gains import Progress, choice
from . import postings as stored_form
from .encode import Int32, encode, offsets
from .postings import Postings, postings
from .tuples import TOOLS, Tuples, build_command, load_tuples, normal, pack_files

GRAPHS = "spice-graphs"  # the kind of the stored postings


@dataclass(frozen=True, eq=False)
class SpiceGains:
    """F of the scene-graph tuples of a caption and of all captions of an image, from 0 to 1.

    SPICE(c, S) = 2 tp / (|c| + |S|), tp the number of tuples of c's graph that match a tuple of the graph of S:
    equal size, and every element shares a word or a WordNet synset; 0 when nothing matches. Values are float32, the
    nearest to the exact ratio. Source: Anderson et al., ECCV 2016; where the paper is silent, the tool SPICE 1.0.

    Attributes:
        split: the items.
        postings: what the values are counted from.
        settings: ``text``, ``own`` and the fingerprint of the tuples.
        notes: edge cases that were met.
    """

    split: Split
    postings: Postings
    settings: Mapping[str, str]
    notes: tuple[str, ...]
    name: str = "spice"

    @property
    def shape(self) -> tuple[int, int]:
        """(images, captions)."""
        return len(self.split.image_ids), len(self.split.caption_ids)

    def rows(self, direction: Direction, start: int, stop: int) -> Vectors:
        """(stop - start, gallery) float32 gains of queries ``start:stop`` with everything; runs without the GIL.

        Raises:
            UsageError: no such rows.
        """
        from .kernels import f_rows

        n_query, n_gallery = self.shape if direction == "i2t" else self.shape[::-1]
        if not 0 <= start <= stop <= n_query:
            raise UsageError(f"rows {start}:{stop} of {n_query} queries", fix="ask for rows that there are")
        out = np.empty((stop - start, n_gallery), np.float32)
        f_rows(start, stop, *self._lists(direction), out)
        own = self.postings.own
        if len(own) and direction == "t2i":
            out[np.arange(stop - start), self.split.image_of[start:stop]] = own[start:stop]
        elif len(own):
            ptr, captions = self._captions_of
            theirs = captions[ptr[start] : ptr[stop]]
            out[self.split.image_of[theirs] - start, theirs] = own[theirs]
        return out

    def at(self, direction: Direction, queries: Int, items: Int) -> Vectors:
        """(query, k) float32 gains of ``items`` (query, k) for ``queries`` (query,); the values of ``rows``.

        Raises:
            UsageError: an index is out of range, or the shapes do not fit.
        """
        from .kernels import f_at

        queries, items = np.require(queries, np.int64, "C"), np.require(items, np.int64, "C")
        if items.ndim != 2 or queries.shape != items.shape[:1]:
            raise UsageError(f"items {items.shape} for queries {queries.shape}", fix="give one row of items a query")
        sizes = self.shape if direction == "i2t" else self.shape[::-1]
        for what, index, n in (("query", queries, sizes[0]), ("item", items, sizes[1])):
            if index.size and not 0 <= index.min() <= index.max() < n:
                raise UsageError(f"{what} {int(index.min())} to {int(index.max())} of {n}", fix="count from 0")
        out = np.empty(items.shape, np.float32)
        f_at(queries, np.argsort(queries, kind="stable"), items, *self._lists(direction), out)
        own = self.postings.own
        if len(own):
            caption, image = (items, queries[:, None]) if direction == "i2t" else (queries[:, None], items)
            mine = np.broadcast_to(self.split.image_of[caption] == image, out.shape)
            out[mine] = np.broadcast_to(own[caption], out.shape)[mine]
        return out

    def _lists(self, direction: Direction) -> tuple[Int, Int32, Int, Int32, Vectors, Vectors]:
        p = self.postings
        if direction == "t2i":
            return p.caption_ptr, p.caption_tuple, p.hit_ptr, p.hit_image, p.caption_size, p.image_size
        if direction == "i2t":
            return *p.by_image, *p.holders, p.image_size, p.caption_size
        raise UsageError(f"unknown direction '{direction}'", fix="give i2t or t2i")

    @cached_property
    def _captions_of(self) -> tuple[Int, Int]:
        """The captions of every image, as ragged lists."""
        order = np.argsort(self.split.image_of, kind="stable")
        return offsets(np.bincount(self.split.image_of, minlength=self.shape[0])), order


def load(
    split: Split, argument: str | None, settings: Mapping[str, str], progress: Progress | None = None
) -> SpiceGains:
    """SPICE over a split, from the tuples in the user cache.

    Args:
        split: with its captions.
        argument: SPICE takes none.
        settings: ``text`` is ``original`` or ``ptb`` (captions are tokenised before they are parsed, as the COCO
            evaluation server does), ``own`` is ``in`` or ``out`` (a caption is no reference of itself).
        progress: told the share that is done.

    Raises:
        UsageError: another setting, or an argument.
        NotParsed: captions are not parsed yet; the message holds the command.
        BadInput: the split has no captions, or stored tuples are damaged.
    """
    if argument is not None:
        raise UsageError(f"spice takes no '{argument}'", fix="settings are text and own")
    how, own = choice(settings, "text", ("original", "ptb")), choice(settings, "own", ("in", "out"))
    texts = spoken(split, how)
    unique = list(dict.fromkeys(texts))
    packs = sorted(entry.key for entry in pack_files())  # other packs may hold other tuples
    owners = np.ascontiguousarray(split.image_of, "<i8").tobytes()
    n_image = len(split.image_ids)
    key = store.fingerprint(stored_form.FORMAT, TOOLS, packs, texts, owners, n_image, own)[:40] + ".npz"
    path = store.get(GRAPHS, key)
    found = None if path is None else stored_form.load(path)
    if found is None:
        tuples = load_tuples(unique, _build(split, how))
        if tuples.broken:  # another attempt may succeed, so this is not kept
            return gains(split, tuples, text=how, own=own, progress=progress)
        found = _postings(split, tuples, texts, own, progress)
        try:
            store.put(GRAPHS, key, lambda stream: stored_form.save(stream, found))
        except UsageError as error:  # the values do not depend on it
            return _finish(split, found, how, own, 0, f"spice: the graphs were not kept, {error.where}: {error.what}")
    elif progress:
        progress(1.0)
    return _finish(split, found, how, own, 0)


def gains(
    split: Split,
    tuples: Tuples,
    *,
    text: str = "original",
    own: str = "in",
    threads: int | None = None,
    progress: Progress | None = None,
) -> SpiceGains:
    """SPICE over a split, from given tuples.

    Args:
        split: with its captions.
        tuples: of all its captions.
        text: ``original`` or ``ptb``, the form in which the captions were parsed.
        own: ``in``, or ``out`` to leave a caption out of the references of its own image.
        threads: how many work at it; the values are the same.
        progress: told the share that is done.

    Raises:
        BadInput: the split has no captions, a caption has no entry in ``tuples``, or a word no synsets.
    """
    found = _postings(split, tuples, spoken(split, text), own, progress, threads)
    return _finish(split, found, text, own, len(tuples.broken))


def spoken(split: Split, how: str) -> list[str]:
    """(caption,) the texts that the parser is given: the captions, or their PTB tokens joined by spaces.

    Raises:
        BadInput: the split has no captions.
    """
    if split.captions is None:
        raise BadInput(f"SPICE needs the captions of split '{split.name}'", fix="load the split with captions=True")
    texts: list[str] = list(split.captions)
    if how == "ptb":
        from ...text.tokenise import tokenise

        texts = [" ".join(tokens) for tokens in tokenise(texts, "ptb").lists()]
    return [normal(text) for text in texts]


def _build(split: Split, how: str = "original") -> str:
    """The command that parses the captions; only the caller may know the file of a custom split (NotParsed.about)."""
    return build_command(f"--split {split.name}" if split.name != "custom" else "--captions FILE", how)


def _postings(
    split: Split, tuples: Tuples, texts: list[str], own: str, progress: Progress | None, threads: int | None = None
) -> Postings:
    missing = [text for text in texts if text not in tuples.row]
    if missing:
        raise BadInput(
            f"{len(missing):,} of {len(texts):,} captions have no SPICE tuples (first: '{missing[0][:60]}')",
            fix=f"run: {_build(split)}",
        )
    rows = np.fromiter((tuples.row[text] for text in texts), np.int64, len(texts))
    return postings(
        encode(tuples.tuples, tuples.synsets), rows, split.image_of, len(split.image_ids),
        leave_out=own == "out", threads=threads, progress=progress,
    )  # fmt: skip


def _finish(split: Split, found: Postings, text: str, own: str, broken: int, *more: str) -> SpiceGains:
    captions = np.bincount(split.image_of, minlength=len(split.image_ids))
    cases = [
        (broken, "caption{s} could not be parsed, gain 0 with every image"),
        (int((found.caption_size == 0).sum()) - broken, "caption{s} without a tuple, gain 0 with every image"),
        (int((captions == 0).sum()), "image{s} without captions, gain 0 with every caption"),
        (int((captions == 1).sum()) if own == "out" else 0, "image{s} with one caption, gain 0 with it (own=out)"),
    ]
    notes = tuple(f"spice: {n:,} " + what.format(s="s" * (n != 1)) for n, what in cases if n > 0) + more
    settings = {"text": text, "own": own, "tuples": found.fingerprint[:8]}
    return SpiceGains(split, found, settings, notes)
