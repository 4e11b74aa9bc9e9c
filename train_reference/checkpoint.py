"""Checkpoints: one safetensors file with the weights, and everything else as JSON in its header.

``best.safetensors`` holds the model; ``last.safetensors`` the state of the optimiser and of the random numbers too, so
that a resumed run gives the same bits as one that was never interrupted. A file appears complete or not at all.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from vsebench.data.atomic import write_atomically
from vsebench.data.run_folder import LAST
from vsebench.errors import BadInput, MissingPackage

from .config import Config, from_dict
from .text import Vocabulary

SCHEMA = "vsebench/checkpoint/1"
BEST = "best.safetensors"
_MODEL, _STATE, _RANDOM = "model.", "optimiser.", "random."


@dataclass
class Progress:
    """How far a run is, and the best epoch so far.

    Attributes:
        epoch: number of finished epochs.
        step: number of finished steps of all epochs.
        best: the largest value of the selecting metric on the validation part, None before the first epoch.
        best_epoch: its epoch, from 1.
        log: one dictionary an epoch.
    """

    epoch: int = 0
    step: int = 0
    best: float | None = None
    best_epoch: int = 0
    log: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A file that was read.

    Attributes:
        path: the file.
        config: the complete configuration of the run.
        vocabulary: of the caption encoder.
        width: of the input of the image encoder.
        kind: of the images: ``vectors``, ``regions`` or ``pixels``.
        tensors: everything in the file, by name.
        progress: of the run when it was written.
        groups: of the optimiser, with its settings; None in a file that holds the model only.
    """

    path: Path
    config: Config
    vocabulary: Vocabulary
    width: int
    kind: str
    tensors: dict[str, torch.Tensor]
    progress: Progress
    groups: list[dict[str, Any]] | None = None

    @property
    def weights(self) -> dict[str, torch.Tensor]:
        """The state of the model, for ``load_state_dict``."""
        return {k.removeprefix(_MODEL): v for k, v in self.tensors.items() if k.startswith(_MODEL)}


def save(
    path: Path,
    config: Config,
    vocabulary: Vocabulary,
    width: int,
    kind: str,
    model: nn.Module,
    progress: Progress,
    optimiser: torch.optim.Optimizer | None = None,
) -> None:
    """Write a checkpoint; with ``optimiser`` one that a run can be resumed from.

    Raises:
        DiskError: the disk is full, or may not be written; an older file is left as it was.
    """
    from safetensors.torch import save as to_bytes

    tensors = {_MODEL + name: t.detach().cpu().contiguous() for name, t in model.state_dict().items()}
    header: dict[str, Any] = {
        "schema": SCHEMA,
        "config": config.to_dict(),
        "vocabulary": list(vocabulary.words),
        "width": width,
        "kind": kind,
        "progress": vars(progress),
    }
    if optimiser is not None:
        state = optimiser.state_dict()
        header["groups"] = state["param_groups"]
        for number, values in state["state"].items():
            tensors |= {f"{_STATE}{number}.{key}": torch.as_tensor(v).detach().cpu() for key, v in values.items()}
        tensors[_RANDOM + "cpu"] = torch.get_rng_state()
        if torch.cuda.is_available():
            tensors[_RANDOM + "cuda"] = torch.cuda.get_rng_state()
    with write_atomically(path, parents=True) as stream:
        stream.write(to_bytes(tensors, {"vsebench": json.dumps(header)}))


def require() -> None:
    """Check that checkpoints can be written and read. Raises MissingPackage when safetensors is not installed."""
    try:
        import safetensors  # noqa: F401
    except ImportError as error:
        raise MissingPackage("checkpoints need safetensors", fix="pip install 'vsebench[train]'") from error


def read(path: Path) -> Checkpoint:
    """Read a checkpoint, from its file or from the folder of a run (its best epoch).

    Raises:
        BadInput: there is none, or it is damaged or of another version.
        MissingPackage: safetensors is not installed.
    """
    require()
    from safetensors import SafetensorError, safe_open

    file = path / BEST if path.is_dir() else path
    if not file.is_file():
        what = f"no {BEST} in this folder" if path.is_dir() else "no such checkpoint"
        raise BadInput(what, where=path, fix="give a file or folder that vsebench train-reference wrote")
    try:
        with safe_open(file, framework="pt") as stream:
            header = json.loads((stream.metadata() or {})["vsebench"])
            tensors = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118 (it is no dictionary)
        if header["schema"] != SCHEMA:
            raise ValueError(header["schema"])
        config, words = from_dict(header["config"]), Vocabulary(tuple(header["vocabulary"]))
        progress, groups = Progress(**header["progress"]), header.get("groups")
        return Checkpoint(file, config, words, header["width"], header["kind"], tensors, progress, groups)
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        fix = "give a checkpoint that this version of vsebench wrote; last.safetensors may be complete"
        raise BadInput("the checkpoint is damaged, or of another program", where=file, fix=fix) from error


def restore(found: Checkpoint, optimiser: torch.optim.Optimizer) -> None:
    """Put the optimiser and the random numbers into the state of a checkpoint.

    Raises:
        BadInput: the file has no such state.
    """
    if found.groups is None:
        raise BadInput("holds the model only", where=found.path, fix=f"resume from {LAST}")
    state: dict[int, dict[str, torch.Tensor]] = {}
    for name, tensor in found.tensors.items():
        if name.startswith(_STATE):
            number, key = name.removeprefix(_STATE).split(".", 1)
            state.setdefault(int(number), {})[key] = tensor
    optimiser.load_state_dict({"state": state, "param_groups": found.groups})
    torch.set_rng_state(found.tensors[_RANDOM + "cpu"])
    if torch.cuda.is_available() and _RANDOM + "cuda" in found.tensors:
        torch.cuda.set_rng_state(found.tensors[_RANDOM + "cuda"])
