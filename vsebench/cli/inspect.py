"""``vsebench inspect``: shows what a file holds and how its rows would be matched, without evaluating it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from ..errors import BadInput, UsageError, VsebenchError
from ..evaluation.options import Options
from .blocks import options_of
from .command import command
from .terminal import Terminal, listing

if TYPE_CHECKING:
    from ..evaluation.request import Request
    from ..files.caption_rows import CaptionRows
    from ..files.formats import Format
    from ..files.pairs import Pairs
    from ..log import Log
    from ..results.table import Table
    from ..types import TestSet

T = TypeVar("T")


@command
@options_of(Options, ["texts", "split", "image_key", "text_key", "scores_key", "captions_per_image"])
def run(
    terminal: Terminal,
    file: Annotated[
        Path,
        typer.Argument(help="Embeddings, scores, lists, judgements, captions, or the folder of a run."),
    ],
    scores: Annotated[bool, typer.Option("--scores", help="FILE is a score matrix (default: by its content).")] = False,
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
    from ..evaluation.request import request
    from ..files.formats import sniff
    from ..files.members import arrays

    given = {"texts": texts, "split": split, "captions_per_image": captions_per_image, "scores_key": scores_key}
    keys = {"image_key": image_key, "text_key": text_key}
    asked = request(**{"scores" if scores else "images": file, **given, **keys})
    path = asked.images if asked.scores is None else asked.scores[0].value  # of a run folder the file in it
    kind = sniff(path)
    document = {
        "schema": "vsebench/inspect/1", "files": [path.name], "format": kind.name, "arrays": [], "matched": None,
        "notes": [],
    }  # fmt: skip
    fault: VsebenchError | None = None
    try:
        if asked.scores is None and texts is None and _in_words(path, kind, asked):
            _of_text(path, asked, document)
        else:
            _of_arrays(path, asked, document)
    except VsebenchError as error:
        fault = error
        if not document["arrays"] and kind.arrays is not None:  # by the header of a file that cannot be evaluated
            found = arrays(path).values()
            document["arrays"] = [{"name": m.name, "shape": list(m.shape), "dtype": m.dtype} for m in found]
    document["fault"] = None if fault is None else str(fault)
    terminal.answer(document, *_shown(document))
    if fault is not None:
        raise fault


def _in_words(path: Path, kind: Format, asked: Request) -> bool:
    """Whether a file is text, or a table without vectors."""
    from ..files.arrow_tables import has_vectors

    if kind.name != "parquet" or asked.image_key or asked.text_key:
        return kind.name in ("text", "json", "gzip")
    kind.require(path)
    return not has_vectors(path)


def _of_arrays(path: Path, asked: Request, document: dict[str, Any]) -> None:
    """Vectors or scores, and the rows of a split that they are."""
    from ..evaluation import inputs
    from ..evaluation.request import Given
    from ..log import logged
    from ..types import QUERIES

    given = asked.scores and asked.scores[0]
    if given is None and asked.texts is None and _holds_scores(path, asked):
        document["notes"].append("a score matrix: give it with --scores")
        given = Given(None, path)
    with logged() as log:
        try:
            raw = inputs.raw_vectors(asked) if given is None else inputs.raw_scores(given, asked)
            names: tuple[str, ...] = ("images", "texts") if given is None else ("scores",)
            if of_queries := raw.sides == QUERIES:
                names = ("queries", "corpus")
            arrays = [_array(*one) for one in zip(names, raw.arrays, strict=True)]
            ids = {f"{side}_ids": of for side, of in zip(raw.sides, (raw.image_ids, raw.text_ids), strict=True)}
            ids["image_of_text"] = raw.image_of_text
            arrays += [_ids(name, array) for name, array in ids.items() if array is not None]
            if raw.captions is not None:
                shape, first = [len(raw.captions)], list(raw.captions[:3])
                arrays.append({"name": "captions", "shape": shape, "dtype": "text", "first": first})
            document |= {"files": [p.name for p in raw.sources], "format": raw.format, "arrays": arrays}
            if of_queries:
                document["notes"].append("queries and a corpus: eval takes them with --judgements")
                asked = replace(asked, judgements={"": ()})
            if given is None:
                found = inputs.of_vectors(raw, asked, asked.split)
            else:
                found = inputs.of_scores(raw, given, asked, asked.split)
            document["matched"] = _matched(found.split, log)
        except VsebenchError:
            document["notes"] += log.notes
            raise


def _holds_scores(path: Path, asked: Request) -> bool:
    """Whether a file without readable vectors has one matrix, with a name or shape of scores."""
    from ..evaluation import inputs
    from ..files.members import SCORES, arrays
    from ..log import logged

    with logged():
        try:
            inputs.raw_vectors(asked)
        except (BadInput, UsageError):
            matrices = [m for m in arrays(path).values() if len(m.shape) == 2]
            if len(matrices) != 1 or asked.image_key or asked.text_key:
                return False
            n_image, n_text = matrices[0].shape
            return matrices[0].base in SCORES.names or (n_image > 1 and n_text % n_image == 0)
    return False


def _of_text(path: Path, asked: Request, document: dict[str, Any]) -> None:
    """A result of vsebench, captions, retrieved lists, judgements, labels, or a table by id, as ``eval`` reads them."""
    from ..files.captions import EVERY, all_of_file, lines_of
    from ..files.pairs import JUDGED, LISTS
    from ..files.read_pairs import read_pairs
    from ..relevance.own import read_labels

    if (own := _tried(lambda: _of_results(path))[0]) is not None:
        document |= own
        return
    rows, no_captions = _tried(lambda: all_of_file(path), lambda: all_of_file(path, EVERY))
    lists, no_lists = _tried(lambda: read_pairs(path, None, LISTS, both=None))
    judged, no_judgements = _tried(lambda: read_pairs(path, None, JUDGED))
    # The reader of captions takes any words behind an id, and that of judgements any text as the id of an item.
    sentences = _sentences(() if rows is None else rows.captions or ())
    items = [item for one in judged or lists or () if one.number is None for item in map(str, one.items.tolist())]
    if rows is not None and (sentences or not (lists or judged)):
        _of_captions(rows, document)
    elif no_captions is not None and _sentences(items):
        raise no_captions
    elif lists or judged:
        _of_pairs(path, lists, judged, asked, document)
    elif labels := _tried(lambda: read_labels(path))[0]:
        of = {f"{side}_id": ids for side, ids in labels.ids.items() if ids is not None}
        document["arrays"] = [_ids(name, ids) for name, ids in of.items()]
        document["notes"].append("class labels: give them with --judgements NAME=labels:FILE")
    elif table := _tried(lambda: _by_id(path))[0]:
        document["arrays"] = [
            {"name": name, "shape": [len(values)], "dtype": "values", "first": values[:3]}
            for name, values in table.items()
        ]
        document["notes"].append("columns by id: give them to --only FILE:COLUMN=VALUE, or to vsebench slice --file")
    elif (lines := _tried(lambda: lines_of(path))[0]) and 2 * sum(map(_has_number, lines)) < len(lines):
        document["arrays"] = [{"name": "captions", "shape": [len(lines)], "dtype": "text", "first": list(lines[:3])}]
        document["notes"].append("captions without ids, one a line: give them with --captions, in the order of the ids")
    else:
        read = {"captions": no_captions, "retrieved lists": no_lists, "judgements": no_judgements}
        what = "; ".join(f"as {name}, {error.what}" for name, error in read.items() if error is not None)
        fix = "run vsebench eval with --captions, --run or --judgements NAME=FILE: its error says how to write the file"
        raise BadInput(f"cannot be read ({what})", where=path, fix=fix)


def _sentences(texts: Sequence[str]) -> bool:
    """Whether most texts have spaces between words, and no tabs, as captions have and ids with grades have not."""
    return 2 * sum(" " in text.strip() and "\t" not in text for text in texts) > len(texts)


def _has_number(line: str) -> bool:
    """Whether a line has a number among its words, as lists and judgements have."""
    return any(word.replace(".", "", 1).isdecimal() for word in line.replace(",", " ").split())


def _tried(*readers: Callable[[], T]) -> tuple[T | None, VsebenchError | None]:
    """The result of the first reader that succeeds, else the error of the first reader."""
    errors: list[VsebenchError] = []
    for read in readers:
        try:
            return read(), None
        except (BadInput, UsageError) as error:
            errors.append(error)
    return None, errors[0]


def _by_id(path: Path) -> dict[str, list[Any]] | None:
    """The columns of a table that has one of ids, else None."""
    from ..files.kinds import KINDS
    from ..files.records import records

    table = records(path, "columns")
    cells = {str(name): table[name].tolist() for name in table}
    return cells if len(cells) > 1 and KINDS["columns"].find(cells) else None


def _of_captions(rows: CaptionRows, document: dict[str, Any]) -> None:
    import numpy as np

    images, first = np.unique(rows.image_id), list(rows.captions[:3]) if rows.captions else []
    captions = {"name": "captions", "shape": [len(rows.caption_id)], "dtype": "text", "first": first}
    document["format"] = "captions"
    document["arrays"] = [captions, _ids("caption_id", rows.caption_id), _ids("image_id", images)]
    document["notes"].append(
        f"captions of {len(images):,} images: give them with --captions, or to vsebench data build"
    )


def _of_pairs(
    path: Path, lists: list[Pairs] | None, judged: list[Pairs] | None, asked: Request, document: dict[str, Any]
) -> None:
    """Retrieved lists, judgements, or pairs that may be both."""
    import numpy as np

    from ..evaluation import inputs
    from ..evaluation.request import request
    from ..files.pairs import place
    from ..log import logged
    from ..sets import items
    from ..sets.catalogue import load_split

    options = {"--run": lists, "--judgements NAME=FILE": judged}
    for option, pairs in options.items():
        for one in pairs or ():
            shape = [len(one.queries), int(np.bincount(one.query).max(initial=0))]
            words = " ".join(filter(None, (one.kind.words, one.direction)))
            array = {"name": words, "shape": shape, "dtype": "lists" if one.kind.listed else one.kind.number}
            document["arrays"].append({**array, "first": one.queries[:3].tolist()})
            document["format"] = one.format
            document["notes"] += one.notes
        if pairs:
            document["notes"].append(f"{pairs[0].kind.words}: give them with {option}")
    with logged() as log:
        try:
            if lists:
                split = inputs.read(request(run=path, split=asked.split)).split
            else:
                split = items.split_of(judged or ()) if asked.split is None else load_split(str(asked.split))
                for one in judged or ():
                    place(one, split)
            document["matched"] = _matched(split, log)
        except items.UnknownItems:
            document["notes"].append("ids of no data set that is installed: eval takes --run and --judgements together")


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


def _matched(split: TestSet, log: Log) -> dict[str, Any]:
    names = ("queries", "corpus") if split.one_way else ("images", "captions")
    counts = dict(zip(names, split.shape, strict=True))
    return {"split": split.name, **counts, "notes": log.notes, "warnings": log.warnings}


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
    from ..files.raw import shown

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
        counts = ", ".join(f"{n:,} {name}" for name, n in matched.items() if isinstance(n, int))
        lines = [f"would be evaluated as {matched['split']}: {counts}", *(f"· {note}" for note in matched["notes"])]
        lines += [f"warning: {warning}" for warning in matched["warnings"]]
    elif document["fault"] is not None:
        lines = ["could not be evaluated, see the error"]
    return [table, *lines, *(f"· {note}" for note in document["notes"])]
