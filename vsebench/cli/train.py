"""``vsebench train-reference``: the reference trainer, in the package ``train_reference``."""

from __future__ import annotations

import importlib
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import MissingPackage
from ..log import logged
from .blocks import ReportResult, options_of
from .command import command
from .terminal import Terminal


def trainer(module: str) -> Any:
    """A module of the trainer; by name, as the package imports vsebench and not the other way round."""
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise MissingPackage("training needs torch", fix="pip install 'vsebench[train]'") from error
    return importlib.import_module(f"train_reference.{module}")


@command
@options_of(ReportResult, ["output", "style"])
def run(
    terminal: Terminal,
    loss: Annotated[
        str | None,
        typer.Option(help="mh, sh, ladder, sam, bcls, log_ratio, ...; or a function of yours, my_loss.py:function."),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(help="linear, cnn, vgg19, resnet152, gru, ...; or a function of yours, my_encoder.py:function."),
    ] = None,
    data: Annotated[
        str | None, typer.Option(help="What is trained on; scenes-10k, which are generated, by default.")
    ] = None,
    captions: Annotated[
        Path | None, typer.Option(help="The captions of --data, where that is a file of vectors, such as features.npz.")
    ] = None,
    key: Annotated[str | None, typer.Option(help="The array of --data, where that is a file of several.")] = None,
    config: Annotated[
        str | None, typer.Option(help="A TOML file, or names of those that come with vsebench (vsepp,resnet152,f30k).")
    ] = None,
    epochs: Annotated[int | None, typer.Option(min=0, help="Passes over the captions.")] = None,
    batch: Annotated[int | None, typer.Option(min=2, help="Pairs in a batch.")] = None,
    lr: Annotated[float | None, typer.Option(help="Learning rate.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Of the weights and of the order of the pairs.")] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu or cuda.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Any other setting, as in --set loss.settings.tau=5. Repeatable.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the run; runs/DATA-LOSS-seedN by default.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in this folder.")] = False,
    smoke: Annotated[bool, typer.Option("--smoke", help="A run of seconds, to see whether everything works.")] = False,
    output: Path | None = None,
    style: str | None = None,
) -> None:
    """Train a model with a loss of the papers, and evaluate its best epoch on the test part.

    With no option it trains on the built-in scenes with the loss mh, on a CPU in minutes.
    """
    from .results import deliver, output_formats

    formats = output_formats(terminal, style, output)
    changes = {
        "data.name": data, "data.captions": captions and str(captions), "data.key": key, "train.epochs": epochs,
        "train.batch": batch, "train.lr": lr, "train.seed": seed, "train.device": device,
    }  # fmt: skip
    configured = trainer("config").configured
    with logged() as log:
        complete = configured(loss, config, encoder=encoder, smoke=smoke, changes=changes, assignments=settings)
    for note in log.notes:
        terminal.note(f"· {note}")
    try:
        report, folder = trainer("train").run(complete, out, resume=resume, say=terminal.note, bar=terminal.progress)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("interrupted; the same command with --resume continues after the last epoch") from None
    if report is None:  # the first process of torchrun prints it
        return
    deliver(terminal, report, formats, output)
    again, file = f"vsebench eval {shlex.quote(str(folder))}", shlex.quote(str(folder / "embeddings.npz"))
    if "|labels:" in report.signature:  # of images alone
        again = f"vsebench unimodal {file} --labels {file}"
        again += " --label-distance miou" if "|labels:miou" in report.signature else ""
    terminal.note(f"· the run is in {folder}; evaluate it again with: {again}")
