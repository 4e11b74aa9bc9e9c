"""Checkpoints: one safetensors file with the weights, and everything else as JSON in its header.

``best.safetensors`` holds the model; ``last.safetensors`` the state of the optimiser and of the random numbers too, so
that a resumed run gives the same bits as one that was never interrupted. A file appears complete or not at all.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from vsebench.errors import BadInput, MissingPackage, UsageError, first_line
from vsebench.files.atomic import write_atomically
from vsebench.files.run_folder import LAST

from .config import Config, from_dict
from .text import Vocabulary

SCHEMA = "vsebench/checkpoint/2"
BEST = "best.safetensors"
MODEL, STATE, RANDOM = "model.", "optimiser.", "random."
OF_CONTENT = (OSError, ValueError, LookupError, AttributeError, TypeError, RecursionError)
FIX = "give a checkpoint that this version of vsebench wrote; last.safetensors may be complete"


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

    @property
    def weights(self) -> dict[str, torch.Tensor]:
        """The state of the model."""
        return {k.removeprefix(MODEL): v for k, v in self.tensors.items() if k.startswith(MODEL)}

    def load_into(self, model: nn.Module) -> None:
        """Give a model the weights of the file; raises BadInput where they are those of another one."""
        try:
            model.load_state_dict(self.weights)
        except RuntimeError as error:
            what = " ".join(str(error).partition("\n")[2].split())[:200]
            raise BadInput(
                f"its weights are not those of its configuration: {what}", where=self.path, fix=FIX
            ) from error


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
    text = json.dumps(header)
    with write_atomically(path, parents=True) as stream:
        stream.write(to_bytes(tensors, {"vsebench": text, "sha256": _digest(text, tensors)}))


def require() -> None:
    """Check that checkpoints can be written and read. Raises MissingPackage when safetensors is not installed."""
    try:
        import safetensors  # noqa: F401
    except ImportError as error:
        raise MissingPackage("checkpoints need safetensors", fix="pip install 'vsebench[train]'") from error


def read(path: Path) -> Checkpoint:
    """Read a checkpoint, from its file or from the folder of a run (its best epoch).

    Raises:
        BadInput: there is none, or it is damaged, changed or of another version.
        MissingPackage: safetensors is not installed, or torchvision where the model needs it.
    """
    require()
    from safetensors import SafetensorError, safe_open

    file = path / BEST if path.is_dir() else path
    if not file.is_file():
        what = f"no {BEST} in this folder" if path.is_dir() else "no such checkpoint"
        raise BadInput(what, where=path, fix="give a file or folder that vsebench train-reference wrote")
    try:
        with safe_open(file, framework="pt") as stream:
            metadata = stream.metadata() or {}
            header = json.loads(metadata.get("vsebench", ""))
            if header["schema"] != SCHEMA:
                raise ValueError(f"its schema is {header['schema']!r:.60}, not '{SCHEMA}'")
            tensors = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118 (it is no dictionary)
        if metadata.get("sha256") != _digest(metadata["vsebench"], tensors):
            raise ValueError("its settings, vocabulary or weights are not those that were written (sha256)")
        return Checkpoint(
            file, from_dict(header["config"]), Vocabulary(tuple(header["vocabulary"])), header["width"],
            header["kind"], Progress(**header["progress"]), tensors,
        )  # fmt: skip
    except (SafetensorError, UsageError, *OF_CONTENT) as error:
        raise _damaged(file, error) from error


def _damaged(file: Path, error: Exception) -> BadInput:
    what = error.what if isinstance(error, UsageError) else first_line(error)
    return BadInput(f"the checkpoint is damaged, or of another program: {what}", where=file, fix=FIX)


def restore(found: Checkpoint, optimiser: torch.optim.Optimizer) -> None:
    """Put the optimiser and the random numbers into the state of a checkpoint; learning rates are those of the epoch.

    Raises:
        BadInput: the file has no such state, or that of another model.
    """
    if RANDOM + "cpu" not in found.tensors:
        raise BadInput("holds the model only", where=found.path, fix=f"resume from {LAST}")
    state: dict[int, dict[str, torch.Tensor]] = {}
    try:
        for name, tensor in found.tensors.items():
            if name.startswith(STATE):
                number, key = name.removeprefix(STATE).split(".", 1)
                state.setdefault(int(number), {})[key] = tensor
        optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
        torch.set_rng_state(found.tensors[RANDOM + "cpu"])
        if torch.cuda.is_available() and RANDOM + "cuda" in found.tensors:
            torch.cuda.set_rng_state(found.tensors[RANDOM + "cuda"])
    except (ValueError, LookupError, TypeError, RuntimeError) as error:
        raise _damaged(found.path, error) from error


def _digest(text: str, tensors: Mapping[str, torch.Tensor]) -> str:
    """The sha256 of everything in a checkpoint."""
    found = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        tensor = tensors[name].contiguous()
        found.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        found.update(tensor.flatten().view(torch.uint8).numpy())
    return found.hexdigest()
