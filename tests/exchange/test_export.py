"""``vsebench export``: every format is read by the package that it is of."""

from __future__ import annotations

import importlib
import json
import math
import re
import shutil
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import vsebench as vb
from tests.commands import cli, document, refused
from vsebench.errors import BadInput, UsageError
from vsebench.exchange import exported, mteb
from vsebench.exchange.export import FORMATS
from vsebench.exchange.exported import Exported

METRICS = "R@1,R@5,R@10,Recall@5,gt:nDCG@10,mAP@5,MedR,RSum"
ABOUT = {"model": "lab/model", "dataset": "lab/data", "url": "https://example.org/logs", "evaluator": "Us"}


def named(report: vb.Report, split: str) -> vb.Report:
    """The report as one of another test set."""
    return replace(report, split=split, signature=report.signature.replace(f"split:{report.split}#", f"split:{split}#"))


@pytest.fixture(scope="module")
def vectors() -> tuple[np.ndarray, np.ndarray]:
    """40 images and 5 captions of each, without ties."""
    rng = np.random.default_rng(3)
    images = rng.standard_normal((40, 16))
    return images, np.repeat(images, 5, axis=0) + 2.0 * rng.standard_normal((200, 16))


@pytest.fixture(scope="module")
def report(vectors) -> vb.Report:
    made = vb.evaluate(*vectors, captions_per_image=5, metrics=METRICS, similarity="dot")
    return named(made, "f30k")


def wanted(report: vb.Report) -> dict[tuple[str, str | None], float]:
    return {(str(r.metric), r.direction): r.value for r in report.results}


def needs(module: str) -> ModuleType:
    """A package of another tool; the test is skipped without it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        pytest.skip(f"{module} is not installed (group: exchange)")


def test_the_command_exports_what_the_function_does(report, tmp_path):
    report.save(tmp_path / "A.json")
    for name in FORMATS:
        more = [word for key, value in ABOUT.items() if key != "evaluator" for word in (f"--{key}", value)]
        found = document("export", tmp_path / "A.json", "--to", name, "-o", tmp_path / name, *more)
        files = sorted(str(p) for p in (tmp_path / name).rglob("*") if p.is_file())
        assert found["format"] == name and sorted(found["files"]) == files != []
    done = cli("export", str(tmp_path / "A.json"), "--to", "model-index", "--path", str(tmp_path / "one"))
    (file,) = vb.export(tmp_path / "A.json", "model-index", tmp_path / "two")
    assert done.out == f"{tmp_path / 'one' / 'model-index.yaml'}\n" and "huggingface_hub" in done.err
    assert file.read_bytes() == (tmp_path / "one" / "model-index.yaml").read_bytes()


def test_a_file_that_is_replaced_is_noted(report, tmp_path, monkeypatch, pinned):
    monkeypatch.chdir(tmp_path)
    report.save("A.json")
    replace(report, results=report.results[:2]).save("B.json")
    said = [cli("export", f"{name}.json", "--to", "model-index", "-o", "card", "--model", "m").err for name in "AAB"]
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
    assert yaml.safe_load(exported.yaml(value)) == json.loads(exported.yaml(value)) == value


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
        assert result.task.metadata.main_score == mteb.MAIN_SCORE and result.eval_splits == ["test"]
    for split, direction in mteb.TASKS:
        assert package.get_task(mteb.TASKS[split, direction]).metadata.category == direction


def test_languages_are_subsets_of_one_task_of_mteb(vectors, report, tmp_path, refuses):
    """XFlickrCO: one file a direction for the reports of all languages, of their joint table, or of one language."""
    package = needs("mteb")
    spoken = {}
    for place, language in enumerate(("ja", "de")):
        texts = vectors[1] + place * np.random.default_rng(place).standard_normal(vectors[1].shape)
        made = vb.evaluate(vectors[0], texts, captions_per_image=5, metrics=METRICS, similarity="dot")
        signature = made.signature.replace("custom#", f"xflickrco:{language}#")
        spoken[language] = replace(made, split=f"xflickrco:{language}", signature=signature)
        spoken[language].save(tmp_path / f"{language}.json")
    vb.compare(spoken, tests=False).save(tmp_path / "both.json")
    files = vb.export(list(spoken.values()), "mteb", tmp_path / "one", **ABOUT)
    cli("export", tmp_path / "both.json", "--to", "mteb", "-o", tmp_path / "two", "--model", "lab/model")
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
    for reports in ([spoken["de"], spoken["de"]], [spoken["de"], report]):
        refuses(UsageError, vb.export, reports, "mteb", tmp_path / "no")
    refuses(UsageError, vb.export, list(spoken.values()), "model-index", tmp_path / "no")


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


def test_what_mteb_lacks_is_refused(report, tmp_path, refuses):
    refuses(UsageError, vb.export, replace(report, results=report.results[:1]), "mteb", tmp_path)
    ranks = tuple(r for r in report.results if str(r.metric) in ("MedR", "RSum"))
    (names,) = re.findall(
        "'(.*)'", refuses(UsageError, vb.export, replace(report, results=ranks), "mteb", tmp_path).fix
    )
    taken = tuple(r for r in report.results if str(r.metric) in names.split(","))
    assert names and vb.export(replace(report, results=taken), "mteb", tmp_path)
    shutil.rmtree(tmp_path)
    tmp_path.mkdir()
    refuses(UsageError, vb.export, replace(report, split="custom"), "mteb", tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["--to", "xml"], 2),
        (["--to", "model-index", "--model", " "], 2),
        (["--to", "model-index", "--model", "a\nb"], 2),
        (["--to", "mteb"], 2),
        (["--to", "model-index", "--path", "A.json"], 6),
        ([], 2),
    ],
)
def test_what_is_refused(report, tmp_path, monkeypatch, pinned, args, code):
    monkeypatch.chdir(tmp_path)
    named(report, "mine").save("A.json")
    pinned(refused("export", "A.json", *args, code=code))
    assert [p.name for p in tmp_path.iterdir()] == ["A.json"]


def test_names_stay_inside_the_folder(report, tmp_path):
    folder = tmp_path / "inside"
    for to in FORMATS:
        vb.export(report, to, folder, model="../../..", dataset="a/b")
    assert [p.name for p in tmp_path.iterdir()] == ["inside"]


def test_a_file_that_is_no_report(tmp_path, refuses):
    (tmp_path / "A.json").write_text("{}")
    refuses(BadInput, vb.export, tmp_path / "A.json", "mteb", tmp_path)


@pytest.mark.parametrize("inputs", [None, [], {"images": {"file": "x.npz"}}, ["x.npz"], [{"name": "x"}], 3])
def test_the_model_of_other_provenance_has_a_name(report, tmp_path, inputs):
    (file,) = vb.export(replace(report, provenance={"inputs": inputs}), "model-index", tmp_path)
    assert '"name": "model"' in file.read_text()
    (file,) = vb.export(replace(report, provenance={"inputs": [{"file": "clip.npz"}]}), "model-index", tmp_path)
    assert '"name": "clip"' in file.read_text()


def test_reports_without_a_time_or_intervals(report):
    bare = replace(report, provenance={}, intervals=None)
    bare = replace(bare, results=tuple(replace(r, interval=None) for r in bare.results))
    assert Exported((bare,), "m").started.timestamp() == 0
    assert all(files(Exported((bare,), "m")) for files, _ in FORMATS.values())
