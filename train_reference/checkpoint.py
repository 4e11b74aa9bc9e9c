"""Checkpoints: one safetensors file with the weights, and everything else as JSON in its header.

``best.safetensors`` holds the model; ``last.safetensors`` the state of the optimiser and of the random numbers too, so
that a resumed run gives the same bits as one that was never interrupted. A file appears complete or not at all.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from vsebench.data.atomic import write_atomically
from vsebench.data.run_folder import LAST
from vsebench.errors import BadInput, MissingPackage, UsageError, first_line

from . import contents
from .config import Config
from .contents import Progress
from .text import Vocabulary

SCHEMA = "vsebench/checkpoint/2"
BEST = "best.safetensors"


@dataclass(frozen=True, eq=False)
class Checkpoint(contents.Header):
    """A file that was read: its header, and

    Attributes:
        path: the file.
        tensors: everything in the file, by name.
    """

    path: Path
    tensors: dict[str, torch.Tensor]

    @property
    def weights(self) -> dict[str, torch.Tensor]:
        """The state of the model, for ``load_state_dict``."""
        return {k.removeprefix(contents.MODEL): v for k, v in self.tensors.items() if k.startswith(contents.MODEL)}


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

    tensors = {contents.MODEL + name: t.detach().cpu().contiguous() for name, t in model.state_dict().items()}
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
            tensors |= {
                f"{contents.STATE}{number}.{key}": torch.as_tensor(v).detach().cpu() for key, v in values.items()
            }
        tensors[contents.RANDOM + "cpu"] = torch.get_rng_state()
        if torch.cuda.is_available():
            tensors[contents.RANDOM + "cuda"] = torch.cuda.get_rng_state()
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

    Names, shapes and dtypes of all tensors are compared with those of the configuration before any of them is read.

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
            header = contents.header(metadata.get("vsebench", ""), SCHEMA)
            slices = {name: stream.get_slice(name) for name in stream.keys()}  # noqa: SIM118 (it is no dictionary)
            found = {name: (one.get_dtype(), tuple(one.get_shape())) for name, one in slices.items()}
            contents.check_tensors(found, header)
            tensors = {name: stream.get_tensor(name) for name in found}
        contents.check_values(tensors)
        if metadata.get("sha256") != _digest(metadata["vsebench"], tensors):
            raise ValueError("its settings, vocabulary or weights are not those that were written (sha256)")
    except (SafetensorError, OSError, ValueError) as error:
        what = error.what if isinstance(error, UsageError) else first_line(error)
        fix = "give a checkpoint that this version of vsebench wrote; last.safetensors may be complete"
        raise BadInput(f"the checkpoint is damaged, or of another program: {what}", where=file, fix=fix) from error
    return Checkpoint(**vars(header), path=file, tensors=tensors)


def restore(found: Checkpoint, optimiser: torch.optim.Optimizer) -> None:
    """Put the optimiser and the random numbers into the state of a checkpoint; learning rates are those of the epoch.

    Raises:
        BadInput: the file has no such state.
    """
    if contents.RANDOM + "cpu" not in found.tensors:
        raise BadInput("holds the model only", where=found.path, fix=f"resume from {LAST}")
    state: dict[int, dict[str, torch.Tensor]] = {}
    for name, tensor in found.tensors.items():
        if name.startswith(contents.STATE):
            number, key = name.removeprefix(contents.STATE).split(".", 1)
            state.setdefault(int(number), {})[key] = tensor
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
    torch.set_rng_state(found.tensors[contents.RANDOM + "cpu"])
    if torch.cuda.is_available() and contents.RANDOM + "cuda" in found.tensors:
        torch.cuda.set_rng_state(found.tensors[contents.RANDOM + "cuda"])


def _digest(text: str, tensors: Mapping[str, torch.Tensor]) -> str:
    """The sha256 of everything in a checkpoint."""
    found = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        tensor = tensors[name].contiguous()
        found.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        found.update(tensor.flatten().view(torch.uint8).numpy())
    return found.hexdigest()
