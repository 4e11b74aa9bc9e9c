"""Notes and warnings of results: in every format, raised once in Python, carried by what is made of the reports."""

from __future__ import annotations

import copy
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench as vb
from tests import reports
from tests.commands import cli
from tests.messages import Refuses
from vsebench.results.render import Result
from vsebench.results.report import Report

TIED = np.repeat(np.eye(4), 6, axis=0)  # six images share a vector
DISTINCT = np.random.default_rng(0).standard_normal((24, 16))
FEW = {"permutations": 100, "resamples": 20}


def evaluate(images: np.ndarray = TIED) -> Report:
    noise = 0.01 * np.random.default_rng(1).standard_normal((len(images) * 5, images.shape[1]))
    texts = np.repeat(images, 5, axis=0) + (0 if images is TIED else noise)
    return vb.evaluate(images, texts, metrics="R@1,R@5,RSum", ci=0)


@pytest.fixture(scope="module")
def tied() -> Report:
    return evaluate()


def in_every_format(result: Result, warning: str) -> None:
    tex = [line for line in result.to_latex().splitlines() if warning in line]
    assert len(tex) == 1 and tex[0].startswith("% warning: ")
    assert "warning: " + warning.split(";")[0][:60] in str(result)
    escaped = warning.split("(")[0]  # Markdown and HTML escape what is behind it
    assert f"**warning:** {escaped}" in result.to_markdown()
    for page in (result._repr_html_(), result.to_html()):
        assert page.count(escaped) == 1 and "class='warning'" in page.replace('"', "'")


def test_warnings_are_in_every_format(tied: Report) -> None:
    assert len(tied.warnings) == 2
    for warning in tied.warnings:
        in_every_format(tied, warning)
    assert "\n· no ids and no image_of_text" in str(tied) and "% · no ids and no image" in tied.to_latex()


def test_what_is_made_of_reports_has_their_warnings_with_names(tied: Report) -> None:
    both = {"ours": tied, "theirs": evaluate(DISTINCT)}
    third = {**both, "again": tied}
    for result in (
        vb.compare(both, **FEW), vb.compare(both, tests=False), vb.agree(third, resamples=20),
        vb.slice(both, "positives", resamples=20),
        vb.page(both, resamples=20),
    ):  # fmt: skip
        whose = "ours, again" if "again" in result.systems else "ours"  # a warning of both is one
        mine = [w for w in result.warnings if w.startswith(f"{whose}: ")]
        assert mine == [f"{whose}: {w}" for w in tied.warnings]
        assert not any(w.startswith("theirs: ") for w in result.warnings)
        in_every_format(result, mine[0])


def test_python_raises_every_warning_once_at_the_line_of_the_caller(tied: Report) -> None:
    with pytest.warns(vb.VsebenchWarning) as caught:
        evaluate()
    assert [str(w.message) for w in caught] == [w.replace("(--ties)", "(ties)") for w in tied.warnings]
    assert {w.filename for w in caught} == {__file__}
    with pytest.warns(vb.VsebenchWarning) as caught:  # the comparison and slices inside it raise nothing of their own
        page = vb.page([tied, copy.deepcopy(tied)], resamples=20)
    assert len(caught) == len(page.warnings)
    assert issubclass(vb.VsebenchWarning, UserWarning)
    with warnings.catch_warnings():
        warnings.simplefilter("error", vb.VsebenchWarning)
        evaluate(DISTINCT)  # nothing to warn of


def test_an_accumulator_raises_them_too() -> None:
    collected = vb.Accumulator(captions_per_image=1, metrics="R@1", ci=0)
    collected.update(TIED, TIED, ids=np.arange(24))
    with pytest.warns(vb.VsebenchWarning) as caught:
        report = collected.compute()
    assert len(caught) == len(report.warnings) > 0 and caught[0].filename == __file__


def test_the_command_line_says_them_once(tmp_path: Path, tied: Report) -> None:
    np.savez(tmp_path / "x.npz", images=TIED, texts=np.repeat(TIED, 5, axis=0))
    with warnings.catch_warnings():
        warnings.simplefilter("error", vb.VsebenchWarning)  # Python raises none
        done = cli("eval", tmp_path / "x.npz", "--metrics", "R@1", "--ci", 0)
    assert done.err.count("tie exactly") == 2 and "tie exactly" not in done.out
    for name in "ab":
        replace(tied, provenance={"started": name}).save(tmp_path / f"{name}.json")
    said = cli("compare", *(tmp_path / f"{n}.json" for n in "ab")).err
    assert said.count("warning: i2t: 100.0%") == said.count("i2t: 100.0%") == 1  # of both systems


def test_tests_of_the_queries_alone_are_a_note_on_tested_metrics() -> None:
    rng = np.random.default_rng(0)
    gains, images = rng.random((30, 30)), rng.standard_normal((30, 8))
    options = {"metrics": "matrix:CS@10,matrix:nDCG@300,matrix:NCS@300", "gains": gains, "ci": 0, "trust": True}
    pair = {
        name: vb.evaluate(images, images + noise * rng.standard_normal((30, 8)), captions_per_image=1, **options)
        for name, noise in (("a", 0.3), ("b", 0.9))
    }
    found = vb.compare(pair, metrics="matrix:NCS@300", **FEW)
    *_, by_number, note = found.notes
    assert "paired by row number" in by_number and "nDCG" not in note
    assert note.startswith("tests of matrix:NCS@300 account for the choice of queries only")
    assert not any("queries only" in w for w in found.warnings)
    assert str(found).count("of queries only") == found.to_latex().count("of queries only") == 1
    assert found.to_dict()["notes"][-2:] == [by_number, note]
    words = [f"caption {'long ' * (i % 3)}" for i in range(30)]
    sliced = vb.slice(pair, "length", captions=words, metrics="matrix:NCS@300", resamples=20)
    assert "queries only" in sliced.notes[-1] and not any("queries only" in w for w in sliced.warnings)


def test_the_best_is_marked_without_colours(tied: Report) -> None:
    good = evaluate(DISTINCT)
    for result in (vb.compare([tied, good], tests=False), vb.compare([tied, good, copy.deepcopy(tied)], **FEW)):
        text = str(result)
        assert "100.00^" in text and "^: best" in text and "\x1b" not in text


def test_latex_has_every_table_of_several_systems() -> None:
    world = reports.split()
    judged = {"mine": {"i2t": {100: [1100]}, "t2i": {1100: [100]}}}
    given = {
        name: reports.report(noise, 0, world, metrics="R@1,RSum,mine:mAP@R", judgements=judged, ci=0)
        for name, noise in (("a", 0.1), ("b", 0.3), ("c", 0.4))
    }
    for more in ({"tests": False}, FEW):
        chosen = vb.compare(given, metrics="R@1,mine:mAP@R", **more).to_latex()
        assert chosen.count("begin{tabular}") == 2 and "· ground truth" in chosen and "· mine" in chosen
        assert chosen.count("image$\\to$text") == 2
    two = vb.compare(dict(list(given.items())[:2]), **FEW).to_latex()
    assert two.count("begin{tabular}") == 1 and "difference" in two and "p (holm)" in two


def test_plots_have_the_numbers_of_the_results(monkeypatch: pytest.MonkeyPatch, tied: Report, refuses: Refuses) -> None:
    pytest.importorskip("altair")
    rng = np.random.default_rng(0)
    images = rng.standard_normal((30, 8))

    def measured(noise: float, metrics: str, **options: Any) -> Report:
        texts = images + noise * rng.standard_normal((30, 8))
        return vb.evaluate(images, texts, captions_per_image=1, metrics=metrics, trust=True, **options)

    two = [measured(noise, "R@1,R@5,MedR") for noise in (0.3, 0.9)]
    for result, systems in ((two[0], 1), (vb.compare(two, tests=False), 2)):
        panel = result.plot().to_dict()
        assert panel["title"]["subtitle"] == ["ground truth"]
        shown = [row["value"] for row in panel["data"]["values"] if row["dot"]]
        assert len(shown) == 4 * systems and 100 * two[0]["R@1", "i2t"].value in shown
    three = measured(0, "R@1,R@5,R@10", direction="i2t", ci=0)
    assert [row["x"] for row in three.plot().to_dict()["data"]["values"]] == [1, 5, 10]
    assert "(30)" in str(vb.slice(two, "positives", resamples=20).plot().to_dict())  # the queries of the slice
    refuses(vb.VsebenchError, measured(0, "R@1", ci=0).plot)
    monkeypatch.setitem(sys.modules, "altair", None)
    refuses(ImportError, tied.plot)


def test_slices_of_a_few_queries_are_not_drawn() -> None:
    rng = np.random.default_rng(0)
    images = rng.standard_normal((70, 8))
    owner = np.repeat(np.arange(70), [1] * 40 + [2] * 25 + [3] * 5)
    split = vb.TestSet.captioned("custom", np.arange(70), np.arange(len(owner)), owner)
    report = vb.evaluate(images, images[owner], split=split, metrics="R@1", ci=0)
    (panel,) = vb.slice(report, "positives", direction="i2t", resamples=20).panels
    assert [m.x for m in panel.marks] == ["1 (40)", "2 (25)"]
    assert {m.group for m in panel.marks} == {"image→text by positives (gt), without 1 of fewer than 20 queries"}
