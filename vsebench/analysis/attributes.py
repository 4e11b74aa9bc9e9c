"""Attributes of queries: caption length, number of positives, or a column of a file."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..data.captions import Captions, is_file, with_captions
from ..data.formats.ids import canonical
from ..errors import BadInput, MissingPackage, UsageError
from ..memory import JSON_BYTES, Growth, require, text_array, unpacked
from ..report.values import SIDE, places
from ..types import DIRECTIONS, Direction, Float, Ids, Int, Modality, Split

ID_COLUMNS: dict[str, Modality | None] = {
    "id": None, "query": None, "image_id": "image", "image": "image", "file_name": "image",
    "caption_id": "caption", "text_id": "caption",
}  # fmt: skip
# 01 is a label. Words for a missing number are labels in a column that holds anything but numbers.
_NUMBER = re.compile(r"[-+]?(?:(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:e[-+]?[0-9]+)?|inf(?:inity)?)", re.I)
_NOT_A_NUMBER = frozenset(("na", "n/a", "nan", "null", "none"))
CATEGORY_COLUMNS = ("category", "categories", "label", "labels")


class NotApplicable(UsageError):
    """The queries of a metric have no such attribute; those of other metrics may."""


@dataclass(frozen=True, eq=False)
class Attribute:
    """An attribute of images or captions.

    Attributes:
        name: in headings.
        side: modality of the items.
        numbers: (item,) float64, NaN where unknown; or None.
        labels: (item,) tuples of strings, none or several an item; or None.
        integer: the finite numbers are integers.
    """

    name: str
    side: Modality
    numbers: Float | None = None
    labels: tuple[tuple[str, ...], ...] | None = None
    integer: bool = False

    @property
    def size(self) -> int:
        """Number of items."""
        values = self.labels if self.numbers is None else self.numbers
        return 0 if values is None else len(values)

    def of_queries(self, split: Split, direction: Direction) -> Attribute:
        """The attribute of the queries of a direction: that of a caption's image, or the mean over an image's captions.

        Raises:
            NotApplicable: labels of captions, for images, which have several captions.
        """
        side = SIDE[direction]
        if side == self.side:
            return self
        if side == "caption":
            numbers = None if self.numbers is None else self.numbers[split.image_of]
            labels = None if self.labels is None else tuple(self.labels[i] for i in split.image_of.tolist())
            return Attribute(self.name, side, numbers, labels, self.integer)
        if self.numbers is None:
            what = f"'{self.name}' is a label of captions, and an image has several"
            raise NotApplicable(what, fix="slice --direction t2i")
        known = ~np.isnan(self.numbers)
        image_of, images = split.image_of[known], len(split.image_ids)
        count = np.bincount(image_of, minlength=images)
        total = np.bincount(image_of, weights=self.numbers[known], minlength=images)
        mean = np.divide(total, count, out=np.full(images, np.nan), where=count > 0)
        return Attribute(f"mean {self.name}", side, mean)


def caption_length(split: Split, captions: Captions | None = None) -> Attribute:
    """Words of every caption, separated by white space.

    Args:
        split: whose captions.
        captions: a file of them or the strings, see ``data.captions.with_captions``; None when they are known.

    Raises:
        BadInput: the file has no ids and no order to match its captions by.
        BadInput, UsageError, MissingPackage: as ``with_captions``.
    """
    ids = split.caption_ids
    numbered = ids.dtype.kind == "i" and np.array_equal(ids, np.arange(len(ids)))
    path = Path(captions) if captions is not None and is_file(captions) else None
    unnamed = captions is not None and (path is None or path.suffix == ".txt")  # without ids
    if unnamed and split.name == "custom" and not numbered and split.places[1] is None:
        # A report of an earlier version has the captions in the order of their ids; that of the vectors is not in it.
        what = f"has no ids to match the {len(ids):,} captions of the report by, whose ids are such as {ids[0]}"
        fix = "give JSON lines with these ids (.jsonl), or the lengths with --by column --file FILE"
        raise BadInput(what, where=path or "captions", fix=fix)
    strings = with_captions(split, captions, split.places[1]).captions or ()
    words = np.array([len(caption.split()) for caption in strings], np.float64)
    return Attribute("words in the caption", "caption", words, integer=True)


def positives(split: Split, view: str, direction: Direction) -> Attribute:
    """Relevant items of every query by a set of judgements, retrievable or not.

    Raises:
        NotApplicable: gains instead of judgements, or intra-modal queries.
        UsageError: judgements of another split.
        MissingPackage: their package is not installed.
    """
    from .. import relevance

    if direction not in DIRECTIONS:
        what = f"positives are counted for cross-modal queries, not for intra-modal ones ({direction})"
        raise NotApplicable(what, fix="slice --direction i2t or t2i")
    if view not in relevance.JUDGEMENTS:
        raise NotApplicable(f"'{view}' are gains, without positives to count", fix="slice a metric of gt, eccv or cxc")
    name = relevance.JUDGEMENTS[view].positives
    judged = relevance.load(name, split, direction)
    numbers = np.full(len(split.ids(SIDE[direction])), np.nan)
    numbers[judged.queries] = judged.size
    return Attribute(f"positives ({name})", SIDE[direction], numbers, integer=True)


def from_file(path: Path, column: str | None, split: Split, *, several: bool) -> Attribute:
    """A column of a CSV, TSV, parquet or JSON-lines file (plain or gzip), matched by id.

    Args:
        path: the file; one of its columns has ids of images or captions (``id``, ``image_id``, ``caption_id`` ...).
        column: to slice by; None for ``category``, ``label`` or the only other one.
        split: the items.
        several: a value may be several labels, separated by commas, semicolons or bars.

    Raises:
        BadInput: unreadable, no column of ids, ids that are not in the split, an id that occurs twice.
        UsageError: no such column.
        MissingPackage: parquet without pyarrow.
    """
    table = _table(path)
    named = [c for c in table if c in ID_COLUMNS]
    # Captions have the id of their image beside their own, which repeats.
    ids_in = next((c for c in named if len(set(map(str, table[c]))) == len(table[c])), next(iter(named), None))
    if ids_in is None:
        what = f"has no column of ids (columns: {', '.join(map(str, table)) or 'none'})"
        raise BadInput(what, where=path, fix="call the column of ids id, image_id or caption_id")
    chosen = _column(list(table), ids_in, column, path)
    ids = _ids(table[ids_in], path)
    side, at = _side(ids, ID_COLUMNS[ids_in], split, path)
    values = [None] * len(split.ids(side))
    for place, value in zip(at.tolist(), table[chosen], strict=True):
        if place >= 0:
            values[place] = value
    return _attribute(str(chosen), side, values, several, path)


def _attribute(name: str, side: Modality, values: Sequence[Any], several: bool, path: Path) -> Attribute:
    known = [v for v in values if not _missing(v)]
    if known and not several and all(isinstance(v, int | float) and not isinstance(v, bool) for v in known):
        try:
            numbers = np.array([np.nan if _missing(v) else float(v) for v in values])
        except OverflowError:  # an integer beyond the range of float64
            what = f"column '{name}' has a number beyond 1.8e308"
            raise BadInput(what, where=path, fix="scale the numbers") from None
        finite = numbers[np.isfinite(numbers)]
        return Attribute(name, side, numbers, integer=bool((finite == np.floor(finite)).all()))
    labels = tuple(() if _missing(v) else _labels(v, several) for v in values)
    return Attribute(name, side, labels=labels)


def _labels(value: Any, several: bool) -> tuple[str, ...]:
    if isinstance(value, list | tuple | np.ndarray):
        return tuple(dict.fromkeys(str(v).strip() for v in value))
    text = str(value)
    if several:
        for mark in ";|":
            text = text.replace(mark, ",")
        return tuple(dict.fromkeys(filter(None, map(str.strip, text.split(",")))))
    return (text.strip(),)


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and np.isnan(value))


def _table(path: Path) -> dict[str, list[Any]]:
    """The columns of a table file."""
    name = path.name.removesuffix(".gz")
    if name.endswith((".jsonl", ".ndjson", ".json")):
        return _json_lines(path)
    import pandas as pd

    from ..data.regular import check_file

    check_file(path, "give CSV, TSV, parquet or JSON lines with a header")
    try:
        if name.endswith((".parquet", ".pq")):
            frame = _parquet(path)
            return {str(c): frame[c].astype(object).where(frame[c].notna(), None).tolist() for c in frame.columns}
        separator = "\t" if name.endswith((".tsv", ".txt")) else ","
        require(JSON_BYTES * path.stat().st_size, path)
        # Everything as written: pandas would read a label NA or None as missing, and 01 as 1.
        with path.open("rb") as raw, unpacked(raw, path, JSON_BYTES) as stream:
            frame = pd.read_csv(stream, sep=separator, skipinitialspace=True, dtype=str, keep_default_na=False)
        return {str(c): _typed(str(c), frame[c].tolist()) for c in frame.columns}
    except BadInput:
        raise
    except ImportError:
        raise MissingPackage("parquet needs pyarrow", where=path, fix="pip install 'vsebench[formats]'") from None
    except Exception as error:  # pandas and pyarrow raise anything on damaged files
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        what = f"cannot be read as a table ({first})"
        raise BadInput(what, where=path, fix="give CSV, TSV, parquet or JSON lines with a header") from None


def _parquet(path: Path) -> Any:
    """The data frame of a parquet file."""
    import pyarrow as pa
    import pyarrow.parquet

    from ..data.formats.arrow_tables import parquet_batches

    growth, batches = Growth(path, path.stat().st_size), []
    with pyarrow.parquet.ParquetFile(path) as file:
        for batch in parquet_batches(file, None, path):
            growth.add(2 * batch.nbytes)
            batches.append(batch)
        return pa.Table.from_batches(batches, file.schema_arrow).to_pandas()


def _typed(name: str, texts: Sequence[Any]) -> list[Any]:
    """The values of a column of text: numbers when all are numbers, or say that one is missing; else as written.

    An empty field is a missing value. Ids stay as they are written.
    """
    values = [text.strip() if isinstance(text, str) and text.strip() else None for text in texts]
    known = [text for text in values if text is not None and text.lower() not in _NOT_A_NUMBER]
    if name in ID_COLUMNS or not known or not all(map(_NUMBER.fullmatch, known)):
        return values
    return [None if text is None or text.lower() in _NOT_A_NUMBER else _number(text) for text in values]


def _number(text: str) -> float:
    return int(text) if text.lstrip("+-").isdecimal() and len(text) < 18 else float(text)


def _json_lines(path: Path) -> dict[str, list[Any]]:
    from ..data.textfile import read_text

    records, fix = [], "write one object a line"
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if line.strip():
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise BadInput(f"line {number} is no JSON ({error})", where=path, fix=fix) from None
            if not isinstance(record, dict):
                raise BadInput(f"line {number} is no JSON object", where=path, fix=fix)
            records.append(record)
    names = dict.fromkeys(key for record in records for key in record)
    return {name: [record.get(name) for record in records] for name in names}


def _column(names: list[str], ids_in: str, column: str | None, path: Path) -> str:
    from ..registry import unknown

    others = [n for n in names if n not in ID_COLUMNS]
    if column is not None:
        if column not in names:
            raise unknown("column", column, others, where=str(path))
        return column
    usual = [n for n in others if n.lower() in CATEGORY_COLUMNS]
    if len(usual or others) != 1:
        raise UsageError(f"has columns {', '.join(others) or '(none)'}", where=path, fix="name one with --column NAME")
    return (usual or others)[0]


def _ids(values: Sequence[Any], path: Path) -> Ids:
    if any(_missing(v) for v in values):
        raise BadInput("has a row without an id", where=path, fix="give every row an id")
    ids = [str(int(v)) if isinstance(v, float) and v.is_integer() else str(v).strip() for v in values]
    if len(set(ids)) != len(ids):
        seen: set[str] = set()
        again = next(i for i in ids if i in seen or seen.add(i))  # type: ignore[func-returns-value]
        raise BadInput(f"id {again} is in more than one row", where=path, fix="give every item one row")
    return text_array(ids, "id", path)


def _side(ids: Ids, known: Modality | None, split: Split, path: Path) -> tuple[Modality, Int]:
    """Whether the ids are of images or captions, and their indices in the split, -1 for others."""
    sides: tuple[Modality, ...] = ("image", "caption") if known is None else (known,)
    found = {side: places(split.ids(side).astype(np.str_), ids) for side in sides}
    if not any((at >= 0).any() for at in found.values()):  # maybe the same ids in another spelling
        found = {side: places(canonical(split.ids(side)), canonical(ids)) for side in sides}
    counts = {side: int((at >= 0).sum()) for side, at in found.items()}
    best = max(counts, key=lambda side: counts[side])
    if counts[best] == 0:
        what = (
            f"none of its ids ({len(ids):,}) is one of split '{split.name}' (first: {ids[0] if len(ids) else 'none'})"
        )
        fix = f"use ids such as {split.image_ids[0]} (images) or {split.caption_ids[0]} (captions)"
        raise BadInput(what, where=path, fix=fix)
    if len(sides) == 2 and counts["image"] == counts["caption"]:
        what = "its ids could be of images as well as of captions"
        raise BadInput(what, where=path, fix="call the column image_id or caption_id")
    return best, found[best]
