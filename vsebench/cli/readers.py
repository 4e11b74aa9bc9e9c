"""The readers of ``vsebench inspect``: what a file holds, and how its rows would be matched."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import BadInput, UsageError, VsebenchError
from ..evaluation import inputs
from ..evaluation.plan import load_judgements
from ..evaluation.request import IDS, Given, Request, request
from ..evaluation.system import audit
from ..files.arrow_tables import has_vectors
from ..files.captions import ALL_PARTS, all_of_file, lines_of
from ..files.formats import FORMATS, Format, sniff
from ..files.kinds import KINDS
from ..files.members import SCORES, arrays, opened
from ..files.pairs import EXCEPT, JUDGED, LISTS, ONLY, Kind, Pairs, place
from ..files.read import holds_both
from ..files.read_pairs import read_pairs
from ..files.records import records
from ..files.regular import inside
from ..files.textfile import parse_json, read_text
from ..log import Log, logged, note
from ..relevance.custom import read_labels
from ..sets import folders, items
from ..sets.catalogue import load_split
from ..types import QUERIES

if TYPE_CHECKING:
    from ..types import TestSet


class Found(NamedTuple):
    """What a reader of text has found."""

    words: str  # what it is
    arrays: list[dict[str, Any]]
    format: str = ""
    notes: tuple[str, ...] = ()
    pairs: Sequence[Pairs] = ()


class Reader(NamedTuple):
    """A reader of text, and the options that take what it reads."""

    name: str
    read: Callable[[Path], Found]
    takes: str = ""


def read(file: Path, scores: bool, **given: Any) -> tuple[dict[str, Any], VsebenchError | None]:
    """The document of ``vsebench inspect``, and why the file cannot be evaluated; None for a file that can.

    Args:
        file: embeddings, scores, text, or a folder.
        scores: it is a score matrix.
        given: further arguments of ``vsebench.evaluate``.
    """
    path, part = inside(file)
    if of_set := folders.is_test_set(path):
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
    with logged() as log:
        try:
            test: TestSet | None
            if of_set:
                test = _of_folder(asked, document)
            elif part or (asked.scores is None and asked.texts is None and _in_words(path, kind, asked)):
                test = _of_text(path, part, asked, given, document)
            else:
                test = _of_arrays(path, asked, document)
            document["matched"] = None if test is None else _matched(test, log)
        except VsebenchError as error:
            fault = error
            document["notes"] += log.notes
            if not document["arrays"] and kind.arrays is not None:  # by the header of a file that cannot be evaluated
                found = arrays(path).values()
                document["arrays"] = [{"name": m.name, "shape": list(m.shape), "dtype": m.dtype} for m in found]
    return document | {"fault": None if fault is None else str(fault)}, fault


def _of_folder(asked: Request, document: dict[str, Any]) -> TestSet:
    """Queries, a corpus and judgements."""
    assert asked.folder is not None
    test = asked.folder.test
    roles = zip(test.sides, ("queries", "corpus"), strict=True)
    document["arrays"] = [_ids(f"{side.name}_ids", asked.folder.items(role)[0]) for side, role in roles]
    _add(_pairs(JUDGED, asked.folder.judgements), "--split FOLDER", document)
    _judge(asked, inputs.Input(test, None, asked.folder.where))
    return test


def _judge(asked: Request, data: inputs.Input) -> None:
    """Note what is odd about what is evaluated, and how judgements that are given fit it."""
    audit(data)
    for name, source in load_judgements(asked.judgements, asked.level, data.split, None, data.judged).items():
        note(*(f"{name}: {sentence}" for sentence in source.notes))


# Vectors and scores


def _in_words(path: Path, kind: Format, asked: Request) -> bool:
    """Whether a file is text, a table without vectors, or the rows that an index found."""
    if asked.image_key or asked.text_key:
        return kind.name in ("text", "json", "gzip") and not kind.matrix
    if kind.matrix:
        try:
            return bool(read_pairs(path, None, LISTS))
        except (BadInput, UsageError):
            return False
    if kind.name == "parquet":
        kind.require(path)
        return not has_vectors(path)
    return kind.name in ("text", "json", "gzip")


def _of_arrays(path: Path, asked: Request, document: dict[str, Any]) -> TestSet:
    """Vectors or scores, and the rows of a split that they are."""
    given = asked.scores and asked.scores[0]
    if given is None and asked.texts is None and _holds_scores(path, asked):
        document["notes"].append("a score matrix: give it with --scores")
        given = Given(None, path)
    raw = inputs.raw_vectors(asked) if given is None else inputs.raw_scores(given, asked)
    of_queries = raw.sides == QUERIES
    names = ("scores",) if given is not None else QUERIES_AND_CORPUS if of_queries else ("images", "texts")
    found = [_array(*one) for one in zip(names, raw.arrays, strict=True)]
    ids = {f"{side}_ids": of for side, of in zip(raw.sides, (raw.image_ids, raw.text_ids), strict=True)}
    found += [_ids(name, of) for name, of in (ids | {"image_of_text": raw.image_of_text}).items() if of is not None]
    if raw.captions is not None:
        found.append(_texts("captions", raw.captions))
    document |= {"files": [p.name for p in raw.sources], "format": raw.format, "arrays": found}
    judged = asked
    if of_queries:
        document["notes"].append("queries and a corpus: eval takes them with --judgements or --split FOLDER")
        asked = asked if asked.judgements else replace(asked, judgements={"": ()})
    data = (
        inputs.of_vectors(raw, asked, asked.split)
        if given is None
        else inputs.of_scores(raw, given, asked, asked.split)
    )
    _judge(judged, data)
    return data.split


QUERIES_AND_CORPUS = ("queries", "corpus")


def _holds_scores(path: Path, asked: Request) -> bool:
    """Whether the only matrix of a file has a name or shape of scores."""
    matrices = [m for m in arrays(path).values() if len(m.shape) == 2]
    if len(matrices) != 1 or asked.image_key or asked.text_key or holds_both(opened(path)):
        return False
    n_image, n_text = matrices[0].shape
    return matrices[0].base in SCORES.names or (n_image > 1 and n_text % n_image == 0)


# Text and tables


def _of_text(
    path: Path, part: tuple[str, ...], asked: Request, given: Mapping[str, Any], document: dict[str, Any]
) -> TestSet | None:
    """What the first readers find that can read a file, and the test set of lists and judgements."""
    errors: dict[str, str] = {}
    run = Reader("retrieved lists", partial(_pairs, LISTS, part=part), "--run")
    for readers in ((run,),) if part else READERS:
        found: list[Found] = []
        for reader in readers:
            try:
                found.append(reader.read(path))
                _add(found[-1], reader.takes, document)
            except (BadInput, UsageError) as error:
                errors[reader.name] = error.what
        if found:
            return _test_of([pairs for one in found for pairs in one.pairs], path, part, asked, given, document)
    what = "; ".join(f"as {name}, {errors[name]}" for name in SHOWN if name in errors)
    fix = "run vsebench eval with --captions, --run or --judgements NAME=FILE: its error says how to write the file"
    raise BadInput(f"cannot be read ({what})", where=path, fix=fix)


def _add(found: Found, takes: str, document: dict[str, Any]) -> None:
    document["arrays"] += found.arrays
    document["format"] = found.format or document["format"]
    document["notes"] += [*found.notes, f"{found.words}: give them with {takes}" if takes else found.words]


def _test_of(
    pairs: Sequence[Pairs], path: Path, part: tuple[str, ...], asked: Request, given: Mapping[str, Any],
    document: dict[str, Any],
) -> TestSet | None:  # fmt: skip
    """The test set of retrieved lists or judgements, None for one that is unknown or not needed."""
    pairs = [one for one in pairs if not one.kind.bare]
    if not pairs:
        return None
    try:
        if pairs[0].kind is LISTS:
            run = ":".join([str(path), *part])
            data = inputs.read(request(run=run, **{name: given[name] for name in ("split", "judgements", *IDS)}))
            _judge(asked, data)
            return data.split
        test = asked.folder.test if asked.folder else load_split(str(asked.split)) if asked.split else None
        test = test or items.split_of(pairs)
        for one in pairs:
            note(*place(one, test).notes)
    except items.UnknownItems:
        document["notes"].append("ids of no installed data set: eval takes --run and --judgements together")
        return None
    return test


def _result(path: Path) -> Found:
    """A report, or the result of an analysis, as vsebench writes them."""
    document = parse_json(read_text(path), path)
    schema = str(document.get("schema", "")) if isinstance(document, dict) else ""
    if not schema.startswith("vsebench/"):
        raise BadInput("is no result of vsebench", where=path)
    kind, results = schema.split("/")[1], document.get("results") or []
    names = list(dict.fromkeys(str(x.get("metric")) for x in results if isinstance(x, dict)))
    found = [{"name": "results", "shape": [len(results)], "dtype": "values", "first": names[:3]}] if results else []
    words = f"{'an' if kind[:1] in 'aeiou' else 'a'} {kind} of vsebench ({schema})"
    if kind in ("report", "joint"):
        words = f"a report of vsebench on {document.get('split')}: give it to vsebench compare, slice, agree or page"
    return Found(words, found, kind)


def _pairs(kind: Kind, path: Path, part: tuple[str, ...] = ()) -> Found:
    """Retrieved lists, judgements, or items that may be returned or may not."""
    pairs = read_pairs(path, None, kind, both=None if kind is LISTS else "i2t", part=part)
    found, words, notes = list[dict[str, Any]](), list[str](), list[str]()
    for one in pairs:
        if one.number is None and _prose(map(str, one.items.tolist())):
            raise BadInput("its ids are sentences", where=path)
        if kind.bare and one.format == "trec" and not one.scope:
            raise BadInput("its lines are judgements", where=path)
        name = " ".join(filter(None, (kind.words, one.direction)))
        shape = [len(one.queries), int(np.bincount(one.query).max(initial=0))]
        dtype = "lists" if kind.listed or kind.bare else kind.number
        array = {"name": name, "shape": shape, "dtype": dtype, "first": one.queries[:3].tolist()}
        found.append(_ids(name, one.items) if one.scope == "all" else array)
        of = {"all": "every query", "rows": f"{len(one.queries):,} rows"}.get(one.scope, f"{shape[0]:,} queries")
        words.append(f"{name} ({of}, {len(one.items):,} items, {len(one.query):,} pairs)")
        notes += one.notes
    return Found("; ".join(words), found, pairs[0].format, tuple(notes), pairs)


def _captions(path: Path) -> Found:
    try:
        rows = all_of_file(path)
    except UsageError:  # it has several parts
        rows = all_of_file(path, ALL_PARTS)
    captions = rows.captions or ()
    if not _prose(captions):
        raise BadInput("its captions are single words", where=path)
    images = np.unique(rows.image_id)
    found = [_texts("captions", captions), _ids("caption_id", rows.caption_id), _ids("image_id", images)]
    return Found(f"captions of {len(images):,} images", found, "captions")


def _labels(path: Path) -> Found:
    ids = read_labels(path).ids
    return Found("class labels", [_ids(f"{side}_id", of) for side, of in ids.items() if of is not None])


def _columns(path: Path) -> Found:
    """A table that has a column of ids."""
    table = records(path, "columns")
    cells = {str(name): table[name].tolist() for name in table}
    if len(cells) < 2 or not KINDS["columns"].find(cells):
        raise BadInput("has no column of ids", where=path)
    found = [{"name": n, "shape": [len(x)], "dtype": "values", "first": x[:3]} for n, x in cells.items()]
    return Found("columns by id", found)


def _lines(path: Path) -> Found:
    lines = lines_of(path) or ()
    if not _prose(lines):
        raise BadInput("its lines are no sentences", where=path)
    return Found("captions without ids, one per line", [_texts("captions", lines)])


SHOWN = ("captions", "retrieved lists", "judgements")  # readers whose errors are shown if none can read a file
# The first readers that read a file say what it is. All of one line are tried, because such files may be either.
READERS = (
    (Reader("a result", _result),),
    (Reader("captions", _captions, "--captions, or to vsebench data build"),),
    (
        Reader("retrieved lists", partial(_pairs, LISTS), "--run"),
        Reader("judgements", partial(_pairs, JUDGED), "--judgements NAME=FILE"),
    ),
    (Reader("labels", _labels, "--judgements NAME=labels:FILE"),),
    (
        Reader("candidates", partial(_pairs, ONLY), "--candidates"),
        Reader("excluded items", partial(_pairs, EXCEPT), "--exclude"),
        Reader("columns", _columns, "--only FILE:COLUMN=VALUE, or to vsebench slice --file"),
    ),
    (Reader("lines", _lines, "--captions, in the order of the ids"),),
)


def _prose(texts: Iterable[str]) -> bool:
    """Whether most texts are several words, as captions are, and no lines of ids with a rank or a grade."""
    found = [" " in text.strip() and "\t" not in text and len(_NUMBER.findall(text)) < 2 for text in texts]
    return 2 * sum(found) > len(found)


_NUMBER = re.compile(r"(?<!\S)\d+(?:\.\d+)?(?!\S)")


# What is shown


def _matched(split: TestSet, log: Log) -> dict[str, Any]:
    names = QUERIES_AND_CORPUS if split.one_way else ("images", "captions")
    counts = dict(zip(names, split.shape, strict=True))
    return {"split": split.name, **counts, "notes": log.notes, "warnings": log.warnings}


def _array(name: str, array: Any) -> dict[str, Any]:
    out: dict[str, Any] = {"name": name, "shape": list(array.shape), "dtype": str(array.dtype)}
    if array.ndim == 2 and array.size and name != "scores":
        with np.errstate(all="ignore"):
            length = np.sqrt(np.einsum("ij,ij->i", array, array, dtype=np.float64))
        if np.isfinite(length).all():
            out["lengths"] = dict(zip(LENGTHS, np.quantile(length, (0, 0.5, 1)).tolist(), strict=True))
    return out


LENGTHS = ("min", "median", "max")


def _ids(name: str, ids: Any) -> dict[str, Any]:
    dtype = "text" if ids.dtype.kind == "U" else "int64"
    return {"name": name, "shape": list(ids.shape), "dtype": dtype, "first": ids[:3].tolist()}


def _texts(name: str, texts: Sequence[str]) -> dict[str, Any]:
    return {"name": name, "shape": [len(texts)], "dtype": "text", "first": list(texts[:3])}
