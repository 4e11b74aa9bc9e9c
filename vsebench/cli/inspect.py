"""``vsebench inspect``: shows what a file holds and how its rows would be matched, without evaluating it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .terminal import Json, NoProgress, Quiet, Terminal, cells, command


@command
def run(
    file: Annotated[Path, typer.Argument(help="Embeddings, the folder of a run, or a score matrix with --scores.")],
    texts: Annotated[
        Path | None, typer.Option(help="The text vectors, when FILE has those of the images only.")
    ] = None,
    scores: Annotated[bool, typer.Option("--scores", help="FILE is a score matrix.")] = False,
    split: Annotated[
        str | None,
        typer.Option(help="coco-5k, coco-1k, f30k, custom, or one of `vsebench data list`; by default the ids decide."),
    ] = None,
    captions_per_image: Annotated[
        int | None, typer.Option(min=1, help="Texts an image, in order, for files without ids.")
    ] = None,
    image_key: Annotated[str | None, typer.Option(help="Name of the image array in FILE.")] = None,
    text_key: Annotated[str | None, typer.Option(help="Name of the text array in FILE.")] = None,
    score_key: Annotated[str | None, typer.Option("--scores-key", help="Name of the score array.")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
) -> None:
    """Show what a file holds and how it would be read. Evaluates nothing.

    Ends with exit code 3 and the reason when the file could not be evaluated.
    """
    terminal = Terminal(as_json, quiet, no_progress)
    from ..data import align, read, run_folder
    from ..errors import BadInput

    trained = run_folder.find(file) if texts is None else None
    if trained is not None:
        file, scores = trained.file, trained.scores
    fault: BadInput | None = None
    matched: dict[str, Any] | None = None
    if scores:
        raw_scores = read.read_scores(file, key=score_key)
        rows = [("scores", raw_scores.scores)]
        ids = [
            ("image_ids", raw_scores.image_ids),
            ("text_ids", raw_scores.text_ids),
            ("image_of_text", raw_scores.image_of_text),
        ]
        kind, sources, notes = raw_scores.format, raw_scores.sources, raw_scores.notes
    else:
        raw = read.read_embeddings(file, texts=texts, image_key=image_key, text_key=text_key)
        rows = [("images", raw.images), ("texts", raw.texts)]
        ids = [("image_ids", raw.image_ids), ("text_ids", raw.text_ids), ("image_of_text", raw.image_of_text)]
        kind, sources, notes = raw.format, raw.sources, raw.notes
    try:
        if scores:
            ready: Any = align.align_scores(raw_scores, split, captions_per_image)
        else:
            ready = align.align_embeddings(raw, split, captions_per_image)
        matched = {
            "split": ready.split.name,
            "images": len(ready.split.image_ids),
            "captions": len(ready.split.caption_ids),
            "notes": list(ready.notes),
            "warnings": list(ready.warnings),
        }
    except BadInput as error:
        fault = error
    arrays = [_array(name, array) for name, array in rows] + [
        _ids(name, array) for name, array in ids if array is not None
    ]
    strings = raw_scores.captions if scores else raw.captions
    if strings is not None:
        arrays.append({"name": "captions", "shape": [len(strings)], "dtype": "text", "first": list(strings[:3])})
    document = {
        "schema": "vsebench/inspect/1",
        "files": [p.name for p in sources],
        "format": kind,
        "arrays": arrays,
        "matched": matched,
        "fault": None if fault is None else str(fault),
        "notes": list(notes),
    }
    if terminal.json:
        terminal.emit(document)
    else:
        _show(document, terminal)
    if fault is not None:
        raise fault


def _array(name: str, array: Any) -> dict[str, Any]:
    import numpy as np

    out: dict[str, Any] = {"name": name, "shape": list(array.shape), "dtype": str(array.dtype)}
    if array.ndim == 2 and array.size and name != "scores":
        with np.errstate(all="ignore"):
            length = np.sqrt(np.einsum("ij,ij->i", array, array, dtype=np.float64))
        if np.isfinite(length).all():
            out["lengths"] = {
                "min": float(length.min()),
                "median": float(np.median(length)),
                "max": float(length.max()),
            }
    return out


def _ids(name: str, array: Any) -> dict[str, Any]:
    return {
        "name": name,
        "shape": list(array.shape),
        "dtype": "text" if array.dtype.kind == "U" else "int64",
        "first": array[:3].tolist(),
    }


def _show(document: dict[str, Any], terminal: Terminal) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from ..data.audit import shown
    from ..errors import printable

    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        title=Text(printable(f"{', '.join(document['files'][:3])} ({document['format']})")),
        title_justify="left",
    )
    for heading in ("array", "shape", "dtype", "vector lengths (min / median / max) or first ids"):
        table.add_column(heading)
    for a in document["arrays"]:
        lengths = a.get("lengths")
        last = (
            " / ".join(f"{lengths[k]:.4g}" for k in ("min", "median", "max"))
            if lengths
            else ", ".join(printable(shown(x)) for x in a.get("first", []))
        )
        table.add_row(*cells(a["name"], " x ".join(f"{n:,}" for n in a["shape"]), a["dtype"], last))
    terminal.out.print(table)
    matched = document["matched"]
    if matched:
        terminal.say(
            f"would be evaluated as {matched['split']}: {matched['images']:,} images, {matched['captions']:,} captions"
        )
        for note in matched["notes"]:
            terminal.say(f"· {note}", style="dim")
        for warning in matched["warnings"]:
            terminal.say(f"warning: {warning}", style="yellow")
    else:
        terminal.say("could not be evaluated, see the error", style="bold")
