"""``vsebench eval`` of a file of COCO 5K and of small files: output, options, and the files it writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import vsebench
from tests.commands import cli, document, refused
from tests.hostile import good
from tests.messages import Pinned, Refuses
from vsebench.errors import UsageError
from vsebench.evaluation.plan import _refuse_misses
from vsebench.metrics.suites import expand
from vsebench.rank.count import Targets
from vsebench.relevance.gains import of_pairs
from vsebench.types import TestSet

TOP = ["schema", "split", "signature", "provenance", "warnings", "intervals", "results", "parts", "per_query", "lists"]
RESULT = ["metric", "direction", "value", "n", "undefined", "interval"]


def values(document: dict[str, Any]) -> dict[tuple[str, str | None], float]:
    return {(r["metric"], r["direction"]): r["value"] for r in document["results"]}


@pytest.fixture
def small(tmp_path: Path) -> str:
    return good.npz(tmp_path)[1]


@pytest.fixture(scope="module")
def coco_file(coco: TestSet, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A file of COCO 5K with shuffled rows, evaluated once with every metric of judgements and every output."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((5000, 12)).astype(np.float32)
    y = (x[coco.image_of] + 0.7 * rng.standard_normal((25000, 12))).astype(np.float32)
    rows, columns = rng.permutation(5000), rng.permutation(25000)
    folder = tmp_path_factory.mktemp("coco")
    file = folder / "e.npz"
    ids = {"image_ids": coco.rows.ids[rows], "text_ids": coco.columns.ids[columns]}
    np.savez(file, image_embeddings=x[rows], text_embeddings=y[columns], **ids)
    outputs = ["--per-query", folder / "q.parquet", "--save-run", folder / "top.json", "-o", folder / "r.json"]
    done = cli("eval", file, *outputs, *["--metrics", "binary", "--depth", "20", "--json"])
    return {"x": x, "y": y, "file": file, "folder": folder, "done": done, "found": done.json}


def test_json_is_one_document_of_the_schema(coco_file: dict[str, Any], pinned: Pinned) -> None:
    document = coco_file["found"]
    assert list(document) == TOP and [lists["k"] for lists in document["lists"]] == [10, 10]
    assert document["schema"] == "vsebench/report/1" and document["split"] == "coco-5k"
    for r in document["results"]:
        assert list(r) == RESULT and r["direction"] in ("i2t", "t2i", None)
        low, high = r["interval"] or (r["value"],) * 2
        assert low <= r["value"] <= high and (r["interval"] is None) == r["metric"].endswith("MedR")
        assert (r["direction"] is None) == r["metric"].endswith(("RSum", "Nsum", "NsumN"))
        assert isinstance(r["value"], float) and isinstance(r["n"], int) and isinstance(r["undefined"], int)
    assert all(isinstance(w, str) for w in document["warnings"])
    assert document["provenance"]["inputs"][0]["file"] == "e.npz" and "coco-5k#" in document["signature"]
    assert (coco_file["folder"] / "r.json").read_text(encoding="utf-8") == coco_file["done"].out
    n = {(r["metric"], r["direction"]): r["n"] for r in document["results"]}
    assert (n["R@1", "i2t"], n["R@1", "t2i"], n["RSum", None]) == (5000, 25000, 30000)
    assert (n["eccv:mAP@R", "i2t"], n["eccv:mAP@R", "t2i"]) == (1261, 1332)
    assert (n["cxc:R@1", "i2t"], n["cxc:R@1", "t2i"]) == (5000, 24972)
    pinned(coco_file["done"].err)


def ids(coco: TestSet) -> dict[str, Any]:
    return {"image_ids": coco.rows.ids, "text_ids": coco.columns.ids}


def test_values_equal_the_python_interface(coco_file: dict[str, Any], coco: TestSet) -> None:
    same = vsebench.evaluate(coco_file["x"], coco_file["y"], split=coco, **ids(coco), metrics="binary", resamples=50)
    assert values(coco_file["found"]) == {(str(r.metric), r.direction): r.value for r in same.results}
    assert same.signature == coco_file["found"]["signature"]


def test_means_of_per_query_values_are_the_results(coco_file: dict[str, Any]) -> None:
    table = pd.read_parquet(coco_file["folder"] / "q.parquet")
    assert list(table.columns) == ["metric", "direction", "query", "value"]
    assert not table.duplicated(["metric", "direction", "query"]).any()
    groups = table.groupby(["metric", "direction"], observed=True)["value"]
    means, medians = groups.mean(), groups.median()
    found = {key: value for key, value in values(coco_file["found"]).items() if key[1] is not None}
    for (metric, direction), value in found.items():
        if not metric.endswith("MedR"):
            assert means[metric, direction] == pytest.approx(value, abs=1e-12 * max(1, abs(value))), metric
        elif not metric.startswith("1k:"):
            assert np.floor(medians[metric, direction] - 1) + 1 == value
    assert len(found) == len(means) >= 40


def test_saved_lists_give_the_same_numbers(coco_file: dict[str, Any], small: str, tmp_path: Path) -> None:
    words = "R@1,R@5,R@10,Recall@10,eccv:R@1,cxc:R@1,cxc:R@10,R-P,mAP@R"
    again = document("eval", "--run", coco_file["folder"] / "top.json", "--metrics", words)
    assert again["split"] == "coco-5k" and len(again["results"]) == 18
    assert values(again).items() <= values(coco_file["found"]).items()
    cli("eval", small, "--save-run", tmp_path / "top.json")  # a hundred items deep by default
    assert {len(row) for row in json.loads((tmp_path / "top.json").read_text())["i2t"].values()} == {100}


def test_coco_1k_is_the_view_of_coco_5k(coco_file: dict[str, Any]) -> None:
    direct = values(coco_file["found"])
    folds = document("eval", coco_file["file"], "--split", "coco-1k", "--metrics", "R@1,R@10,MedR,MeanR,RSum")
    assert folds["split"] == "coco-1k" and "coco-1k#" in folds["signature"]
    assert values(folds) == {(m, d): direct[f"1k:{m}", d] for m, d in values(folds)}


def test_queries_without_positives_may_count_as_misses(
    coco_file: dict[str, Any], monkeypatch: pytest.MonkeyPatch, pinned: Pinned
) -> None:
    words = ["--no-positive", "miss", "--direction", "t2i"]
    (result,) = document("eval", coco_file["file"], "--metrics", "cxc:R@1", *words)["results"]
    assert (result["n"], result["undefined"]) == (25000, 0)
    direct = values(coco_file["found"])["cxc:R@1", "t2i"]
    assert result["value"] == pytest.approx(direct * 24972 / 25000, abs=1e-12)
    # metrics without a value for a miss are refused before ranking
    monkeypatch.setattr("vsebench.evaluation.engines.observe", lambda *_, **__: pytest.fail("nothing may be ranked"))
    pinned(refused("eval", coco_file["file"], "--metrics", "cxc:MeanR", *words))
    said = refused("eval", coco_file["file"], "--metrics", "R@1,binary", "--no-positive", "miss")
    pinned("\n".join(said.splitlines()[-2:]))


def test_queries_without_positives_in_the_gallery_are_counted_before_ranking(refuses: Refuses) -> None:
    judged = of_pairs("eccv", (3, 2), np.array([0, 1, 1]), np.array([1, -1, -1]), judged=np.array([0, 1, 2])).positives
    requests, metrics = ([Targets("eccv", judged)], []), expand("eccv:R@1,eccv:MRR,eccv:MedR,R@1,MedR", ["gt", "eccv"])
    _refuse_misses(metrics, requests, "skip")
    _refuse_misses(metrics[:2], requests, "miss")
    refuses(UsageError, _refuse_misses, metrics, requests, "miss")


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="no devices here")
def test_a_device_is_refused_before_anything_is_read(pinned: Pinned) -> None:
    for flag in ("-o", "--save-run"):
        pinned(refused("eval", "none.npz", flag, "/dev/null"))


def test_without_any_value_there_is_an_error_and_no_file(small: str, tmp_path: Path, pinned: Pinned) -> None:
    np.save(tmp_path / "zeros.npy", np.zeros((60, 300), np.float32))
    args = ["eval", small, "--gains", tmp_path / "zeros.npy", "--metrics", "CS@10,Kendall[tau=b]", "--quiet"]
    pinned(refused(*args, "--per-query", tmp_path / "q.csv", "--json", code=3))
    assert not (tmp_path / "q.csv").exists()
    pinned(refused("eval", small, "--depth", "10"))


def test_results_go_to_stdout_and_notes_to_stderr(small: str, tmp_path: Path, pinned: Pinned) -> None:
    loud, quiet, plain = (cli("eval", small, *more) for more in (["--json"], ["--json", "--quiet"], []))
    pinned(loud.err)
    assert quiet.err == "" and values(quiet.json) == values(loud.json)
    assert "R@1" in plain.out and "{" not in plain.out, "a flag of one call must not reach the next"
    pinned(refused("--json", "eval", small))  # flags stand behind the command
    assert "warning: " in cli("eval", small, "--metrics", "R@1000").err
    assert cli("eval", small, "--metrics", "R@1000", "-q").err == ""
    assert refused("eval", tmp_path / "none", "-q", code=3).startswith("error: ")


def test_no_colour(small: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in cli("eval", small).out
    monkeypatch.setenv("NO_COLOR", "1")
    for args in (["eval", small], ["eval", small, "--metrics", "R@1000"], ["eval", "none.npz"], ["metrics"]):
        done = cli(*args, code=None)
        assert "\x1b" not in done.out + done.err
