"""The languages of one test set: a row a language, and their mean over the same images."""

from __future__ import annotations

import csv
import io
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import vsebench as vb
from tests import oracle_stats as oracle
from tests import published_files
from tests.commands import cli, refused
from tests.messages import Pinned, Refuses
from vsebench.errors import UsageError, VsebenchError
from vsebench.sets import catalogue

LANGUAGES = ("de", "it", "jp")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """XTD10 in three languages is built, and there are vectors of each, in the order of the split and without ids."""
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "cache"))
    published_files.xtd10(tmp_path / "files")
    catalogue.build("xtd10", tmp_path / "files")
    rng = np.random.default_rng(0)
    images = rng.standard_normal((1000, 8)).astype(np.float32)
    found = {}
    for place, language in enumerate(LANGUAGES):
        found[language] = tmp_path / f"{language}.npz"
        texts = images + (0.5 + 0.5 * place) * rng.standard_normal((1000, 8)).astype(np.float32)
        np.savez(found[language], images=images, texts=texts)
    return found


def test_the_last_row_is_the_mean_of_the_languages(files: dict[str, Path]) -> None:
    options = ("--split", "xtd10", "--metrics", "R@1,R@5,MedR", "--ci", "0")
    header, *rows = csv.reader(io.StringIO(cli("eval", *files.values(), *options, "--format", "csv").out))
    columns = [(name, direction) for direction in ("i2t", "t2i") for name in ("R@1", "R@5", "MedR")]
    values = []
    for name, path in files.items():
        alone = vb.evaluate(path, split=f"xtd10:{name}", metrics="R@1,R@5,MedR", ci=0)
        values.append([alone[column].value for column in columns])
    assert header[:4] == ["system", "metric", "direction", "value"]
    assert [tuple(row[:3]) for row in rows] == [(name, *c) for name in (*LANGUAGES, "macro mean") for c in columns]
    printed = np.array([float(row[3]) for row in rows]).reshape(4, -1)
    assert printed[:3].tolist() == values and np.allclose(printed[3], printed[:3].mean(axis=0), rtol=1e-15)


def test_a_mean_has_the_interval_of_images_drawn_for_all_languages_at_once(files: dict[str, Path]) -> None:
    """Against loops: a resample of images gives a value of every language, and their mean is one value."""
    rng = np.random.default_rng(1)
    with np.load(files["de"]) as stored:
        images, texts = stored["images"], stored["texts"]
    given = {}
    for system, noise in (("ours", 0.0), ("alike", 0.02), ("worse", 1.0)):
        for language in ("de", "it"):
            moved = texts + noise * rng.standard_normal(texts.shape)
            vectors = images, moved.astype(np.float32)
            given[f"{system}:{language}"] = vb.evaluate(
                *vectors, split=f"xtd10:{language}", metrics="R@1,RSum,MedR", resamples=40, trust=True
            )
    table = vb.compare(given, tests=False)

    def by_image(report: vb.Report) -> np.ndarray:
        """R@1 of the caption of every image, by ascending id of the image."""
        items = report.items
        return report["R@1", "t2i"].per_query[np.argsort(items.rows.ids[items.owners])]

    drawn = [oracle.drawn(0, r, [1000]) for r in range(40)]
    hits = {
        system: np.mean([by_image(given[f"{system}:{x}"]) for x in ("de", "it")], axis=0)
        for system in ("ours", "alike", "worse")
    }
    means = {r["system"]: r for r in table.records() if (r["language"], r["metric"], r["direction"]) == (
        "macro mean", "R@1", "t2i"
    )}  # fmt: skip
    for system, of in hits.items():
        again = [of[chosen].mean() for chosen in drawn]
        ends = np.quantile(again, [0.025, 0.975])
        assert [means[system]["low"], means[system]["high"]] == pytest.approx(ends, abs=1e-12)

    # Tests of the means draw the same images, and swap an image in both languages at once.
    tested = vb.compare(given, mean=True, metrics="R@1", resamples=40, permutations=400)
    for row in tested.to_frame("values").query("direction == 't2i' and set == 'mean'").itertuples():
        assert (row.low, row.high) == pytest.approx((means[row.system]["low"], means[row.system]["high"]), abs=1e-12)
    for test in tested.to_frame("tests").query("direction == 't2i'").itertuples():
        changes = (hits[test.second] - hits[test.first]) / 1000
        signs = rng.choice([-1, 1], (4000, 1000))
        p = float((np.abs(signs @ changes) >= abs(changes.sum()) - 1e-12).mean())
        assert test.difference == pytest.approx(changes.sum()) and test.p == pytest.approx(p, abs=0.08)
        assert test.differing == (np.abs(changes) > 0).sum()
    assert "shared ones together" in tested.tables[1].notes[0]


def test_the_table_names_the_set_and_no_language_is_the_best(
    files: dict[str, Path], tmp_path: Path, pinned: Pinned
) -> None:
    options = ("--split", "xtd10", "--metrics", "R@1", "-o", tmp_path / "t.json", "--ci", "0")
    done = cli("eval", *files.values(), *options)
    pinned(done.err)
    assert "bold" not in done.out and "Best" not in done.out
    document = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    assert document["split"] == "xtd10"
    assert [s["report"]["split"] for s in document["systems"]] == [f"xtd10:{x}" for x in LANGUAGES]
    joint = vb.compare(str(tmp_path / "t.json"), tests=False)
    assert joint.records() == document["tables"]["values"]
    last = [(r["system"], r["metric"], r["direction"]) for r in joint.records()[-2:]]
    assert last == [("macro mean", "R@1", "i2t"), ("macro mean", "R@1", "t2i")]
    assert "macro mean (3 of 11)" in joint.to_html() and "macro mean (3 of 11)" in joint.to_latex()
    assert "textbf" not in joint.to_latex() and "**57" not in joint.to_markdown()
    assert joint.to_markdown().count("COCO training images") == 1


def test_reports_of_languages_are_joined_from_their_files(
    files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refuses: Refuses
) -> None:
    monkeypatch.chdir(tmp_path)
    paths = []
    for language, path in files.items():
        vb.evaluate(path, split=f"xtd10:{language}", metrics="R@1", ci=0).save(f"{language}.json")
        paths.append(f"{language}.json")
    together = partial(vb.compare, tests=False)
    assert [row["system"] for row in together(paths).records()[::2]] == [*LANGUAGES, "macro mean"]
    assert "language" not in together(paths[0]).to_frame()
    refuses(UsageError, vb.compare, [tmp_path / path for path in paths[:2]])
    # a table of languages is no report and no comparison: what reads it is named, as compare does not
    together(paths[:2]).save("both.json")
    for read in (vb.load, vb.compare):
        refuses(VsebenchError, read, "both.json")
    assert [row["system"] for row in together("both.json").records()[::2]] == ["de", "it", "macro mean"]


def test_languages_of_two_systems_are_refused(
    files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pinned: Pinned, refuses: Refuses
) -> None:
    other = tmp_path / "other.npz"
    np.savez(other, **np.load(files["de"]))
    options = ("--split", "xtd10", "--metrics", "R@1", "--ci", 0)

    def reports(**given: tuple[Path, str]) -> dict[str, vb.Report]:
        return {
            name: vb.evaluate(path, split=f"xtd10:{language}", metrics="R@1", ci=0)
            for name, (path, language) in given.items()
        }

    mixed = reports(A=(files["de"], "de"), B=(other, "de"), C=(files["it"], "it"))
    refuses(UsageError, vb.compare, mixed, tests=False)
    pinned(refused("eval", files["de"], other, *options))
    named = [f"ours:de={files['de']}", f"ours:it={files['it']}", f"theirs:de={other}"]
    assert "theirs" in cli("eval", *named, *options).out
    # a name of another language than that of the ids; one file twice
    refuses(UsageError, vb.compare, reports(it=(files["de"], "de"), de=(files["it"], "it")), tests=False)
    monkeypatch.chdir(files["de"].parent)
    pinned(refused("eval", files["de"].name, files["de"].name, "--split", "xtd10"))


def test_the_language_is_that_of_the_ids_or_of_a_name_in_capitals(
    files: dict[str, Path], tmp_path: Path, pinned: Pinned
) -> None:
    """A file whose name is no language: with ids its language is known; without, the message says what tells it."""
    options = ("--split", "xtd10", "--metrics", "R@1", "--ci", "0")
    assert cli("eval", f"DE={files['de']}", *options).out.startswith("xtd10:de ")
    pinned(refused("eval", f"fr={files['de']}", *options, code=4))
    pinned(refused("eval", f"x1={files['de']}", *options))
    split = vb.load_split("xtd10:de")
    with np.load(files["de"]) as arrays:
        np.savez(
            tmp_path / "x1.npz", image_embeddings=arrays["images"], image_ids=split.rows.ids,
            text_embeddings=arrays["texts"], text_ids=split.columns.ids,
        )  # fmt: skip
    assert vb.evaluate(tmp_path / "x1.npz", split="xtd10", metrics="R@1", ci=0).split == "xtd10:de"
    catalogue.remove("xtd10:de")
    pinned(refused("eval", tmp_path / "x1.npz", "--metrics", "R@1", code=3))
    pinned(refused("eval", tmp_path / "x1.npz", "--split", "xtd10:de", "--metrics", "R@1", code=4))


def test_several_systems_have_a_mean_each_over_the_languages_of_all(files: dict[str, Path], tmp_path: Path) -> None:
    """A row a language and system; the means are over the languages that all systems have."""
    spoken = {"ours": ("jp", "de", "it"), "theirs": ("de", "jp")}
    given, hits, rng = [], {}, np.random.default_rng(3)
    for at, (system, languages) in enumerate(spoken.items()):
        (tmp_path / system).mkdir()
        for language in languages:
            with np.load(files[language]) as stored:
                images, texts = stored["images"], stored["texts"] + at * rng.standard_normal((1000, 8)).astype("f4")
            np.savez(tmp_path / system / f"{language}.npz", images=images, texts=texts)
            given.append(tmp_path / system / f"{language}.npz")
            x, y = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (images.astype(float), texts.astype(float)))
            scores = x @ y.T
            hits[system, language] = [float(np.mean((s > np.diag(s)[:, None]).sum(1) < k)) for s in (scores, scores.T)
                                      for k in (1, 5)]  # fmt: skip
    rows = [(s, x) for s, languages in spoken.items() for x in (*languages, "macro mean")]
    wanted = {**hits, **{(s, "macro mean"): np.mean([hits[s, "de"], hits[s, "jp"]], axis=0) for s in spoken}}
    options = ("--split", "xtd10", "--metrics", "R@1,R@5", "--ci", 0, "--trust", "-o", tmp_path / "t.json")
    mixed = [given[at] for at in (0, 3, 1, 4, 2)]  # the rows of a system stand together in any order of the files
    header, *found = csv.reader(io.StringIO(cli("eval", *mixed, *options, "--format", "csv").out))
    assert header == ["system", "language", "metric", "direction", "value", "low", "high"]
    assert [tuple(row[:2]) for row in found[::4]] == rows
    assert np.allclose(
        np.array([float(row[4]) for row in found]).reshape(-1, 4), [wanted[row] for row in rows], atol=1e-12
    )
    table = vb.compare(str(tmp_path / "t.json"), tests=False)
    assert "| ours · macro mean (2 of 11) |" in table.to_markdown()
    best = [line.count("**") for line in table.to_markdown().splitlines() if line.startswith("|")]
    assert sum(best) == 2 * 4  # the best mean of every column
    reports = {name.replace("/", ":"): report for name, report in table.reports.items()}
    assert vb.compare(reports, tests=False).records() == table.records()
    some = {name: reports[name] for name in ("ours:it", "theirs:de", "theirs:jp", "ours:jp")}
    apart = vb.compare(some, metrics="R@1", tests=False)
    assert [row["language"] for row in apart.records()[::2]] == ["it", "jp", "macro mean", "de", "jp", "macro mean"]
    assert any("over jp, which all systems have: ours has no de; theirs has no it" in note for note in apart.notes)
    none = vb.compare({name: reports[name] for name in ("ours:it", "theirs:de")}, metrics="R@1", tests=False)
    assert "macro mean" not in set(none.to_frame().language)
    assert any(note.startswith("no macro mean: ours has no de") for note in none.notes)
