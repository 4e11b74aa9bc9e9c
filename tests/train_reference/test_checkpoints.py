"""Checkpoints that were damaged or changed: refused with one message and exit code 3."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from tests.commands import invoke as cli

torch = pytest.importorskip("torch", reason="torch is not installed (extra: train)")
pytest.importorskip("safetensors", reason="safetensors is not installed (extra: train)")

from safetensors import safe_open  # noqa: E402
from safetensors.torch import save_file  # noqa: E402

from tests.training import OPTIONS  # noqa: E402
from train_reference import checkpoint  # noqa: E402

BEST, LAST = checkpoint.BEST, checkpoint.LAST
Header, Tensors = dict[str, Any], dict[str, torch.Tensor]
Change = Callable[[Header, Tensors], Any]


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


def rewrite(file: Path, change: Change) -> None:
    """Write a checkpoint with another header or other tensors."""
    with safe_open(file, framework="pt") as stream:
        metadata = stream.metadata()
        tensors = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118
    header = json.loads(metadata["vsebench"])
    change(header, tensors)
    metadata["vsebench"] = json.dumps(header)
    save_file(tensors, file, metadata)


def put(*path: str | int, to: object) -> Change:
    """A change of one value of the header."""

    def change(header: Header, tensors: Tensors) -> None:
        for key in path[:-1]:
            header = header[key]  # type: ignore[index]
        header[path[-1]] = to  # type: ignore[index]

    return change


def tensor(name: str, changed: Callable[[torch.Tensor], torch.Tensor]) -> Change:
    """A change of one tensor."""

    def change(header: Header, tensors: Tensors) -> None:
        tensors[name] = changed(tensors[name]).contiguous()

    return change


def words(change: Callable[[list[str]], list[str]]) -> Change:
    """Another vocabulary."""
    return lambda header, tensors: header.update(vocabulary=change(header["vocabulary"]))


WEIGHT = "model.captions.network.gru.weight_hh_l0"
CHANGED = {
    "schema": put("schema", to="vsebench/checkpoint/1"),
    "configuration that is a list": put("config", to=[]),
    "unknown key": put("config", "model", "dmi", to=3),
    "larger size": put("config", "model", "dim", to=16),
    "other network": put("config", "model", "text", to="bigru"),
    "vocabulary that is shorter": words(lambda w: w[:-1]),
    "log of numbers": put("log", to=[3]),
    "flat weights": tensor(WEIGHT, lambda t: t.flatten()),
    "missing weights": lambda header, tensors: tensors.pop(WEIGHT),
    "weights of another layer": lambda _, tensors: tensors.update({f"{WEIGHT}x": torch.zeros(3)}),
}  # fmt: skip


def refused(done: Result, file: Path) -> str:
    """One message, on stderr, with the file, what is wrong and what to do; nothing on stdout."""
    assert done.exit_code == 3, (done.exit_code, done.stderr, done.exception)
    assert done.stdout == "" and "Traceback" not in done.stderr
    error = done.stderr[done.stderr.index("error:") :]
    assert error.startswith(f"error: {file}: "), error
    assert error.count("fix:") == 1 and error.rstrip().count("\n") == 1, error
    return error


def resumed(run: Path) -> Result:
    return cli("train-reference", *OPTIONS, "--epochs", "2", "--resume", "--out", run)


@pytest.mark.parametrize("name", CHANGED)
def test_a_damaged_model_is_not_encoded(name, run, tmp_path, pinned):
    rewrite(run / BEST, CHANGED[name])
    pinned(refused(cli("encode", run, "-o", tmp_path / "e.npz"), run / BEST))
    assert not (tmp_path / "e.npz").exists()


@pytest.mark.parametrize("name", ["schema", "flat weights"])
def test_a_damaged_run_is_not_resumed(name, run, pinned):
    rewrite(run / LAST, CHANGED[name])
    damaged = (run / LAST).read_bytes()
    pinned(refused(resumed(run), run / LAST))
    assert (run / LAST).read_bytes() == damaged
    assert (run / "result.json").is_file()


def test_a_file_with_the_model_only_is_not_resumed_from(run, pinned):
    shutil.copy(run / BEST, run / LAST)
    pinned(refused(resumed(run), run / LAST))


def test_the_best_epoch_of_another_run(run, pinned):
    """It is read at the end of a resumed run that has no better one."""
    rewrite(run / BEST, words(lambda w: [*w[:4], *w[:3:-1]]))
    again = cli("train-reference", *OPTIONS, "--epochs", "1", "--resume", "--out", run)
    pinned(refused(again, run / BEST))
    assert cli("train-reference", *OPTIONS, "--epochs", "1", "--out", run.with_name("other")).exit_code == 0


def test_the_best_epoch_that_was_written_before_a_run_was_killed(run, pinned):
    """Another number of epochs then ends with a best epoch whose weights are lost."""
    rewrite(run / BEST, lambda header, tensors: header["log"].append(header["log"][0]))
    again = cli("train-reference", *OPTIONS, "--epochs", "1", "--resume", "--out", run)
    pinned(refused(again, run / BEST))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"x" * 100,
        b"\xff" * 8 + b"{}",
        b"\x02" + b"\0" * 7 + b"{}",
        json.dumps({"__metadata__": {"vsebench": "[" * 100_000}}).encode(),
        json.dumps({"__metadata__": {"vsebench": "3"}}).encode(),
    ],
)
def test_files_that_are_no_checkpoints(data, run, tmp_path, pinned):
    if data.startswith(b'{"__meta'):
        data = len(data).to_bytes(8, "little") + data
    (run / BEST).write_bytes(data)
    pinned(refused(cli("encode", run, "-o", tmp_path / "e.npz"), run / BEST))


def test_a_shortened_checkpoint(run, tmp_path, pinned):
    data = (run / BEST).read_bytes()
    (run / BEST).write_bytes(data[: len(data) // 2])
    pinned(refused(cli("encode", run, "-o", tmp_path / "e.npz"), run / BEST))
    (run / BEST).unlink()
    pinned(refused(cli("encode", run, "-o", tmp_path / "e.npz"), run))


def test_rewriting_without_a_change_is_read(run, tmp_path):
    """The checks above refuse the changes, not the way in which they are made."""
    for file in (BEST, LAST):
        rewrite(run / file, lambda header, tensors: None)
    assert cli("encode", run, "-o", tmp_path / "e.npz").exit_code == 0
    assert resumed(run).exit_code == 0
