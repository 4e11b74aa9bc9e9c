"""What can go wrong with a training run: full disks, interrupts, wrong files and settings. Messages and exit codes."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.commands import cli, refused
from tests.gates import gate
from vsebench.errors import BadInput, DiskError, Diverged, UsageError
from vsebench.files.atomic import locked

torch = pytest.importorskip("torch", reason="torch is not installed (extra: train)")
pytest.importorskip("safetensors", reason="safetensors is not installed (extra: train)")

from tests.devices import DEVICES  # noqa: E402
from tests.training import OPTIONS, begun, silent, small  # noqa: E402
from train_reference import checkpoint, config, encode, encoders, parallel, train  # noqa: E402
from train_reference.data import Images, Part  # noqa: E402
from train_reference.sources import open_data  # noqa: E402


def command(out: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "vsebench", "train-reference", *OPTIONS, "--out", str(out), *more]


@pytest.mark.skipif(sys.platform == "win32", reason="no limits on the size of files")
def test_a_full_disk_leaves_the_last_checkpoint(tmp_path, pinned):
    import resource

    train.train(small(), tmp_path, say=silent)
    before = (tmp_path / checkpoint.LAST).read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, limits[1]))
    try:
        said = cli(*command(tmp_path, "--epochs", "3", "--resume")[3:], code=6).err
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    pinned(said[said.index("error: ") :])
    assert (tmp_path / checkpoint.LAST).read_bytes() == before
    assert not list(tmp_path.glob("*.tmp"))
    assert not list(tmp_path.glob(".*.tmp"))
    assert train.train(small(train={"epochs": 3}), tmp_path, resume=True, say=silent).split == "scenes-40-size16-test"


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize(("number", "code"), gate([(signal.SIGINT, 130), (signal.SIGTERM, 143)], (signal.SIGINT, 130)))
def test_an_interrupted_run_says_how_to_continue(number, code, tmp_path, pinned):
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command(tmp_path, "--epochs", "200"), text=True, **streams)
    begun(process, (tmp_path / "log.jsonl").exists)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (code, "") and "Traceback" not in err, err
    assert number != signal.SIGINT or "--resume" in err
    assert 0 < len(checkpoint.read(tmp_path / checkpoint.LAST).log) < 200
    assert not list(tmp_path.glob(".*"))  # neither a lock nor a temporary file
    unfinished = cli("eval", tmp_path, code=3)
    pinned(unfinished.err)
    assert "--resume" in unfinished.err
    encode = shlex.split(unfinished.err.rpartition("or: vsebench ")[2])
    cli(*encode, "-o", tmp_path / "e.npz")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--config", "mine.toml"], ("mine.toml", "unknown key of [train] 'epocs'", "epochs")),
        ([*OPTIONS, "--set", "loss.margin=0.3"], ("hyper-parameters are loss.settings.margin",)),
        ([*OPTIONS, "--device", "mps"], ("train.device is 'mps'",)),
        ([*OPTIONS, "--device", "cuda:0"], ("train.device is 'cuda:0'",)),
        ([*OPTIONS, "--set", "train.select=RSun"], ("train.select",)),
        ([*OPTIONS, "--set", "train.select="], ("train.select",)),
        ([*OPTIONS, "--set", "train.select=cider:NCS"], ("train.select",)),
    ],
)
def test_options_that_are_refused_before_training(options, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text("[train]\nepocs = 3\n")
    said = refused("train-reference", *options, "--out", "run")
    assert all(word in said for word in words) and not Path("run").exists(), said


def test_a_run_that_is_not_there_is_not_resumed_in_silence(tmp_path, pinned):
    found = cli("train-reference", *OPTIONS, "--epochs", "1", "--resume", "--out", tmp_path / "run")
    pinned(found.err.splitlines()[0])


def test_a_folder_that_is_a_file_or_may_not_be_written(tmp_path, pinned):
    file = tmp_path / "run"
    file.write_text("mine")
    pinned(cli("train-reference", *OPTIONS, "--out", file, code=6).err)
    assert file.read_text() == "mine"
    cli("train-reference", *OPTIONS, "--epochs", "1", "--out", tmp_path / "other")
    pinned(cli("train-reference", *OPTIONS, "--out", file / "run", code=6).err)
    if os.name == "posix" and os.geteuid() != 0:
        (tmp_path / "closed").mkdir(mode=0o500)
        cli("train-reference", *OPTIONS, "--out", tmp_path / "closed" / "run", code=6)


def test_two_runs_in_one_folder(tmp_path, pinned):
    with locked(tmp_path / ".lock", "this folder is used"), pytest.raises(DiskError) as caught:
        train.train(small(), tmp_path, say=silent)
    pinned(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_no_epochs_evaluate_the_model_as_it_begins(tmp_path, refuses):
    report = train.train(small(train={"epochs": 0}), tmp_path, say=silent)
    assert report["R@1", "i2t"].value < 0.5
    assert checkpoint.read(tmp_path).log == []
    other = small(train={"lr": 0.1})
    refuses(UsageError, train.train, other, tmp_path, say=silent)
    refuses(UsageError, train.train, other, tmp_path, resume=True, say=silent)


def test_a_batch_that_is_larger_than_the_data(tmp_path):
    run = train.prepare(small(train={"batch": 1000}))
    count = len(run.parts["train"].captions)
    assert [len(b["items"]) for b in run.loader(0)] == [count]
    assert count < 1000
    train.train(small(train={"batch": 1000}), tmp_path, say=silent)


def test_features_that_are_no_numbers(tmp_path, monkeypatch, refuses):
    """NaN in the features of an image that is trained on, and in one of the validation part."""

    def broken(part: str):
        def opened(given: config.Config) -> dict:
            parts = open_data(given)
            out = {}
            for name, p in parts.items():
                x = np.ones((len(p.images), 4), np.float32) * np.arange(1, len(p.images) + 1)[:, None]
                if name == part:
                    x[:] = np.nan
                out[name] = Part(p.split, Images(x))
            return out

        return opened

    monkeypatch.setattr(train, "open_data", broken("train"))
    refuses(BadInput, train.train, small(), tmp_path / "one", say=silent)
    monkeypatch.setattr(train, "open_data", broken("val"))
    refuses(BadInput, train.train, small(), tmp_path / "two", say=silent)


def test_a_damaged_description_of_a_run(tmp_path, pinned):
    train.train(small(), tmp_path, say=silent)
    shown = cli("inspect", tmp_path, "--json")
    assert "embeddings.npz" in shown.out
    (tmp_path / "run.json").write_text('{"schema": ')
    cli("inspect", tmp_path, code=3)
    found = cli("eval", tmp_path, code=3)
    pinned(found.err)
    (tmp_path / "run.json").write_text('{"schema": "vsebench/run/1", "kind": "embeddings"}')
    cli("eval", tmp_path, code=3)


def test_encoding_other_data(tmp_path, monkeypatch, pinned):
    train.train(small(), tmp_path, say=silent)
    other = cli("encode", tmp_path, "--part", "dev", "-o", tmp_path / "a.npz", code=2)
    pinned(other.err)

    def wider(given: config.Config) -> dict:
        parts = open_data(given)
        return {name: Part(p.split, Images(np.ones((len(p.images), 3)), "regions")) for name, p in parts.items()}

    monkeypatch.setattr(encode, "open_data", wider)
    found = cli("encode", tmp_path, "-o", tmp_path / "a.npz", code=2)
    pinned(found.err)
    assert not (tmp_path / "a.npz").exists()


def test_without_safetensors(tmp_path, monkeypatch, pinned):
    monkeypatch.setitem(sys.modules, "safetensors", None)
    pinned(cli("train-reference", *OPTIONS, "--out", tmp_path / "run", code=4).err)
    assert not (tmp_path / "run").exists()


def test_streams(tmp_path, monkeypatch):
    """stdout is the result and stderr the talk, without colour; --json is one document, --quiet says nothing."""

    monkeypatch.setenv("NO_COLOR", "1")
    done = cli("train-reference", *OPTIONS, "--out", tmp_path / "b", "--epochs", "1")
    assert "RSum" in done.out and "epoch   1: " in done.err
    assert "\x1b[" not in done.out + done.err
    monkeypatch.setenv("FORCE_COLOR", "1")
    done = cli("train-reference", *OPTIONS, "--out", tmp_path / "a", "--epochs", "1", "--json", "--quiet")
    assert done.json["split"] == "scenes-40-size16-test"
    assert done.err == ""


@pytest.mark.parametrize(
    "changes",
    [
        {"loss": {"settings": {"margin": "wide"}}},
        {"loss": {"name": "sam", "settings": {"sampler": "best"}}},
        {"train": {"select": "eccv:mAP@R"}},
        {"model": {"text": "grru"}},
        {"model": {"text": "cnn"}},
        {"loss": {"neighbours": 20}},
        {"loss": {"learned": ["margins"]}},
        {"model": {"crop": "ten"}},
        {"model": {"pretrained": False, "finetune": True}},
    ],
)
def test_settings_that_cannot_be_used_are_found_before_training(changes, tmp_path, pinned):
    with pytest.raises((UsageError, BadInput)) as caught:
        train.train(small(**changes), tmp_path / "run", say=silent)
    pinned(caught.value)
    assert not (tmp_path / "run").exists()


def test_a_gradient_that_is_no_number(monkeypatch, refuses):
    """The loss of the step is finite; the weights are those of before it."""
    run = train.prepare(small())
    before = {name: w.clone() for name, w in run.model.state_dict().items()}
    run.model.images.project.bias.register_hook(lambda g: g * torch.inf)
    refuses(Diverged, train.step, run, next(iter(run.loader(0))), 1, 3)
    for name, weights in run.model.state_dict().items():
        assert torch.equal(weights, before[name])


@pytest.mark.parametrize(("image", "finetune", "refused"), [
    ("vgg19", True, True), ("vgg19", False, False), ("cnn", False, True), ("resnet152", True, False),
])  # fmt: skip
def test_pooling_without_a_deterministic_gradient_is_refused_before_training(
    image, finetune, refused, monkeypatch, refuses
):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    model = {"image": image, "finetune": finetune}
    train.check(small(model=model, train={"device": "cpu"}))
    train.check(small(model=model, train={"deterministic": False}))
    if refused:
        refuses(UsageError, train.check, small(model=model))
    else:
        train.check(small(model=model))


def test_a_run_has_no_fewer_epochs_when_it_is_resumed(tmp_path, refuses):
    """One whose epochs are all of the warm-up says so."""
    said: list[str] = []
    settings = {"loss": {"name": "sam", "warmup": 2}, "train": {"epochs": 2}}
    train.train(small(**settings), tmp_path, say=said.append)
    assert "loss sam is never used: the run ends in its warm-up (loss.warmup)" in said
    refuses(UsageError, train.train, small(loss=settings["loss"]), tmp_path, resume=True, say=silent)


def test_a_resumed_run_may_change_whether_it_is_deterministic(tmp_path):
    train.train(small(train={"epochs": 1}), tmp_path, say=silent)
    report = train.train(small(train={"epochs": 2, "deterministic": False}), tmp_path, resume=True, say=silent)
    assert report is not None and len(checkpoint.read(tmp_path / checkpoint.LAST).log) == 2


@pytest.mark.parametrize("device", DEVICES)
def test_states_of_a_gru_are_float32_in_mixed_precision(device):
    """That of torch on a GPU would be float16, where bfloat16 is asked for too."""
    torch.manual_seed(0)
    gru = encoders.GRU(8, 8).to(device)
    words, lengths = torch.randn(2, 3, 8, device=device), torch.tensor([3, 2])
    with torch.autocast(device, torch.bfloat16):
        states = gru(words, lengths)
    assert states.dtype == torch.float32
    assert torch.equal(states, gru(words, lengths))


@pytest.mark.parametrize(("unit", "batch", "least"), [(4, 6, 6), (2, 5, 5), (4, 4, 3), (2, 4, 1)])
def test_batches_that_processes_cannot_share_are_refused(unit, batch, least, refuses):
    """Of images alone every process has as many anchors as candidates: of 6 images, two processes would use 4."""
    parallel.check(8, 8, unit)
    refuses(UsageError, parallel.check, batch, least, unit)


def test_a_branch_that_one_process_does_not_use_has_gradient_0_there(monkeypatch):
    """Otherwise this process would not take part in the sum, for which the others wait."""
    used, unused, never = (torch.nn.Parameter(torch.ones(2)) for _ in range(3))
    used.grad = torch.ones(2)
    summed = []

    def sum_up(tensor):  # as if another process had used the first two
        summed.append(tensor)
        tensor.add_(torch.tensor([1, 1, 0]) if tensor.dtype == torch.int32 else 1)

    monkeypatch.setattr(parallel, "count", lambda: 2)
    monkeypatch.setattr(parallel.distributed, "all_reduce", sum_up)
    parallel.add_gradients([used, unused, never])
    assert len(summed) == 3 and used.grad.tolist() == [2, 2] and unused.grad.tolist() == [1, 1] and never.grad is None


def test_a_run_that_is_continued_is_not_finished(tmp_path, monkeypatch):
    """What was evaluated after fewer epochs is not taken for the result of the run."""
    train.train(small(), tmp_path, say=silent)

    def stopped(*given: object) -> float:
        raise KeyboardInterrupt

    monkeypatch.setattr(train, "step", stopped)
    with pytest.raises(KeyboardInterrupt):
        train.train(small(train={"epochs": 2}), tmp_path, resume=True, say=silent)
    assert "not finished" in refused("eval", tmp_path, code=3)
