"""Training runs: from the command line to the evaluated folder, resumed runs, configurations, messages."""

from __future__ import annotations

import json
import math
import os
import shlex
import socket
import subprocess
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest

import vsebench
from tests.commands import cli
from vsebench.errors import BadInput, Diverged, UsageError

torch = pytest.importorskip("torch", reason="torch is not installed (extra: train)")
pytest.importorskip("safetensors", reason="safetensors is not installed (extra: train)")


from tests.devices import DEVICES  # noqa: E402
from tests.training import OPTIONS, begun, silent, small  # noqa: E402
from train_reference import checkpoint, config, parallel, train  # noqa: E402
from train_reference.data import Images, Loader, Part, Words, vocabulary_of  # noqa: E402  # noqa: E402
from train_reference.losses import loss_names  # noqa: E402

COMMAND = [sys.executable, "-m", "vsebench", "train-reference", *OPTIONS]


def bits(path: Path) -> dict[str, bytes]:
    return {name: t.numpy().tobytes() for name, t in sorted(checkpoint.read(path).tensors.items())}


def without_time(log: list[dict]) -> list[dict]:
    return [{key: value for key, value in line.items() if key != "seconds"} for line in log]


def test_a_run_from_the_command_line_is_evaluated_again(tmp_path):
    out = tmp_path / "run"
    found = cli("train-reference", "--loss", "sam", "--data", "scenes-40-size16", "--epochs", "2", "--batch", "20",
                "--set", "model.dim=8", "--set", "data.word_count=2", "--out", out, "--json")  # fmt: skip
    report = found.json
    again = cli("eval", out, "--json", "--trust")
    values = [r["value"] for r in again.json["results"]]
    assert values == [r["value"] for r in report["results"]]
    assert again.json["split"] == "scenes-40-size16-test"
    assert {p.name for p in out.iterdir()} == {
        "best.safetensors", "last.safetensors", "embeddings.npz", "run.json", "log.jsonl", "result.json"
    }  # fmt: skip
    encoded = cli("encode", out, "--part", "val", "-o", tmp_path / "val.npz", "--json")
    assert encoded.json["images"] == 10
    assert len(np.load(tmp_path / "val.npz")["text_embeddings"]) == 50


@pytest.mark.nightly
@pytest.mark.parametrize("name", loss_names())
def test_every_loss_trains(name, tmp_path):
    more = {} if name == "sam" else {"relevance": "match", "own_degree": "one"}
    report = train.train(small(loss={"name": name, **more}), tmp_path / "run", say=silent)
    assert report.split == "scenes-40-size16-test"


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "model",
    [
        {"text": "bigru"},
        {"text": "mean"},
        {"similarity": "order", "absolute": True},
        {"similarity": "euclidean"},
        {"normalise_images": False},
    ],
)
def test_every_model_trains_and_its_folder_gives_the_same_report(model, device, tmp_path):
    report = train.train(small(model=model, train={"device": device}), tmp_path / "run", say=silent)
    again = vsebench.evaluate(tmp_path / "run", trust=True)
    assert [r.value for r in again.results] == [r.value for r in report.results]


def test_the_command_that_evaluates_a_run_again_can_be_typed(tmp_path):
    folder = tmp_path / "my run's"
    done = cli("train-reference", *OPTIONS, "--epochs", "0", "--out", folder)
    command = next(line for line in done.err.splitlines() if "vsebench eval" in line).partition("vsebench ")[2]
    assert shlex.split(command) == ["eval", str(folder)]


def test_pixels(tmp_path, pinned):
    train.train(small(data={"features": "pixels"}, model={"image": "cnn"}), tmp_path / "run", say=silent)
    with pytest.raises(UsageError) as caught:
        train.train(small(data={"features": "pixels"}), tmp_path / "other", say=silent)
    pinned(caught.value.what)  # the fix has every encoder that other tests register


def test_learning_raises_recall(tmp_path):
    """A model that learns nothing, or from wrong pairs, stays at the recall of chance."""
    more = small(
        data={"name": "scenes-tiny"}, model={"dim": 32, "word_dim": 32}, loss={"name": "info_nce"},
        train={"epochs": 12, "batch": 25, "lr": 0.01, "decay_every": 0},
    )  # fmt: skip
    report = train.train(more, tmp_path / "run", say=silent)
    assert report["R@10", "i2t"].value > 1.5 * 0.186
    assert report["R@10", "t2i"].value > 1.5 * 0.2


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("settings", [{}, {"name": "sam", "settings": {"sampler": "random"}}])
def test_a_resumed_run_has_the_bits_of_an_uninterrupted_one(settings, device, tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    three = small(loss=settings, train={"epochs": 3, "device": device})
    train.train(three, whole, say=silent)
    train.train(small(loss=settings, train={"device": device}), parts, say=silent)
    train.train(three, parts, resume=True, say=silent)
    for name in (checkpoint.BEST, checkpoint.LAST):
        assert bits(whole / name) == bits(parts / name)
    logs = [[json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()] for folder in (whole, parts)]
    assert without_time(logs[0]) == without_time(logs[1]) and len(logs[0]) == 3


@pytest.mark.parametrize("warmup", [0, 3])
def test_training_stops_when_the_validation_does_not_improve(warmup, tmp_path, refuses):
    """The run ends at the first epoch without a better value, in one part or resumed before and after that."""

    def patient(epochs: int, patience: int = 2) -> config.Config:
        return small(loss={"warmup": warmup}, train={"epochs": epochs, "patience": patience, "lr": 0.01})

    said: list[str] = []
    train.train(patient(40), tmp_path / "whole", say=said.append)
    lines = [json.loads(line) for line in (tmp_path / "whole" / "log.jsonl").read_text().splitlines()]
    log = [line["RSum"] for line in lines]
    values, best = log[warmup:], 0
    for n, value in enumerate(values):
        best = n if value > values[best] else best
        assert (n - best == 2) == (n == len(values) - 1)
    assert len(log) < 40 and "stopped: RSum did not improve in 2 epochs" in said
    for epochs in (len(log) - 1, 40, 50):  # stopped before its last epoch, then after it
        report = train.train(patient(epochs), tmp_path / "parts", resume=True, say=silent)
    for name in (checkpoint.BEST, checkpoint.LAST):
        assert bits(tmp_path / "whole" / name) == bits(tmp_path / "parts" / name)
    parts = [json.loads(line) for line in (tmp_path / "parts" / "log.jsonl").read_text().splitlines()]
    assert without_time(parts) == without_time(lines)
    assert report["RSum"].value == vsebench.load(tmp_path / "whole" / "result.json")["RSum"].value
    refuses(UsageError, train.train, patient(40, 3), tmp_path / "parts", resume=True, say=silent)


@pytest.mark.nightly
def test_a_killed_run_is_resumed(tmp_path):
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    command = [*COMMAND, "--epochs", "40", "--out", str(killed)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    begun(process, (killed / "log.jsonl").exists)
    process.kill()
    process.wait()
    done = checkpoint.read(killed / checkpoint.LAST).log
    assert 0 < len(done) < 40, "killed too late for this test"
    for folder, more in ((killed, ["--resume"]), (whole, [])):
        subprocess.run([*command[:-1], str(folder), *more], check=True, capture_output=True)
    assert bits(killed / checkpoint.LAST) == bits(whole / checkpoint.LAST)


def test_a_folder_with_a_run_is_not_overwritten(tmp_path, refuses):
    train.train(small(), tmp_path, say=silent)
    before = (tmp_path / checkpoint.LAST).read_bytes()
    refuses(UsageError, train.train, small(), tmp_path, say=silent)
    refuses(UsageError, train.train, small(train={"lr": 0.1}), tmp_path, resume=True, say=silent)
    assert (tmp_path / checkpoint.LAST).read_bytes() == before
    train.train(small(), tmp_path, resume=True, say=silent)


def test_a_loss_that_is_no_number_ends_the_run(tmp_path, monkeypatch, refuses):
    run = train.prepare(small())
    with torch.no_grad():
        run.model.images.project.weight.fill_(torch.nan)
    batch = next(iter(run.loader(0)))
    refuses(Diverged, train.step, run, batch, 0, 7)


def two_processes(*options: str | Path, command: list[str] = COMMAND) -> tuple[list[int], list[tuple[str, str]]]:
    """The exit codes and (stdout, stderr) of a run in two processes, as ``torchrun`` starts them, with gloo."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    world = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": "lo"}
    processes = [
        subprocess.Popen(
            [*command, *map(str, options)],
            env={**os.environ, **world, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for rank in range(2)
    ]  # fmt: skip
    outputs = [process.communicate(timeout=300) for process in processes]
    return [process.returncode for process in processes], outputs


@pytest.mark.parametrize("loss", [{}, {"name": "info_nce", "learned": ["scale"]}])
def test_two_processes_equal_one(loss, tmp_path):
    """``torchrun`` with gloo: negatives of the complete batch, gradients added up."""
    train.train(small(loss=loss, train={"epochs": 2}), tmp_path / "one", say=silent)
    more = ["--loss", loss["name"], "--set", 'loss.learned=["scale"]'] if loss else []
    codes, outputs = two_processes("--epochs", "2", *more, "--out", tmp_path / "two")
    assert codes == [0, 0], outputs
    assert "R@1" in outputs[0][0]
    assert outputs[1] == ("", "")  # the first process prints the result
    one, two = (checkpoint.read(tmp_path / name).part("model.") for name in ("one", "two"))
    values = [vsebench.load(tmp_path / name / "result.json")["RSum"].value for name in ("one", "two")]
    assert values[0] == pytest.approx(values[1], abs=0.1)
    for name in one:
        assert torch.allclose(one[name], two[name], atol=1e-5), name


def test_processes_wait_for_days(monkeypatch):
    given = {}
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(parallel.atexit, "register", lambda function: None)
    monkeypatch.setattr(torch.distributed, "init_process_group", lambda backend, **options: given.update(options))
    parallel.start()
    assert given["timeout"].days == 7


FEW = {"batch": "100", "loss.neighbours": "45", "data.first": "0.6", "loss.relevance": "cider"}


@pytest.mark.nightly
def test_two_processes_divide_batches_of_few_captions(tmp_path):
    """60 captions of 12 images: 55 of them are drawn, which leaves no caption of another image to be a neighbour."""
    options = [word for key, value in FEW.items() if key != "batch" for word in ("--set", f"{key}={value}")]
    codes, outputs = two_processes(*options, "--batch", FEW["batch"], "--epochs", "1", "--out", tmp_path / "two")
    assert codes == [0, 0], outputs
    assert "1 step of" in outputs[0][1] and (tmp_path / "two" / "result.json").is_file()


@pytest.mark.nightly
def test_batches_that_two_processes_cannot_divide(tmp_path):
    codes, outputs = two_processes("--batch", "7", "--out", tmp_path / "a")
    assert codes == [2, 2] and "batches of 7 items" in outputs[0][1], outputs
    options = ("--set", "loss.neighbours=3", "--set", "loss.relevance=cider", "--batch", "4", "--out", tmp_path / "b")
    codes, outputs = two_processes(*options)
    assert codes == [2, 2], outputs
    assert "of which some have 1, for 2 processes" in outputs[0][1]
    assert "loss.neighbours" in outputs[0][1] and not (tmp_path / "b").exists()


@pytest.mark.parametrize(
    "given",
    [
        {"train": {"seed": -1}},
        {"train": {"threads": -2}},
        {"train": {"weight_decay": -1}},
        {"train": {"decay_every": -1}},
        {"train": {"patience": -1}},
        {"train": {"lr": 0}},
        {"train": {"decay": 0}},
        {"train": {"clip": float("nan")}},
        {"train": {"lr": 10**400}},
        {"train": {"batch": True}},
        {"data": {"first": 1.5}},
        {"loss": {"scale": float("inf")}},
        {"model2": {}},
        {"train": {"epoch": 3}},
        {"train": {"epochs": "3"}},
        {"train": {"batch": 1}},
        {"data": 3},
    ],
)
def test_wrong_configurations(given, refuses):
    refuses(UsageError, config.from_dict, given)


def test_configurations_from_files_and_options(tmp_path, refuses):
    file = tmp_path / "a.toml"
    file.write_text('[train]\nepochs = 7\nlr = 1\n[loss]\nname = "ladder"\nsettings = { betas = [1.0, 0.5] }\n')
    found = config.configured(
        None, file, changes={"train.epochs": 2}, assignments=["train.lr=0.5", "loss.settings.sampling=sum"]
    )
    assert (found.train.epochs, found.train.lr, found.loss.settings) == (
        2,
        0.5,
        {"betas": [1.0, 0.5], "sampling": "sum"},
    )
    file.write_text("[train\n")
    refuses(BadInput, config.read, file)
    file.write_bytes(b"\x80\x04\x95 pickled")
    refuses(BadInput, config.read, file)
    refuses(UsageError, config.read, "vsep")
    refuses(UsageError, train.prepare, small(loss={"name": "sam", "settings": {"tau": math.nan}}))
    refuses(UsageError, train.prepare, small(loss={"settings": {"tau": 3}}))


def own_data(folder: Path, between: str = " ") -> str:
    """Features after a ReLU, all in one cone, and captions of their words with this between them."""
    rng = np.random.default_rng(58)
    words = np.array([f"{a}{b}" for a in ("red", "dog", "runs", "tree", "x") for b in ("s", "er", "ing")])
    meaning = rng.standard_normal((len(words), 256))
    folder.mkdir()
    for part, images in (("train", 160), ("dev", 40), ("test", 40)):
        facts = np.stack([rng.choice(len(words), 6, replace=False) for _ in range(images)])
        features = meaning[facts].sum(axis=1) + 4 * rng.standard_normal((images, 256)) + 30
        np.save(folder / f"{part}_ims.npy", np.maximum(features, 0).astype(np.float32))
        captions = [between.join(words[rng.permutation(fact)[:5]]) for fact in facts for _ in range(5)]
        (folder / f"{part}_caps.txt").write_text("".join(f"{caption}\n" for caption in captions))
    return str(folder)


@pytest.mark.parametrize(
    "settings", [{"name": "mh"}, {"name": "mh", "warmup": 4}, {"name": "sh"}, {"name": "info_nce"}]
)
def test_a_run_that_is_stuck_where_all_scores_are_equal_says_so(settings, tmp_path, pinned):
    """Twice the margin is the hinge of the hardest negatives of equal scores; the advice trains."""
    said: list[str] = []
    model, training = {"dim": 32, "word_dim": 32}, {"epochs": 6, "batch": 40, "lr": 0.005}
    c = small(data={"name": own_data(tmp_path / "own")}, model=model, loss=settings, train=training)
    report = train.train(c, tmp_path / "run", say=said.append)
    lines = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    told = [text for text in [*said, *report.warnings] if "margin" in text]
    if settings == {"name": "mh"}:
        assert abs(lines[-1]["loss"] - 0.4) < 0.02 and lines[-1]["equal_scores"] and report["RSum"].value < 0.8
        assert len(told) == 2 and told[0] == told[1] == report.warnings[0]
        pinned(told[0])
    else:
        assert not told and not any("equal_scores" in line for line in lines) and report["RSum"].value > 1.5


@pytest.mark.parametrize("between", [" ", "", "_"])
def test_the_share_of_words_without_a_vector_is_told_before_training(between, tmp_path, pinned):
    said: list[str] = []
    data = {"name": own_data(tmp_path / "own", between), "word_count": 1}
    train.train(small(data=data, train={"epochs": 1, "batch": 80}), tmp_path / "run", say=said.append)
    told = [text for text in said if "validation captions" in text]
    assert len(told) == bool(between != " ") and told == [text for text in said[:2] if text in told]
    pinned(told or "nothing")


def test_a_vocabulary_needs_words(refuses):
    refuses(BadInput, vocabulary_of, ["one", "two"], 4)
    forms = [unicodedata.normalize(form, "caf\u00e9") for form in ("NFC", "NFD")]
    assert Words(vocabulary_of(forms, 2), forms).rows == [[1, 4, 2], [1, 4, 2]]
    found = vocabulary_of(["a dog", "a cat", "A dog."], 2)
    assert found == ("<pad>", "<start>", "<end>", "<unk>", "a", "dog")
    assert Words(found, ["a bird"]).rows == [[1, 4, 3, 2]]


def test_batches_are_of_different_captions_and_know_their_images():
    split = vsebench.TestSet.captioned("x", np.arange(6), np.arange(12), np.arange(12) // 2, tuple("abcdefghijkl"))
    start = np.array([0, 1, 3, 4, 6, 9, 10])
    images = Images(np.arange(20.0, dtype=np.float32).reshape(10, 2), "regions", start=start[:-1], stop=start[1:])
    words = Words(("", "", "", ""), split.columns.texts)
    loader = Loader(Part(split, images), words, config.from_dict({"train": {"batch": 4}}))
    for epoch in range(3):
        order = list(loader.order(epoch))
        assert sorted(np.concatenate(order).tolist()) == list(range(12))
    for rows, batch in zip(loader.order(1), loader(1), strict=True):
        of = rows // 2
        assert batch["positive"].tolist() == (of[:, None] == of[None]).tolist()
        for n, image in enumerate(of.tolist()):
            vectors = batch["rows"]["images"][n][batch["rows"]["mask"][n]]
            assert torch.equal(vectors, torch.from_numpy(images.array[start[image] : start[image + 1]]))
