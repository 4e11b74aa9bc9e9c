"""``vsebench inspect``: shows what a file holds and how its rows would be matched, without evaluating it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import BadInput, UsageError, VsebenchError
from .terminal import Terminal, listing

if TYPE_CHECKING:
    from ..evaluation.inputs import Input
    from ..evaluation.request import Request
    from ..files.caption_rows import CaptionRows
    from ..files.formats import Format
    from ..files.pairs import Pairs
    from ..log import Log
    from ..results.table import Table
    from ..types import TestSet

T = TypeVar("T")


def run(
    terminal: Terminal,
    file: Path,
    *,
    scores: bool = False,
    texts: Path | None = None,
    split: str | None = None,
    image_key: str | None = None,
    text_key: str | None = None,
    scores_key: str | None = None,
    image_ids: Path | None = None,
    text_ids: Path | None = None,
    query_ids: Path | None = None,
    corpus_ids: Path | None = None,
    judgements: Sequence[str] = (),
    captions_per_image: int | None = None,
) -> None:
    """Show what a file holds and how it would be read, without evaluating it.

    If the file cannot be evaluated, print the reason and exit with code 3.

    Args:
        file: embeddings, scores, ranked lists, judgements, captions, or the folder of a run or a test set.
        scores: read the file as a score matrix; its content decides by default.
        texts: text vectors, if FILE holds images only.
        split: test set: ``coco-5k``, coco-1k, f30k, custom, or the FOLDER of a BEIR or MTEB set; the ids decide by
            default.
        image_key, text_key, scores_key: name of an array in the file.
        image_ids: ids of the image rows: .npy, JSON list, or text file with one id per line.
        text_ids: ids of the text rows.
        query_ids: ids of the query rows.
        corpus_ids: ids of the corpus rows.
        judgements: your judgements, as for eval.
        captions_per_image: texts per image, in order, for files without ids.
    """
    from ..evaluation.request import request
    from ..files.formats import FORMATS, sniff
    from ..files.members import arrays
    from ..files.regular import inside
    from ..sets.folders import is_test_set

    given: dict[str, Any] = {
        "texts": texts, "split": split, "image_key": image_key, "text_key": text_key, "scores_key": scores_key,
        "image_ids": image_ids, "text_ids": text_ids, "query_ids": query_ids, "corpus_ids": corpus_ids,
        "judgements": judgements, "captions_per_image": captions_per_image,
    }  # fmt: skip
    path, part = inside(file)
    if of_set := is_test_set(path):
        given["split"] = str(file)
    asked = request(**{"scores" if scores else "images": path, **given})
    if not of_set:  # of a run folder the file in it
        path = asked.images if asked.scores is None else asked.scores[0].value
    kind = FORMATS["folder"] if of_set else sniff(path)
    document: dict[str, Any] = {
        "schema": "vsebench/inspect/1", "files": [path.name], "format": kind.name, "arrays": [], "matched": None,
        "notes": [],
    }  # fmt: skip
    fault: VsebenchError | None = None
    try:
        if of_set:
            _of_folder(asked, document)
        elif part or (asked.scores is None and asked.texts is None and _in_words(path, kind, asked)):
            _of_text(path, asked, given, document, part)
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


def _of_folder(asked: Request, document: dict[str, Any]) -> None:
    """Queries, a corpus and judgements."""
    from ..evaluation.inputs import Input
    from ..files.read_pairs import read_pairs
    from ..log import logged

    assert asked.folder is not None
    with logged() as log:
        test = asked.folder.test
        roles = zip(test.sides, ("queries", "corpus"), strict=True)
        document["arrays"] = [_ids(f"{side.name}_ids", asked.folder.items(role)[0]) for side, role in roles]
        _count(read_pairs(asked.folder.judgements, None), "--split FOLDER", document)
        _judge(asked, Input(test, None, asked.folder.where))
        document["matched"] = _matched(test, log)


def _judge(asked: Request, data: Input) -> None:
    """Note what is odd about what is evaluated, and how judgements that are given fit it."""
    from ..evaluation.plan import load_judgements
    from ..evaluation.system import audit
    from ..log import note

    audit(data)
    for name, source in load_judgements(asked.judgements, asked.level, data.split, None, data.judged).items():
        note(*(f"{name}: {sentence}" for sentence in source.notes))


def _in_words(path: Path, kind: Format, asked: Request) -> bool:
    """Whether a file is text, a table without vectors, or the rows that an index found."""
    from ..files.arrow_tables import has_vectors
    from ..files.pairs import LISTS
    from ..files.read_pairs import read_pairs

    if kind.matrix and not (asked.image_key or asked.text_key):
        return _tried(lambda: read_pairs(path, None, LISTS))[0] is not None
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
                document["notes"].append("queries and a corpus: eval takes them with --judgements or --split FOLDER")
                asked = asked if asked.judgements else replace(asked, judgements={"": ()})
            if given is None:
                found = inputs.of_vectors(raw, asked, asked.split)
            else:
                found = inputs.of_scores(raw, given, asked, asked.split)
            _judge(asked if asked.judgements != {"": ()} else replace(asked, judgements={}), found)
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


def _of_text(
    path: Path, asked: Request, given: Mapping[str, Any], document: dict[str, Any], part: tuple[str, ...] = ()
) -> None:
    """A result of vsebench, captions, retrieved lists, judgements, labels, or a table by id, as ``eval`` reads them."""
    from ..files.captions import ALL_PARTS, all_of_file, lines_of
    from ..files.pairs import JUDGED, LISTS
    from ..files.read_pairs import read_pairs
    from ..relevance.custom import read_labels

    if not part and (own := _tried(lambda: _of_results(path))[0]) is not None:
        document |= own
        return
    rows, no_captions = _tried(lambda: all_of_file(path), lambda: all_of_file(path, ALL_PARTS))
    lists, no_lists = _tried(lambda: read_pairs(path, None, LISTS, both=None, part=part))
    judged, no_judgements = (None, None) if part else _tried(lambda: read_pairs(path, None, JUDGED))
    # The reader of captions takes any words behind an id, and that of judgements any text as the id of an item.
    sentences = _sentences(() if rows is None else rows.captions or ())
    items = [item for one in judged or lists or () if one.number is None for item in map(str, one.items.tolist())]
    if rows is not None and (sentences or not (lists or judged)):
        _of_captions(rows, document)
    elif no_captions is not None and _sentences(items):
        raise no_captions
    elif lists or judged:
        _of_pairs(":".join([str(path), *part]), lists, judged, asked, given, document)
    elif labels := _tried(lambda: read_labels(path))[0]:
        of = {f"{side}_id": ids for side, ids in labels.ids.items() if ids is not None}
        document["arrays"] = [_ids(name, ids) for name, ids in of.items()]
        document["notes"].append("class labels: give them with --judgements NAME=labels:FILE")
    elif not part and not _sentences(_tried(lambda: lines_of(path))[0] or ()) and _of_candidates(path, document):
        if _tried(lambda: _by_id(path))[0]:
            document["notes"].append(_COLUMNS)
    elif table := _tried(lambda: _by_id(path))[0]:
        document["arrays"] = [
            {"name": name, "shape": [len(values)], "dtype": "values", "first": values[:3]}
            for name, values in table.items()
        ]
        document["notes"].append(_COLUMNS)
    elif (lines := _tried(lambda: lines_of(path))[0]) and 2 * sum(map(_has_number, lines)) < len(lines):
        document["arrays"] = [{"name": "captions", "shape": [len(lines)], "dtype": "text", "first": list(lines[:3])}]
        document["notes"].append(
            "captions without ids, one per line: give them with --captions, in the order of the ids"
        )
    elif no_lists is not None and "has the predictions of" in no_lists.what:
        raise no_lists
    else:
        read = {"captions": no_captions, "retrieved lists": no_lists, "judgements": no_judgements}
        what = "; ".join(f"as {name}, {error.what}" for name, error in read.items() if error is not None)
        fix = "run vsebench eval with --captions, --run or --judgements NAME=FILE: its error says how to write the file"
        raise BadInput(f"cannot be read ({what})", where=path, fix=fix)


_COLUMNS = "columns by id: give them to --only FILE:COLUMN=VALUE, or to vsebench slice --file"


def _of_candidates(path: Path, document: dict[str, Any]) -> bool:
    """Whether a file has the items that may be returned, or may not; what it has of each, and the option for it."""
    from ..files.pairs import EXCEPT, ONLY
    from ..files.read_pairs import read_pairs

    for option, kind in {"--candidates FILE": ONLY, "--exclude FILE": EXCEPT}.items():
        found = _tried(functools.partial(read_pairs, path, None, kind))[0] or []
        for one in (one for one in found if one.queries_from or one.format != "trec"):  # other lines are judgements
            whose = {"all": "of every query", "rows": f"of the queries in {len(one.queries):,} rows"}
            of = whose.get(one.queries_from, f"of {len(one.queries):,} queries")
            array = {"name": kind.words, "shape": [len(one.items)], "dtype": "ids", "first": one.items[:3].tolist()}
            document["arrays"].append(array)
            document["notes"].append(f"{kind.words}, {len(one.items):,} items {of}: give them with {option}")
    return bool(document["arrays"])


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


def _count(pairs: Sequence[Pairs], option: str, document: dict[str, Any]) -> None:
    """What retrieved lists or judgements are, how many, and the option that takes them."""
    import numpy as np

    for one in pairs:
        shape = [len(one.queries), int(np.bincount(one.query).max(initial=0))]
        words = " ".join(filter(None, (one.kind.words, one.direction)))
        array = {"name": words, "shape": shape, "dtype": "lists" if one.kind.listed else one.kind.number}
        document["arrays"].append({**array, "first": one.queries[:3].tolist()})
        document["format"] = one.format
        sizes = f"{len(one.queries):,} queries, {len(one.items):,} items, {len(one.query):,} pairs"
        limits = ", or with --candidates or --exclude as items of each query" * (
            one.number is None and not one.kind.listed
        )
        document["notes"] += [*one.notes, f"{words} ({sizes}): give them with {option}{limits}"]


def _of_pairs(
    path: str, lists: list[Pairs] | None, judged: list[Pairs] | None, asked: Request, given: Mapping[str, Any],
    document: dict[str, Any],
) -> None:  # fmt: skip
    """Retrieved lists, judgements, or pairs that may be both."""
    from ..evaluation import inputs
    from ..evaluation.request import IDS, request
    from ..files.pairs import place
    from ..log import logged, note
    from ..sets import items
    from ..sets.catalogue import load_split

    _count(lists or (), "--run", document)
    _count(judged or (), "--judgements NAME=FILE", document)
    with logged() as log:
        try:
            if lists:
                data = inputs.read(request(run=path, **{name: given[name] for name in ("split", "judgements", *IDS)}))
                split = data.split
                _judge(asked, data)
            else:
                named = [asked.folder.test] if asked.folder else [load_split(str(asked.split))] if asked.split else []
                split = named[0] if named else items.split_of(judged or ())
                for one in judged or ():
                    note(*place(one, split).notes)
            document["matched"] = _matched(split, log)
        except items.UnknownItems:
            document["notes"].append("ids of no installed data set: eval takes --run and --judgements together")


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
    from ..files.raw import format_id

    rows = []
    for a in document["arrays"]:
        lengths = a.get("lengths")
        first = ", ".join(format_id(x) for x in a.get("first", []))
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
