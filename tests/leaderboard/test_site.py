"""The site of the leaderboards as files: its bytes, links, marks, ranks, and names that try to be HTML."""

from __future__ import annotations

import csv
import io
import json
import os
import posixpath
import re
import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath

import numpy as np
import pytest

import vsebench
from tests import leaderboard_worlds as worlds
from tests.commands import invoke as run
from tests.leaderboard_worlds import BOARD, ROOT
from tests.pages import Page
from vsebench.leaderboard import groups, pages, site, submit
from vsebench.leaderboard.facts import facts
from vsebench.leaderboard.schema import Entry, Model, number
from vsebench.leaderboard.store import Board, read
from vsebench.leaderboard.tables import Ranking, aligned, tables_of
from vsebench.results.table import Value, grid

pytest.importorskip("jinja2", reason="jinja2 is not installed")


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    """A folder with all three levels."""
    place = tmp_path_factory.mktemp("source")
    folder = worlds.folder(place / "leaderboards")
    for seed, noise in enumerate((1.4, 1.5, 2.2)):
        worlds.report(noise, seed).save(place / "R.json")
        submit.add(place / "R.json", f"Noise {noise}", image_input="pixels", folder=folder)
    worlds.write(folder / "suites" / "small.json", worlds.suite())
    claims = [
        {"claim": "hardest-negative", "paper": "doe2020thing", "says": "Hard is better", "where": "Table 1",
         "metrics": [["R@1", "i2t"]], "entries": ["doe2020thing-table-1-01"]},
        {"claim": "other", "paper": "doe2020thing", "says": "Other", "where": "Figure 1"},
    ]  # fmt: skip
    worlds.write(folder / "claims.json", {"schema": "vsebench/claims/1", "claims": claims})
    assert read(folder, again=True).faults == ()
    return folder


@pytest.fixture
def folder(source, tmp_path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(source, tmp_path / "leaderboards"))


def test_the_site_of_the_repository_is_current():
    done = run("leaderboard", "build", "--check", "--folder", str(BOARD))
    assert done.exit_code == 0, done.output


def test_every_page_is_sound(source):
    """Tags are closed, links lead to a page or an anchor, and nothing comes from elsewhere."""
    files = site.build(read(source))
    pages = {name: Page(data.decode()) for name, data in files.items() if name.endswith(".html")}
    anchors = {name: {a["id"] for _, a in page.tags if "id" in a} for name, page in pages.items()}
    for name, page in pages.items():
        assert page.open == [], name
        assert [t for t, _ in page.tags].count("h1") == 1 and [t for t, _ in page.tags].count("main") == 1
        for tag, attributes in page.tags:
            for key in ("href", "src"):
                address = attributes.get(key)
                if address is None or address == "data:,":
                    continue
                if address.startswith("https://"):
                    assert tag == "a", f"{name} loads {address}"
                    continue
                target, _, anchor = address.partition("#")
                place = posixpath.normpath(str(PurePosixPath(name).parent / target)) if target else name
                assert place in files, f"{name}: {address}"
                assert not anchor or anchor in anchors[place], f"{name}: {address}"
    assert not [name for name, data in files.items() if re.search(rb"url\(|@import|fetch\(", data)]


@pytest.mark.slow
def test_the_bytes_are_the_same_in_every_process(source):
    code = (
        "import hashlib, sys; from pathlib import Path; from vsebench.leaderboard import site, store;"
        "files = site.build(store.read(Path(sys.argv[1])));"
        "print(hashlib.sha256(b''.join(n.encode() + d for n, d in files.items())).hexdigest())"
    )
    seen = set()
    for seed in ("0", "1", "random"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": "C", "TZ": f"UTC+{len(seen)}"}
        command = [sys.executable, "-c", code, str(source)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT, check=True)
        seen.add(done.stdout)
    assert len(seen) == 1


def test_build_and_check(tmp_path, folder):
    readme = folder / "README.md"
    readme.write_text(f"before\n{site.BEGIN}\nold\n{site.END}\nafter\n", encoding="utf-8")
    done = run("leaderboard", "build", "--check", "--folder", str(folder))
    assert done.exit_code == 1 and f"would change: {folder / 'site' / 'index.html'}" in done.stdout
    assert not (folder / "site").exists()
    assert run("leaderboard", "build", "--folder", str(folder)).exit_code == 0
    assert "| [COCO 5K](site/coco-5k.html) | 2 | — | — |" in readme.read_text(encoding="utf-8")
    assert readme.read_text(encoding="utf-8").startswith("before\n") and readme.read_text("utf-8").endswith("\nafter\n")
    done = run("leaderboard", "build", "--check", "--folder", str(folder), "--json")
    assert (done.exit_code, json.loads(done.stdout)["current"]) == (0, True)
    (folder / "site" / "coco-5k.html").write_text("edited", encoding="utf-8")
    gone = folder / "site" / "entries" / "gone.html"
    gone.write_text("of the build before", encoding="utf-8")
    done = run("leaderboard", "build", "--check", "--folder", str(folder))
    assert done.exit_code == 1 and done.stdout.splitlines() == [
        f"would be removed: {gone}",
        f"would change: {folder / 'site' / 'coco-5k.html'}",
    ]
    run("leaderboard", "build", "--folder", str(folder))
    assert site.changes(read(folder), folder) == {} and not gone.exists()
    assert sorted(path.name for path in folder.iterdir() if path.name.startswith(".")) == []


def test_what_a_build_cannot_read(tmp_path, folder, pinned):
    (folder / "README.md").write_bytes(b"caf\xe9")
    done = run("leaderboard", "build", "--folder", str(folder))
    assert done.exit_code == 3
    pinned(done.stderr)
    (folder / "papers.json").write_text("{", encoding="utf-8")
    done = run("leaderboard", "build", "--folder", str(folder))
    assert done.exit_code == 3 and "papers.json" in done.stderr and not (folder / "site").exists()


def test_a_site_that_is_a_link_is_not_written_through(tmp_path, folder, pinned):
    outside = tmp_path / "thesis"
    outside.mkdir()
    (folder / "site").symlink_to(outside)
    done = run("leaderboard", "build", "--folder", str(folder))
    assert done.exit_code == 2
    pinned(done.stderr)
    assert list(outside.iterdir()) == []


def test_a_folder_of_someone_else_is_not_replaced(folder, pinned):
    page = folder / "site" / "index.html"
    worlds.write(page, "mine")
    done = run("leaderboard", "build", "--folder", str(folder))
    assert done.exit_code == 2
    pinned(done.stderr)
    assert json.loads(page.read_text()) == "mine" and [p.name for p in page.parent.iterdir()] == ["index.html"]


def test_a_build_refuses_numbers_that_are_not_reproduced(folder):
    path = folder / "entries" / "noise-1-4-custom.json"
    worlds.edit(path, lambda d: d["results"][0].update(value=d["results"][0]["value"] + 0.001))
    done = run("leaderboard", "build", "--folder", str(folder))
    assert done.exit_code == 3 and "per-query values give" in done.output and not (folder / "site").exists()


# Layout


def tables(*entries: Entry) -> tuple[Ranking, ...]:
    return tables_of(Board(Path(), entries))


def column(one: Ranking, heading: str) -> list[str]:
    """The texts of a column; of ranks without those that are none."""
    drawn = grid(one.table)
    place = drawn.headings.index(heading) if heading in drawn.headings else None
    return [] if place is None else [row[place].text for row in drawn.rows]


def entry(name: str, value: float, signature: str, interval=None, **more) -> Entry:
    values = {("R@1", "i2t"): number(("R@1", "i2t"), value, interval)}
    facts = {"suite": "s"}
    return Entry(id=name, level="reproduced", model=Model(name=name), benchmark="b", signature=signature, values=values,
                 facts=facts, **more)  # fmt: skip


def test_entries_that_were_not_measured_alike_have_tables_of_their_own():
    base = "vsebench:0.1.0|split:b#1|score:dot|ties:index"
    alike = base.replace("dot", "cosine")
    other = base.replace("index", "optimistic")
    graded = base + "|cider:df=split|captions:#1"
    newer = base.replace("0.1.0", "0.2.0")
    names = {"a": base, "b": alike, "c": other, "d": graded, "e": newer}
    found = tables(*(entry(n, 0.5, s) for n, s in names.items()))
    assert [{line[0].id for line in t.lines} for t in found] == [{"a", "b", "d", "e"}, {"c"}]
    assert "Measured alike: split:b#1|ties:index" in found[0].table.notes
    assert "Evaluated by different versions of vsebench: 0.1.0, 0.2.0." in found[0].table.notes
    assert not [note for note in found[1].table.notes if note.startswith("Evaluated by")]
    assert [t.heading for t in found] == ["Recall (ties index)", "Recall (ties optimistic)"]


def test_headings_of_a_page_are_distinct():
    """Two data sets of users are both called custom, and their numbers are on one page."""
    base = "vsebench:0.1.0|split:b#{}|score:dot|ties:{}"
    kinds = {"a": ("1", "index"), "b": ("2", "index"), "c": ("2", "expected"), "d": ("1", "index")}
    entries = [entry(n, 0.5, base.format(*kind)) for n, kind in kinds.items()]
    found = tables(*entries, entry("e", 0.5, "no signature"))
    (page,) = [page for page in pages.pages(Board(Path(), tuple(entries)), found) if page.path == "b.html"]
    assert [part.title for part in page.parts] == [
        "Recall (no signature)", "Recall (split b#1, ties index)", "Recall (split b#2, ties expected)",
        "Recall (split b#2, ties index)",
    ]  # fmt: skip
    (alone,) = tables(*entries[:1])
    assert alone.heading == "Recall"


def test_intervals_that_overlap_share_a_rank():
    made = [(0.9, (0.88, 0.92)), (0.87, (0.85, 0.89)), (0.83, (0.80, 0.86)), (0.5, (0.4, 0.6))]
    (found,) = tables(*(entry(f"e{i}", v, "split:b", ends) for i, (v, ends) in enumerate(made)))
    assert column(found, "rank") == ["1", "1", "2", "4"]
    assert any("need not be in that order" in note for note in found.table.notes)
    less_certain = [(0.85, (0.83, 0.87)), (0.8, (0.79, 0.81)), (0.78, (0.6, 0.9))]
    (found,) = tables(*(entry(f"e{i}", v, "split:b", ends) for i, (v, ends) in enumerate(less_certain)))
    assert column(found, "rank") == ["1", "2", "1"], "as the note says"
    (bare,) = tables(entry("a", 0.5, "split:b"), entry("b", 0.6, "split:b"))
    assert column(bare, "rank") == [] and "No ranks: one seed gives no interval." in bare.table.notes


def test_an_entry_without_an_interval_has_no_rank_and_others_keep_theirs():
    made = [(0.9, (0.88, 0.92)), (0.87, None), (0.83, (0.80, 0.86))]
    (found,) = tables(*(entry(f"e{i}", v, "split:b", ends) for i, (v, ends) in enumerate(made)))
    assert column(found, "rank") == ["1", "—", "2"]
    assert any(note.endswith("1 measured entry has no interval, and so no rank.") for note in found.table.notes)


def test_pairs_with_the_changes_of_every_image_are_compared_by_them():
    """The intervals of all overlap; of a and b it is known that a is better on nearly every image."""
    rng, key = np.random.default_rng(0), ("R@1", "i2t")
    shared, wide = rng.standard_normal(50), (0.3, 0.9)
    changes = {"a": shared / 50, "b": (shared + 0.01 * rng.standard_normal(50)) / 50, "d": rng.standard_normal(40) / 40}
    values = {"a": 0.65, "b": 0.6, "c": 0.58, "d": 0.56}
    made = [entry(n, v, "split:b", wide, changes={key: changes[n]} if n in changes else {}) for n, v in values.items()]
    (found,) = tables(*made)
    assert dict(zip(column(found, "model"), column(found, "rank"), strict=True)) == {
        "a": "1",
        "b": "2",
        "c": "1",
        "d": "1",
    }
    assert any("on the same images, else by their intervals)" in note for note in found.table.notes)


def test_ranks_are_of_paired_differences(source):
    """The rank by RSum, computed here image by image from the per-query values."""
    found = read(source)
    made = {}
    for e in found.entries:
        if e.level == "submitted":
            report = vsebench.load(found.folder / "entries" / f"{e.id}.json")
            total = np.zeros(60)
            for k in (1, 5, 10):
                captions = report[f"R@{k}", "t2i"].per_query.reshape(60, 5)
                total += report[f"R@{k}", "i2t"].per_query + captions.mean(axis=1)
            made[e.model.name] = total
    better = {
        name: sum(
            (d := other - own).mean() > 1.959963984540054 * d.std(ddof=1) / np.sqrt(60) for other in made.values()
        )
        for name, own in made.items()
    }  # fmt: skip
    (recall,) = [t for t in tables_of(found) if t.group.benchmark == "custom" and t.by == ("RSum", None)]
    named = dict(zip(column(recall, "model"), column(recall, "rank"), strict=True))
    assert named == {name: str(1 + n) for name, n in better.items()}
    assert better["Noise 2.2"] == 2
    values = [float(text) for text in column(recall, "RSum")]
    assert values == sorted(values, reverse=True)


def test_tables_say_what_their_ranks_rest_on(source):
    found = tables_of(read(source))
    notes = {t.by[0]: " ".join(t.table.notes) for t in found if t.group.benchmark == "custom"}
    assert "(95 %, by their difference on the same images)" in notes["RSum"]
    assert "Rank by" not in notes["MedR"]  # a median has no interval
    reproduced = [t for t in found if t.group.benchmark == "scenes-10k-test"]
    assert reproduced and all("They are not paired" in t.table.notes[-1] and column(t, "rank") for t in reproduced)


def test_notes_of_papers_stand_where_their_numbers_are(tmp_path):
    folder = worlds.folder(tmp_path)
    table = json.loads(json.dumps(worlds.TABLE))
    table["rows"][1]["benchmark"] = "coco-1k"
    worlds.write(folder / "published" / "doe2020thing-table-1.json", table)

    def noted(**of) -> list[tuple[str, str]]:
        papers = json.loads(json.dumps(worlds.PAPERS))
        papers["papers"]["doe2020thing"]["notes"] = [{"says": "beware", **of}]
        worlds.write(folder / "papers.json", papers)
        found = tables_of(read(folder))
        return [(t.group.benchmark, t.group.family) for t in found if "Thing: beware." in t.table.notes]

    assert noted() == [("coco-5k", "recall"), ("coco-5k", "rank"), ("coco-1k", "recall")]
    assert noted(benchmarks=["coco-1k"]) == [("coco-1k", "recall")]
    assert noted(kinds=["rank"]) == [("coco-5k", "rank")] and read(folder).faults == ()
    assert noted(benchmarks=["coco-1k"], kinds=["rank"]) == []
    assert [f.what for f in read(folder).faults] == ["doe2020thing: the note 'beware' is of no number of the paper"]


def test_a_note_on_coco_1k_is_not_on_other_pages():
    notes = {t.group.benchmark: t.table.notes for t in tables_of(read(BOARD)) if t.group.rules == groups.PRINTED}
    about = [name for name, some in notes.items() if any("how COCO 1K is formed" in note for note in some)]
    assert about == ["coco-1k-block"]


def test_a_metric_stands_in_the_table_of_its_group():
    """As it declares; a recall on judgements beyond the captions stands beside the precision."""
    groups = {name: facts(name).family for name in ("R@1", "RSum", "MRR", "MedR", "eccv:MRR", "eccv:R@1", "1k:R@1")}
    assert list(groups.values()) == ["recall", "recall", "rank", "rank", "rank", "precision", "recall"]
    assert [facts(name).family for name in ("R-P", "eccv:mAP@R", "cider:NCS@5")] == ["precision"] * 2 + ["cider"]


def test_what_a_model_reads_of_an_image_is_a_column(source):
    """On pages, in CSV and in JSON, only of tables with an entry that says it."""
    files = site.build(read(source))
    assert ">image input</th>" in files["custom.html"].decode() and "image input" not in files["coco-5k.html"].decode()
    assert "<td>image input</td><td>pixels</td>" in files["entries/noise-1-4-custom.html"].decode()
    rows = csv.DictReader(io.StringIO(files["leaderboard.csv"].decode()))
    assert {(row["level"], row["image_input"]) for row in rows} == {
        ("published", ""), ("submitted", "pixels"), ("reproduced", "region features"),
    }  # fmt: skip
    entries = json.loads(files["leaderboard.json"])["tables"]["numbers"]
    assert {e["image_input"] for e in entries} == {"", "pixels", "region features"}
    of_objects = [e for e in read(BOARD).entries if "coco-objects" in e.id]
    assert {e.model.image_input for e in of_objects} == {"object annotations"} and len(of_objects) == 15


def test_published_rows_link_to_their_paper_and_have_no_page(source):
    files = site.build(read(source))
    page = files["coco-5k.html"].decode()
    assert "<a href='https://example.org/t'>Thing</a> <span class='aside'>table 1</span>" in page
    assert "Second, R@1 image→text: a remark." in page and not [n for n in files if n.startswith("entries/doe")]


def test_a_site_needs_jinja2(folder, monkeypatch, pinned):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    done = run("leaderboard", "build", "--folder", str(folder))
    assert done.exit_code == 4
    pinned(done.stderr)
    assert run("leaderboard", "validate", "--folder", str(folder)).exit_code == 0


def test_best_and_second_are_marked():
    values = [("a", 0.5), ("b", 0.7), ("c", 0.7), ("d", 0.6)]
    (found,) = tables(*(entry(n, v, "split:b") for n, v in values))
    drawn = [(row[0].text, row[1].best, row[1].second) for row in grid(found.table).rows]
    assert drawn == [
        ("b", True, False), ("c", True, False), ("d", False, True), ("a", False, False),
    ]  # fmt: skip


def test_rows_that_papers_repeat_are_one(tmp_path):
    table = json.loads(json.dumps(worlds.TABLE))
    folder = worlds.folder(tmp_path, table)
    again = {**table, "table": "Table 2", "rows": table["rows"][:1]}
    worlds.write(folder / "published" / "doe2020thing-table-2.json", again)
    found = tables_of(read(folder))[0]
    assert list(zip(column(found, "model"), column(found, "source"), strict=True)) == [
        ("Second", "Thing"),
        ("First", "Thing"),
    ]
    assert [row[-1].aside for row in grid(found.table).rows] == ["table 1", "tables 1, 2"]


def test_a_number_in_doubt_is_marked_and_not_best():
    found = {t.heading: t for t in tables_of(read(BOARD)) if t.group.benchmark == "f30k"}
    one = found["Normalized cumulative semantic score (N@K), with the relevance of the paper"]
    (cell,) = [cell for row in grid(one.table).rows for cell in row if cell.text.strip() == "387.9"]
    assert (cell.mark, cell.best, cell.second) == ("†", False, False)
    assert "† CVSE+SAM: the six values of the row add up to 369.0, and 387.9 is printed." in one.table.notes


def test_claims_without_and_with_a_suite(source):
    found = read(source)
    data = site.build(found)["claims.html"].decode()
    assert "+10.00" in data and "[8.00, 12.00]" in data and "not regenerated yet" in data  # the claim 'other'
    bare = Board(found.folder, found.entries, found.papers, claims=found.claims)
    data = site.build(bare)["claims.html"].decode()
    assert data.count("not regenerated yet") == 4 and "+10.00" not in data  # of two claims, above and in their sections


def test_a_claim_whose_runs_diverged_cannot_be_judged(folder):
    because = "scenes-10k/<b>-seed1 diverged"
    lost = {"claim": "other", "paper": "p", "says": "s", "data": "scenes-10k", "because": because}
    worlds.write(folder / "suites" / "small.json", worlds.suite() | {"left_out": [lost], "diverged": {}})
    data = site.build(read(folder))["claims.html"].decode()
    assert "cannot be judged on scenes-10k: scenes-10k/&lt;b&gt;-seed1 diverged." in data
    assert data.count("cannot be judged") == 2 and "not regenerated yet" not in data


def test_decimals_are_aligned():
    values = [Value(1.0, text=text) for text in ("40", "1.5", "2.25")]
    texts = [value.text for value in aligned([*values, Value(None)])]
    assert texts == ["40\u2008\u2007\u2007", "1.5\u2007", "2.25", ""]
    assert aligned([]) == []


# Names from outside


@pytest.fixture(scope="module")
def hostile(tmp_path_factory) -> tuple[Board, dict[str, bytes]]:
    folder = worlds.hostile(tmp_path_factory.mktemp("hostile") / "leaderboards")
    found = read(folder, again=True)
    assert found.faults == ()
    return found, site.build(found)


def test_hostile_names_are_text(hostile):
    _, files = hostile
    for name, data in files.items():
        if name.endswith(".html"):
            page = Page(data.decode())
            assert page.open == [], name
            assert not {t for t, _ in page.tags} & {"img", "iframe", "object"}, name
            assert not [k for _, a in page.tags for k in a if k.startswith("on")], name
            scripts = [a for t, a in page.tags if t == "script"]
            assert all(set(a) == {"defer", "src"} for a in scripts), name
            text = data.decode("utf-8")
            assert not [c for c in text if ord(c) < 32 and c != "\n"] and "\u202e" not in text, name
    for i, name in enumerate(worlds.HOSTILE):
        words = Page(files[f"entries/hostile-{i}.html"].decode()).words
        shown = name if name.isprintable() or "🦊" in name else None
        if shown is not None and "\u200d" not in shown:
            assert shown in words
    assert len(files["custom.html"]) < 60_000  # a long name is cut in tables


def test_hostile_names_in_the_numbers(hostile):
    _, files = hostile
    for name in ("leaderboard.csv", "leaderboard.json"):
        text = files[name].decode()
        assert "\x1b" not in text and "\u202e" not in text


def test_a_submitted_entry_stands_in_the_table_of_papers_where_it_follows_their_protocol(tmp_path, coco):
    """And in one of its own where it does not; the mean of five folds stands where papers call it by its name alone."""
    table = json.loads(json.dumps(worlds.TABLE))
    table["rows"].append({**table["rows"][0], "benchmark": "coco-1k"})
    folder = worlds.folder(tmp_path / "leaderboards", table)
    rng = np.random.default_rng(0)
    images = rng.standard_normal((5000, 8)).astype(np.float32)
    texts = images[coco.image_of] + rng.standard_normal((25_000, 8)).astype(np.float32)
    for name, ties in (("ours", "index"), ("other", "expected")):
        made = vsebench.evaluate(images, texts, split=coco, metrics="R@1,1k:R@1", resamples=50, trust=True, ties=ties)
        made.save(tmp_path / "R.json")
        submit.add(tmp_path / "R.json", name, folder=folder)
    recall, _, other, folds, *_ = tables_of(read(folder))
    assert column(recall, "model") == ["Second", "First", "ours"] and column(other, "model") == ["other"]
    assert column(recall, "rank") == ["—", "—", "1"] and column(recall, "source")[-1] == "submitted"
    assert "ties:index" in recall.table.notes[1] and "ties:expected" in other.table.notes[0]
    (one,) = [entry for entry in read(folder).entries if entry.model.name == "ours"]
    assert folds.group.benchmark == "coco-1k" and column(folds, "model") == ["First", "ours"]
    assert [text.strip() for text in column(folds, "R@1")] == ["50.0", f"{100 * one.values['1k:R@1', 'i2t'].value:.2f}"]
