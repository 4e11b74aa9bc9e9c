"""Entries: one system on one test set, from the three kinds of files, and what is wrong with these files."""

from __future__ import annotations

import csv
import json
import math
import re
import shlex
import statistics
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import vsebench as vb
from vsebench.errors import BadInput, UsageError, VsebenchError

Key = tuple[str, str]  # of a number: metric and direction, which is empty for a sum, or where there is none
LEVELS = {
    "published": "printed in a paper, or published by a project in a file of results; not measured here",
    "submitted": "a report with per-query values; all numbers are recomputed from them",
    "trained here": "trained and evaluated by the reference trainer of this repository: small models, on scenes or on "
    "object annotations, which compare losses with each other and not with the models of papers",
}
DIRECTIONS = ("i2t", "t2i")
COLUMNS = ("table", "line", "row", "model", "setting", "image_input", "benchmark", "metric", "direction", "printed",
           "unit", "note")  # fmt: skip
UNITS = {"percent": "fraction", "fraction": "fraction", "rank": "rank", "number": "number"}  # as printed -> of a value
FAMILIES = {  # titles of tables, in their order on a page; graded metrics are tables by their gains
    "recall": "Recall",
    "precision": "Precision on all relevant items",
    "rank": "Rank of the first relevant item",
    "coherent": "Coherent score, with the relevance of the paper",
    "semantic": "Normalized cumulative semantic score (N@K), with the relevance of the paper",
    "tau": "Kendall's tau, with the relevance of the paper",
    "human": "Pearson correlation with human judgements",
    "captioning": "Captioning",
}
PAPER = "paper:"  # numbers of papers that vsebench cannot name, as the paper does not define its relevance exactly
OF_PAPER = {"CS": "coherent", "NCS": "semantic", "Nsum": "semantic", "Kendall": "tau", "Pearson": "human"}
RECALL = ("gt", "1k", "cxc")  # judgements whose recalls make a table; of others R-P and mAP@R stand beside them
RSUM: Key = ("RSum", "")
SIX = [(f"R@{k}", d) for d in DIRECTIONS for k in (1, 5, 10)]
N_SIX = [(f"paper:NCS@{k}", d) for d in DIRECTIONS for k in (1, 5, 10)]
PARTS = ("published/*.csv", "entries/*.json", "suites/*.json")
ROUNDING = 0.05  # a number that is printed with one decimal may be this far from its value
OWN_PAGES = ("", "index", "claims", "about")  # of no test set
LEVEL = 0.95  # of the intervals of what was trained here
LARGEST = 4 << 20  # bytes of a submitted entry
ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
KEPT = ("vsebench", "started", "python", "packages")  # parts of the provenance of a report that an entry has
INPUTS = {"pixels": "pixels", "regions": "region features", "vectors": "vectors"}


@dataclass(frozen=True)
class Number:
    """A number of an entry: fractions as fractions, with its interval at 95 % and ``n`` queries where they are known.

    ``printed`` is the text in the paper, empty for what was measured or added here; ``doubt`` says what contradicts it
    within its row; ``metric`` is its name in the report of a submitted entry.
    """

    value: float
    unit: str = "fraction"
    interval: tuple[float, float] | None = None
    n: int | None = None
    printed: str = ""
    note: str = ""
    doubt: str = ""
    metric: str = ""


@dataclass(frozen=True)
class Model:
    """What was evaluated; ``setting`` distinguishes it from others of this name, ``reproduce`` is a command."""

    name: str
    setting: str = ""
    image_input: str = ""
    url: str = ""
    description: str = ""
    notes: tuple[str, ...] = ()
    reproduce: str = ""

    def __post_init__(self) -> None:
        for key, value in asdict(self).items():
            texts = value if key == "notes" else [value]
            if not all(isinstance(text, str) and len(text) <= 2000 for text in texts):
                raise UsageError(f"model.{key} is not text, or is longer than 2000 characters", fix="correct it")
        if not self.name.strip():
            raise UsageError("the model has no name", fix="give it a name")
        if self.url and not re.fullmatch(r"https?://[^\s/?#]\S*", self.url):
            raise UsageError(f"'{self.url[:60]}' is not a link", fix="write a link such as https://example.org/model")


@dataclass(frozen=True, eq=False)
class Entry:
    """One system on one test set: ``id`` names its page and file, ``level`` is one of ``LEVELS``.

    ``signature`` is empty if it is not known, as in papers; ``paper`` is a key of ``papers.json``; ``facts`` is the
    provenance, name -> text; submitted entries have their ``report``.
    """

    id: str
    level: str
    model: Model
    benchmark: str
    numbers: Mapping[Key, Number]
    signature: str = ""
    paper: str = ""
    table: str = ""
    row: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    report: vb.Report | None = None


@dataclass(frozen=True)
class Board:
    """The content of a folder: entries with unique ids, what they refer to, and a sentence for each fault."""

    folder: Path
    papers: dict[str, Any] = field(default_factory=dict)
    claims: list[dict[str, Any]] = field(default_factory=list)
    sets: dict[str, dict[str, str]] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)
    suites: dict[str, Any] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


@cache
def facts_of(metric: str) -> tuple[str, str, bool]:
    """The kind of table of a metric, its unit and whether more is better; raises UsageError for an unknown one."""
    if metric.startswith(PAPER):
        stem = re.split(r"[@(]", metric.removeprefix(PAPER))[0]
        return OF_PAPER.get(stem, "captioning"), "", True
    found = vb.parse(metric)
    if str(found) != metric:
        raise UsageError(f"the metric '{metric}' has another canonical name", fix=f"write '{found}'")
    own = "precision" if found.family.group == "recall" and found.view not in RECALL else found.family.group
    return found.view if found.graded else own, found.unit, found.higher_is_better


def page_of(board: Board, benchmark: str, metric: str) -> str:
    """The test set on whose page a number stands: that of its view, else that of the entry."""
    view = metric.partition(":")[0] if ":" in metric else ""
    return next((name for name, one in board.sets.items() if view and one.get("view") == view), benchmark)


def slug(text: str) -> str:
    """A text as part of an id or of the name of a file: ``Table IX`` is ``table-ix``."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def read(folder: Path, recompute: bool = False) -> Board:
    """All entries of a folder; what is wrong with a file becomes a fault, and its entries are left out.

    Args:
        folder: of the leaderboards.
        recompute: also compute the intervals of submitted entries again.

    Raises:
        BadInput: there is no such folder, or papers.json, claims.json or test_sets.json is no JSON.
    """
    check_folder(folder)
    board = Board(folder, *(_json(folder / f"{name}.json") for name in ("papers", "claims", "test_sets")))
    kept: dict[str, Entry] = {}
    for path in (path for part in PARTS for path in sorted(folder.glob(part))):
        name = f"{path.parent.name}/{path.name}"
        with _noting(name, board.faults):
            for entry in _entries_of(path, board, recompute):
                if entry.id in kept:
                    raise BadInput(f"the id '{entry.id}' is also in {board.files[entry.id]}", fix="rename one of them")
                same = [id for id, other in kept.items() if _run(other) == _run(entry) is not None]
                for other in same:  # a run that two suites have is an entry of the later one
                    del kept[other], board.files[other]
                kept[entry.id] = entry
                board.files[entry.id] = name
    board.entries.extend(kept.values())
    with _noting("papers.json or claims.json", board.faults):
        board.faults.extend(_idle(board) if not board.faults else ())
    return board


def check_folder(folder: Path) -> None:
    """Refuse a folder without leaderboards; raises BadInput."""
    for name in ("papers.json", "claims.json", "test_sets.json"):
        if not (folder / name).is_file():
            what = f"there are no leaderboards here: {name} is missing"
            raise BadInput(what, where=folder, fix="pass the folder with --folder, or restore the file")


@contextmanager
def _noting(name: str, faults: list[str]) -> Iterator[None]:
    """What is wrong with a file becomes a fault."""
    try:
        yield
    except VsebenchError as error:
        faults.append(f"{name}: {error.what}\n  fix: {error.fix or 'correct the file'}")
    except (ValueError, TypeError, LookupError, AttributeError, OSError) as error:
        faults.append(f"{name}: is damaged ({type(error).__name__}: {error})\n  fix: correct the file")


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except (ValueError, RecursionError) as error:
        raise BadInput(f"is not valid JSON: {error}", where=path, fix="correct the file") from None


def _entries_of(path: Path, board: Board, recompute: bool) -> Iterable[Entry]:
    if path.suffix == ".csv":
        return _published(path, board.papers, board.sets)
    if path.parent.name == "entries":
        return [submitted(path, recompute)]
    board.suites[path.stem] = suite = _json(path)
    return _trained(suite)


def _run(entry: Entry) -> object:
    """What two entries of the same runs have in common; None of entries that were not trained here."""
    own = entry.benchmark, entry.model.name, entry.model.setting, entry.facts.get("seeds")
    return own if entry.level == "trained here" else None


def _idle(board: Board) -> Iterator[str]:
    """Test sets of one page, and claims and notes of papers that refer to nothing."""
    pages: dict[str, str] = {}
    for entry in board.entries:
        for name in dict.fromkeys(page_of(board, entry.benchmark, metric) for metric, _ in entry.numbers):
            if slug(name) in OWN_PAGES or pages.setdefault(slug(name), name) != name:
                what = f"the page of the test set '{name}' would overwrite another page"
                yield f"{board.files[entry.id]}: {what}\n  fix: rename the test set, and evaluate again"
    for claim in board.claims:
        for name in [n for n in (claim["paper"], *claim.get("entries", ())) if n not in {*board.files, *board.papers}]:
            yield f"claims.json: {claim['claim']}: there is no entry or paper '{name}'\n  fix: correct its id"
    numbers = {(e.paper, page_of(board, e.benchmark, m), facts_of(m)[0]) for e in board.entries for m, _ in e.numbers}
    for key, paper in board.papers.items():
        for note in paper.get("notes", ()):
            if not any(own == key and concerns(note, page, kind) for own, page, kind in numbers):
                what = f"the note '{note['says'][:60]}' applies to no number of the paper"
                yield f"papers.json: {key}: {what}\n  fix: correct its benchmarks and kinds"


def concerns(note: Mapping[str, Any], page: str, kind: str) -> bool:
    """Whether a note of a paper is about numbers of a test set and kind (see ``FAMILIES``)."""
    return page in note.get("benchmarks", (page,)) and kind in note.get("kinds", (kind,))


# Published


def _published(path: Path, papers: Mapping[str, Any], sets: Mapping[str, Any]) -> Iterator[Entry]:
    """The rows of the tables of one paper; lines of the file with the same table and line are one row."""
    if path.stem not in papers:
        raise BadInput(f"the paper '{path.stem}' is not in papers.json", fix="add its citation")
    rows: dict[tuple[str, str], list[dict[str, str]]] = {}
    with path.open(encoding="utf-8", newline="") as stream:
        reader = csv.reader(stream)
        for cells in reader:
            where = f"line {reader.line_num}"
            if len(cells) != len(COLUMNS) or (reader.line_num == 1 and tuple(cells) != COLUMNS):
                what = f"{where} has {len(cells)} cells, but the columns are {','.join(COLUMNS)}"
                raise BadInput(what, fix="write these in every line, and a cell with a comma in quotes")
            record = dict(zip(COLUMNS, cells, strict=True)) | {"where": where}
            rows.setdefault((record["table"], record["line"]), []).append(record)
    del rows["table", "line"]  # the headings
    for (table, line), records in rows.items():
        numbers: dict[Key, Number] = {}
        first = records[0]
        for record in records:
            key = record["metric"], record["direction"]
            where = f"{record['where']}, {' '.join(key).strip()} of '{record['model']}'"
            if not line.isdecimal():
                raise BadInput(f"{where}: its row has the number '{line}'", fix="number the rows of a table from 1")
            if key in numbers:
                raise BadInput(f"{where} occurs twice", fix="remove one, or give the other row another number")
            for name in COLUMNS[2:7]:
                if record[name] != first[name]:
                    what = f"{where}: {name} is '{record[name]}', but '{first[name]}' in {first['where']} of its row"
                    raise BadInput(what, fix="correct it, or give the other row another number")
            if record["benchmark"] not in sets:
                what = f"{where}: the test set '{record['benchmark']}' is unknown"
                raise BadInput(what, fix="correct its name, or add it to test_sets.json")
            numbers[key] = _printed(record, where)
        if RSUM not in numbers and all(key in numbers for key in SIX):
            numbers[RSUM] = Number(float(sum(Decimal(numbers[key].printed) for key in SIX) / 100))
        doubts = contradictions(numbers)
        numbers = {key: replace(number, doubt=doubts.get(key, "")) for key, number in numbers.items()}
        model = Model(first["model"], first["setting"], first["image_input"])
        id = f"{path.stem}-{slug(table)}-{int(line):02d}"
        yield Entry(id, "published", model, first["benchmark"], numbers, "", path.stem, table, first["row"])


def _printed(record: Mapping[str, str], where: str) -> Number:
    """A number as printed; of a fraction the text is that of the percentage with the same digits."""
    text, unit = record["printed"], record["unit"]
    own = facts_of(record["metric"])[1]
    if not re.fullmatch(r"-?\d+(\.\d+)?", text) or unit not in UNITS or own not in ("", UNITS[unit]):
        fix = f"write the number as printed, and one of the units {', '.join(UNITS)}"
        raise BadInput(f"{where} is '{text[:40]}' in the unit '{unit}'", fix=fix)
    value = Decimal(text) / 100 if unit == "percent" else Decimal(text)
    sums = record["metric"].partition("(")[0].removeprefix(PAPER) in ("RSum", "Nsum")
    if UNITS[unit] == "fraction" and not 0 <= value <= (6 if sums else 1):
        raise BadInput(f"{where} is {text}, but a {unit} was expected", fix="correct the number or its unit")
    whole = sums or record["metric"].startswith(PAPER)
    if record["direction"] not in (*DIRECTIONS, *([""] * whole)):
        raise BadInput(f"{where}: the direction is '{record['direction']}'", fix="write i2t, t2i, or nothing for a sum")
    shown = f"{Decimal(text).scaleb(2):f}" if unit == "fraction" else text
    return Number(float(value), UNITS[unit], printed=shown, note=record["note"])


def contradictions(numbers: Mapping[Key, Number]) -> dict[Key, str]:
    """What does not add up in a row, a sentence a number.

    A sum is compared with its six parts; each printed number may be wrong by half a unit of its last digit. R@1, R@5
    and R@10 of a direction must not fall.
    """
    found: dict[Key, str] = {}
    for total, six in ((RSUM, SIX), (("paper:Nsum", ""), N_SIX)):
        if total in numbers and all(key in numbers for key in six):
            added, said = 100 * sum(numbers[key].value for key in six), 100 * numbers[total].value
            if abs(added - said) > 7 * ROUNDING + 1e-6:
                found[total] = f"the six values of the row add up to {added:.1f}, but {said:.1f} is printed"
    for direction in DIRECTIONS:
        for small, large in ((1, 5), (5, 10)):
            less, more = (numbers.get((f"R@{k}", direction)) for k in (small, large))
            if less is not None and more is not None and more.value < less.value:
                found[f"R@{large}", direction] = (
                    f"R@{large} is {100 * more.value:.1f}, less than R@{small} of the same row, {100 * less.value:.1f}"
                )
    return found


# Submitted


def submitted(path: Path, recompute: bool = False) -> Entry:
    """The entry of a report with ``model``; raises BadInput if its numbers do not follow from its queries."""
    _check_id(path.stem)
    report, fields = vb.load(path, recompute=recompute), _json(path).get("model")
    if path.stat().st_size > LARGEST:
        what = f"the entry takes {path.stat().st_size / 1e6:.1f} MB; the limit is {LARGEST / 1e6:.1f} MB"
        raise UsageError(what, fix="evaluate fewer metrics, such as --metrics R@1,R@5,R@10,RSum")
    if report.lists or not report.provenance.keys() <= {*KEPT, "added"}:
        raise BadInput("has lists or machine details", fix="make it with python -m leaderboards add RESULT.json")
    signed = re.search(r"(?:^|\|)split:([^|]*)#", report.signature)
    if signed is not None and signed[1] != report.split:
        what = f"its test set is '{report.split}', but its signature says '{signed[1]}'"
        raise BadInput(what, fix="make the entry again: python -m leaderboards add RESULT.json")
    if report.items is None:
        what = "has no per-query values to recompute the numbers from"
        raise BadInput(what, fix="write the report again, with its per-query values")
    if (
        not isinstance(fields, dict)
        or not fields.keys() <= Model.__dataclass_fields__.keys()
        or "name" not in fields
        or not isinstance(fields.get("notes", []), list)
    ):
        raise BadInput(f"model is {fields!r:.80}", fix="make the entry again: python -m leaderboards add RESULT.json")
    model = Model(**{**fields, "notes": tuple(fields.get("notes", ()))})
    days = (("evaluated on", "started"), ("added on", "added"))
    said = {words: str(report.provenance[key])[:10] for words, key in days if key in report.provenance}
    numbers: dict[Key, Number] = {
        (str(r.metric), r.direction or ""): Number(float(r.value), r.unit, r.interval, r.n, metric=str(r.metric))
        for r in report.results
    }
    return Entry(
        path.stem, "submitted", model, report.split, numbers, report.signature, report=report,
        facts={"evaluated by": f"vsebench {report.provenance.get('vsebench', 'of an unknown version')}", **said},
    )  # fmt: skip


def _check_id(id: str) -> None:
    if not ID.fullmatch(id):
        fix = "use up to 100 lower-case letters, digits, '.', '_' and '-', as in vsepp-coco-5k"
        raise BadInput(f"the id '{id:.110}' is not a valid entry id", fix=fix)


def add(result: Path, model: Model, folder: Path, id: str = "", replaces: bool = False, today: str = "") -> Entry:
    """Write the entry of a saved report into ``entries/ID.json``: the report without lists and machine, and ``model``.

    Raises:
        BadInput: no report, damaged, or without per-query values or intervals.
        UsageError: an entry of this id is there, or it is larger than 4 MiB.
    """
    check_folder(folder)
    report, document = vb.load(result), _json(result)
    again = f"evaluate again: vsebench eval FILE -o {shlex.quote(str(result))}"
    if report.intervals is None or report.items is None:
        raise BadInput("has no per-query values or no intervals", where=result, fix=f"{again} (95 % is the default)")
    id = id or slug(f"{model.name[:60]} {model.setting[:40]} {report.split}")[:100]
    _check_id(id)
    target = folder / "entries" / f"{id}.json"
    if target.is_symlink() or (target.exists() and (target.samefile(result) or not replaces)):
        raise UsageError("already exists", where=target, fix="choose another --id, or add --replace")
    command = report.provenance.get("command") or []
    words = [re.sub(r"(?<![^=,:])[~.]{0,2}/[^=,]*/", "", str(word)) for word in command]  # without folders
    words[:1] = ["vsebench"] if words and words[0].endswith("__main__.py") else words[:1]
    model = replace(model, reproduce=model.reproduce or shlex.join(words))
    document.pop("lists", None)
    document["provenance"] = {k: v for k, v in document["provenance"].items() if k in KEPT} | {"added": today}
    document["model"] = {key: value for key, value in asdict(model).items() if value}
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n"
    target.parent.mkdir(parents=True, exist_ok=True)
    new = target.with_suffix(".new")
    try:
        new.write_text(text, encoding="utf-8", errors="surrogatepass")
        checked = replace(submitted(new, recompute=True), id=target.stem)
        new.replace(target)
    finally:
        new.unlink(missing_ok=True)
    return checked


# Trained here


def _trained(suite: Mapping[str, Any]) -> Iterator[Entry]:
    """One entry a data set and variant of a suite: means over the seeds."""
    if suite.get("schema") != "vsebench/suite/1":
        raise BadInput("is not a suite summary", fix="copy suite.json from the folder of the suite again")
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for run in suite["runs"].values():
        groups.setdefault((run["data"], run["variant"]), []).append(run)
    for (data, variant), runs in groups.items():
        runs = sorted(runs, key=lambda run: run["seed"])
        numbers = {key: _over_seeds(key, found) for key, found in _results(runs).items()}
        known = all(number.interval is not None for number in numbers.values())
        why = "one seed gives no interval" if len(runs) == 1 else "the spread over test images is not known"
        first, trained_on = runs[0], runs[0]["config"].get("data", {})
        share, features = trained_on.get("first", 1), str(trained_on.get("features"))
        setting = first.get("setting", f"{100 * share:.3g} % of training captions" if share < 1 else "")
        image_input = first.get("image_input", INPUTS.get(features, INPUTS["regions"]))  # scenes are regions
        again = f"python -m studies.suites {suite['suite']} --losses {first['loss']} --out runs/suite-{suite['suite']}"
        facts = {
            "suite": suite["suite"], "data": data, "loss": first["loss"],
            "seeds": ", ".join(str(run["seed"]) for run in runs),
            "intervals": f"95 %, over {len(runs)} seeds and the test images as queries" if known else f"none: {why}",
            "epochs": ", ".join(dict.fromkeys(str(run["epochs"]) for run in runs)),
            "training time": f"{sum(run['seconds'] for run in runs):.0f} s for {len(runs)} run{'s' * (len(runs) > 1)}",
            "versions": ", ".join(f"{name} {version}" for name, version in suite["versions"].items()),
            "Python": suite["python"], "begun": suite["started"],
            "machine": ", ".join(f"{key} {value}" for key, value in suite["machine"].items()),
        }  # fmt: skip
        yield Entry(
            slug(f"{suite['suite']} {data} {variant}".replace("%", "pc")), "trained here",
            Model(variant, setting, image_input, reproduce=first.get("reproduce", again),
                  description=f"trained by vsebench train-reference with the loss {first['loss']}",
                  notes=(f"Means of {len(runs)} seeds.",) if len(runs) > 1 else ()),
            _test_set(first), numbers, first["signature"], facts=facts,
        )  # fmt: skip


def _results(runs: list[dict[str, Any]]) -> dict[Key, list[tuple[float, float | None]]]:
    """What all runs have, a value and its standard error over test images for each run."""
    found: dict[Key, list[tuple[float, float | None]]] = {}
    for run in runs:
        for one in run["results"]:
            found.setdefault((one["metric"], one["direction"] or ""), []).append((one["value"], one["spread"]))
    return {key: numbers for key, numbers in found.items() if len(numbers) == len(runs)}


def _over_seeds(key: Key, found: list[tuple[float, float | None]]) -> Number:
    """The mean over seeds, with its interval (95 %) over seeds and test images; None if one of them is not known.

    The variance is that of the seeds, divided by their number, and that over the test images, which is not divided, as
    they are the same for all seeds. What differs at random between images and seeds together is in both, so that an
    interval is rather too wide. The quantile is that of Student's t with the degrees of freedom of Welch and
    Satterthwaite, those of the images taken as infinite. A fraction has its ends inside its range.
    """
    from scipy import stats

    values, spreads = [value for value, _ in found], [spread for _, spread in found if spread is not None]
    unit, metric, mean = facts_of(key[0])[1], vb.parse(key[0]), statistics.fmean(values)
    if len(values) < 2 or len(spreads) < len(values):
        return Number(mean, unit)
    of_seeds = statistics.variance(values) / len(values)
    total = of_seeds + sum(spread**2 for spread in spreads) / len(spreads)
    ratio = total / of_seeds if of_seeds else math.inf
    half = float(stats.t.ppf((1 + LEVEL) / 2, (len(values) - 1) * ratio * ratio)) * math.sqrt(total)
    low, high = metric.family.low, 2 * len(metric.parts()) or metric.family.high or math.inf
    return Number(round(mean, 6), unit, (max(low, round(mean - half, 6)), min(high, round(mean + half, 6))))


def _test_set(run: Mapping[str, Any]) -> str:
    """The test set of a run; that of images alone has the name of its data."""
    if "|labels:" in run["signature"]:
        return f"{run['data']}-images"
    split = re.search(r"split:([^|#]+)", run["signature"])
    return split[1] if split else str(run["data"])
