"""The languages of one test set in a joint table: a row a language, and their mean."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

import vsebench as vb
from tests import published_files
from tests.commands import invoke
from tests.messages import Pinned
from vsebench.data.splits import catalogue
from vsebench.errors import UsageError

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


def test_the_last_row_is_the_mean_of_the_languages(files: dict[str, Path], tmp_path: Path) -> None:
    done = invoke(
        "eval", *files.values(), "--split", "xtd10", "--metrics", "R@1,R@5,MedR", "--format", "csv", "--ci", "0"
    )
    assert done.exit_code == 0, done.stderr
    header, *rows = csv.reader(io.StringIO(done.stdout))
    alone = {
        name: vb.evaluate(path, split=f"xtd10:{name}", metrics="R@1,R@5,MedR", ci=0) for name, path in files.items()
    }
    columns = [(name, direction) for direction in ("i2t", "t2i") for name in ("R@1", "R@5", "MedR")]
    values = {name: [alone[name][column].value for column in columns] for name in LANGUAGES}
    assert [row[0] for row in rows] == [*LANGUAGES, "macro mean"] and header[1:] == [f"{d} {m}" for m, d in columns]
    assert all([float(x) for x in row[1:]] == values[row[0]] for row in rows[:3])
    assert np.allclose([float(x) for x in rows[3][1:]], np.mean(list(values.values()), axis=0), rtol=1e-15)


def test_the_table_names_the_set_and_no_language_is_the_best(files: dict[str, Path], tmp_path: Path) -> None:
    done = invoke(
        "eval", *files.values(), "--split", "xtd10", "--metrics", "R@1", "-o", tmp_path / "t.json", "--ci", "0"
    )
    lines = done.stdout.splitlines()
    assert lines[0] == "xtd10 · ground truth" and lines[3].split()[0] == "language"
    assert [line.split()[0] for line in lines[5:9]] == [*LANGUAGES, "macro"]
    assert "bold" not in done.stdout and "Best" not in done.stdout
    document = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    assert document["split"] == "xtd10" and [s["report"]["split"] for s in document["systems"]] == [
        f"xtd10:{x}" for x in LANGUAGES
    ]
    joint = vb.joint(str(tmp_path / "t.json"))
    assert (
        joint.languages
        and joint.to_dict()["mean"] == document["mean"]
        and set(document["mean"]) == {"i2t R@1", "t2i R@1"}
    )
    assert (
        joint.records()[-1]["system"] == "macro mean" and joint.records()[-1]["i2t R@1"] == document["mean"]["i2t R@1"]
    )
    assert "macro mean" in joint.to_html() and "textbf" not in joint.to_latex()
    assert "**57" not in joint.to_markdown() and joint.to_markdown().count("COCO training images") == 1


def test_reports_of_languages_are_joined_from_their_files(files: dict[str, Path], tmp_path: Path) -> None:
    paths = []
    for language, path in files.items():
        vb.evaluate(path, split=f"xtd10:{language}", metrics="R@1", ci=0).save(tmp_path / f"{language}.json")
        paths.append(tmp_path / f"{language}.json")
    assert [row["system"] for row in vb.joint(paths).records()] == [*LANGUAGES, "macro mean"]
    assert not vb.joint(paths[0]).languages
    with pytest.raises(UsageError, match="not measured alike: split is 'xtd10:it"):
        vb.compare(paths[:2])


def test_languages_of_two_systems_are_refused(files: dict[str, Path], tmp_path: Path, pinned: Pinned) -> None:
    np.savez(tmp_path / "other.npz", **np.load(files["de"]))
    reports = {
        name: vb.evaluate(path, split=f"xtd10:{language}", metrics="R@1", ci=0)
        for name, path, language in (
            ("A", files["de"], "de"),
            ("B", tmp_path / "other.npz", "de"),
            ("C", files["it"], "it"),
        )
    }
    with pytest.raises(UsageError) as error:
        vb.joint(reports)
    pinned(error.value)
    done = invoke("eval", files["de"], tmp_path / "other.npz", "--split", "xtd10", "--metrics", "R@1")
    assert done.exit_code == 2
    pinned(done.stderr)
