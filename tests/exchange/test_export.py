"""``vsebench export``: every format is read by the package that it is of, or checked against its published schema."""

from __future__ import annotations

import csv
import importlib.util
import json
import math
import re
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import vsebench as vb
from tests.leaderboard_worlds import run
from vsebench.errors import BadInput, UsageError
from vsebench.exchange import hub, mteb, trackers
from vsebench.exchange.exported import Exported
from vsebench.exchange.table import FORMATS

HERE = Path(__file__).parent
METRICS = "R@1,R@5,R@10,Recall@5,gt:nDCG@10,mAP@5,MedR,RSum"
ABOUT = {"model": "lab/model", "dataset": "lab/data", "url": "https://example.org/logs", "evaluator": "Us"}


@pytest.fixture(scope="module")
def vectors() -> tuple[np.ndarray, np.ndarray]:
    """40 images and 5 captions of each, without ties."""
    rng = np.random.default_rng(3)
    images = rng.standard_normal((40, 16))
    return images, np.repeat(images, 5, axis=0) + 2.0 * rng.standard_normal((200, 16))


@pytest.fixture(scope="module")
def report(vectors) -> vb.Report:
    made = vb.evaluate(*vectors, captions_per_image=5, metrics=METRICS, similarity="dot")
    return replace(made, split="f30k")


def wanted(report: vb.Report) -> dict[tuple[str, str | None], float]:
    return {(str(r.metric), r.direction): r.value for r in report.results}


def needs(module: str) -> ModuleType:
    """A package of another tool; the test is skipped without it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        pytest.skip(f"{module} is not installed (group: exchange)")


def test_every_format_is_exported_by_the_command(report, tmp_path):
    report.save(tmp_path / "A.json")
    for name in FORMATS:
        if name == "wandb":
            continue  # needs its package, below
        more = [word for key, value in ABOUT.items() for word in (f"--{key}", value)]
        done = run("export", str(tmp_path / "A.json"), "--to", name, "-o", str(tmp_path / name), *more, "--json")
        document = json.loads(done.stdout)
        files = sorted(str(p) for p in (tmp_path / name).rglob("*") if p.is_file())
        assert document["format"] == name and sorted(document["files"]) == files != []


def test_the_command_exports_what_the_function_does(report, tmp_path):
    report.save(tmp_path / "A.json")
    done = run("export", str(tmp_path / "A.json"), "--to", "csv", "--path", str(tmp_path / "one"))
    (file,) = vb.export(tmp_path / "A.json", "csv", tmp_path / "two")
    assert done.stdout == f"{tmp_path / 'one' / 'A-f30k.csv'}\n" and "pandas.read_csv" in done.stderr
    assert file.read_bytes() == (tmp_path / "one" / "A-f30k.csv").read_bytes()


def test_csv_has_every_number(report, tmp_path):
    (file,) = vb.export(report, "csv", tmp_path, model="=lab/model")
    with file.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {(r["metric"], r["direction"] or None): float(r["value"]) for r in rows} == wanted(report)
    assert {(r["model"], r["split"]) for r in rows} == {("'=lab/model", "f30k")}  # no formula of a spreadsheet


def test_models_of_two_organisations_have_two_tables(report, tmp_path):
    names = [vb.export(report, "csv", tmp_path, model=f"{lab}/model")[0].name for lab in ("a", "b")]
    assert names == ["a__model-f30k.csv", "b__model-f30k.csv"]


def test_a_file_that_is_replaced_is_noted(report, tmp_path, monkeypatch, pinned):
    monkeypatch.chdir(tmp_path)
    report.save("A.json")
    replace(report, results=report.results[:2]).save("B.json")
    said = [run("export", f"{name}.json", "--to", "model-index", "-o", "card", "--model", "m").stderr for name in "AAB"]
    assert said[0] == said[1]  # the same content
    pinned(said[2])
    assert vb.export("A.json", "model-index", "card", model="m").replaced == (Path("card/model-index.yaml"),)
    assert vb.export("A.json", "model-index", "card", model="m").replaced == ()


@pytest.mark.parametrize(
    "text",
    ["", "a: b", "- x", "yes", "1e5", "'\"\\", "ü\u2028\n#", "{", "null", "\x1b", "🦊\x7f\x85\ufeff", "1e-05 \\"],
)
@pytest.mark.parametrize("number", [1e-05, -4e-05, 1.5e-07, 1e22, -0.1, 0.0, 3, None, True])
def test_yaml_reads_back(text, number):
    yaml = needs("yaml")
    value = {"a": [{"b": text, "c": [number, text]}, [], {}], "d": {"e": {text: number}}}
    assert yaml.safe_load(hub.yaml(value)) == json.loads(hub.yaml(value)) == value


def test_model_index_is_read_by_the_hub(report, tmp_path):
    yaml, package = needs("yaml"), needs("huggingface_hub")
    (file,) = vb.export(report, "model-index", tmp_path, **ABOUT)
    card = package.ModelCard(f"---\n{file.read_text()}---\n# A model\n")
    results = card.data.eval_results
    assert card.data.model_name == "model"
    assert {(r.metric_type, r.metric_args.get("direction")): r.metric_value for r in results} == wanted(report)
    assert {(r.dataset_type, r.dataset_name, r.source_url) for r in results} == {
        ("lab/data", "f30k", "https://example.org/logs")
    }
    again = package.repocard_data.eval_results_to_model_index("model", results)
    assert again == yaml.safe_load(file.read_text())["model-index"]


def test_eval_results_are_read_by_the_hub(report, tmp_path):
    yaml, package = needs("yaml"), needs("huggingface_hub")
    if not hasattr(package, "parse_eval_result_entries"):
        pytest.skip("huggingface_hub is older than .eval_results")
    (file,) = vb.export(report, "eval-results", tmp_path, **ABOUT)
    assert file.relative_to(tmp_path).as_posix() == ".eval_results/vsebench-f30k.yaml"
    document = yaml.safe_load(file.read_text())
    entries = package.parse_eval_result_entries(document)
    assert package.eval_result_entries_to_yaml(entries) == document  # nothing is lost, so nothing is unknown there
    assert {e.task_id: e.value for e in entries} == report.to_dict(prefix="")
    assert {(e.dataset_id, e.source_name) for e in entries} == {("lab/data", "Us")}


def test_every_eval_ever_keeps_its_schema(report, tmp_path):
    schema = json.loads((HERE / "every_eval_ever.schema.json").read_text())
    (file,) = vb.export(report, "every-eval-ever", tmp_path, **ABOUT)
    record = json.loads(file.read_text())
    check = needs("jsonschema").Draft7Validator(schema)
    assert [error.message for error in check.iter_errors(record)] == []
    broken = record | {"evaluation_results": [{}]}
    assert list(check.iter_errors(broken)) != []
    assert record["schema_version"] == schema["version"]
    found = {r["evaluation_result_id"]: r["score_details"] for r in record["evaluation_results"]}
    assert {key: details["score"] for key, details in found.items()} == report.to_dict(prefix="")
    low, high = report["R@1", "i2t"].interval
    assert found["i2t_R@1"]["uncertainty"]["confidence_interval"] == {
        "lower": low, "upper": high, "confidence_level": 0.95, "method": "bca bootstrap",
    }  # fmt: skip
    better = {
        r["metric_config"]["metric_id"]: r["metric_config"]["lower_is_better"] for r in record["evaluation_results"]
    }
    assert better["vsebench.MedR"] and not better["vsebench.R@1"]
    assert re.fullmatch(r"data/vsebench-f30k/lab/model/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.json",
                        file.relative_to(tmp_path).as_posix())  # fmt: skip
    assert vb.export(report, "every-eval-ever", tmp_path, **ABOUT) == (file,)


def test_the_package_of_every_eval_ever_takes_the_record(report, tmp_path):
    types = needs("every_eval_ever.eval_types")
    (file,) = vb.export(report, "every-eval-ever", tmp_path, **ABOUT)
    assert len(types.EvaluationLog.model_validate_json(file.read_text()).evaluation_results) == len(report.results)


def test_mteb_reads_its_results(report, tmp_path):
    package = needs("mteb")
    files = vb.export(report, "mteb", tmp_path, **ABOUT)
    assert [f.relative_to(tmp_path).as_posix() for f in files] == [
        f"lab__model/no_revision_available/Flickr30k{d}Retrieval.json" for d in ("I2T", "T2I")
    ]
    for file, direction in zip(files, ("i2t", "t2i"), strict=True):
        result = package.TaskResult.from_disk(file)
        assert result.get_score() == report["gt:nDCG@10", direction].value
        assert (result.task.metadata.name, result.task.metadata.category) == (file.stem, direction)
        assert result.task.metadata.main_score == mteb.MAIN and result.eval_splits == ["test"]
    for split, direction in mteb.TASKS:
        assert package.get_task(mteb.TASKS[split, direction]).metadata.category == direction


def test_languages_are_subsets_of_one_task_of_mteb(vectors, report, tmp_path):
    """XFlickrCO: one file a direction for the reports of all languages, of their joint table, or of one language."""
    package = needs("mteb")
    spoken = {}
    for place, language in enumerate(("ja", "de")):
        texts = vectors[1] + place * np.random.default_rng(place).standard_normal(vectors[1].shape)
        made = vb.evaluate(vectors[0], texts, captions_per_image=5, metrics=METRICS, similarity="dot")
        signature = made.signature.replace("custom#", f"xflickrco:{language}#")
        spoken[language] = replace(made, split=f"xflickrco:{language}", signature=signature)
        spoken[language].save(tmp_path / f"{language}.json")
    vb.joint(spoken).save(tmp_path / "both.json")
    files = vb.export(list(spoken.values()), "mteb", tmp_path / "one", **ABOUT)
    done = run(
        "export", str(tmp_path / "both.json"), "--to", "mteb", "-o", str(tmp_path / "two"), "--model", "lab/model"
    )
    assert done.exit_code == 0, done.stderr
    assert [f.name for f in files] == [f"XFlickr30kCo{d}Retrieval.json" for d in ("I2T", "T2I")]
    for file, direction in zip(files, ("i2t", "t2i"), strict=True):
        assert file.read_bytes() == (tmp_path / "two" / file.relative_to(tmp_path / "one")).read_bytes()
        result = package.TaskResult.from_disk(file)
        task = package.get_task(file.stem)
        assert (result.task_name, sorted(result.hf_subsets)) == (task.metadata.name, ["de", "ja"])
        for language, one in spoken.items():
            (part,) = (part for part in result.scores["test"] if part["hf_subset"] == language)
            assert part["main_score"] == one["gt:nDCG@10", direction].value
            assert part["languages"] == task.metadata.eval_langs[language] and task.metadata.category == direction
    (alone, _) = vb.export(tmp_path / "de.json", "mteb", tmp_path / "three", model="lab/model")
    assert package.TaskResult.from_disk(alone).hf_subsets == ["de"]
    of_mteb = {code: [language] for code, language in mteb.XFLICKRCO.items()}
    assert package.get_task("XFlickr30kCoT2IRetrieval").metadata.eval_langs == of_mteb
    for reports, words in (
        ([spoken["de"], spoken["de"]], "reports are of xflickrco:de, xflickrco:de, and a file of MTEB has one task"),
        ([spoken["de"], report], "reports are of xflickrco:de, f30k, and a file of MTEB has one task"),
    ):
        with pytest.raises(UsageError, match=words):
            vb.export(reports, "mteb", tmp_path / "no")
    with pytest.raises(UsageError, match="2 reports for the format csv\n  fix: export every report by itself"):
        vb.export(list(spoken.values()), "csv", tmp_path / "no")


def test_values_of_mteb_are_those_of_trec_eval(vectors, report, tmp_path):
    """MTEB computes its metrics with pytrec_eval; the scores are ranked here without vsebench."""
    package = needs("pytrec_eval")
    images, texts = vectors
    scores = images @ texts.T
    cuts = {f"{name}.1,5,10" for name in ("ndcg_cut", "map_cut", "recall", "success")}
    files = vb.export(report, "mteb", tmp_path)
    for file, table, relevant in (
        (files[0], scores, lambda q, d: d // 5 == q),
        (files[1], scores.T, lambda q, d: q // 5 == d),
    ):
        run_ = {f"q{q}": {f"d{d}": float(v) for d, v in enumerate(row)} for q, row in enumerate(table)}
        truth = {f"q{q}": {f"d{d}": 1 for d in range(table.shape[1]) if relevant(q, d)} for q in range(len(table))}
        measured = package.RelevanceEvaluator(truth, cuts).evaluate(run_)
        names = {"ndcg_at_": "ndcg_cut_", "map_at_": "map_cut_", "recall_at_": "recall_", "hit_rate_at_": "success_"}
        (part,) = json.loads(file.read_text())["scores"]["test"]
        compared = [key for key in part if key.rpartition("_")[0] + "_" in names]
        assert len(compared) >= 6
        for key in compared:
            stem, _, k = key.rpartition("_")
            theirs = [one[f"{names[stem + '_']}{k}"] for one in measured.values()]
            assert part[key] == pytest.approx(math.fsum(theirs) / len(theirs), abs=1e-9), key


def test_what_mteb_lacks_is_refused(report, tmp_path):
    with pytest.raises(UsageError, match=r"main score, nDCG@10 .* is not in the report \(i2t\)\n  fix: .*gt:nDCG@10"):
        vb.export(replace(report, results=report.results[:1]), "mteb", tmp_path)
    ranks = tuple(r for r in report.results if str(r.metric) in ("MedR", "RSum"))
    with pytest.raises(UsageError, match=r"main score, nDCG@10 .* is not in the report \(both directions\)"):
        vb.export(replace(report, results=ranks), "mteb", tmp_path)
    with pytest.raises(
        UsageError, match="no task for the test set 'custom'\n  fix: export a report of coco-5k, f30k or xflickrco"
    ):
        vb.export(replace(report, split="custom"), "mteb", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_mlflow_reads_its_store(report, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    store = needs("mlflow.store.tracking.file_store")
    files = vb.export(report, "mlflow", tmp_path, **ABOUT)
    assert files[0].name == "meta.yaml" and files[0].parent.parent == tmp_path / "mlruns"
    opened = store.FileStore(str(tmp_path / "mlruns"))
    experiment = opened.get_experiment_by_name("vsebench f30k")
    (ident,) = [p.name for p in (tmp_path / "mlruns" / experiment.experiment_id).iterdir() if p.is_dir()]
    found = opened.get_run(ident)
    assert found.data.metrics == {trackers.mlflow_name(key): v for key, v in report.to_dict(prefix="").items()}
    assert (found.info.run_name, found.info.status) == ("lab/model", "FINISHED")
    assert found.data.tags["signature"] == report.signature and found.data.params["split"] == "f30k"


def test_mlflow_migrates_its_store(report, tmp_path):
    """The command that the table names; it needs all of mlflow, of which mlflow-skinny has a part."""
    for package in ("mlflow.store.fs2db", "sqlalchemy", "alembic", "cryptography"):
        needs(package)
    vb.export(report, "mlflow", tmp_path, **ABOUT)
    target = tmp_path / "mlflow.db"
    code = "from mlflow.store.fs2db.cli import migrate_filestore as m; m()"
    command = [sys.executable, "-c", code, "--source", str(tmp_path), "--target", f"sqlite:///{target}"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with sqlite3.connect(target) as base:
        found = dict(base.execute("select key, value from latest_metrics"))
        assert base.execute("select name, status from runs").fetchall() == [("lab/model", "FINISHED")]
    assert found == {trackers.mlflow_name(key): value for key, value in report.to_dict(prefix="").items()}


def test_names_of_mlflow():
    keys = ["i2t_R@1", "t2i_cider:CS[tau=a]@100", "RSum", "i2t_FILE.npz:NCS@5"]
    assert [trackers.mlflow_name(k) for k in keys] == [
        "i2t_R_at_1", "t2i_cider_CS_tau_a__at_100", "RSum", "i2t_FILE.npz_NCS_at_5",
    ]  # fmt: skip


def test_wandb_keeps_an_offline_run(report, tmp_path):
    needs("wandb")
    vb.export(report, "wandb", tmp_path, **ABOUT)
    (folder,) = (tmp_path / "wandb").iterdir()
    assert folder.name.startswith("offline-run-")
    (file,) = folder.glob("*.wandb")
    content = file.read_bytes()
    assert content[:4] == b":W&B"
    for key in report.to_dict(prefix=""):
        assert key.encode() in content


def test_wandb_needs_its_package(report, tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        vb.VsebenchError, match="an offline run is written by the package wandb\n  fix: pip install wandb"
    ):
        vb.export(report, "wandb", tmp_path)


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["--to", "xml"], 2),
        (["--to", "eval-results"], 2),
        (["--to", "eval-results", "--dataset", "no-organisation"], 2),
        (["--to", "csv", "--model", " "], 2),
        (["--to", "csv", "--model", "a\nb"], 2),
        (["--to", "mteb"], 2),
        (["--to", "csv", "--path", "A.json"], 6),
        ([], 2),
    ],
)
def test_what_is_refused(report, tmp_path, monkeypatch, pinned, args, code):
    monkeypatch.chdir(tmp_path)
    replace(report, split="mine").save("A.json")
    done = run("export", "A.json", *args)
    assert (done.exit_code, done.stdout) == (code, "")
    pinned(done.stderr)
    assert [p.name for p in tmp_path.iterdir()] == ["A.json"]


def test_an_error_of_wandb_is_said(report, tmp_path, monkeypatch):
    (tmp_path / "wandb.py").write_text("raise RuntimeError('no disk here')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    with pytest.raises(
        vb.VsebenchError, match=r"wandb could not write .*: RuntimeError: no disk here\n  fix: pip install"
    ):
        vb.export(report, "wandb", tmp_path / "out")


def test_names_stay_inside_the_folder(report, tmp_path):
    folder = tmp_path / "inside"
    for to in FORMATS:
        if to != "wandb":
            vb.export(replace(report), to, folder, model="../../..", dataset="a/b")
    assert [p.name for p in tmp_path.iterdir()] == ["inside"]


def test_a_file_that_is_no_report(tmp_path):
    (tmp_path / "A.json").write_text("{}")
    with pytest.raises(BadInput, match=r"A\.json: is not a vsebench/report/1 document"):
        vb.export(tmp_path / "A.json", "csv", tmp_path)


def test_reports_without_a_time_or_intervals(report):
    bare = replace(report, provenance={}, intervals=None)
    bare = replace(bare, results=tuple(replace(r, interval=None) for r in bare.results))
    assert Exported((bare,), "m").started.timestamp() == 0
    for name, one in FORMATS.items():
        if name != "wandb":
            assert one[0](Exported((bare,), "m", dataset="a/b"))
