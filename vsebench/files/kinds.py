"""The content of files of records, by the names of their fields; and layouts other than tables of records.

To read another layout, write one function and add it to the entry of its kind in ``KINDS``. A function of ``documents``
takes a parsed JSON document and returns its records (dictionaries, or columns by name), or None if the document has
another layout. A function of ``lines`` does the same with the lines of a text that names no columns. Fields are then
found by their names, so that a record may have any of the usual ones::

    def storied(document):
        if isinstance(document, dict) and "stories" in document:
            return [{"image_id": s["photo"], "caption": s["text"]} for s in document["stories"]]

    KINDS["captions"] = Kind(..., documents=(karpathy, annotated, by_image, strings, storied))
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import BadInput, count_of
from .textfile import format_field

Rows = Sequence[Mapping[str, Any]] | Mapping[str, Sequence[Any]]  # records, or columns of equal length

# --- captions: JSON documents ------------------------------------------------------------------------------


def karpathy(document: Any) -> Rows | None:
    """Karpathy's ``dataset_coco.json`` and ``dataset_flickr30k.json`` (CVPR 2015), one record an image.

    Ids of COCO are ``cocoid`` and ``sentids``; others have the name of the file, and captions are counted.
    """
    images = document.get("images") if isinstance(document, dict) else None
    if not isinstance(images, list) or not images or not isinstance(images[0], dict):
        return None
    if not {"sentences", "split"} <= images[0].keys():
        return None
    coco = "cocoid" in images[0]
    return [_of_karpathy(image, coco) if isinstance(image, dict) else image for image in images]


def _of_karpathy(image: Mapping[str, Any], coco: bool) -> dict[str, Any]:
    sentences, ids = image.get("sentences"), image.get("sentids")
    sentences = [one for one in sentences if isinstance(one, dict)] if isinstance(sentences, list) else []
    path = f"{image.get('filepath', '')}/{image.get('filename')}".lstrip("/")
    others = {name: value for name, value in image.items() if name not in ("sentences", "sentids", "filename")}
    record = {**others, "image": image.get("cocoid" if coco else "filename"), "file_name": path}
    if coco:
        stated = ids if isinstance(ids, list) and len(ids) >= len(sentences) else [None] * len(sentences)
        record["caption_id"] = [one.get("sentid", stated[k]) for k, one in enumerate(sentences)]
    return {**record, "captions": [one.get("raw") for one in sentences]}


def annotated(document: Any) -> Rows | None:
    """COCO's ``annotations`` of ``images``, and MSR-VTT's ``sentences`` of ``videos``, with their files and parts."""
    for inside, others, key, name in (
        ("annotations", "images", "image_id", "id"),
        ("sentences", "videos", "video_id", "video_id"),
    ):
        found = document.get(inside) if isinstance(document, dict) else None
        if isinstance(found, list):
            listed = document.get(others)
            known = {str(one.get(name)): one for one in listed or () if isinstance(one, dict)} if listed else {}
            known_fields = {
                key_value: {k: v for k, v in one.items() if k in ("file_name", "split")}
                for key_value, one in known.items()
            }
            return [
                {**known_fields.get(str(one.get(key)), {}), **one} if isinstance(one, dict) else one for one in found
            ]
    return None


def by_image(document: Any) -> Rows | None:
    """Captions, one or a list, by image."""
    if not isinstance(document, dict) or not document:
        return None
    lists = [[captions] if isinstance(captions, str) else captions for captions in document.values()]
    fits = all(isinstance(captions, list) and all(isinstance(one, str) for one in captions) for captions in lists)
    return {"image": list(document), "captions": lists} if fits else None


def strings(document: Any) -> Rows | None:
    """Captions without ids."""
    fits = isinstance(document, list) and document and all(isinstance(one, str) for one in document)
    return {"caption": document} if fits else None


# --- captions: lines ---------------------------------------------------------------------------------------

_MEDIA = r"\.(?:jpe?g|png|gif|webp|bmp|tiff?|mp4|avi|webm|mkv|mov|wav|mp3|flac|ogg|m4a)"
_MARKS, _QUOTE = r"(?P<mark>[\t|,;])\s*", "[\"']?"
_NUMBERED = re.compile(r"\s*(\d{1,12})(?:\s*[\t,|;:.)]\s*|\s+)(\S.*)")
# An id in front of every caption, maybe with a number behind it; all lines have the same mark.
_WITH_IDS = [
    re.compile(pattern, re.I)
    for pattern in (
        rf"{_QUOTE}(?P<caption_id>[^\t]*?\S#\d+){_QUOTE}{_MARKS}(?P<caption>\S.*)",
        rf"{_QUOTE}(?P<image>[^\t,|;]*?{_MEDIA}){_QUOTE}{_MARKS}(?P<caption_index>\d+)\s*(?P=mark)\s*(?P<caption>\S.*)",
        rf"{_QUOTE}(?P<image>[^\t,|;]*?{_MEDIA}){_QUOTE}{_MARKS}(?P<caption>\S.*)",
        r"(?P<image>\S+)(?P<mark>\t)(?P<caption>.*\S.*)",
    )
]
_NAME = rf"\S*(?:{_MEDIA}|\S#\d+)"
_BESIDE_ID = re.compile(rf"{_QUOTE}{_NAME}\b.*|(?:.*[\s,;|]){_QUOTE}{_NAME}{_QUOTE}", re.I)


def with_ids(lines: Sequence[str]) -> Rows | None:
    """Captions after their id, or the id of their image, as ``1007.jpg#0<TAB>A dog.`` of Flickr8k.

    Without ids the caption of every line, also of empty ones.

    Raises:
        BadInput: there are ids or numbers next to captions in another layout.
    """
    given = [line.strip() for line in lines if line.strip()]
    for pattern in _WITH_IDS:
        rows = [one.groupdict() for one in map(pattern.fullmatch, given) if one is not None]
        if len(rows) < len(given) or len({row.pop("mark") for row in rows}) > 1:
            continue
        if "image" not in rows[0] or not all(row["image"].isdecimal() for row in rows):
            return [{**row, "caption": _unquoted(row["caption"])} for row in rows]
    numbers = [_NUMBERED.fullmatch(line) for line in given]
    first = {int(found[1]) - place if found else -1 for place, found in enumerate(numbers)}
    numbered = len(given) > 1 and first in ({0}, {1})  # the lines are counted
    texts = [found[2] for found in numbers if found] if numbered else given
    if all(map(_BESIDE_ID.fullmatch, texts)) or all(map(_BESIDE_ID.fullmatch, given)):
        what = f"every line begins or ends with an id without a tab, comma or bar after it: {format_field(given[0])}"
        raise BadInput(
            what, fix=f"write the id, a tab and the caption; or write the column names in the first line: {LAYOUT}"
        )
    first_words = [re.match(r"(\d+)\s*[\t|,;]", line) for line in texts]
    if len(texts) > 1 and all(first_words) and first_words[0]:
        what = f"line 1 begins with '{first_words[0][1]}', which may be a caption id, an image id or a number"
        raise BadInput(what, fix=f"write the column names in the first line: {LAYOUT}")
    return {"caption": texts if numbered else lines}


def _unquoted(caption: str) -> str:
    """A caption without quotes around it."""
    if len(caption) > 1 and caption[0] == caption[-1] == "'":
        return caption[1:-1]
    return next(csv.reader([caption]))[0] if re.fullmatch(r'"(?:[^"]|"")*"', caption) else caption


# --- pairs -------------------------------------------------------------------------------------------------

DIRECTIONS = ("i2t", "t2i", "query2corpus")
NOT_GIVEN = ...  # the number of a pair that has none, and the item of a query without any


def by_query(document: Any) -> Rows | None:
    """Items, or items with numbers, by query; both maybe by direction. A query without items has a row without one."""
    if not isinstance(document, Mapping) or not document:
        return None
    if any(isinstance(items, list) and items and isinstance(items[0], dict) for items in document.values()):
        return None
    stated = [direction for direction in DIRECTIONS if direction in document]
    if extra := [key for key in document if stated and key not in stated]:
        raise BadInput(f"has the key '{extra[0]}' next to i2t and t2i")
    out: dict[str, list[Any]] = {name: [] for name in ("direction", "query", "item", "number", "place")}
    whole: list[tuple[str | None, Any]] = [(None, document)]
    for direction, queries in [(d, document[d]) for d in stated] or whole:
        if not isinstance(queries, Mapping) or not queries:
            raise BadInput(f"{direction} is {format_field(queries)}, not a mapping of queries to items")
        if len(named := {str(query).strip(): query for query in queries}) < len(queries):
            twice = next(query for query in queries if named[str(query).strip()] is not query)
            raise BadInput(f"has the key '{twice}' twice", fix="keep one list per query")
        for query, items in queries.items():
            if isinstance(items, str) or not hasattr(items, "__len__"):
                raise BadInput(
                    f"query '{query}' has {format_field(items)}, which is neither a list of ids nor items with numbers"
                )
            for place, item in enumerate(items if len(items) else (NOT_GIVEN,), 1):
                number = items[item] if isinstance(items, Mapping) and len(items) else NOT_GIVEN
                for name, value in zip(out, (direction, query, item, number, place), strict=True):
                    out[name].append(value)
    return out


def predicted(document: Any, wanted: Sequence[str] = ()) -> Rows | None:
    """Predictions of MTEB: ``{subset: {split: {query: {item: score}}}}``, with or without metadata of the model.

    Args:
        document: as parsed.
        wanted: the subset or the split that is read, or both.

    Raises:
        BadInput: several subsets or splits (separate test sets), or not the requested one.
    """
    document = document if isinstance(document, Mapping) else {}
    found = {subset: splits for subset, splits in document.items() if subset != "mteb_model_meta"}
    sets = {
        f"{subset}:{split}": queries
        for subset, splits in found.items() if isinstance(splits, Mapping)
        for split, queries in splits.items() if isinstance(queries, Mapping)
        if queries and all(isinstance(items, Mapping) for items in queries.values())
    }  # fmt: skip
    fits = [name for name in sets if {*wanted} <= {*name.split(":"), name}]
    if len(fits) != 1 and (sets or wanted):
        what = f"has predictions for {len(sets)} sets: {', '.join(sets)[:300]}" if sets else "has no sets inside"
        what += f", but not {':'.join(wanted)}" if sets and not fits else ""
        one = next(iter(fits or sets), None)
        raise BadInput(what, fix=f"give one of them, as in FILE:{one}" if one else f"leave out :{':'.join(wanted)}")
    return by_query(sets[fits[0]]) if sets else by_query(found) if len(found) < len(document) else None


def searched(document: Any) -> Rows | None:
    """Results of a search by sentence-transformers: one record a query, with ``results`` of an item and a score."""
    document = [document] if isinstance(document, Mapping) else document  # of one line
    first = document[0] if isinstance(document, list) and document else None
    if not isinstance(first, Mapping) or not isinstance(first.get("results"), list):
        return None
    out: dict[str, list[Any]] = {name: [] for name in ("query", "item", "number", "place")}
    for at, record in enumerate(document, 1):
        found = record.get("results") if isinstance(record, Mapping) else None
        if not isinstance(found, list) or not all(isinstance(one, Mapping) for one in found):
            raise BadInput(f"record {at} has {format_field(found)}, not a list of results")
        for one in found or [dict[str, Any]()]:
            item, number = one.get("corpus_id", NOT_GIVEN), one.get("score", NOT_GIVEN)
            for name, value in zip(out, (record.get("query_id"), item, number, at), strict=True):
                out[name].append(value)
    return out


def triples(document: Any) -> Rows | None:
    """A list of (query, item) or (query, item, number)."""
    if not isinstance(document, (list, tuple)) or any(isinstance(row, Mapping) for row in document[:1]):
        return None
    for at, row in enumerate(document):
        if isinstance(row, (str, Mapping)) or not hasattr(row, "__len__") or len(row) not in (2, 3):
            raise BadInput(f"pair {at} is {row!r:.60}", fix="give (query id, item id, number)")
    numbers = [row[2] if len(row) == 3 else NOT_GIVEN for row in document]
    return {"query": [row[0] for row in document], "item": [row[1] for row in document], "number": numbers}


def trec(places: Mapping[int, Mapping[str, int]]) -> Callable[[Sequence[str]], Rows | None]:
    """The layout of lines of a query, an item and more, by the number of columns: where each field is."""

    def trec(lines: Sequence[str]) -> Rows | None:
        first = next(line for line in lines if line.strip())
        mark = next((mark for mark in (None, "\t", ",") if len(first.split(mark)) in places), None)
        width = len(first.split(mark))
        columns_by_role = places.get(width, {})
        columns: list[list[str]] = [[] for _ in columns_by_role]
        known: dict[str, str] = {}  # ids and ranks repeat: one text in memory of each
        for number, line in enumerate(lines, 1):
            cells = line.split(mark)
            if len(cells) != width or not columns_by_role:
                if not line.strip():
                    continue
                expected = width if columns_by_role else " or ".join(", ".join(map(str, places)).rsplit(", ", 1))
                what = f"line {number:,} has {count_of(len(cells), 'column')}, expected {expected}"
                raise BadInput(f"{what}: {' '.join(cells)[:80]!r}")
            for column, (field, at) in zip(columns, columns_by_role.items(), strict=True):
                column.append(cells[at] if field == "number" else known.setdefault(cells[at], cells[at]))
        return dict(zip(columns_by_role, columns, strict=True))

    return trec


def by_item(document: Any) -> Rows | None:
    """Scores of choices, a list or an object with names, by item."""
    if not isinstance(document, dict) or not document:
        return None
    if all(isinstance(row, dict) for row in document.values()):
        return [{"id": name, **row} for name, row in document.items()]
    return {"id": list(document), "scores": list(document.values())}


# --- candidates --------------------------------------------------------------------------------------------


def gallery(document: Any) -> Rows | None:
    """Items of every query: a list of ids, CIRR's files by id, or FashionIQ's references and targets together."""
    if isinstance(document, list) and document and isinstance(document[0], dict):
        pairs = [(one.get("candidate"), one.get("target")) for one in document if isinstance(one, dict)]
        both = len(pairs) == len(document) and all(isinstance(x, str) for pair in pairs for x in pair)
        return {"item": list(dict.fromkeys(x for pair in pairs for x in pair))} if both else None
    if isinstance(document, Mapping) and not all(isinstance(x, str) and "/" in x for x in document.values()):
        return one_each(document)  # no files
    ids = list(document) if isinstance(document, (list, Mapping)) else []
    return {"item": ids} if ids and all(isinstance(x, (str, int)) for x in ids) else None


def one_each(document: Any) -> Rows | None:
    """One item of every query; or a list of items, of all queries."""
    if isinstance(document, list):
        return {"item": document} if document and all(isinstance(x, (str, int)) for x in document) else None
    fits = isinstance(document, Mapping) and document and all(isinstance(x, (str, int)) for x in document.values())
    return {"query": list(document), "item": list(document.values())} if fits else None


# --- the table ---------------------------------------------------------------------------------------------

LAYOUT = "call the caption caption or text, its image image_id or image, and its own id caption_id or id"


@dataclass(frozen=True)
class Kind:
    """A kind of content.

    Attributes:
        words: what a file holds, for messages.
        fix: how to write such a file.
        fields: the usual names of each field, in lower case; the first that a file has is taken.
        needs: a file is a table of this kind if its first line has all fields of one of these groups.
        documents: layouts of JSON documents that are no list of records.
        lines: the layout of a text that names no columns; None if there is none.
        alone: fields that may be the only column of a table.
        wide: names of columns that stand for several captions; the field ``wide`` has all of them.
        marks: what separates the columns of a table; the first that the first line has.
        json: how to write such a JSON document, if ``fix`` does not say it.
    """

    words: str
    fix: str
    fields: Mapping[str, tuple[str, ...]]
    needs: tuple[tuple[str, ...], ...]
    documents: tuple[Callable[[Any], Rows | None], ...] = ()
    lines: Callable[[Sequence[str]], Rows | None] | None = None
    alone: tuple[str, ...] = ()
    wide: str = ""
    marks: str = "\t|;,"
    json: str = ""

    def find(self, names: Iterable[Any]) -> dict[str, Any]:
        """The names of the fields that are there, compared without case."""
        names = [name for name in names if isinstance(name, str)]
        known = {name.strip().lower(): name for name in reversed(names)}
        found: dict[str, Any] = {
            field: next((known[name] for name in usual if name in known), None) for field, usual in self.fields.items()
        }
        if self.wide:
            found["wide"] = tuple(name for name in names if re.fullmatch(self.wide, name.strip().lower())) or None
        return {field: name for field, name in found.items() if name is not None}

    def named_by(self, names: Iterable[Any]) -> bool:
        """Whether these are the names of the columns of such a table."""
        names = list(names)
        found = self.find(names)
        needs = [*self.needs, *((name,) for name in self.alone if len(names) == 1)]
        return any(set(needed) <= found.keys() for needed in needs)


def _names(**fields: str) -> dict[str, tuple[str, ...]]:
    return {field: tuple(usual.split()) for field, usual in fields.items()}


CAPTION = tuple(["caption", "captions", "text", "sentence", "sentences", "raw", "comment", "caption_tok"])
PART = ("split", "part", "subset")
_PATHS = "image_path img_path file_path filepath video_path audio_path path image_file"
_IMAGES = (
    "image image_id img_id imgid image_name file_name filename video_id videoid youtube_id video clip_id audio_id img "
)
_IMAGES += _PATHS
_CAPTION_IDS = "caption_id sentence_id sentid sen_id text_id"
_LABELS = "category categories label labels"
_GRADES = "grade relevance relevant is_relevant relevance_score rel rating gain judgement score agg_score similarity "
_GRADES += "value match label number"
_SCORES = "score sim similarity itm value number"
_OF_CAPTIONS = (karpathy, annotated, by_image)
_ITEM_IDS = "item_id doc_id docid corpus-id corpus_id document_id did"
_ITEM = f"item doc {_ITEM_IDS}"
_OF_PAIRS = _names(
    query="query query_id query-id qid",
    item=_ITEM,
    image="image_id image file_name",
    caption="caption_id text_id",
    images="image_ids img_ids video_ids",  # lists, as the next two
    captions="caption_ids text_ids",
    items="item_ids doc_ids corpus-ids corpus_ids",
    text="caption text sentence",  # ids of captions, in a table that has no others
    rank="rank",
    # what says nothing of how well a pair fits
    other="id index raw comment annotator annotator_id worker worker_id rater date time timestamp split url source "
    "lang language iter q0 iteration query_text",
)
_IDS_OF_PAIRS = (("query",), ("item",), ("image",), ("caption",))
_PAIR = {"query": 0, "item": 1}
_RUN = {"query": 0, "item": 2, "rank": 3, "number": 4}
_RUNS = trec({3: {**_PAIR, "number": 2}, 6: _RUN, 7: _RUN})  # 7 of M-BEIR, with the task
_QREL = {**_PAIR, "item": 2, "number": 3}
_QRELS = trec({2: _PAIR, 3: {**_PAIR, "number": 2}, 4: _QREL, 5: _QREL})  # 5 of M-BEIR
_EITHER = trec({1: {"item": 0}, 2: _PAIR, 3: _PAIR, 4: _QREL, 5: _QREL, 6: _RUN, 7: _RUN})
_OF_QUERIES = "query query_id query-id qid pairid id"
_LISTS = "item_ids doc_ids corpus-ids corpus_ids"
_TABLE = "or a table with the columns image_id, caption_id and"

KINDS = {
    "captions": Kind(
        "captions",
        "give captions as JSON lines or a JSON array, a table (.csv, .tsv), captions_val2014.json or dataset_coco.json",
        _names(
            caption=" ".join(CAPTION), described="description descriptions encap",  # captions, if nothing else is
            image=f"{_IMAGES} image_ids img_ids video_ids item_ids example_id", caption_id=f"{_CAPTION_IDS} id",
            index="caption_index caption_number comment_number", part=" ".join(PART),
            file=f"file_name filename image_name {_PATHS} file",
        ),
        (("caption", "image"), ("caption", "caption_id"), ("described", "image"), ("wide", "image")),
        (*_OF_CAPTIONS, strings), with_ids, ("caption",), r"(?:caption|text|sentence|comment|raw)[_ ]?\d+",
    ),
    "columns": Kind(
        "columns by id", "write a table with names of columns, one of them id, query_id, image_id or caption_id",
        _names(image=_IMAGES, caption=_CAPTION_IDS, either=f"{_OF_QUERIES} _id {_ITEM_IDS}"),
        (("image",), ("caption",), ("either",)),
        _OF_CAPTIONS,
    ),
    "labels": Kind(
        "class labels", "write the columns image_id, caption_id and one called label",
        _names(image=_IMAGES, caption=_CAPTION_IDS, label=_LABELS), (("label",),),
    ),
    "judgements": Kind(
        "judgements", f"write a line `query 0 item grade`, {_TABLE} grade", {**_OF_PAIRS, **_names(number=_GRADES)},
        _IDS_OF_PAIRS, (by_query, triples), _QRELS, marks="\t|;, ",
        json='write {"<image id>": [caption ids]} or {"<image id>": {"<caption id>": grade}}, or both under i2t and '
        "t2i",
    ),
    "scores": Kind(
        "scores", f"write a line `query item score`, {_TABLE} score", {**_OF_PAIRS, **_names(number=_SCORES)},
        _IDS_OF_PAIRS, (searched, predicted, by_query, triples), _RUNS, marks="\t|;, ",
        json='write {"<image id>": {"<caption id>": score}}, or both under i2t and t2i',
    ),
    "lists": Kind(
        "retrieved lists", "write six columns per line: query Q0 item rank score tag; or three: query item score",
        {**_OF_PAIRS, **_names(number=_SCORES)}, _IDS_OF_PAIRS,
        (searched, predicted, by_query, triples), _RUNS, marks="\t|;, ",
        json='write {"i2t": {"<image id>": [caption ids, best first]}, "t2i": {"<caption id>": [image ids]}}, or '
        "{item id: score} for a list",
    ),
    "items": Kind(
        "queries or a corpus", "write JSON lines or a table with the fields _id and text",
        _names(id="_id id corpus-id corpus_id query-id query_id qid doc_id docid", title="title", text="text query"),
        (("id",),),
    ),
    "candidates": Kind(
        "candidates", "write lines `query item`, or a table with the columns query_id and item_id",
        {**_OF_PAIRS, **_names(query=_OF_QUERIES, items=f"{_LISTS} cand_names img_set")}, (*_IDS_OF_PAIRS, ("items",)),
        (gallery, searched, predicted, by_query, triples), _EITHER, ("item",), marks="\t|;, ",
        json='write {"<query id>": [item ids]}, or one list of item ids for every query',
    ),
    "excluded": Kind(
        "items to leave out", "write lines `query item`, or a table with the columns query_id and item_id",
        {**_OF_PAIRS, **_names(query=_OF_QUERIES, item=f"{_ITEM} reference reference_img_id candidate", items=_LISTS)},
        (*_IDS_OF_PAIRS, ("items",)), (one_each, searched, predicted, by_query, triples), _EITHER, ("item",),
        marks="\t|;, ", json='write {"<query id>": [item ids]}',
    ),
    "choices": Kind(
        "scores of choices", "give a table with the column id, or a JSON object of scores by id", _names(id="id"),
        (("id",),), (by_item,),
    ),
}  # fmt: skip
