"""``vsebench train-reference``: the reference trainer, in the package ``train_reference``."""

from __future__ import annotations

import importlib
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import GATE_NOT_MET, MissingPackage, UsageError, count_of
from ..files.regular import expanded
from ..files.run_folder import SUMMARY
from ..log import logged
from .blocks import ReportResult, options_of
from .command import command
from .terminal import Terminal, listing


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
    suite: Annotated[
        str | None,
        typer.Option(help="Runs: smoke (every loss, a minute), small (three seeds, two hours), ablations."),
    ] = None,
    losses: Annotated[
        str | None, typer.Option(help="Only these losses of a suite, separated by commas; also my_loss.py:function.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Runs of a suite that are trained at a time.")] = 1,
    output: Path | None = None,
    style: str | None = None,
) -> None:
    """Train a model with a loss of the papers, and evaluate its best epoch on the test part.

    With no option it trains on the built-in scenes with the loss mh, on a CPU in minutes. --suite trains a list of
    models, one folder each, and writes suite.json. The exit code is 1 when a loss of the suite smoke does not
    learn, or diverges.
    """
    if suite is not None:
        own = loss, encoder, data, captions, key, config, epochs, batch, lr, seed, device, output, settings or None
        if smoke or any(value is not None for value in own) or style not in (None, "terminal"):
            fix = "give it with --losses, --out, --resume, --jobs, --json"
            raise UsageError("--suite has its own settings", fix=fix)
        _suite(terminal, suite, losses, out, resume, jobs)
        return
    if losses is not None:
        raise UsageError(f"--losses {losses} without --suite", fix="give --loss for a single run")
    if jobs != 1:
        raise UsageError(f"--jobs {jobs} without --suite", fix="a single run is one job")
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


def _suite(
    terminal: Terminal,
    name: str,
    losses: str | None,
    out: Path | None,
    resume: bool,
    jobs: int,
) -> None:
    """Run a suite, and print its table."""
    runner = trainer("suites")
    folder = expanded(out or Path("runs") / f"suite-{name}")
    chosen = runner.get_suite(name, None if losses is None else [x.strip() for x in losses.split(",")])
    summary = runner.run_suite(chosen, folder, resume=resume, jobs=jobs, say=terminal.note, bar=terminal.progress)
    failed = [entry for entry in summary.get("learned", []) if not entry["improved"]]
    headings, rows = runner.headline(summary)
    terminal.answer(summary, listing(headings, rows, words=1))
    for entry in failed:
        found = f"{100 * entry['value']:.1f}, untrained {100 * entry['untrained']:.1f}"
        terminal.warn(f"{entry['loss']} does not improve {entry['metric']}: {found}")
    for name, run in summary["diverged"].items():
        terminal.warn(f"{name} diverged: {run['message']}; --resume tries it again")
    runs = count_of(len(summary["runs"]), "run")
    terminal.note(f"· {runs}, {summary['seconds']:.0f} s; summary in {folder / SUMMARY}")
    if failed or (summary["diverged"] and chosen.must_learn):
        raise typer.Exit(GATE_NOT_MET)
