"""``vsebench cache`` and ``vsebench spice``: what is computed once and kept, and the captions that SPICE parses."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import Any

from ..errors import BadInput, UsageError, count_of
from ..options import check_word
from .terminal import Terminal, listing


def cache(terminal: Terminal, kind: str | None, *, clear: bool = False) -> None:
    """Show the cache and its folder, or clear it.

    Args:
        kind: a kind from the list; every kind by default.
        clear: remove the files.
    """
    from ..errors import unknown
    from ..files import store
    from ..memory import size

    entries, kinds = store.entries(kind), sorted({entry.kind for entry in store.entries()})
    if kind is not None and kinds and kind not in kinds:
        raise unknown("kind in the cache", kind, kinds)
    if clear:
        removed = [entry.size for entry in store.clear(kind)]
        words = f"removed {count_of(len(removed), 'file')}, {size(sum(removed))}"
        terminal.answer({"removed": len(removed), "bytes": sum(removed)}, words)
        return
    found, rows = [], []
    for name in sorted({entry.kind for entry in entries}):
        files = [entry for entry in entries if entry.kind == name]
        nbytes, written = sum(entry.size for entry in files), max(entry.written for entry in files)
        content = _content(name, len(files))
        found.append(
            {"kind": name, "files": len(files), "content": content, "bytes": nbytes, "written": round(written)}
        )
        rows.append((name, content, size(nbytes), time.strftime("%Y-%m-%d %H:%M", time.localtime(written))))
    tables = [listing(("kind", "content", "size", "written"), rows)] if rows else []
    total = f"{size(sum(entry.size for entry in entries))} in {store.root()}"
    terminal.answer({"folder": str(store.root()), "kinds": found}, *tables, total)


def _content(kind: str, files: int) -> str:
    if kind != "spice":
        return count_of(files, "file")
    from ..relevance.spice.file import stored

    try:
        tuples = stored()
    except BadInput:
        return f"{count_of(files, 'file')}, one damaged"
    broken = f", {len(tuples.broken):,} broken" if tuples.broken else ""
    return f"{count_of(len(tuples.texts), 'caption')}{broken}"


def spice(
    terminal: Terminal,
    *,
    split: str | None = None,
    captions: Path | None = None,
    text: str = "original",
    output: Path | None = None,
    source: Path | None = None,
    synsets: Path | None = None,
    java_heap: str | None = None,
) -> None:
    """Parse captions for SPICE and store them in the cache. Run the command again to continue after an interrupt.

    Args:
        split: test set whose captions are parsed.
        captions: file of captions: any format of data build, or one caption per line.
        text: ``original`` captions, or ptb: tokenised as by the COCO server.
        output: write the parsed captions (all by default), for a machine without Java.
        source: read parsed captions: a file written with ``output``, or lists of tuples with ``synsets``.
        synsets: file of WORD, TAB, synset ids; the file of ``source`` then has one row per caption.
        java_heap: memory for Java, such as 3G; half of the free memory by default.
    """
    from ..relevance.spice import file

    document: dict[str, Any] = {}
    given, words = split is not None or captions is not None, []
    if source is not None and synsets is None and given:
        fix = "leave out --split and --captions, or add --synsets FILE for rows of tuples"
        raise UsageError("a file written by vsebench spice -o already has its captions", fix=fix)
    strings = _captions(split, captions, text) if given or synsets is not None or (source or output) is None else []
    if source is not None:
        tuples = file.unpack(source) if synsets is None else file.read_rows(source, synsets, strings)
        new = file.add_agreeing(tuples, source, terminal.note)
        document |= {
            "captions": len(tuples.texts),
            "words": len(tuples.synsets),
            "broken": len(tuples.broken),
            "new": new,
        }
        read = count_of(len(tuples.texts), "caption was", "captions were")
        words.append(f"{read} read, {new:,} of them new{_broken(tuples)}")
    elif strings:
        from ..relevance.spice.build import build

        with terminal.progress(f"parsing {count_of(len(strings), 'caption')}") as bar:
            done = build(strings, heap=java_heap, progress=bar, note=terminal.note)
        if done.broken:
            failed = count_of(len(done.broken), "caption, which has", "captions, which have")
            terminal.warn(f"the parser fails on {failed} no tuples")
        broken = [{"caption": caption, "why": why} for caption, why in done.broken.items()]
        document |= {**vars(done), "broken": broken, "seconds": round(done.seconds, 3)}
        rate = f" in {done.seconds:.0f} s ({done.parsed / done.seconds:.0f} a second)" if done.parsed else ""
        counts = f"{done.captions:,} distinct captions, {done.before:,} parsed before, {done.parsed:,} now"
        words.append(f"spice: {counts}{rate}")
    if output is not None:
        kept = f"--split {split}" if split else f"--captions {shlex.quote(str(captions))}"
        tuples = file.load_tuples(strings, kept, text) if given else file.stored()
        if not tuples.texts:
            fix = f"run: {file.BUILD} {file.ANY_SPLIT}"
            raise BadInput("there are no parsed captions to write", fix=fix)
        file.export_tuples(output, tuples)
        document |= {"file": str(output), "written": len(tuples.texts)}
        words.append(f"{count_of(len(tuples.texts), 'caption is', 'captions are')} in {output}{_broken(tuples)}")
    terminal.answer(document, *words)


def _broken(tuples: Any) -> str:
    return f", {len(tuples.broken):,} of them broken" if tuples.broken else ""


def _captions(split: str | None, file: Path | None, text: str) -> list[str]:
    """The captions of ``--split`` or ``--captions``, in the form that is parsed."""
    from ..files.captions import from_file, lines_of
    from ..files.read import read_captions

    check_word("text", text, ("original", "ptb"))
    if (split is None) == (file is None):
        raise UsageError(
            "no captions are given: --split or --captions is needed", fix="add --split coco-5k, for example"
        )
    if split is not None:
        from ..sets import catalogue as splits

        captions = list(splits.load_split(split, captions=True).columns.texts or ())
    elif (arrays := read_captions(Path(str(file)))) is not None:
        captions = list(arrays[1])
    elif (lines := lines_of(str(file))) is not None:
        captions = [line for line in lines if line.strip()]
    else:
        captions = list(from_file(str(file)).captions or ())
    if text == "ptb":
        from ..text.ptb import tokenise

        captions = [" ".join(tokens) for tokens in tokenise(captions, "ptb").lists()]
    return captions
