"""Checkpoints that were damaged or changed: refused with one message and exit code 3, before memory is taken."""

from __future__ import annotations

import json
import math
import resource
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

torch = pytest.importorskip("torch", reason="torch is not installed (extra: train)")
pytest.importorskip("safetensors", reason="safetensors is not installed (extra: train)")

from safetensors import safe_open  # noqa: E402
from safetensors.torch import save_file  # noqa: E402

from tests.training import OPTIONS, cli  # noqa: E402
from train_reference import checkpoint  # noqa: E402

BEST, LAST = checkpoint.BEST, checkpoint.LAST
Header, Tensors = dict[str, Any], dict[str, torch.Tensor]
Change = Callable[[Header, Tensors], None]


@pytest.fixture(scope="module")
def trained(cache, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of one epoch."""
    out = tmp_path_factory.mktemp("trained") / "run"
    done = cli("train-reference", *OPTIONS, "--epochs", "1", "--out", out)
    assert done.exit_code == 0, done.stderr
    return out


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    """A copy of that folder."""
    return Path(shutil.copytree(trained, tmp_path / "run"))


def rewrite(file: Path, change: Change, *, sealed: bool = True) -> None:
    """Write a checkpoint with another header or other tensors; ``sealed``: with the digest that belongs to them."""
    with safe_open(file, framework="pt") as stream:
        metadata = stream.metadata()
        tensors = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118
    header = json.loads(metadata["vsebench"])
    change(header, tensors)
    metadata["vsebench"] = json.dumps(header)
    if sealed:
        metadata["sha256"] = checkpoint._digest(metadata["vsebench"], tensors)
    save_file(tensors, file, metadata)


def put(*path: str | int, to: object) -> Change:
    """A change of one value of the header."""

    def change(header: Header, tensors: Tensors) -> None:
        for key in path[:-1]:
            header = header[key]  # type: ignore[index]
        header[path[-1]] = to  # type: ignore[index]

    return change


def drop(*path: str) -> Change:
    """A header without one value."""

    def change(header: Header, tensors: Tensors) -> None:
        for key in path[:-1]:
            header = header[key]
        del header[path[-1]]

    return change


def tensor(name: str, changed: Callable[[torch.Tensor], torch.Tensor]) -> Change:
    """A change of one tensor."""

    def change(header: Header, tensors: Tensors) -> None:
        tensors[name] = changed(tensors[name]).contiguous()

    return change


def without(name: str) -> Change:
    """A file without one tensor."""
    return lambda header, tensors: tensors.__delitem__(name)


def added(name: str) -> Change:
    """A file with one more tensor."""
    return lambda header, tensors: tensors.update({name: torch.zeros(3)})


def words(change: Callable[[list[str]], list[str]]) -> Change:
    """Another vocabulary."""
    return lambda header, tensors: header.update(vocabulary=change(header["vocabulary"]))


WEIGHT = "model.captions.gru.weight_hh_l0"
NAN, INF = math.nan, math.inf
OF_BOTH = {  # what is changed: the change, and words of the message
    "schema": (put("schema", to="vsebench/checkpoint/1"), "its schema is 'vsebench/checkpoint/1', not"),
    "schema that is a list": (put("schema", to=[1]), "its schema is [1]"),
    "no configuration": (drop("config"), "its header has no 'config'"),
    "configuration that is a list": (put("config", to=[]), "config is []"),
    "section that is a number": (put("config", "model", to=3), "model is 3"),
    "unknown section": (put("config", "modle", to={}), "unknown section 'modle'"),
    "unknown key": (put("config", "model", "dmi", to=3), "unknown key of [model] 'dmi'"),
    "negative size": (put("config", "model", "dim", to=-8), "model.dim is -8"),
    "size that is NaN": (put("config", "model", "dim", to=NAN), "model.dim is nan"),
    "size that is a word": (put("config", "model", "dim", to="8"), "model.dim is '8'"),
    "size that is true": (put("config", "model", "word_dim", to=True), "model.word_dim is True"),
    "larger size": (put("config", "model", "dim", to=16), "by its configuration"),
    "size of gigabytes": (put("config", "model", "dim", to=200_000), "by its configuration"),
    "size beyond 64 bits": (put("config", "model", "dim", to=2**70), "no model has the sizes model.dim 118059"),
    "product beyond 64 bits": (put("config", "model", "dim", to=2**40), "no model has the sizes model.dim 109951"),
    "learning rate that is NaN": (put("config", "train", "lr", to=NAN), "train.lr is nan"),
    "other network": (put("config", "model", "text", to="bigru"), "_l0_reverse, which its configuration needs"),
    "network of pixels": (put("config", "model", "image", to="cnn"), "model.image is 'cnn', and the images are"),
    "other precision": (put("config", "train", "precision", to="float64"), "is F32 of shape"),
    "width that is NaN": (put("width", to=NAN), "width is nan"),
    "width that is 0": (put("width", to=0), "width is 0"),
    "width of gigabytes": (put("width", to=2**36), "by its configuration"),
    "width beyond 64 bits": (put("width", to=2**70), "width is 118059"),
    "kind": (put("kind", to="sounds"), "kind is 'sounds'"),
    "kind that is a list": (put("kind", to=["regions"]), "kind is ['regions']"),
    "kind of other tensors": (put("kind", to="vectors"), "model.images.project.weight is F32"),
    "vocabulary that is a word": (put("vocabulary", to="words"), "vocabulary is no list of words"),
    "vocabulary of numbers": (words(lambda w: list(range(len(w)))), "vocabulary is no list of words"),
    "vocabulary with a word twice": (words(lambda w: [*w[:-1], w[-2]]), "vocabulary has a word twice"),
    "vocabulary that is shorter": (words(lambda w: w[:-1]), "model.captions.embed.weight is F32 of shape"),
    "vocabulary without its first words": (words(lambda w: w[::-1]), "vocabulary does not begin with <pad>"),
    "progress that is a list": (put("progress", to=[]), "progress is []"),
    "progress without a value": (drop("progress", "best"), "progress is {"),
    "epoch that is NaN": (put("progress", "epoch", to=NAN), "progress.epoch is nan"),
    "epoch that is negative": (put("progress", "epoch", to=-1), "progress.epoch is -1"),
    "epoch after the last one": (put("progress", "epoch", to=10**9), "progress.epoch is 1000000000 of 1"),
    "step that is a fraction": (put("progress", "step", to=1.5), "progress.step is 1.5 after epoch 1"),
    "best that is NaN": (put("progress", "best", to=NAN), "progress.best is nan"),
    "best that is missing": (put("progress", "best", to=None), "progress.best is None"),
    "best epoch after the last one": (put("progress", "best_epoch", to=7), "progress.best_epoch is 7 after epoch 1"),
    "log that is a word": (put("progress", "log", to="x"), "progress.log has not 1 line of finite numbers"),
    "log without its line": (put("progress", "log", to=[]), "progress.log has not 1 line"),
    "log that is NaN": (put("progress", "log", 0, "loss", to=NAN), "progress.log has not 1 line"),
    "int8 weights": (tensor(WEIGHT, lambda t: t.to(torch.int8)), f"tensor {WEIGHT} is I8 of shape (24, 8), and F32"),
    "half precision": (tensor(WEIGHT, lambda t: t.half()), f"tensor {WEIGHT} is F16"),
    "weights that are NaN": (tensor(WEIGHT, lambda t: t * NAN), f"tensor {WEIGHT} has values that are not finite"),
    "weights that are infinite": (tensor(WEIGHT, lambda t: t + INF), f"tensor {WEIGHT} has values that are not finite"),
    "transposed weights": (tensor(WEIGHT, lambda t: t.T), f"tensor {WEIGHT} is F32 of shape (8, 24), and F32 of shape"),
    "flat weights": (tensor(WEIGHT, lambda t: t.flatten()), f"tensor {WEIGHT} is F32 of shape (192,)"),
    "missing weights": (without(WEIGHT), f"no tensor {WEIGHT}"),
    "weights of another layer": (added("model.captions.extra"), "a tensor model.captions.extra"),
    "tensor of another program": (added("decoder"), "a tensor decoder"),
}  # fmt: skip
OF_STATE = {
    "state of Adam of another shape": (tensor("optimiser.1.exp_avg", lambda t: t.flatten()[:3]), "optimiser.1.exp_avg"),
    "missing state of Adam": (without("optimiser.0.exp_avg_sq"), "no tensor optimiser.0.exp_avg_sq"),
    "steps of Adam": (tensor("optimiser.0.step", lambda t: t.reshape(1)), "optimiser.0.step is F32 of shape (1,)"),
    "state of weights that are not there": (added("optimiser.99.exp_avg"), "a tensor optimiser.99.exp_avg"),
    "state without a number": (added("optimiser.x.exp_avg"), "a tensor optimiser.x.exp_avg"),
    "unknown state": (added("optimiser.0.max_exp_avg"), "a tensor optimiser.0.max_exp_avg"),
    "short random state": (tensor("random.cpu", lambda t: t[:7]), "tensor random.cpu is U8 of shape (7,)"),
    "float random state": (tensor("random.cpu", lambda t: t.float()), "tensor random.cpu is F32"),
    "random state of a GPU": (added("random.cuda"), "tensor random.cuda is F32 of shape (3,)"),
    "unknown random state": (added("random.other"), "a tensor random.other"),
    "no state": (lambda header, tensors: [tensors.pop(k) for k in list(tensors) if k[:6] in ("optimi", "random")],
                 "holds the model only"),
}  # fmt: skip
UNSEALED = {  # values that could be right, but were not written
    "vocabulary of other words": words(lambda w: [*w[:4], *(f"x{n}" for n in range(len(w) - 4))]),
    "vocabulary in another order": words(lambda w: [*w[:4], *w[:3:-1]]),
    "best that is absurd": put("progress", "best", to=1e300),
    "step that is absurd": put("progress", "step", to=10**15),
    "log that is absurd": put("progress", "log", 0, "loss", to=-1e9),
    "other data": put("config", "data", "name", to="scenes-tiny"),
    "other weights": tensor(WEIGHT, lambda t: t + 1),
}


def refused(done: Result, file: Path, message: str) -> None:
    """One message, on stderr, with the file, what is wrong and what to do; nothing on stdout."""
    assert done.exit_code == 3, (done.exit_code, done.stderr, done.exception)
    assert done.stdout == "" and "Traceback" not in done.stderr
    error = done.stderr[done.stderr.index("error:") :]
    assert error.startswith(f"error: {file}: "), error
    assert message in error
    assert error.count("fix:") == 1 and error.rstrip().count("\n") == 1, error


def resumed(run: Path) -> Result:
    return cli("train-reference", *OPTIONS, "--epochs", "2", "--resume", "--out", run)


@pytest.mark.parametrize("name", OF_BOTH)
def test_a_damaged_model_is_not_encoded(name, run, tmp_path):
    change, message = OF_BOTH[name]
    rewrite(run / BEST, change)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused(cli("encode", run, "-o", tmp_path / "e.npz"), run / BEST, message)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 * 1024, "memory in KiB"
    assert not (tmp_path / "e.npz").exists()


@pytest.mark.parametrize("name", [*list(OF_BOTH)[::6], *OF_STATE])  # all others are read by the same function
def test_a_damaged_run_is_not_resumed(name, run):
    change, message = {**OF_BOTH, **OF_STATE}[name]
    rewrite(run / LAST, change)
    damaged = (run / LAST).read_bytes()
    refused(resumed(run), run / LAST, message)
    assert (run / LAST).read_bytes() == damaged
    assert (run / "result.json").is_file()


@pytest.mark.parametrize("name", UNSEALED)
def test_changed_checkpoints(name, run, tmp_path):
    for file in (BEST, LAST):
        rewrite(run / file, UNSEALED[name], sealed=False)
    message = "its settings, vocabulary or weights are not those that were written"
    refused(cli("encode", run, "-o", tmp_path / "e.npz"), run / BEST, message)
    refused(resumed(run), run / LAST, message)


def test_the_best_epoch_of_another_run(run):
    """It is read at the end of a resumed run that has no better one."""
    rewrite(run / BEST, words(lambda w: [*w[:4], *w[:3:-1]]))
    again = cli("train-reference", *OPTIONS, "--epochs", "1", "--resume", "--out", run)
    refused(again, run / BEST, "was trained on other data")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the checkpoint is damaged"),
        (b"x" * 100, "the checkpoint is damaged"),
        (b"\xff" * 8 + b"{}", "the checkpoint is damaged"),
        (b"\x02" + b"\0" * 7 + b"{}", "the checkpoint is damaged, or of another program: Expecting value"),
        (json.dumps({"__metadata__": {"vsebench": "[" * 100_000}}).encode(), "nested too deeply"),
        (json.dumps({"__metadata__": {"vsebench": "3"}}).encode(), "its schema is 3"),
    ],
)
def test_files_that_are_no_checkpoints(data, message, run, tmp_path):
    if data.startswith(b'{"__meta'):
        data = len(data).to_bytes(8, "little") + data
    (run / BEST).write_bytes(data)
    refused(cli("encode", run, "-o", tmp_path / "e.npz"), run / BEST, message)


def test_a_shortened_checkpoint(run, tmp_path):
    data = (run / BEST).read_bytes()
    (run / BEST).write_bytes(data[: len(data) // 2])
    refused(cli("encode", run, "-o", tmp_path / "e.npz"), run / BEST, "the checkpoint is damaged")
    (run / BEST).unlink()
    refused(cli("encode", run, "-o", tmp_path / "e.npz"), run, "no best.safetensors in this folder")


def test_rewriting_without_a_change_is_read(run, tmp_path):
    """The checks above refuse the changes, not the way in which they are made."""
    for file in (BEST, LAST):
        rewrite(run / file, lambda header, tensors: None)
    assert cli("encode", run, "-o", tmp_path / "e.npz").exit_code == 0
    assert resumed(run).exit_code == 0
