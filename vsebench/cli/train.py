"""``vsebench train-reference`` and ``vsebench encode``: the reference trainer, in the package ``train_reference``."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import MissingPackage
from .shared import ReportOutput, ReportStyle
from .terminal import Json, NoProgress, Quiet, Terminal, command


def _trainer(module: str) -> Any:
    """A module of the trainer; by name, as the package imports vsebench and not the other way round."""
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise MissingPackage("training needs torch", fix="pip install 'vsebench[train]'") from error
    return importlib.import_module(f"train_reference.{module}")


@command
def run(
    loss: Annotated[
        str | None, typer.Option(help="mh, sh, ladder, sam, triplet_sn, kendall_sw_hs, bcls, log_ratio, ...")
    ] = None,
    data: Annotated[
        str | None, typer.Option(help="What is trained on; scenes-10k, which are generated, by default.")
    ] = None,
    config: Annotated[
        str | None, typer.Option(help="A TOML file, or the name of one that comes with vsebench (vsepp/coco-vgg19).")
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
    output: ReportOutput = None,
    style: ReportStyle = "terminal",
    as_json: Json = False,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
) -> None:
    """Train a model with a loss of the papers, and evaluate its best epoch on the test part.

    With no option it trains on the built-in scenes with the loss mh, on a CPU in minutes.
    """
    terminal = Terminal(as_json, quiet, no_progress)
    from .results import output_format
    from .shared import deliver_report

    chosen = output_format(terminal, style, None)
    start = _trainer("start")
    complete = start.configured(
        loss, config, data=data, epochs=epochs, batch=batch, lr=lr, seed=seed, device=device, smoke=smoke,
        assignments=settings,
    )  # fmt: skip
    try:
        report, folder = start.run(complete, out, resume=resume, say=terminal.note, bar=terminal.progress)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("interrupted; the same command with --resume continues after the last epoch") from None
    deliver_report(terminal, report, output, None, False, chosen)
    terminal.note(f"· the run is in {folder}; evaluate it again with: vsebench eval {folder}")


@command
def encode(
    checkpoint: Annotated[Path, typer.Argument(help="A checkpoint, or the folder of a run.")],
    data: Annotated[str | None, typer.Option(help="Other data than those it was trained on.")] = None,
    part: Annotated[str, typer.Option(help="train, val or test.")] = "test",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The .npz file.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    as_json: Json = False,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
) -> None:
    """Encode images and captions with a checkpoint into a file for `vsebench eval`."""
    terminal = Terminal(as_json, quiet, no_progress)
    trainer = _trainer("encode")
    target = output or Path(f"{checkpoint.stem or 'embeddings'}-{part}.npz")
    with terminal.progress("encoding") as update:
        result, chosen = trainer.encode(checkpoint, data, part, target, device=device, update=update)
    split = chosen.split
    counts = {"images": len(split.image_ids), "captions": len(split.caption_ids), "split": split.name}
    if terminal.json:
        terminal.emit({"file": str(target), **counts, "kind": "scores" if "scores" in result else "embeddings"})
    else:
        terminal.say(f"{target}: {counts['images']:,} images and {counts['captions']:,} captions of {split.name}")
