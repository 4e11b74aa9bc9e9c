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

from vsebench.errors import BadInput, MissingPackage, UsageError, VsebenchError, first_line
from vsebench.files.atomic import write_atomically
from vsebench.files.run_folder import LAST
from vsebench.options import spell

from .config import Config, from_dict
from .data import Vocabulary

SCHEMA = "vsebench/checkpoint/3"
BEST = "best.safetensors"
MODEL, STATE, RANDOM = "model.", "optimiser.", "random."
FIX = "give a checkpoint that this version of vsebench wrote; last.safetensors may be complete"
FREE = ("epochs", "device", "threads", "deterministic")  # of [train]: what a resumed run may change


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
        progress: of the run when it was written.
        tensors: everything in the file, by name.
    """

    path: Path
    config: Config
    vocabulary: Vocabulary
    width: int
    kind: str
    progress: Progress
    tensors: dict[str, torch.Tensor]

    def part(self, prefix: str) -> dict[str, torch.Tensor]:
        """The tensors whose names begin with ``MODEL``, ``STATE`` or ``RANDOM``, without it."""
        return {k.removeprefix(prefix): v for k, v in self.tensors.items() if k.startswith(prefix)}

    @property
    def weights(self) -> dict[str, torch.Tensor]:
        """The state of the model."""
        return self.part(MODEL)

    def load_into(self, model: nn.Module) -> None:
        """Give a model the weights of the file; raises BadInput where they are those of another one."""
        try:
            model.load_state_dict(self.weights, strict=True)
        except RuntimeError as error:
            what = " ".join(str(error).partition("\n")[2].split())[:200]
            what = f"its weights are not those of its configuration: {what}"
            raise BadInput(what, where=self.path, fix=FIX) from error

    def check_same(self, config: Config) -> None:
        """Refuse to go on with other settings, but for those that do not change what is trained; raises UsageError."""
        for section, values in self.config.to_dict().items():
            for key, value in values.items():
                now = getattr(getattr(config, section), key)
                if now != value and not (section == "train" and key in FREE):
                    what = f"was trained with {section}.{key} = {value!r}, not {now!r}"
                    fix = f"resume with the same configuration, or choose another {spell('out')}"
                    raise UsageError(what, where=self.path.parent, fix=fix)

    def restore(self, optimiser: torch.optim.Optimizer) -> None:
        """Put the optimiser and the random numbers into this state; learning rates are those of the epoch.

        Raises:
            BadInput: the file has no such state, or that of another model.
        """
        random = self.part(RANDOM)
        if "cpu" not in random:
            raise BadInput("holds the model only", where=self.path, fix=f"resume from {LAST}")
        state: dict[int, dict[str, torch.Tensor]] = {}
        try:
            for name, tensor in self.part(STATE).items():
                number, key = name.split(".", 1)
                state.setdefault(int(number), {})[key] = tensor
            optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
            torch.set_rng_state(random["cpu"])
            if torch.cuda.is_available() and "cuda" in random:
                torch.cuda.set_rng_state(random["cuda"])
        except (ValueError, LookupError, TypeError, RuntimeError) as error:
            raise _damaged(self.path, error) from error


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

    tensors = {MODEL + name: t.detach().cpu().contiguous() for name, t in model.state_dict().items()}
    header: dict[str, Any] = {
        "schema": SCHEMA,
        "config": config.to_dict(),
        "vocabulary": list(vocabulary.words),
        "width": width,
        "kind": kind,
        "progress": vars(progress),
    }
    if optimiser is not None:
        for number, values in optimiser.state_dict()["state"].items():
            tensors |= {f"{STATE}{number}.{key}": torch.as_tensor(v).detach().cpu() for key, v in values.items()}
        tensors[RANDOM + "cpu"] = torch.get_rng_state()
        if torch.cuda.is_available():
            tensors[RANDOM + "cuda"] = torch.cuda.get_rng_state()
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
    from safetensors import safe_open

    file = path / BEST if path.is_dir() else path
    if not file.is_file():
        what = f"no {BEST} in this folder" if path.is_dir() else "no such checkpoint"
        raise BadInput(what, where=path, fix="give a file or folder that vsebench train-reference wrote")
    try:
        with safe_open(file, framework="pt") as stream:
            header = json.loads((stream.metadata() or {}).get("vsebench", ""))
            if header["schema"] != SCHEMA:
                raise ValueError(f"its schema is {header['schema']!r:.60}, not '{SCHEMA}'")
            tensors = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118 (it is no dictionary)
        return Checkpoint(
            file, from_dict(header["config"]), Vocabulary(tuple(header["vocabulary"])), header["width"],
            header["kind"], Progress(**header["progress"]), tensors,
        )  # fmt: skip
    except Exception as error:  # of safetensors, of JSON, and of a header that is not what was written
        raise _damaged(file, error) from error


def _damaged(file: Path, error: Exception) -> BadInput:
    what = error.what if isinstance(error, VsebenchError) else first_line(error)
    return BadInput(f"the checkpoint is damaged, or of another program: {what}", where=file, fix=FIX)
