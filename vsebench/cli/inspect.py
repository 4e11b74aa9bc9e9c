"""``vsebench inspect``: shows what a file holds and how its rows would be matched, without evaluating it."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import BadInput, UsageError, VsebenchError
from ..evaluation import inputs
from ..evaluation.plan import load_judgements
from ..evaluation.request import Given, Request, request
from ..evaluation.system import audit
from ..files.arrow_tables import has_vectors
from ..files.captions import caption_file, lines_of
from ..files.formats import FORMATS, Format, sniff
from ..files.kinds import KINDS
from ..files.members import arrays
from ..files.pairs import EXCEPT, JUDGED, LISTS, ONLY, Kind, Pairs, place
from ..files.raw import Raw, format_id
from ..files.read_pairs import read_pairs
from ..files.records import records
from ..files.regular import inside
from ..files.textfile import read_text
from ..log import Log, logged, note
from ..relevance.custom import read_labels
from ..results.table import Table
from ..sets import items
from ..sets.catalogue import load_split
from ..sets.folders import is_test_set
from ..types import QUERIES, TestSet
from .terminal import Terminal, listing

Document = dict[str, Any]  # what is printed, see ``run``


class Target(NamedTuple):
    """The file, the test set in it if it has several, and what ``eval`` would be asked for."""

    path: Path
    part: tuple[str, ...]
    asked: Request


class Found(NamedTuple):
    """What a reader finds."""

    words: str
    arrays: list[Document]
    value: Any = None  # what is matched with a test set
    format: str = ""
    notes: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()


class Reader(NamedTuple):
    """A reader, the option that takes such a file, and how the items are matched with a test set."""

    name: str
    read: Callable[[Target], Found]  # raises BadInput or UsageError for a file of another kind
    option: str = ""
    match: Callable[[Any, Target], TestSet] | None = None


def run(terminal: Terminal, file: Path, *, scores: bool = False, **given: Any) -> None:
    """Show what a file holds and how it would be read, without evaluating it.

    If the file cannot be evaluated, print the reason and exit with code 3.

    Args:
        file: embeddings, scores, ranked lists, judgements, captions, or the folder of a run or a test set.
        scores: read the file as a score matrix; its content decides by default.
    """
    path, part = inside(file)
    of_set = is_test_set(path)
    given |= {"split": str(file)} if of_set else {}
    asked = request(**{"scores" if scores else "images": path}, **given)
    if not of_set:  # of a run folder the file in it
        path = asked.images if asked.scores is None else asked.scores[0].value
    kind = FORMATS["folder"] if of_set else sniff(path)
    document: Document = {
        "schema": "vsebench/inspect/1", "files": [path.name], "format": kind.name, "arrays": [], "matched": None,
        "notes": [],
    }  # fmt: skip
    target, fault = Target(path, part, asked), None
    try:
        _inspect(target, FOLDERS if of_set else _readers(target, kind), document)
    except VsebenchError as error:
        fault = error
        if not document["arrays"] and kind.arrays is not None:  # by the header of a file that cannot be evaluated
            found = arrays(path).values()
            document["arrays"] = [{"name": m.name, "shape": list(m.shape), "dtype": m.dtype} for m in found]
    document["fault"] = None if fault is None else str(fault)
    terminal.answer(document, *_shown(document))
    if fault is not None:
        raise fault


def _readers(target: Target, kind: Format) -> Sequence[Sequence[Reader]]:
    """The readers of a file, by its format and the options that say what it is."""
    asked = target.asked
    if target.part:
        return (PAIRS[:1],)
    if asked.scores is not None:
        return ((SCORES,),)
    if asked.texts is not None or asked.image_key or asked.text_key:
        return ((VECTORS,),)
    if kind.matrix:
        return (PAIRS[:1], (VECTORS,), (SCORES,))
    kind.require(target.path)
    has_arrays = kind.arrays is not None and (kind.name != "parquet" or has_vectors(target.path))
    return ((VECTORS,), (SCORES,)) if has_arrays else TEXTS


def _inspect(target: Target, groups: Sequence[Sequence[Reader]], document: Document) -> None:
    """Show what the first group of readers finds of which one succeeds, and match it as the first of these does."""
    errors: dict[str, VsebenchError] = {}
    for group in groups:
        matches = []
        for reader in group:
            with logged() as log:
                try:
                    found = reader.read(target)
                except (BadInput, UsageError) as error:
                    errors[reader.name] = error
                    continue
            files = [path.name for path in found.files] or document["files"]
            document |= {"files": files, "format": found.format or document["format"]}
            document["arrays"] += found.arrays
            use = f"{found.words}: use {reader.option}" if reader.option else found.words
            document["notes"] += [*found.notes, *filter(None, [use])]
            matches.append(functools.partial(_match, reader, found.value, log))
        if matches:
            matches[0](target, document)
            return
    if VECTORS.name in errors or len(errors) == 1:
        raise errors.get(VECTORS.name) or errors.popitem()[1]
    what = "; ".join(f"as {reader.name}, {errors[reader.name].what}" for reader in (CAPTIONS, *PAIRS))
    fix = "run vsebench eval with --captions, --run or --judgements NAME=FILE: its error says how to write the file"
    raise BadInput(f"cannot be read ({what})", where=target.path, fix=fix)


def _match(reader: Reader, value: Any, read: Log, target: Target, document: Document) -> None:
    """The test set of what a reader has found, and how its rows are matched."""
    if reader.match is None:
        return
    with logged() as log:
        note(*read.notes)
        try:
            split = reader.match(value, target)
        except items.UnknownItems:
            document["notes"].append("ids of no installed data set: eval takes --run and --judgements together")
            return
        except VsebenchError:
            document["notes"] += log.notes
            raise
    names = ("queries", "corpus") if split.one_way else ("images", "captions")
    counts = dict(zip(names, split.shape, strict=True))
    document["matched"] = {"split": split.name, **counts, "notes": log.notes, "warnings": read.warnings + log.warnings}


def _judge(asked: Request, data: inputs.Input) -> TestSet:
    """Note what is odd about what is evaluated, and how judgements that are given fit it; returns its test set."""
    audit(data)
    for name, source in load_judgements(asked.judgements, asked.level, data.split, None, data.judged).items():
        note(*(f"{name}: {sentence}" for sentence in source.notes))
    return data.split


# Vectors and scores


def _vectors(target: Target) -> Found:
    return _arrays(inputs.raw_vectors(target.asked))


def _scores(target: Target) -> Found:
    """Scores of ``--scores``, or a matrix with the shape of scores."""
    raw = inputs.raw_scores(_given_scores(target), target.asked)
    rows, columns = raw.values.shape
    _check(target.asked.scores is not None or (rows > 1 and columns % rows == 0))
    return _arrays(raw, "" if target.asked.scores else "a score matrix: use --scores")


def _given_scores(target: Target) -> Given:
    return target.asked.scores[0] if target.asked.scores else Given(None, target.path)


def _arrays(raw: Raw, words: str = "") -> Found:
    of_queries = raw.sides == QUERIES
    names = ("scores",) if len(raw.arrays) == 1 else ("queries", "corpus") if of_queries else ("images", "texts")
    beside: dict[str, Any] = {
        f"{side}_ids": of for side, of in zip(raw.sides, (raw.image_ids, raw.text_ids), strict=True)
    }
    beside |= {"image_of_text": raw.image_of_text, "captions": raw.captions}
    arrays = [_array(*one) for one in zip(names, raw.arrays, strict=True)]
    if of_queries:
        words = "queries and a corpus: use --judgements or --split FOLDER"
    return Found(words, arrays + _columns(beside), raw, raw.format, files=raw.sources)


def _match_arrays(raw: Raw, target: Target) -> TestSet:
    asked = target.asked
    # Queries and a corpus need judgements, and are matched without any here.
    judged = replace(asked, judgements={"": ()}) if raw.sides == QUERIES and not asked.judgements else asked
    if len(raw.arrays) == 1:
        return _judge(asked, inputs.of_scores(raw, _given_scores(target), judged, asked.split))
    return _judge(asked, inputs.of_vectors(raw, judged, asked.split))


# Text


def _result(target: Target) -> Found:
    """A report, or the result of an analysis, as vsebench writes them."""
    text = read_text(target.path)
    try:
        document = json.loads(text) if text.lstrip().startswith("{") else {}
    except ValueError:
        document = {}
    schema = str(document.get("schema", ""))
    _check(schema.startswith("vsebench/"))
    kind = schema.split("/")[1]
    words = f"{'an' if kind[:1] in 'aeiou' else 'a'} {kind} of vsebench ({schema})"
    if kind == "report":
        words = f"a report of vsebench on {document.get('split')}: use vsebench compare, slice, agree or page"
    return Found(words, [], format=kind)


def _captions(target: Target) -> Found:
    rows = caption_file(target.path).rows()
    _check(_sentences(rows.captions or ()))
    images = np.unique(rows.image_id)
    columns = _columns({"captions": rows.captions, "caption_id": rows.caption_id, "image_id": images})
    return Found(f"captions of {len(images):,} images", columns, format="captions")


def _pairs(target: Target, kind: Kind) -> list[Pairs]:
    """Pairs of ids; the readers of pairs take any text as the id of an item, and lines of TREC as candidates."""
    found = read_pairs(target.path, None, kind, both=None if kind is LISTS else "i2t", part=target.part)
    for one in found:
        _check(one.number is not None or not _sentences(map(str, one.items)))
        _check(not kind.bare or bool(one.queries_from) or one.format != "trec")
    return found


def _counted(pairs: Sequence[Pairs]) -> Found:
    words, arrays = [], []
    for one in pairs:
        name = " ".join(filter(None, (one.kind.words, one.direction)))
        shape = [len(one.queries), int(np.bincount(one.query).max(initial=0))]
        dtype = "lists" if one.kind.listed else one.kind.number
        arrays.append({"name": name, "shape": shape, "dtype": dtype, "first": one.queries[:3].tolist()})
        words.append(f"{name} ({len(one.queries):,} queries, {len(one.items):,} items, {len(one.query):,} pairs)")
    notes = tuple(sentence for one in pairs for sentence in one.notes)
    return Found(" and ".join(words), arrays, pairs, pairs[0].format, notes)


def _match_lists(_: Sequence[Pairs], target: Target) -> TestSet:
    given = Given(None, str(target.path), part=target.part)
    return _judge(target.asked, inputs.read(replace(target.asked, run=[given])))


def _match_judgements(judged: Sequence[Pairs], target: Target) -> TestSet:
    folder, name = target.asked.folder, target.asked.split
    split = folder.test if folder else load_split(str(name)) if name else items.split_of(judged)
    for one in judged:
        note(*place(one, split).notes)
    return split


def _candidates(target: Target, kind: Kind) -> Found:
    (one,) = _pairs(target, kind)
    words = {"all": "of every query", "rows": f"of the queries in {len(one.queries):,} rows"}
    of = words.get(one.queries_from, f"of {len(one.queries):,} queries")
    return Found(f"{kind.words}, {len(one.items):,} items {of}", _columns({kind.words: one.items}))


def _labels(target: Target) -> Found:
    ids = read_labels(target.path).ids
    return Found("class labels", _columns({f"{side}_id": of for side, of in ids.items()}))


def _table(target: Target) -> Found:
    """A table with a column of ids."""
    table = records(target.path, "columns")
    _check(len(table.columns) > 1 and bool(KINDS["columns"].find(table)))
    return Found("columns by id", _columns({str(name): table[name].tolist() for name in table}))


def _lines(target: Target) -> Found:
    """Captions without ids; lists and judgements that cannot be read have numbers in most lines."""
    lines = lines_of(target.path) or ()
    _check(2 * sum(bool(re.search(r"\b\d", line)) for line in lines) < len(lines))
    return Found("captions without ids, one per line", _columns({"captions": lines}))


def _sentences(texts: Iterable[str]) -> bool:
    """Whether most texts have spaces between words, and no tabs, as captions have and ids with grades have not."""
    found = [" " in text.strip() and "\t" not in text for text in texts]
    return 2 * sum(found) > len(found)


def _check(fits: bool) -> None:
    """Raise BadInput for a file of another kind."""
    if not fits:
        raise BadInput("is of another kind")


# Folders


def _folder(target: Target) -> Found:
    folder = target.asked.folder
    assert folder is not None
    roles = zip(folder.test.sides, ("queries", "corpus"), strict=True)
    ids = _columns({f"{side.name}_ids": folder.items(role)[0] for side, role in roles})
    judged = _counted(read_pairs(folder.judgements, None))
    return judged._replace(arrays=ids + judged.arrays, value=inputs.Input(folder.test, None, folder.where))


VECTORS = Reader("vectors", _vectors, match=_match_arrays)
SCORES = Reader("scores", _scores, match=_match_arrays)
CAPTIONS = Reader("captions", _captions, "--captions, or vsebench data build")
PAIRS = (
    Reader("retrieved lists", lambda target: _counted(_pairs(target, LISTS)), "--run", _match_lists),
    Reader("judgements", lambda target: _counted(_pairs(target, JUDGED)), "--judgements NAME=FILE", _match_judgements),
)
# Readers of text: of the first group with a reader that succeeds, all that succeed are shown.
TEXTS: Sequence[Sequence[Reader]] = (
    (Reader("results", _result),),
    (CAPTIONS,),
    PAIRS,
    (Reader("labels", _labels, "--judgements NAME=labels:FILE"),),
    (
        Reader("candidates", lambda target: _candidates(target, ONLY), "--candidates FILE"),
        Reader("items to leave out", lambda target: _candidates(target, EXCEPT), "--exclude FILE"),
    ),
    (Reader("columns", _table, "--only FILE:COLUMN=VALUE, or vsebench slice --file"),),
    (Reader("lines", _lines, "--captions, in the order of the ids"),),
)
FOLDERS = ((Reader("folder", _folder, "--split FOLDER", lambda data, target: _judge(target.asked, data)),),)


# What is shown


def _array(name: str, array: Any) -> Document:
    """An array; for vectors their lengths."""
    out: Document = {"name": name, "shape": list(array.shape), "dtype": str(array.dtype)}
    if array.ndim == 2 and array.size and name != "scores":
        with np.errstate(all="ignore"):
            length = np.sqrt(np.einsum("ij,ij->i", array, array, dtype=np.float64))
        if np.isfinite(length).all():
            numbers = {"min": length.min(), "median": np.median(length), "max": length.max()}
            out["lengths"] = {word: float(number) for word, number in numbers.items()}
    return out


def _columns(values: Mapping[str, Any]) -> list[Document]:
    """Ids, texts or other values, by name; without those that are None."""
    found = []
    for name, of in values.items():
        if of is not None:
            one = np.asarray(of[:3])
            dtype = {"U": "text", "i": "int64"}.get(one.dtype.kind, "values")
            found.append({"name": name, "shape": [len(of)], "dtype": dtype, "first": one.tolist()})
    return found


def _shown(document: Document) -> list[str | Table]:
    """A table of the arrays, and lines on what they are."""
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
