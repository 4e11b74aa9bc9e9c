"""Entries of leaderboards: the schema, the tables of the papers, and numbers that are computed again."""

from __future__ import annotations

import csv
import json
import math
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import vsebench
from tests import leaderboard_worlds as worlds
from tests.commands import invoke as run
from tests.leaderboard_worlds import BOARD, ROOT, edit
from vsebench.errors import BadInput, UsageError
from vsebench.leaderboard import submit, suites
from vsebench.leaderboard.store import read
from vsebench.leaderboard.tables import tables_of

OPENCLIP = "ilharco2021openclip"


def faults(tmp_path: Path, change: dict) -> list[str]:
    """What is wrong with an entry whose file is changed; a value that is a dictionary changes that object."""
    folder = worlds.folder(tmp_path / "board")
    worlds.report(images=6, metrics="R@1,MedR,RSum").save(tmp_path / "A.json")
    submit.add(tmp_path / "A.json", "E", id="e", folder=folder)
    path = folder / "entries" / "e.json"
    edit(path, lambda d: [d[k].update(v) if isinstance(v, dict) else d.update({k: v}) for k, v in change.items()])
    return [f.what for f in read(folder).faults]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"extra": 1}, "extra: is no field that is known here (found '1')"),
        ({"schema": "vsebench/entry/1"}, "schema: expected 'vsebench/report/1' (found 'vsebench/entry/1')"),
        ({"signature": "none"}, "'none' is not a signature"),
        ({"per_query": None}, "R@1 i2t has no per-query values"),
        ({"model": {"name": ""}}, "model.name: is too short"),
        ({"model": {"url": "javascript:alert(1)"}}, "model.url: 'javascript:alert(1)' is no link"),
        ({"model": None}, "model: expected an object"),
        ({"results": []}, "per_query: the columns are not those of the results"),
    ],
)
def test_a_wrong_field_is_named(tmp_path, change, message):
    (found,) = faults(tmp_path, change)
    assert found.startswith(message)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"value": 50.0}, "R@1 i2t is 50, and the metric is from 0 to 1"),
        ({"interval": [0.7, 0.3]}, "the interval of R@1 i2t ends before it begins"),
        ({"interval": [1.0, 1.1]}, "an end of the interval of R@1 i2t is 1.1"),
        ({"metric": "Q@1"}, "unknown metric 'Q@1'"),
        ({"direction": "up"}, "results.0.direction: expected 'i2t'"),
        ({"value": "x"}, "results.0.value: expected a number"),
    ],
)
def test_a_wrong_number_is_named(tmp_path, change, message):
    folder = worlds.folder(tmp_path / "board")
    worlds.report(images=6, metrics="R@1").save(tmp_path / "A.json")
    submit.add(tmp_path / "A.json", "E", id="e", folder=folder)
    edit(folder / "entries" / "e.json", lambda d: d["results"][0].update(change))
    assert message in read(folder).faults[0].what


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [('"per_query"', f'"extra":{word},"per_query"', "") for word in ("NaN", "Infinity")]
    + [('"split"', '"split":"a","split"', "is no JSON: 'split' is there twice")],
)
def test_numbers_are_finite_and_names_once(tmp_path, old, new, message):
    folder = worlds.folder(tmp_path / "board")
    worlds.report(images=6, metrics="R@1").save(tmp_path / "A.json")
    submit.add(tmp_path / "A.json", "E", id="e", folder=folder)
    path = folder / "entries" / "e.json"
    path.write_text(path.read_text().replace(old, new, 1))
    (fault,) = read(folder).faults
    assert message in fault.what


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t["rows"][0]["cells"].pop(), "row 'First' has 7 cells for 8 columns"),
        (lambda t: t["rows"][0].update(cells=["fifty", *["1.0"] * 7]), "'First' has the cell 'fifty', which is no num"),
        (lambda t: t["rows"][1].update(notes={"up R@1": "x"}), "'Second' has a note for 'up R@1', which is no column"),
        (lambda t: t["columns"].__setitem__(0, t["columns"][1]), "a column is listed twice"),
        (lambda t: t["columns"][0].update(metric="Nope"), "unknown metric 'Nope'"),
        (lambda t: t["rows"][0]["cells"].__setitem__(0, "101.0"), "R@1 i2t is 1.01, and its range is 0 to 1"),
    ],
)
def test_a_wrong_table_is_named(tmp_path, change, message):
    table = json.loads(json.dumps(worlds.TABLE))
    change(table)
    (fault,) = read(worlds.folder(tmp_path, table), again=True).faults
    assert message in fault.what and fault.file == "published/doe2020thing-table-1.json"


def test_printed_numbers_become_fractions(tmp_path):
    first, second = read(worlds.folder(tmp_path)).entries
    assert [(*key, v.value, v.text) for key, v in first.values.items()][-2:] == [
        ("RSum", None, 3.705, "370.5"), ("MedR", "i2t", 1.5, "1.5"),
    ]  # fmt: skip
    assert second.values["R@1", "i2t"].facts["note"] == "a remark" and second.values["RSum", None].value == 3.722
    assert (first.id, second.model.setting) == ("doe2020thing-table-1-01", "10 %")


def test_contradictions_of_a_row(tmp_path):
    table = json.loads(json.dumps(worlds.TABLE))
    table["rows"][0]["cells"] = ["50.0", "70.0", "60.0", "40.0", "60.0", "70.0", "370.5", None]
    first, second = (e.doubts for e in read(worlds.folder(tmp_path, table)).entries)
    assert first == {
        ("RSum", None): "the six values of the row add up to 350.0, and 370.5 is printed",
        ("R@10", "i2t"): "R@10 is 60.0, less than R@5 of the same row, 70.0",
    }
    assert second == {}


def test_the_tables_of_the_papers():
    board = read(BOARD, again=True)
    rows = [e for e in board.entries if e.level == "published"]
    assert board.faults == ()
    assert (
        len({(e.paper, e.table) for e in rows}) == 23
        and sum(bool(v.text) for e in rows for v in e.values.values()) == 1681 + 121 * 12
    )
    contradicted = [(e.paper, e.model.name, e.benchmark, e.doubts) for e in rows]
    assert [found for found in contradicted if found[-1]] == [
        ("biten2022semantic", "CVSE+SAM", "f30k",
         {("paper:Nsum", None): "the six values of the row add up to 369.0, and 387.9 is printed"}),
        ("faghri2018vsepp", "Embedding Net", "coco-1k",
         {("R@10", "i2t"): "R@10 is 69.4, less than R@5 of the same row, 79.3"}),
    ]  # fmt: skip


def test_the_tables_are_those_of_the_collected_numbers(real_data):
    """Every number of the collection, read here line by line, is in the files, and nothing else."""
    source = real_data.parent / "spec" / "published_results.csv"
    if not source.is_file():
        pytest.skip(f"{source} is not there")
    with source.open(encoding="utf-8", newline="") as stream:
        lines = sorted((line["table"], line["model"], line["value"]) for line in csv.DictReader(stream))
    found = [
        (e.table, e.model.name, v.text)
        for e in read(BOARD).entries
        if e.level == "published" and e.paper != OPENCLIP
        for v in e.values.values()
        if v.text
    ]
    assert sorted(found) == lines


def test_the_entries_of_openclip_are_those_of_its_file(real_data):
    """Every fraction of the published file stands on the boards times 100 with its own digits, and nothing else."""
    columns = {("f30k", "i2t"): "Flickr text", ("f30k", "t2i"): "Flickr image",
               ("coco-5k", "i2t"): "MSCOCO text", ("coco-5k", "t2i"): "MSCOCO image"}  # fmt: skip
    with (real_data / "published_results" / "openclip_retrieval_results.csv").open(newline="") as stream:
        wanted = {
            (line["name"], line["pretrained"], benchmark, direction, k): line[f"{words} retr. R@{k}"]
            for line in csv.DictReader(stream)
            for (benchmark, direction), words in columns.items()
            for k in (1, 5, 10)
        }
    entries = [e for e in read(BOARD).entries if e.paper == OPENCLIP]
    found = {
        (e.model.name, e.model.setting, e.benchmark, direction, int(metric[2:])): (v.text, v.value)
        for e in entries
        for (metric, direction), v in e.values.items()
        if v.text
    }
    assert len(entries) == 242 and found.keys() == wanted.keys()
    for key, (printed, value) in found.items():
        digits = wanted[key].replace(".", "")  # 0.9430 is 94.30
        assert printed == f"{int(digits[:3])}.{digits[3:]}" and value == float(wanted[key])


# Submitted reports


@pytest.fixture
def submitted(tmp_path):
    """A folder with one submitted entry: folder, and the file of the entry."""
    folder = worlds.folder(tmp_path / "board")
    worlds.report().save(tmp_path / "A.json")
    submit.add(tmp_path / "A.json", "A model", folder=folder, url="https://example.org")
    return folder, folder / "entries" / "a-model-custom.json"


def test_a_submission_is_computed_again(submitted):
    folder, _ = submitted
    board = read(folder, again=True)
    assert board.faults == ()
    (entry,) = [e for e in board.entries if e.level == "submitted"]
    report = vsebench.load(folder / "entries" / f"{entry.id}.json")
    hits = report["R@1", "t2i"].per_query
    assert entry.values["R@1", "t2i"].value == pytest.approx(sum(hits.tolist()) / 300, abs=1e-12)
    recalls = [entry.values[f"R@{k}", d].value for k in (1, 5, 10) for d in ("i2t", "t2i")]
    assert entry.values["RSum", None].value == pytest.approx(math.fsum(recalls), abs=1e-12)
    assert entry.facts["evaluated by"] == f"vsebench {vsebench.__version__}"


def test_tampered_numbers_are_refused_with_both_values(submitted):
    folder, path = submitted
    report = vsebench.load(path)

    def tampered(change) -> list[str]:
        before = path.read_bytes()
        edit(path, change)
        found = [f.what for f in read(folder, again=True).faults]
        path.write_bytes(before)
        return found

    value, (low, high) = report["R@1", "i2t"].value, report["R@1", "t2i"].interval
    assert tampered(lambda d: d["results"][0].update(value=value + 1e-6)) == [
        f"R@1 i2t is {value + 1e-6:.12g}, and its per-query values give {value:.12g}"
    ]
    assert tampered(lambda d: d["results"][1].update(interval=[low - 0.01, high])) == [
        f"R@1 t2i: its interval is [{low - 0.01:.6g}, {high:.6g}], and its per-query values give "
        f"[{low:.6g}, {high:.6g}]"
    ]
    assert tampered(lambda d: d["results"][3].update(interval=None))[0].startswith("R@5 t2i: its interval is none")
    flipped = report["R@1", "i2t"].per_query.copy()
    flipped[np.flatnonzero(flipped == 0)[0]] = 1.0
    from vsebench.results.packed import pack

    (found,) = tampered(lambda d: d["per_query"]["columns"][0].update(values=pack(flipped)))
    assert found.startswith("R@1 i2t is")


def test_add_replaces_neither_its_input_nor_through_a_link(tmp_path, submitted, refuses):
    folder, path = submitted
    before = path.read_bytes()
    refuses(UsageError, submit.add, path, "A model", folder=folder, replace=True)
    kept = tmp_path / "thesis.json"
    kept.write_text("{}")
    path.rename(tmp_path / "kept.json")
    for target in (kept, tmp_path / "nowhere.json"):
        path.unlink(missing_ok=True)
        path.symlink_to(target)
        refuses(UsageError, submit.add, tmp_path / "A.json", "A model", folder=folder, replace=True)
    assert kept.read_text() == "{}" and (tmp_path / "kept.json").read_bytes() == before
    assert not (tmp_path / "nowhere.json").exists()


def test_metrics_that_take_too_much_room_are_left_out(tmp_path, monkeypatch, pinned, refuses):
    """Those of suites are kept first, and a smaller one behind one that is too large; chosen metrics always."""
    folder = worlds.folder(tmp_path / "board")
    given = "MRR,R@1,R@5,R@10,R@7,MedR,RSum"
    worlds.report(images=800, metrics=given).save(tmp_path / "A.json")
    every = submit.add(tmp_path / "A.json", "all", folder=folder)
    assert every.model.notes == () and len({metric for metric, _ in every.values}) == 7
    size = (folder / "entries" / "all-custom.json").stat().st_size
    monkeypatch.setattr("vsebench.leaderboard.submit.LARGEST", size - 1)
    entry = submit.add(tmp_path / "A.json", "suites", notes=["mine"], folder=folder)
    assert {metric for metric, _ in entry.values} == {"R@1", "R@5", "R@10", "R@7", "MedR", "RSum"}
    note = f"An entry takes at most {(size - 1) / 1e6:.1f} MB: 1 metric is left out."
    assert entry.model.notes == ("mine", note)
    done = run("leaderboard", "add", str(tmp_path / "A.json"), "--name", "again", "--folder", str(folder))
    assert done.exit_code == 0
    pinned(done.stderr)
    assert read(folder, again=True).faults == ()
    refuses(UsageError, submit.add, tmp_path / "A.json", "chosen", metrics=given, folder=folder)
    monkeypatch.setattr("vsebench.leaderboard.submit.LARGEST", 10)
    refuses(UsageError, submit.add, tmp_path / "A.json", "none", folder=folder)


@pytest.mark.real_data
@pytest.mark.nightly
def test_the_documented_submission(tmp_path, monkeypatch, real_data):
    """The commands of docs/leaderboards.md, with all metrics of COCO 5K."""
    pytest.importorskip("jinja2", reason="jinja2 is not installed")
    shutil.copytree(ROOT / "leaderboards", tmp_path / "leaderboards")
    shutil.copy(real_data / "proxy" / "coco5k_minilm_proxy.npz", tmp_path / "embeddings.npz")
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "leaderboards.md").read_text(encoding="utf-8")
    block = text.partition("## Submit an entry")[2].partition("```console\n")[2].partition("```")[0]
    lines = [shlex.split(line.removeprefix("$ vsebench ")) for line in block.splitlines()]
    assert len(lines) == 4
    for line in lines:
        done = run(*line)
        assert done.exit_code == 0, done.output
    assert (tmp_path / "leaderboards" / "site" / "entries" / "my-model-vit-b-32-coco-5k.html").is_file()


def test_add_refuses(tmp_path, submitted, refuses):
    folder, _ = submitted
    refuses(UsageError, submit.add, tmp_path / "A.json", "A model", folder=folder)
    assert submit.add(tmp_path / "A.json", "A model", folder=folder, replace=True)
    bare = tmp_path / "bare.json"
    bare.write_text(worlds.report().to_json(per_query=False))
    refuses(BadInput, submit.add, bare, "Other", folder=folder)
    worlds.report().save(bare)
    added = submit.add(bare, "Other", folder=folder)
    (folder / "entries" / f"{added.id}.json").unlink()
    edit(bare, lambda d: d.update(intervals=None))
    refuses(BadInput, submit.add, bare, "Other", folder=folder)
    refuses(BadInput, submit.add, tmp_path / "A.json", "Other", folder=tmp_path)
    edit(tmp_path / "A.json", lambda d: d["results"][0].update(value=0.25))
    refuses(BadInput, submit.add, tmp_path / "A.json", "Other", folder=folder)
    assert [p.name for p in (folder / "entries").iterdir()] == ["a-model-custom.json"]


@pytest.mark.parametrize("url", ["https://", "https:///page", "ftp://x", "x", "https://a b", "https://a\x1b[2J"])
def test_a_link_that_leads_nowhere_is_refused(tmp_path, url):
    (found,) = faults(tmp_path, {"model": {"url": url}})
    assert "is no link; write it as in https://example.org/model" in found


@pytest.mark.parametrize("url", ["", "http://localhost:8000/a?b#c", "https://[::1]:80/x", "https://bücher.example/ü"])
def test_an_entry_without_faults(tmp_path, url):
    assert faults(tmp_path, {"model": {"url": url}}) == []


@pytest.mark.parametrize(
    "words",
    [
        ["--name", "N", "--url", "example.org"],
        ["--name", "N", "--image-input", "x" * 101],
        ["--name", ""],
        ["--name", "N", "--id", "../x"],
        ["--name", "N", "--id", "a" * 101],
    ],
)
def test_wrong_options_of_add_are_those_of_the_command_line(tmp_path, submitted, words, pinned):
    folder, _ = submitted
    before = sorted((folder / "entries").iterdir())
    done = run("leaderboard", "add", str(tmp_path / "A.json"), *words, "--folder", str(folder))
    assert done.exit_code == 2
    pinned(done.stderr)
    assert sorted((folder / "entries").iterdir()) == before
    words = ["--name", "N", "--url", "https://example.org", "--image-input", "x"]
    assert run("leaderboard", "add", str(tmp_path / "A.json"), *words, "--folder", str(folder)).exit_code == 0


def test_add_some_metrics(tmp_path, submitted, refuses):
    folder, _ = submitted
    entry = submit.add(tmp_path / "A.json", "Sum alone", metrics="RSum", folder=folder)
    assert list(entry.values) == [("RSum", None)] and read(folder, again=True).faults == ()
    refuses(UsageError, submit.add, tmp_path / "A.json", "Other", metrics="MeanR", folder=folder)
    assert submit.add(tmp_path / "A.json", "Other", metrics="MedR", folder=folder)


def test_commands(tmp_path, submitted, pinned):
    folder, path = submitted
    done = run("leaderboard", "add", str(tmp_path / "A.json"), "--name", "B", "--note", "n", "--folder", str(folder))
    assert done.exit_code == 0 and "b-custom.json" in done.stdout
    assert json.loads((folder / "entries" / "b-custom.json").read_text())["model"]["notes"] == ["n"]
    done = run("leaderboard", "validate", "--folder", str(folder))
    assert (done.exit_code, done.stdout) == (0, "all entries are valid\n")
    edit(path, lambda d: d["results"][1]["interval"].reverse())
    done = run("leaderboard", "validate", "--folder", str(folder))
    assert done.exit_code == 1
    pinned(done.stderr)
    assert "entries/a-model-custom.json: the interval of R@1 t2i ends before" in done.stdout
    edit(path, lambda d: d["results"][1]["interval"].reverse())
    done = run("leaderboard", "validate", "b-custom", "--folder", str(folder), "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout) == {"entries": 4, "levels": {"published": 2, "submitted": 2}, "faults": []}
    assert run("leaderboard", "validate", "c", "--folder", str(folder)).exit_code == 2


# Suites of the trainer


def test_means_over_seeds(tmp_path):
    folder = worlds.folder(tmp_path)
    suite = worlds.suite()
    worlds.write(folder / "suites" / "small.json", suite)
    board = read(folder, again=True)
    assert board.faults == ()
    (entry,) = [e for e in board.entries if e.id == "small-scenes-10k-mh"]
    runs = [run for run in suite["runs"].values() if run["variant"] == "mh"]
    values = [run["results"][0]["value"] for run in runs]
    of_seeds = np.var(values, ddof=1) / 3
    total = of_seeds + 0.01**2  # the same images for all seeds
    half = stats.t.ppf(0.975, 2 * (total / of_seeds) ** 2) * math.sqrt(total)
    found = entry.values["R@1", "i2t"]
    assert found.value == pytest.approx(np.mean(values), abs=1e-6)
    assert found.interval == pytest.approx((np.mean(values) - half, np.mean(values) + half), abs=2e-6)
    assert entry.benchmark == "scenes-10k-test" and entry.values["RSum", None].value == pytest.approx(1.5)
    same = entry.values["RSum", None].interval  # no variance of the seeds
    assert same == pytest.approx((1.5 - 1.959964 * 0.01, 1.5 + 1.959964 * 0.01), abs=2e-6)
    assert ("R@1", "mean") not in entry.values and entry.values["R@1", "t2i"].value < found.value
    assert entry.facts["intervals"] == "95 %, over 3 seeds and the test images as queries"


def test_runs_that_two_suites_have_are_one_entry(tmp_path):
    for name in ("ablations", "small"):
        worlds.write(worlds.folder(tmp_path) / "suites" / f"{name}.json", worlds.suite() | {"suite": name})
    found = [e.id for e in read(tmp_path).entries if e.level == "reproduced"]
    assert found and all(name.startswith("small-") for name in found)
    other = worlds.suite(spread=0.5) | {"suite": "ablations"}
    worlds.write(worlds.folder(tmp_path) / "suites" / "ablations.json", other)
    assert len([e for e in read(tmp_path).entries if e.level == "reproduced"]) == 2 * len(found)


def test_an_interval_stays_in_the_range_of_its_metric(tmp_path):
    suite = worlds.suite(spread=0.5)
    worlds.write(worlds.folder(tmp_path) / "suites" / "small.json", suite)
    assert read(tmp_path, again=True).faults == ()
    (entry,) = [e for e in read(tmp_path).entries if e.id == "small-scenes-10k-mh"]
    assert entry.values["R@1", "i2t"].interval == (0.0, 1.0)


def test_seeds_alone_give_no_interval(tmp_path):
    """They would leave out the choice of the test images; of such a summary only means of directions are known."""
    worlds.write(worlds.folder(tmp_path) / "suites" / "small.json", worlds.suite(spread=None))
    reproduced = [e for e in read(tmp_path).entries if e.level == "reproduced"]
    assert {v.interval for e in reproduced for v in e.values.values()} == {None}
    assert set(reproduced[0].values) == {
        ("R@1", "mean"), ("match:NCS@10", "mean"), ("entails:mAP@R", "mean"), ("RSum", None),
    }  # fmt: skip
    notes = [
        note for t in tables_of(read(tmp_path)) if t.group.benchmark == "scenes-10k-test" for note in t.table.notes
    ]
    assert {note for note in notes if note.startswith("No ranks")} == {f"No ranks: {suites.NO_SPREAD}."}


def test_the_spread_of_a_report_is_that_of_its_bootstrap():
    report = worlds.report(images=400)
    found = {(r["metric"], r["direction"]): r for r in suites.results_of(report)}
    assert len(found) == len(report.results) == 9
    for result in report.results:
        one = found[str(result.metric), result.direction]
        assert one["value"] == pytest.approx(result.value, abs=1e-6)
        if str(result.metric) == "MedR":
            assert one["spread"] is None  # no mean over images
        else:
            low, high = result.interval
            assert one["spread"] == pytest.approx((high - low) / 3.92, rel=0.2)
    hits = report["R@1", "t2i"].per_query.reshape(400, 5).mean(axis=1)
    assert found["R@1", "t2i"]["spread"] == pytest.approx(hits.std(ddof=1) / 20, abs=1e-8)


def test_reduced_training_data_are_named(tmp_path):
    """Below the name of the model, where the table is read."""
    found = {e.id: e.model.setting for e in read(BOARD).entries if e.level == "reproduced"}
    assert found["small-coco-objects-mh"] == "object labels, 25 % of training captions"
    assert found["small-scenes-10k-sam-3pc"] == "3 % of training captions"
    assert found["small-scenes-10k-mh"] == ""
    page = (BOARD / "site" / "coco-5k.html").read_text(encoding="utf-8")
    named = "<a href='entries/small-coco-objects-mh.html'>mh</a> <span class='aside'>object labels, 25 % of training"
    assert page.count(named) == 2


def test_the_file_of_the_scheduled_suite_has_what_it_can_run():
    """Runs on other data would be lost when the job replaces the file."""
    suites = read(BOARD).suites
    assert {run.data for run in suites["small"].runs.values()} == {"scenes-10k"}
    assert {claim.data for claim in suites["small_coco-objects"].claims} == {"coco-objects"}
    commands = {entry.id: entry.model.reproduce[0] for entry in read(BOARD).entries if entry.level == "reproduced"}
    assert commands["small-scenes-10k-mh"].endswith("--suite small --out runs/suite-small")
    assert commands["small-coco-objects-mh"].startswith("python -m studies.coco_objects labels.tsv.gz ")


def test_a_single_seed_has_no_interval(tmp_path):
    worlds.write(worlds.folder(tmp_path) / "suites" / "small.json", worlds.suite(seeds=(0,), claims=False))
    assert all(v.interval is None for e in read(tmp_path).entries if e.level == "reproduced" for v in e.values.values())


def test_a_damaged_suite_is_named(tmp_path):
    folder = worlds.folder(tmp_path)
    suite = worlds.suite()
    next(iter(suite["runs"].values()))["results"][0]["value"] = 6.0
    worlds.write(folder / "suites" / "small.json", suite)
    (fault,) = read(folder, again=True).faults
    assert fault.file == "suites/small.json" and "R@1 i2t is" in fault.what


def test_a_report_with_lists_is_an_entry_without_them(tmp_path):
    scores = np.repeat(np.eye(12), 3, axis=1) + 0.5 * np.random.default_rng(0).standard_normal((12, 36))
    report = vsebench.evaluate(
        scores=scores, captions_per_image=3, metrics="R@1,R@5", lists=5, resamples=50, trust=True
    )
    assert report.lists
    report.save(str(tmp_path / "A.json"))
    folder = worlds.folder(tmp_path / "board")
    entry = submit.add(tmp_path / "A.json", "A model", folder=folder)
    kept = vsebench.load(folder / "entries" / f"{entry.id}.json")
    assert (
        read(folder, again=True).faults == ()
        and not kept.lists
        and kept["R@1", "t2i"].value == report["R@1", "t2i"].value
    )
