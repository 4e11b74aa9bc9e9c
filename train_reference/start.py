"""The configuration of a run from the options of the command line; starting it."""

from __future__ import annotations

from pathlib import Path

from vsebench.errors import UsageError, printable
from vsebench.files.run_folder import LAST
from vsebench.options import spell
from vsebench.results.report import Report

from . import config as configs
from . import parallel
from .config import Config
from .data import Bar, no_bar
from .losses import get_loss, label
from .towers import OF_PIXELS, WIDTHS
from .train import Say, no_say, train

# Of --smoke, for one run of any recipe: an epoch of the warm-up, and two of the loss. Its matrices are too small for
# two threads, which would take ten times the processor time.
SMOKE_RUN = {
    "data_name": "scenes-tiny", "train_epochs": 3, "train_batch": 32, "train_lr": 0.005, "train_decay_every": 0,
    "train_threads": 1, "model_dim": 32, "model_word_dim": 32, "loss_neighbours": 0, "data_first": 1.0,
}  # fmt: skip


def configured(
    loss: str | None = None,
    config: str | Path | None = None,
    *,
    data: str | None = None,
    epochs: int | None = None,
    batch: int | None = None,
    lr: float | None = None,
    seed: int | None = None,
    device: str | None = None,
    smoke: bool = False,
    assignments: list[str] | None = None,
) -> Config:
    """The complete configuration of a run.

    The settings of a file come first, then those of ``smoke``, then the options, then ``assignments``.

    Args:
        loss: its name; the file of this name in ``configs/scenes``, if there is one, has settings that suit the
            built-in scenes and is taken when no other file is named.
        config: a TOML file, or the name of one in ``configs``.
        data, epochs, batch, lr, seed, device: replace those of the file.
        smoke: a run of some seconds: a small model, 100 images, 3 epochs, the first of them of the warm-up where there
            is one; a projection of regions instead of a network of torchvision.
        assignments: as for ``config.assign``.

    Raises:
        UsageError, BadInput: as ``config.read`` and ``config.assign``; an unknown loss.
    """
    if config is None and loss is not None:
        loss = get_loss(loss).name
        named = f"scenes/{loss}"
        config = named if (configs.FOLDER / f"{named}.toml").is_file() else None
    found = Config() if config is None else configs.read(config)
    if loss is not None and loss != found.loss.name:
        found = configs.override(found, loss_name=get_loss(loss).name, loss_settings={})
    if smoke:
        found = configs.override(found, **SMOKE_RUN, loss_warmup=1 if found.loss.warmup else 0)
        if found.model.image in WIDTHS:
            changes = {f"model_{name}": getattr(configs.Model(), name) for name in OF_PIXELS}
            found = configs.override(found, model_image="linear", **changes)
    found = configs.override(
        found, data_name=data, train_epochs=epochs, train_batch=batch, train_lr=lr, train_seed=seed, train_device=device
    )
    return configs.assign(found, assignments or [])


def default_folder(config: Config) -> Path:
    """The folder of a run for which none is named: ``runs/DATA-LOSS-seedN``."""
    data = Path(config.data.name).stem or "data"
    return Path("runs") / f"{data}-{label(config.loss.name)}-seed{config.train.seed}"


def run(
    config: Config, out: Path | None = None, *, resume: bool = False, say: Say = print, bar: Bar = no_bar
) -> tuple[Report | None, Path]:
    """Train by ``train.train``, in all processes of ``torchrun``.

    Returns:
        The report, which is None in all processes but the first, and the folder of the run.

    Raises:
        UsageError, BadInput, MissingPackage, DiskError, Diverged: as ``train.train``.
    """
    folder = (out or default_folder(config)).expanduser()
    if folder.exists() and not folder.is_dir():
        raise UsageError("is a file", where=folder, fix=f"give the folder of the run with {spell('out')}")
    parallel.start()
    try:
        quiet = not parallel.is_first()
        if resume and not quiet and not (folder / LAST).exists():
            say(f"there is no run in {printable(str(folder))} to resume: it begins")
        report = train(config, folder, resume=resume, say=no_say if quiet else say, bar=no_bar if quiet else bar)
        return None if quiet else report, folder
    finally:
        parallel.stop()
