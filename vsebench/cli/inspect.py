"""``vsebench inspect``: shows what a file holds and how its rows would be matched, without evaluating it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..evaluation.options import Given, Options
from .blocks import options_of
from .command import command
from .terminal import Terminal, listing

if TYPE_CHECKING:
    from ..results.table import Table


@command
@options_of(Options, ["captions_per_image"])
@options_of(Given, ["texts", "split", "image_key", "text_key", "scores_key"])
def run(
    terminal: Terminal,
    file: Annotated[
        Path,
        typer.Argument(help="Embeddings, lists, captions, the folder of a run; scores with --scores."),
    ],
    scores: Annotated[bool, typer.Option("--scores", help="FILE is a score matrix.")] = False,
    texts: Path | None = None,
    split: str | None = None,
    captions_per_image: int | None = None,
    image_key: str | None = None,
    text_key: str | None = None,
    scores_key: str | None = None,
) -> None:
    """Show what a file holds and how it would be read. Evaluates nothing.

    Ends with exit code 3 and the reason when the file could not be evaluated.
    """
    from ..errors import VsebenchError
    from ..files import run_folder
    from ..files.members import arrays
    from ..files.sniff import sniff

    trained = run_folder.find(file) if texts is None else None
    if trained is not None:
        file, scores = trained.file, trained.scores
    kind = sniff(file)
    fault: VsebenchError | None = None
    try:
        if kind.name in ("text", "json", "gzip") and texts is None and not scores:
            document = _of_text(file, split)
        else:
            document = _of_arrays(file, texts, scores, split, captions_per_image, image_key, text_key, scores_key)
    except VsebenchError as error:
        # the arrays of a file that cannot be evaluated, by its header
        members = arrays(file).values() if kind.arrays is not None else ()
        found = [{"name": m.name, "shape": list(m.shape), "dtype": m.dtype} for m in members]
        document, fault = {"files": [file.name], "format": kind.name, "arrays": found}, error
    if "fault" in document:
        fault = document.pop("fault")
    document = {"schema": "vsebench/inspect/1", "matched": None, "notes": [], **document}
    document["fault"] = None if fault is None else str(fault)
    terminal.answer(document, *_shown(document))
    if fault is not None:
        raise fault


def _of_arrays(
    file: Path, texts: Path | None, scores: bool, split: str | None, captions_per_image: int | None,
    image_key: str | None, text_key: str | None, score_key: str | None,
) -> dict[str, Any]:  # fmt: skip
    """Vectors or scores, and the rows of a split that they are."""
    from ..errors import BadInput
    from ..files import read
    from ..log import logged
    from ..sets import align

    with logged() as reading:
        if scores:
            raw = read.read_scores(file, key=score_key)
        else:
            raw = read.read_embeddings(file, texts=texts, image_key=image_key, text_key=text_key)
    arrays = [_array(*one) for one in zip(["scores"] if scores else ["images", "texts"], raw.arrays, strict=True)]
    for name in ("image_ids", "text_ids", "image_of_text"):
        if getattr(raw, name) is not None:
            arrays.append(_ids(name, getattr(raw, name)))
    if raw.captions is not None:
        shape, first = [len(raw.captions)], list(raw.captions[:3])
        arrays.append({"name": "captions", "shape": shape, "dtype": "text", "first": first})
    found: dict[str, Any] = {
        "files": [p.name for p in raw.sources], "format": raw.format, "arrays": arrays, "notes": reading.notes,
    }  # fmt: skip
    try:
        with logged() as log:
            align_as: Any = align.align_scores if scores else align.align_embeddings
            ready, _ = align_as(raw, split, captions_per_image)
    except BadInput as error:
        return {**found, "fault": error}
    return {**found, "matched": _matched(ready.split, [*reading.notes, *log.notes], log.warnings)}


def _of_text(file: Path, split: str | None) -> dict[str, Any]:
    """Retrieved lists, or captions."""
    import numpy as np

    from ..errors import BadInput, UsageError
    from ..files.pairs import LISTS
    from ..files.read_pairs import read_pairs
    from ..sets import align
    from ..sets.caption_files import all_of_file

    if (own := _of_results(file)) is not None:
        return own
    try:
        rows = all_of_file(file)
    except (BadInput, UsageError):
        runs = read_pairs(file, None, LISTS)
    else:
        images = np.unique(rows.image_id)
        first = list(rows.captions[:3]) if rows.captions else []
        captions = {"name": "captions", "shape": [len(rows.caption_id)], "dtype": "text", "first": first}
        arrays = [captions, _ids("caption_id", rows.caption_id), _ids("image_id", images)]
        what = f"captions of {len(images):,} images: give them with --captions, or to vsebench data build"
        return {"files": [file.name], "format": "captions", "arrays": arrays, "notes": [what]}
    lists = []
    for pairs in runs:
        longest, first = int(np.bincount(pairs.query).max(initial=0)), pairs.queries[:3].tolist()
        shape = [len(pairs.queries), longest]
        lists.append({"name": pairs.direction or "lists", "shape": shape, "dtype": "lists", "first": first})
    notes = [note for pairs in runs for note in pairs.notes]
    about: dict[str, Any] = {
        "files": [file.name], "format": runs[0].format, "arrays": lists,
        "notes": [*notes, "retrieved lists: give them with --run"],
    }  # fmt: skip
    try:
        return {**about, "matched": _matched(align.align_lists(runs, split)[0], (), ())}
    except BadInput as error:
        return {**about, "fault": error}


def _of_results(file: Path) -> dict[str, Any] | None:
    """A report, or the result of an analysis, as vsebench writes them; None for another file."""
    import json

    from ..files.textfile import read_text

    text = read_text(file)
    if not text.lstrip().startswith("{"):
        return None
    try:
        document = json.loads(text)
    except ValueError:
        return None
    schema = str(document.get("schema", ""))
    if not schema.startswith("vsebench/"):
        return None
    kind = schema.split("/")[1]
    results = document.get("results") or []
    names = list(dict.fromkeys(str(x.get("metric")) for x in results if isinstance(x, dict)))
    arrays = [{"name": "results", "shape": [len(results)], "dtype": "values", "first": names[:3]}] if results else []
    note = f"{'an' if kind[:1] in 'aeiou' else 'a'} {kind} of vsebench ({schema})"
    if kind in ("report", "joint"):
        note = f"a report of vsebench on {document.get('split')}: give it to vsebench compare, slice, agree or page"
    return {"files": [file.name], "format": kind, "arrays": arrays, "notes": [note]}


def _matched(split: Any, notes: Any, warnings: Any) -> dict[str, Any]:
    return {
        "split": split.name, "images": len(split.image_ids), "captions": len(split.caption_ids), "notes": list(notes),
        "warnings": list(warnings),
    }  # fmt: skip


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


def _shown(document: dict[str, Any]) -> list[str | Table]:
    """A table of the arrays, and lines on what they are."""
    from ..files.audit import shown

    rows = []
    for a in document["arrays"]:
        lengths = a.get("lengths")
        first = ", ".join(shown(x) for x in a.get("first", []))
        last = " / ".join(f"{lengths[k]:.4g}" for k in ("min", "median", "max")) if lengths else first
        rows.append((a["name"], " x ".join(f"{n:,}" for n in a["shape"]), a["dtype"], last))
    headings = ("array", "shape", "dtype", "vector lengths (min / median / max) or first ids")
    table = listing(headings, rows, f"{', '.join(document['files'][:3])} ({document['format']})")
    lines: list[str] = []
    if matched := document["matched"]:
        counts = f"{matched['images']:,} images, {matched['captions']:,} captions"
        lines = [f"would be evaluated as {matched['split']}: {counts}", *(f"· {note}" for note in matched["notes"])]
        lines += [f"warning: {warning}" for warning in matched["warnings"]]
    elif document["fault"] is not None:
        lines = ["could not be evaluated, see the error"]
    return [table, *lines, *(f"· {note}" for note in document["notes"])]
