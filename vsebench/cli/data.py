"""``vsebench data``: lists, builds, describes, verifies and removes test sets: declared, generated, and one's own."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ..errors import GATE_NOT_MET, UsageError, count_of
from ..scenes.settings import is_name
from .terminal import Terminal, listing


def list_splits(terminal: Terminal) -> None:
    """List the test sets, your data sets and sets of choices, and whether they are ready to use."""
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


def build(
    terminal: Terminal,
    name: str,
    *,
    source: Path | None = None,
    part: str | None = None,
    captions_per_image: int | None = None,
    settings: Sequence[str] = (),
    replace: bool = False,
) -> None:
    """Read a test set from its files, check it and store it in the cache; or generate scenes.

    A new name declares your data set; --split and every other command then accept it. A set in several languages
    becomes one test set per language, such as xflickrco:de; that name builds one of them.

    Args:
        name: a published test set, scenes such as scenes-10k, or a new name for your data set.
        source: captions (.jsonl, .csv, Karpathy or COCO JSON), or the files or the folder of a published set.
        part: only captions whose field split has this value; all for every part; test by default for Karpathy files.
        captions_per_image: keep the first N captions of every image.
        settings: setting of scenes, such as near=0.2 (docs/scenes.md).
        replace: build again if it exists.
    """
    if is_name(name) and (source, part, captions_per_image) == (None, None, None):
        _build_scenes(terminal, name, _scenes(settings or ()), replace)
        return
    if settings:
        what = f"--set does not apply to '{name}'"
        fix = f"leave it out, or generate scenes: vsebench data build scenes --set {settings[0]}"
        raise UsageError(what, fix=fix)
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


def _scenes(settings: Sequence[str]) -> dict[str, Any]:
    """The arguments of ``build_scenes`` that NAME=VALUE gives; raises UsageError for others."""
    from ..errors import unknown
    from ..scenes.build import build_scenes

    kinds = {
        name: parameter.annotation.partition(" ")[0]
        for name, parameter in inspect.signature(build_scenes).parameters.items()
        if name not in ("name", "replace", "progress")
    }
    found: dict[str, Any] = {}
    for word in settings:
        name, _, value = word.partition("=")
        if name not in kinds:
            raise unknown("setting of scenes", name, kinds)
        try:
            found[name] = (
                bool(int(value)) if kinds[name] == "bool" else int(value) if kinds[name] == "int" else float(value)
            )
        except ValueError:
            raise UsageError(f"--set is '{word}'", fix=f"give a number: --set {name}=N") from None
    return found


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


def remove(terminal: Terminal, name: str) -> None:
    """Remove a test set from the cache.

    Your data set is then unknown until you build it again.

    Args:
        name: the test set, or a data set of scenes.
    """
    from ..sets import catalogue as splits

    removed = [name] if is_name(name) or name in splits.names() else splits.splits_of(name)
    path = splits.remove(name)
    of_set = {"splits": removed} if removed[1:] else {}
    what = f"{', '.join(removed)} from {path}" if of_set else str(path)
    terminal.answer({"split": name, "removed": str(path), **of_set}, f"removed {what}")


def verify(terminal: Terminal, name: str) -> None:
    """Check the counts and ids of a test set; exit with code 1 if a check fails.

    Args:
        name: the test set, or a data set of scenes.
    """
    from ..sets import catalogue as splits

    checks = splits.verify(name)
    document = {"split": name, "checks": [{"check": c.name, "ok": c.ok, "detail": c.detail} for c in checks]}
    terminal.answer(document, *(f"{'ok  ' if c.ok else 'FAIL'}  {c.name}: {c.detail}" for c in checks))
    if not all(c.ok for c in checks):
        raise click.exceptions.Exit(GATE_NOT_MET)


def export(terminal: Terminal, name: str, *, target: Path, part: str | None = None) -> None:
    """Write scenes in the COCO layout: images as PNG, captions and objects as JSON.

    Args:
        name: a data set of scenes that is built here.
        target: new or empty folder.
        part: ``train``, val or test; all three by default.
    """
    from ..scenes.coco import export_scenes

    with terminal.progress("writing images") as progress:
        folder = export_scenes(name, target, part=part, progress=progress)  # type: ignore[arg-type]
    places = f"captions and objects: {folder / 'annotations'}; images: {folder / 'images'}"
    terminal.answer({"scenes": name, "folder": str(folder)}, f"{name} is in {folder}", places)
