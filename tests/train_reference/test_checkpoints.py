"""Checkpoints that were damaged or changed: refused with one message and exit code 3."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.commands import cli, refused

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
    cli("train-reference", *OPTIONS, "--epochs", "1", "--out", out)
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


@pytest.fixture
def refuses_the(pinned) -> Callable[..., None]:
    """``refuses_the(file, *command)``: one message on stderr, which begins with the file, and nothing on stdout."""

    def check(file: Path, *command: object) -> None:
        error = refused(*command, code=3)
        error = error[error.index("error:") :]
        assert error.startswith(f"error: {file}: ") and error.count("fix:") == 1 == error.rstrip().count("\n"), error
        pinned(error)

    return check


def encoding(run: Path) -> tuple[object, ...]:
    return "encode", run, "-o", run.with_name("e.npz")


def resuming(run: Path, epochs: int = 2) -> tuple[object, ...]:
    return "train-reference", *OPTIONS, "--epochs", epochs, "--resume", "--out", run


@pytest.mark.parametrize("name", CHANGED)
def test_a_damaged_model_is_not_encoded(name, run, refuses_the):
    rewrite(run / BEST, CHANGED[name])
    refuses_the(run / BEST, *encoding(run))
    assert not run.with_name("e.npz").exists()


@pytest.mark.parametrize("name", ["schema", "flat weights"])
def test_a_damaged_run_is_not_resumed(name, run, refuses_the):
    rewrite(run / LAST, CHANGED[name])
    damaged = (run / LAST).read_bytes()
    refuses_the(run / LAST, *resuming(run))
    assert (run / LAST).read_bytes() == damaged
    assert (run / "result.json").is_file()


def test_a_file_with_the_model_only_is_not_resumed_from(run, refuses_the):
    shutil.copy(run / BEST, run / LAST)
    refuses_the(run / LAST, *resuming(run))


def test_the_best_epoch_of_another_run(run, refuses_the):
    """It is read at the end of a resumed run that has no better one."""
    rewrite(run / BEST, words(lambda w: [*w[:4], *w[:3:-1]]))
    refuses_the(run / BEST, *resuming(run, 1))
    cli("train-reference", *OPTIONS, "--epochs", "1", "--out", run.with_name("other"))


def test_the_best_epoch_that_was_written_before_a_run_was_killed(run, refuses_the):
    """Another number of epochs then ends with a best epoch whose weights are lost."""
    rewrite(run / BEST, lambda header, tensors: header["log"].append(header["log"][0]))
    refuses_the(run / BEST, *resuming(run, 1))


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
def test_files_that_are_no_checkpoints(data, run, refuses_the):
    if data.startswith(b'{"__meta'):
        data = len(data).to_bytes(8, "little") + data
    (run / BEST).write_bytes(data)
    refuses_the(run / BEST, *encoding(run))


def test_a_shortened_checkpoint(run, refuses_the):
    data = (run / BEST).read_bytes()
    (run / BEST).write_bytes(data[: len(data) // 2])
    refuses_the(run / BEST, *encoding(run))
    (run / BEST).unlink()
    refuses_the(run, *encoding(run))


def test_rewriting_without_a_change_is_read(run):
    """The checks above refuse the changes, not the way in which they are made."""
    for file in (BEST, LAST):
        rewrite(run / file, lambda header, tensors: None)
    cli(*encoding(run))
    cli(*resuming(run))
