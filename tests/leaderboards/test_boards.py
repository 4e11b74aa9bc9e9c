"""Leaderboards: the three kinds of files as entries, tables with ranks, the site, README and CSV."""

from __future__ import annotations

import csv
import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import vsebench
from leaderboards import __main__ as command
from leaderboards import entries
from leaderboards.entries import Entry, Model, Number, add, facts_of, read
from leaderboards.tables import Ranking, numbers, rankings, rules
from tests import leaderboard_worlds as worlds
from tests.leaderboard_worlds import BOARD, edit
from vsebench.errors import BadInput, UsageError
from vsebench.results.packed import pack

pytest.importorskip("jinja2", reason="jinja2 is not installed")


def run(*words: object) -> int:
    return command.main([str(word) for word in words])


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    return worlds.three_levels(tmp_path_factory.mktemp("source"))


@pytest.fixture
def folder(source, tmp_path) -> Path:
    """A copy of the folder with all three levels."""
    return Path(shutil.copytree(source, tmp_path / "leaderboards"))


# Files


@pytest.mark.parametrize(
    "change",
    [
        {"signature": "none"}, {"model": {"name": ""}}, {"model": {"url": "javascript:alert(1)"}},
        {"model": {"nam": "x"}}, {"model": None}, {"schema": "vsebench/entry/1"}, {"extra": 1}, {"split": "f30k"},
        {"per_query": None},
        {"results": []},
    ],
)  # fmt: skip
def test_a_wrong_field_of_an_entry_is_named(folder, change, pinned):
    path = folder / "entries" / "noise-1-4-custom.json"
    edit(path, lambda d: [d[k].update(v) if isinstance(v, dict) else d.update({k: v}) for k, v in change.items()])
    (fault,) = read(folder).faults
    assert fault.startswith("entries/noise-1-4-custom.json: ")
    pinned(fault)


def test_tampered_numbers_are_refused(folder, pinned):
    """With both values; an interval where it is computed again."""
    path = folder / "entries" / "noise-1-4-custom.json"
    report, before = vsebench.load(path), path.read_bytes()
    low, high = report["R@1", "t2i"].interval
    flipped = report["R@1", "i2t"].per_query.copy()
    flipped[np.flatnonzero(flipped == 0)[0]] = 1.0
    for change in (
        lambda d: d["results"][0].update(value=d["results"][0]["value"] + 1e-6),
        lambda d: d["results"][1].update(interval=[low - 0.01, high]),
        lambda d: d["results"][3].update(interval=None),
        lambda d: d["per_query"]["columns"][0].update(values=pack(flipped)),
    ):
        edit(path, change)
        (fault,) = read(folder, True).faults
        pinned(fault)
        path.write_bytes(before)
    edit(path, lambda d: d["results"][1].update(interval=[low - 0.01, high]))
    assert read(folder).faults == []


@pytest.mark.parametrize(
    ("line", "field", "text"),
    [(0, "printed", "fifty"), (0, "printed", "101.0"), (0, "metric", "Nope"), (0, "metric", "r@1"),
     (0, "direction", "up"), (0, "unit", "rank"), (0, "unit", "%"), (1, "metric", "R@1"), (0, "line", "one"),
     (1, "benchmark", "coco-1k"), (1, "model", "Firts"), (0, "direction", "")],
)  # fmt: skip
def test_a_wrong_line_of_a_table_is_named(tmp_path, line, field, text, pinned):
    lines = worlds.records()
    lines[line][field] = text
    (fault,) = read(worlds.folder(tmp_path, lines)).faults
    assert fault.startswith("published/doe2020thing.csv: ")
    pinned(fault)


def test_files_that_are_damaged_or_unknown_are_faults(folder, pinned):
    (folder / "published" / "x2020.csv").write_text("a,b\n", encoding="utf-8")
    (folder / "published" / "doe2020thing.csv").write_text("a,b\n", encoding="utf-8")
    (folder / "suites" / "small.json").write_text("{", encoding="utf-8")
    (folder / "suites" / "other.json").write_text('{"schema": "vsebench/suite/1"}', encoding="utf-8")
    (folder / "entries" / "A b.json").write_text("{}", encoding="utf-8")
    for fault in read(folder).faults:
        pinned(fault)


def test_printed_numbers_become_fractions(tmp_path):
    first, second = read(worlds.folder(tmp_path)).entries
    assert [(*key, v.value, v.printed) for key, v in first.numbers.items()][-2:] == [
        ("RSum", "", 3.705, "370.5"), ("MedR", "i2t", 1.5, "1.5"),
    ]  # fmt: skip
    assert second.numbers["R@1", "i2t"].note == "a remark" and second.numbers["RSum", ""].value == 3.722
    assert (first.id, second.model.setting) == ("doe2020thing-table-1-01", "10 %")


def test_contradictions_of_a_row(tmp_path):
    lines = worlds.records()
    for line, cell in zip(lines, ["50.0", "70.0", "60.0", "40.0", "60.0", "70.0", "370.5"], strict=False):
        line["printed"] = cell
    first, second = read(worlds.folder(tmp_path, lines)).entries
    assert {key: v.doubt for key, v in first.numbers.items() if v.doubt} == {
        ("RSum", ""): "the six values of the row add up to 350.0, but 370.5 is printed",
        ("R@10", "i2t"): "R@10 is 60.0, less than R@5 of the same row, 70.0",
    }
    assert not any(v.doubt for v in second.numbers.values())


def test_the_tables_of_the_papers():
    board = read(BOARD, True)
    rows = [e for e in board.entries if e.level == "published"]
    assert board.faults == [] and len({(e.paper, e.table) for e in rows}) == 23
    assert sum(bool(v.printed) for e in rows for v in e.numbers.values()) == 1681 + 121 * 12
    doubts = [
        (e.paper, e.model.name, e.benchmark, key, v.doubt) for e in rows for key, v in e.numbers.items() if v.doubt
    ]
    assert doubts == [
        ("biten2022semantic", "CVSE+SAM", "f30k", ("paper:Nsum", ""),
         "the six values of the row add up to 369.0, but 387.9 is printed"),
        ("faghri2018vsepp", "Embedding Net", "coco-1k", ("R@10", "i2t"),
         "R@10 is 69.4, less than R@5 of the same row, 79.3"),
    ]  # fmt: skip


def test_the_tables_are_those_of_the_collected_numbers(real_data):
    """Every number of the collection is in the files, and nothing else; OpenCLIP's are those of its file times 100."""
    source = real_data.parent / "spec" / "published_results.csv"
    if not source.is_file():
        pytest.skip(f"{source} is not there")
    with source.open(encoding="utf-8", newline="") as stream:
        lines = sorted((line["table"], line["model"], line["value"]) for line in csv.DictReader(stream))
    published = [e for e in read(BOARD).entries if e.level == "published"]
    found = [
        (e.paper, e.table, e.model, e.benchmark, key, v) for e in published for key, v in e.numbers.items() if v.printed
    ]
    assert sorted((t, m.name, v.printed) for p, t, m, _, _, v in found if not p.startswith("ilharco")) == lines
    columns = {("f30k", "i2t"): "Flickr text", ("f30k", "t2i"): "Flickr image",
               ("coco-5k", "i2t"): "MSCOCO text", ("coco-5k", "t2i"): "MSCOCO image"}  # fmt: skip
    with (real_data / "published_results" / "openclip_retrieval_results.csv").open(newline="") as stream:
        wanted = {
            (line["name"], line["pretrained"], benchmark, f"R@{k}", way): line[f"{words} retr. R@{k}"]
            for line in csv.DictReader(stream) for (benchmark, way), words in columns.items() for k in (1, 5, 10)
        }  # fmt: skip
    own = {(m.name, m.setting, b, *key): v for p, _, m, b, key, v in found if p.startswith("ilharco")}
    assert own.keys() == wanted.keys()
    for key, v in own.items():
        assert v.value == float(wanted[key]) and v.printed.replace(".", "").lstrip("0") == wanted[key].replace(
            ".", ""
        ).lstrip("0")


# Submitted


def test_a_submission_is_computed_again(source):
    (entry,) = [e for e in read(source, True).entries if e.id == "noise-1-4-custom"]
    report = vsebench.load(source / "entries" / f"{entry.id}.json")
    assert entry.numbers["R@1", "t2i"].value == pytest.approx(report["R@1", "t2i"].per_query.sum() / 300, abs=1e-12)
    recalls = [entry.numbers[f"R@{k}", d].value for k in (1, 5, 10) for d in ("i2t", "t2i")]
    assert entry.numbers["RSum", ""].value == pytest.approx(math.fsum(recalls), abs=1e-12)
    assert entry.facts["evaluated by"] == f"vsebench {vsebench.__version__}"


def test_add_refuses(tmp_path, folder, refuses, monkeypatch):
    report, model = tmp_path / "A.json", Model("A model")
    worlds.report().save(report)
    added = folder / "entries" / f"{add(report, model, folder).id}.json"
    refuses(UsageError, add, report, model, folder)
    assert add(report, model, folder, replaces=True)
    refuses(UsageError, add, added, model, folder, replaces=True)  # its own input
    kept = tmp_path / "thesis.json"
    added.rename(kept)
    before = kept.read_bytes()
    added.symlink_to(kept)
    refuses(UsageError, add, report, model, folder, replaces=True)
    assert kept.read_bytes() == before
    for change in ({"per_query": None, "parts": None}, {"intervals": None}):
        bare = tmp_path / "bare.json"
        worlds.report().save(bare)
        if "per_query" in change:
            bare.write_text(worlds.report().to_json(per_query=False))
        else:
            edit(bare, lambda d, change=change: d.update(change))
        refuses(BadInput, add, bare, model, folder, "other")
    refuses(UsageError, Model, "M", url="example.org")
    refuses(UsageError, Model, " ")
    refuses(UsageError, Model, "M", setting="x" * 2001)
    refuses(BadInput, add, report, model, folder, "../x")
    monkeypatch.setattr(entries, "LARGEST", 1000)
    refuses(UsageError, add, report, Model("large"), folder)
    assert not (folder / "entries" / "other.json").exists() and not list(folder.rglob("*.new"))


def test_a_report_with_lists_is_an_entry_without_them(tmp_path, folder):
    scores = np.repeat(np.eye(12), 3, axis=1) + 0.5 * np.random.default_rng(0).standard_normal((12, 36))
    report = vsebench.evaluate(
        scores=scores, captions_per_image=3, metrics="R@1,R@5", lists=5, resamples=50, trust=True
    )
    report.save(str(tmp_path / "A.json"))
    kept = vsebench.load(folder / "entries" / f"{add(tmp_path / 'A.json', Model('lists'), folder).id}.json")
    assert report.lists and not kept.lists and kept["R@1", "t2i"].value == report["R@1", "t2i"].value


def test_commands(tmp_path, folder, capsys, pinned):
    worlds.report().save(tmp_path / "A.json")
    where = "--folder", folder
    assert run("add", tmp_path / "A.json", "--name", "B", "--note", "n", "--image-input", "pixels", *where) == 0
    assert "b-custom.json" in capsys.readouterr().out
    assert json.loads((folder / "entries" / "b-custom.json").read_text())["model"]["notes"] == ["n"]
    assert run("add", tmp_path / "A.json", "--name", "B", "--url", "x", *where) == 2
    pinned(capsys.readouterr().err)
    assert run("validate", *where) == 0
    pinned(capsys.readouterr().err)
    edit(folder / "entries" / "b-custom.json", lambda d: d["results"][1]["interval"].reverse())
    assert run("validate", *where) == run("build", "--out", tmp_path / "site", *where) == 1
    assert not (tmp_path / "site").exists() and "entries/b-custom.json: " in capsys.readouterr().out
    assert run("validate", "--folder", tmp_path) == 3
    pinned(capsys.readouterr().err)


# Trained here


def test_means_over_seeds(tmp_path):
    folder, suite = worlds.folder(tmp_path), worlds.suite()
    worlds.write(folder / "suites" / "small.json", suite)
    (entry,) = [e for e in read(folder).entries if e.id == "small-scenes-10k-mh"]
    values = [run["results"][0]["value"] for run in suite["runs"].values() if run["variant"] == "mh"]
    of_seeds = np.var(values, ddof=1) / 3
    total = of_seeds + 0.01**2  # the same images for all seeds
    half = stats.t.ppf(0.975, 2 * (total / of_seeds) ** 2) * math.sqrt(total)
    found = entry.numbers["R@1", "i2t"]
    assert found.value == pytest.approx(np.mean(values), abs=1e-6)
    assert found.interval == pytest.approx((np.mean(values) - half, np.mean(values) + half), abs=2e-6)
    same = entry.numbers["RSum", ""].interval  # no variance of the seeds
    assert same == pytest.approx((1.5 - 1.959964 * 0.01, 1.5 + 1.959964 * 0.01), abs=2e-6)
    assert entry.benchmark == "scenes-10k-test" and entry.numbers["R@1", "t2i"].value < found.value
    assert entry.facts["intervals"] == "95 %, over 3 seeds and the test images as queries"
    worlds.write(folder / "suites" / "small.json", worlds.suite(spread=0.5))
    (entry,) = [e for e in read(folder).entries if e.id == "small-scenes-10k-mh"]
    assert entry.numbers["R@1", "i2t"].interval == (0.0, 1.0), "an interval stays in the range of its metric"


def test_runs_that_two_suites_have_are_one_entry(tmp_path):
    for name in ("ablations", "small"):
        worlds.write(worlds.folder(tmp_path) / "suites" / f"{name}.json", worlds.suite() | {"suite": name})
    found = [e.id for e in read(tmp_path).entries if e.level == "trained here"]
    assert found and all(name.startswith("small-") for name in found)
    worlds.write(tmp_path / "suites" / "ablations.json", worlds.suite(spread=0.5) | {"suite": "ablations"})
    assert [e.id for e in read(tmp_path).entries if e.level == "trained here"] == found, "made again, they are the same"


@pytest.mark.parametrize("suite", [worlds.suite(seeds=(0,)), worlds.suite(spread=None)])
def test_without_both_sources_of_error_there_is_no_interval(tmp_path, suite):
    worlds.write(worlds.folder(tmp_path) / "suites" / "small.json", suite)
    board = read(tmp_path)
    assert {v.interval for e in board.entries for v in e.numbers.values()} == {None}
    notes = {note for one in rankings(board) for note in one.table.notes if note.startswith("No ranks")}
    why = "one seed gives no interval" if len(suite["seeds"]) == 1 else "the spread over test images is not known"
    assert notes == {f"No ranks: {why}."}


def test_what_is_unusual_in_a_run_is_named_and_its_command_is_one():
    found = {e.id: e.model for e in read(BOARD).entries if e.level == "trained here"}
    assert found["small-coco-objects-mh"].setting == "object labels, 25 % of training captions"
    assert found["small-scenes-10k-sam-3pc"].setting == "3 % of training captions"
    assert found["small-scenes-10k-mh"].setting == ""
    assert found["small-scenes-10k-mh"].reproduce == "python -m studies.suites small --losses mh --out runs/suite-small"
    assert found["small-coco-objects-mh"].reproduce.startswith(
        "vsebench train-reference --loss mh --data coco-objects "
    )
    of_objects = [model for id, model in found.items() if "coco-objects" in id]
    assert {model.image_input for model in of_objects} == {"object annotations"} and len(of_objects) == 15


# Tables


def entry(name: str, value: float, signature: str, interval=None, report=None) -> Entry:
    values = {("R@1", "i2t"): Number(value, interval=interval, metric="R@1")}
    return Entry(name, "trained here", Model(name), "b", values, signature, facts={"suite": "s"}, report=report)


def tables(*found: Entry) -> list[Ranking]:
    return rankings(entries.Board(Path(), entries=list(found)))


def column(one: Ranking, heading: str) -> list[str]:
    at = [i for i, c in enumerate(one.table.columns) if c.heading == heading]
    return [row[i].text for row in one.table.rows for i in at[:1]]


def test_entries_of_other_protocols_have_separate_tables():
    base = "vsebench:0.1.0|split:b#1|score:dot|ties:index"
    names = {
        "a": base, "b": base.replace("dot", "cosine"), "c": base.replace("index", "optimistic"),
        "e": base.replace("0.1.0", "0.2.0"),
    }  # fmt: skip
    found = tables(*(entry(n, 0.5, s) for n, s in names.items()))
    assert [{line[0].id for line in t.lines} for t in found] == [{"a", "b", "e"}, {"c"}]
    assert "Protocol: split:b#1|ties:index" in found[0].table.notes
    assert "Evaluated by different versions of vsebench: 0.1.0, 0.2.0." in found[0].table.notes
    assert [t.table.title for t in found] == ["Recall (ties index)", "Recall (ties optimistic)"]


def test_judgements_of_other_metrics_do_not_separate_entries():
    signature = "split:b#1|eccv:x#1|captions:#1|cider:tokens=ptb|normalise:csls,k=4|ties:index|judge:own#12"
    numbers = {("R@1", "i2t"): Number(0.5), ("eccv:R@1", "i2t"): Number(0.5), ("cider:NCS@5", "i2t"): Number(0.5),
               ("judge:R@1", "i2t"): Number(0.5)}  # fmt: skip
    found = Entry("a", "submitted", Model("a"), "b", numbers, signature)
    assert rules(found, "R@1") == "normalise:csls,k=4|split:b#1|ties:index"
    assert rules(found, "eccv:R@1") == "eccv:x#1|normalise:csls,k=4|split:b#1|ties:index"
    assert rules(found, "cider:NCS@5") == "captions:#1|cider:tokens=ptb|normalise:csls,k=4|split:b#1|ties:index"
    assert rules(found, "judge:R@1") == "judge:own#12|normalise:csls,k=4|split:b#1|ties:index"


def test_ranks_of_intervals_that_overlap_are_shared():
    made = [(0.9, (0.88, 0.92)), (0.87, (0.85, 0.89)), (0.83, (0.80, 0.86)), (0.5, (0.4, 0.6))]
    (found,) = tables(*(entry(f"e{i}", v, "split:b", ends) for i, (v, ends) in enumerate(made)))
    assert column(found, "rank") == ["1", "1", "2", "4"]
    less_certain = [(0.85, (0.83, 0.87)), (0.8, (0.79, 0.81)), (0.78, (0.6, 0.9))]
    (found,) = tables(*(entry(f"e{i}", v, "split:b", ends) for i, (v, ends) in enumerate(less_certain)))
    assert column(found, "rank") == ["1", "2", "1"] and any("wide interval" in note for note in found.table.notes)


def test_a_table_has_ranks_where_most_rows_have_an_interval():
    made = [(0.9, (0.88, 0.92)), (0.87, None), (0.83, (0.80, 0.86)), (0.8, None), (0.7, None)]
    (found,) = tables(*(entry(f"e{i}", v, "split:b", ends) for i, (v, ends) in enumerate(made[:4])))
    assert column(found, "rank") == ["1", "—", "2", "—"]
    (found,) = tables(*(entry(f"e{i}", v, "split:b", ends) for i, (v, ends) in enumerate(made)))
    assert column(found, "rank") == [] and any(
        note.startswith("No ranks: 2 of 5 rows have") for note in found.table.notes
    )
    coco = next(one for one in rankings(read(BOARD)) if one.page == "coco-5k")
    assert column(coco, "rank") == [] and any("compare them with each other" in note for note in coco.table.notes)


def test_pairs_with_the_queries_of_the_same_images_are_tested(source):
    """By a sign-flip test over images, computed here; the others by their intervals, which all overlap."""
    reports = {name: vsebench.load(source / "entries" / f"noise-{name}-custom.json") for name in ("1-4", "1-5", "2-2")}
    totals = {}
    for name, report in reports.items():
        both = report["R@1", "i2t"].per_query
        totals[name] = both
    rng = np.random.default_rng(0)

    def p(a: np.ndarray, b: np.ndarray) -> float:
        d = a - b
        flips = rng.choice([-1, 1], (20_000, len(d))) @ d
        return float((np.abs(flips) >= abs(d.sum()) - 1e-9).mean())

    wide = (0.0, 1.0)
    made = [entry(n, r["R@1", "i2t"].value, "split:b", wide, report=r) for n, r in reports.items()]
    (found,) = tables(*made, entry("unpaired", 0.01, "split:b", wide))
    expected = {
        n: 1 + sum(totals[o].mean() > totals[n].mean() and p(totals[o], totals[n]) <= 0.05 for o in totals)
        for n in totals
    }
    assert expected["2-2"] == 3, "the world has differences that are found"
    named = dict(zip(column(found, "model"), column(found, "rank"), strict=True))
    assert named == {n: str(rank) for n, rank in expected.items()} | {"unpaired": "1"}


def test_a_pair_is_tested_by_the_metric_that_the_page_shows(tmp_path):
    """On the page of a view ``R@1`` is that of its judgements, in which the systems change places."""
    folder, n = worlds.folder(tmp_path), 40
    worlds.write(folder / "test_sets.json", {"coco-5k": {}, "custom": {}, "mine": {"view": "mine"}})
    mine = {"mine": {"i2t": {i: [(i + 1) % n] for i in range(n)}}}
    for name, shift in (("truth", 0), ("next", 1)):
        scores = np.roll(np.eye(n, dtype=np.float32), shift, axis=1) + np.linspace(0, 0.1, n, dtype=np.float32)
        options = {"captions_per_image": 1, "judgements": mine, "resamples": 50, "trust": True}
        vsebench.evaluate(scores=scores, metrics="R@1,mine:R@1", **options).save(tmp_path / "R.json")
        add(tmp_path / "R.json", Model(name), folder)
    own, judged = (t for t in rankings(read(folder)) if t.page in ("custom", "mine"))
    assert dict(zip(column(own, "model"), column(own, "rank"), strict=True)) == {"truth": "1", "next": "2"}
    assert dict(zip(column(judged, "model"), column(judged, "rank"), strict=True)) == {"truth": "2", "next": "1"}


def test_notes_of_papers_stand_where_their_numbers_are(tmp_path):
    lines = worlds.records()
    for line in lines[8:]:
        line["benchmark"] = "coco-1k"
    folder = worlds.folder(tmp_path, lines)

    def noted(**of) -> list[tuple[str, str]]:
        papers = json.loads(json.dumps(worlds.PAPERS))
        papers["doe2020thing"]["notes"] = [{"says": "beware", **of}]
        worlds.write(folder / "papers.json", papers)
        return [(t.page, t.family) for t in rankings(read(folder)) if "Thing: beware." in t.table.notes]

    assert noted() == [("coco-5k", "recall"), ("coco-5k", "rank"), ("coco-1k", "recall")]
    assert noted(benchmarks=["coco-1k"]) == [("coco-1k", "recall")]
    assert noted(kinds=["rank"]) == [("coco-5k", "rank")] and read(folder).faults == []
    assert noted(benchmarks=["coco-1k"], kinds=["rank"]) == []
    (fault,) = read(folder).faults
    assert fault.startswith("papers.json: doe2020thing: ")


def test_a_metric_stands_in_the_table_of_its_group():
    """As it declares; a recall on judgements beyond the captions stands beside the precision."""
    groups = [facts_of(name)[0] for name in ("R@1", "RSum", "MRR", "MedR", "eccv:MRR", "eccv:R@1", "1k:R@1", "R-P")]
    assert groups == ["recall", "recall", "rank", "rank", "rank", "precision", "recall", "precision"]
    assert [facts_of(name)[0] for name in ("eccv:mAP@R", "cider:NCS@5", "paper:SPICE")] == [
        "precision",
        "cider",
        "captioning",
    ]


def test_rows_that_papers_repeat_are_one(tmp_path):
    found = rankings(read(worlds.folder(tmp_path, [*worlds.records(), *worlds.records("Table 2")[:8]])))[0]
    assert column(found, "model") == ["Second", "First"]
    assert [row[-1].aside for row in found.table.rows] == ["table 1", "tables 1, 2"]


def test_best_and_second_are_marked_and_digits_aligned():
    cells = numbers([Number(v) for v in (0.5, 0.7, 0.7, 0.6)], True)
    assert [c.best for c in cells] == ["", "b", "b", "u"] and [c.best for c in numbers([Number(0.5)], True)] == [""]
    texts = [c.text for c in numbers([Number(1.0, "rank", printed=text) for text in ("40", "1.5", "2.25")], None)]
    assert texts == ["40\u2008\u2007\u2007", "1.5\u2007", "2.25"]
    nsum = next(t for t in rankings(read(BOARD)) if (t.page, t.family) == ("f30k", "semantic"))
    (cell,) = [cell for row in nsum.table.rows for cell in row if cell.text.strip() == "387.9"]
    assert (cell.mark, cell.best) == ("†", "")
    assert "† CVSE+SAM: the six values of the row add up to 369.0, but 387.9 is printed." in nsum.table.notes


def test_a_submission_stands_in_the_table_of_papers_where_it_follows_their_protocol(tmp_path, coco):
    """And in another one where it does not; the mean of five folds stands where papers call it by its name alone."""
    lines = worlds.records()
    folder = worlds.folder(
        tmp_path / "b", [*lines, *({**line, "line": "3", "benchmark": "coco-1k"} for line in lines[:8])]
    )
    rng = np.random.default_rng(0)
    images = rng.standard_normal((5000, 8)).astype(np.float32)
    texts = images[coco.image_of] + rng.standard_normal((25_000, 8)).astype(np.float32)
    for name, ties in (("ours", "index"), ("other", "expected")):
        made = vsebench.evaluate(images, texts, split=coco, metrics="R@1,1k:R@1", resamples=50, trust=True, ties=ties)
        made.save(tmp_path / "R.json")
        add(tmp_path / "R.json", Model(name), folder)
    recall, _, other, folds, *_ = rankings(read(folder))
    assert column(recall, "model") == ["Second", "First", "ours"] and column(other, "model") == ["other"]
    assert column(recall, "source")[-1] == "submitted" and column(recall, "rank") == []
    assert "ties:index" in recall.table.notes[1] and "ties:expected" in other.table.notes[0]
    (one,) = [e for e in read(folder).entries if e.model.name == "ours"]
    assert folds.page == "coco-1k" and column(folds, "model") == ["First", "ours"]
    assert [text.strip() for text in column(folds, "R@1")] == [
        "50.0",
        f"{100 * one.numbers['1k:R@1', 'i2t'].value:.2f}",
    ]
