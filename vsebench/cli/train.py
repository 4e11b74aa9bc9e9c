"""``vsebench train-reference``: the reference trainer, in the package ``train_reference``."""

from __future__ import annotations

import contextlib
import importlib
import json
import shlex
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from ..errors import USAGE, MissingPackage, VsebenchError, install
from ..files.regular import expanded
from .terminal import Terminal

if TYPE_CHECKING:
    from ..results.report import Report


def trainer(module: str) -> Any:
    """A module of the trainer; by name, as the package imports vsebench and not the other way round."""
    try:
        import safetensors  # noqa: F401
        import torch  # noqa: F401
    except ImportError as error:
        raise MissingPackage(f"training needs {error.name}", fix=install("train")) from error
    return importlib.import_module(f"train_reference.{module}")


def open_log(file: Path | None) -> contextlib.AbstractContextManager[IO[str] | None]:
    """The file to which lines of JSON are appended; nothing without one."""
    return contextlib.nullcontext() if file is None else expanded(file).open("a", buffering=1, encoding="utf-8")


def run(
    terminal: Terminal,
    *,
    loss: str | None = None,
    encoder: str | None = None,
    data: str | None = None,
    captions: Path | None = None,
    key: str | None = None,
    config: str | None = None,
    epochs: int | None = None,
    batch: int | None = None,
    lr: float | None = None,
    seed: int | None = None,
    device: str | None = None,
    settings: Sequence[str] = (),
    out: Path | None = None,
    log: Path | None = None,
    resume: bool = False,
    smoke: bool = False,
) -> Report | None:
    """Train a model with a loss of the papers, and evaluate its best epoch on the test part.

    Without options it trains on built-in scenes with the loss mh: minutes on a CPU.

    Args:
        loss: loss: mh, sh, ladder, sam, bcls, log_ratio, ..., or your function as my_loss.py:function.
        encoder: encoder: linear, cnn, vgg19, resnet152, gru, ..., or your function as my_encoder.py:function.
        data: training data; by default scenes-10k, which are generated.
        captions: captions of ``data``, if that is a file of vectors such as features.npz.
        key: name of the array in ``data``, if the file holds several.
        config: TOML file, or names of the bundled ones, such as vsepp,resnet152,f30k.
        epochs: number of epochs.
        batch: pairs per batch.
        lr: learning rate.
        seed: random seed.
        device: ``auto``, cpu or cuda.
        settings: any other setting, such as loss.settings.tau=5.
        out: folder of the run; runs/DATA-LOSS-seedN by default.
        log: append the loss of steps and the values of epochs to this file, as JSON lines.
        resume: continue the run in this folder.
        smoke: train for a few seconds, to check the installation.
    """
    changes = {
        "data.name": data, "data.captions": captions and str(captions), "data.key": key, "train.epochs": epochs,
        "train.batch": batch, "train.lr": lr, "train.seed": seed, "train.device": device,
    }  # fmt: skip
    configured = trainer("config").configured
    complete = configured(
        loss, config, encoder=encoder, smoke=smoke, changes=changes, assignments=settings,
        say=lambda text: terminal.note(f"· {text}"),
    )  # fmt: skip
    loss_name = trainer("own_file").published(complete.loss.name).replace(".py:", "-")
    folder = Path("runs") / f"{Path(complete.data.name).stem}-{loss_name}-seed{complete.train.seed}"
    folder = folder if out is None else expanded(out)
    custom = any(map(trainer("own_file").file_of, (complete.loss.name, complete.model.image, complete.model.text)))
    try:
        with terminal.progress("training") as update, open_log(log) as stream:

            def record(step: int, values: dict[str, Any]) -> None:
                if update is not None and "epoch" in values:
                    update(step, round(step / values["epoch"] * complete.train.epochs))
                if stream is not None:
                    stream.write(json.dumps({"step": step, **values}) + "\n")

            report = trainer("train").train(complete, folder, resume=resume, say=terminal.note, log=record)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("interrupted; the same command with --resume continues after the last epoch") from None
    except Exception as error:
        if not custom or isinstance(error, (VsebenchError, OSError)):
            raise
        traceback.print_exc()  # of the function of the user
        raise click.exceptions.Exit(USAGE) from None
    if trainer("parallel").rank():  # the first process of torchrun prints the report
        return None
    again, file = f"vsebench eval {shlex.quote(str(folder))}", shlex.quote(str(folder / "embeddings.npz"))
    if "|labels:" in report.signature:  # of images alone
        again = f"vsebench unimodal {file} --labels {file}"
        again += " --label-distance miou" if "|labels:miou" in report.signature else ""
    terminal.note(f"· the run is in {folder}; evaluate it again with: {again}")
    return report  # type: ignore[no-any-return]
