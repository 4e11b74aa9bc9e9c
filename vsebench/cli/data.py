"""``vsebench data``: lists, builds, describes, verifies and removes test sets: declared, generated, and one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import GATE_NOT_MET, UsageError, count_of
from ..scenes.settings import is_name
from .command import command
from .results import result_options
from .terminal import Terminal, listing

app = typer.Typer(
    help="Published test sets, generated scenes, and your own: list, build, describe, verify, export, remove.",
    no_args_is_help=True,
)


def _scenes(words: str, *names: str) -> Any:
    """An option of scenes."""
    return typer.Option(
        *names, help=f"Of scenes: {words}.", rich_help_panel="Settings of scenes, which give their name"
    )


@app.command("list")
@command
def list_splits(terminal: Terminal) -> None:
    """Show the declared splits, data sets of your own and sets of choices, and whether they can be used here."""
    from ..sets import catalogue as splits
    from ..sets.choices.layouts import status

    rows, choices = splits.status(), status()
    shown: list[tuple[str, ...]] = [
        (r.name, *(f"{n:,}" if n else "" for n in (r.images, r.captions)), r.needs or r.available) for r in rows
    ]
    shown += [(one["name"], "choices", "", one["needs"] or one["available"]) for one in choices]
    how = "vsebench data build NAME, without --from, says which files a published set is built from"
    terminal.answer(
        {"splits": [r.to_json() for r in rows], "choices": choices},
        listing(("split", "images", "captions", "available, or how to get it"), shown, notes=(how,)),
    )


@app.command("build")
@command
def build(
    terminal: Terminal,
    name: Annotated[
        str,
        typer.Argument(
            help="The split or published set, scenes such as scenes-10k, or a new name for a data set of your own."
        ),
    ],
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="Captions: .jsonl, .csv, a Karpathy dataset_*.json or COCO annotations, or the files of a published "
            "set or their folder; the installed packages by default.",
        ),
    ] = None,
    part: Annotated[
        str | None,
        typer.Option(
            help="Of your own data: the captions whose field split is this (all: every part); test of a Karpathy file."
        ),
    ] = None,
    captions_per_image: Annotated[
        int | None, typer.Option(min=1, help="Of your own data: the first so many captions of every image.")
    ] = None,
    images: Annotated[int | None, _scenes("number of images")] = None,
    seed: Annotated[int | None, _scenes("seed of everything random")] = None,
    size: Annotated[int | None, _scenes("width and height of the images in pixels")] = None,
    near: Annotated[float | None, _scenes("share of images that differ from another one in one attribute")] = None,
    tail: Annotated[float | None, _scenes("exponent of Zipf's law of shapes with colours")] = None,
    wrong: Annotated[float | None, _scenes("share of captions that are false")] = None,
    generic: Annotated[float | None, _scenes("share of captions that say nothing of the image")] = None,
    noise: Annotated[float | None, _scenes("standard deviation of the features of regions")] = None,
    miss: Annotated[float | None, _scenes("share of objects without a region")] = None,
    leaks: Annotated[bool | None, _scenes("a scene may occur in two parts", "--leaks")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Build again even if it is there.")] = False,
) -> None:
    """Read a split from its source, check it, and keep it in the cache; or generate scenes.

    With a new name it declares a data set of your own, which --split and every other command then know. A set in
    several languages becomes a split a language, such as xflickrco:de; that name builds one of them.
    """
    options = {
        "images": images, "seed": seed, "size": size, "near": near, "tail": tail, "wrong": wrong, "generic": generic,
        "noise": noise, "miss": miss, "leaks": leaks,
    }  # fmt: skip
    given = {key: value for key, value in options.items() if value is not None}
    if given and not is_name(name):
        what = f"--{next(iter(given))} has no meaning for '{name}'"
        raise UsageError(
            what, fix=f"leave it out, or generate scenes: vsebench data build scenes --{next(iter(given))} ..."
        )
    if is_name(name) and (source, part, captions_per_image) == (None, None, None):
        _build_scenes(terminal, name, given, replace)
        return
    from ..sets import catalogue as splits
    from ..sets.published import warning_of

    path = splits.build(name, source, part=part, captions_per_image=captions_per_image, replace=replace)
    built = splits.splits_of(name)
    found = splits.declared(built[0])
    counts = f"{count_of(found.images, 'image')}, {count_of(found.captions, 'caption')}"
    of_set = {"splits": built} if built != [name] else {"bytes": path.stat().st_size}
    if built[1:]:
        one = built[0].partition(":")[2]
        words = f"{len(built)} languages; use them with --split {name} and files that are named after them, as in "
        words += f"{one}=FILE, or one of them with --split {built[0]}"
    else:
        words = f"{counts}; use it with --split {built[0]}"
    terminal.answer({"split": name, "file": str(path), **of_set}, f"{name} is in {path}", words)
    for warning in filter(None, (warning_of(name), *splits.caption_faults(name))):
        terminal.warn(warning)


def _build_scenes(terminal: Terminal, name: str, given: dict[str, Any], replace: bool) -> None:
    from ..memory import size
    from ..scenes.build import build_scenes
    from ..scenes.settings import PARTS, split_name

    with terminal.progress("building scenes") as progress:
        found = build_scenes(name, replace=replace, progress=progress, **given)
    splits = {split_name(found.name, part): found.settings.sizes[part] for part in PARTS}
    nbytes = sum(path.stat().st_size for path in found.folder.iterdir())
    images, captions, regions = len(found.images), len(found.facts), len(found.regions)
    pixels = f"{found.settings.size} x {found.settings.size} pixels"
    terminal.answer(
        {
            "scenes": found.name, "folder": str(found.folder), "bytes": nbytes, "images": images,
            "captions": captions, "regions": regions, "splits": splits,
        },
        f"{found.name} is in {found.folder} ({size(nbytes)})",
        f"{images:,} images of {pixels}, {captions:,} captions, {regions:,} regions",
        "splits: " + ", ".join(f"{split} ({count_of(number, 'image')})" for split, number in splits.items()),
        f"next: vsebench data describe {found.name}; vsebench eval FILE --split {found.name}-test",
    )  # fmt: skip


@app.command("remove")
@command
def remove(
    terminal: Terminal,
    name: Annotated[str, typer.Argument(help="The split, or a data set of scenes.")],
) -> None:
    """Remove the file of a split, or scenes, from the cache.

    A data set of your own is then no longer known.
    """
    from ..sets import catalogue as splits

    removed = [name] if is_name(name) or name in splits.names() else splits.splits_of(name)
    path = splits.remove(name)
    of_set = {"splits": removed} if removed[1:] else {}
    what = f"{', '.join(removed)} from {path}" if of_set else str(path)
    terminal.answer({"split": name, "removed": str(path), **of_set}, f"removed {what}")


@app.command("verify")
@command
def verify(
    terminal: Terminal,
    name: Annotated[str, typer.Argument(help="The split, or a data set of scenes.")],
) -> None:
    """Check the counts and ids of a split; exit code 1 when one does not hold."""
    from ..sets import catalogue as splits

    checks = splits.verify(name)
    document = {"split": name, "checks": [{"check": c.name, "ok": c.ok, "detail": c.detail} for c in checks]}
    terminal.answer(document, *(f"{'ok  ' if c.ok else 'FAIL'}  {c.name}: {c.detail}" for c in checks))
    if not all(c.ok for c in checks):
        raise typer.Exit(GATE_NOT_MET)


@app.command("describe")
@command
@result_options
def describe(
    terminal: Terminal,
    name: Annotated[str, typer.Argument(help="The split, or scenes such as scenes-tiny: then all of their parts.")],
    output: Path | None = None,
) -> Any:
    """Describe images, captions and words; of scenes also which captions are true of which images."""
    from ..analysis.describe import describe

    if output is not None:  # what is described is given by name, and not as a file
        from ..files.atomic import refuse_overwriting
        from ..scenes import folder
        from ..sets.stored import stored_path

        refuse_overwriting([output], [*folder.root().glob("*/*"), *stored_path("any").parent.glob("*.npz")])
    with terminal.progress("comparing") as progress:
        return describe(name, progress=progress)


@app.command("export")
@command
def export(
    terminal: Terminal,
    name: Annotated[str, typer.Argument(help="A data set of scenes that is built here.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="A new or empty folder.")],
    part: Annotated[str | None, typer.Option(help="train, val or test; all three by default.")] = None,
) -> None:
    """Write scenes in the layout of COCO: images as PNG, captions and objects as JSON."""
    from ..scenes.coco import export_scenes

    with terminal.progress("writing images") as progress:
        folder = export_scenes(name, out, part=part, progress=progress)  # type: ignore[arg-type]
    places = f"captions and objects: {folder / 'annotations'}; images: {folder / 'images'}"
    terminal.answer({"scenes": name, "folder": str(folder)}, f"{name} is in {folder}", places)
