"""Checkpoints: one safetensors file with the weights, and everything else as JSON in its header.

``best.safetensors`` holds the model; ``last.safetensors`` the state of the optimiser and of the random numbers too, so
that a resumed run gives the same bits as one that was never interrupted. A file appears complete or not at all.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from vsebench.errors import BadInput, MissingPackage, UsageError, VsebenchError, first_line
from vsebench.files.atomic import write_atomically
from vsebench.files.regular import LAST
from vsebench.options import spell

from .config import Config, from_dict
from .data import Vocabulary
from .own_file import file_of

SCHEMA = "vsebench/checkpoint/4"
BEST = "best.safetensors"
MODEL, STATE, RANDOM = "model.", "optimiser.", "random."
FIX = "give a checkpoint that this version of vsebench wrote; last.safetensors may be complete"
FREE = ("train.epochs", "train.device", "train.threads", "train.deterministic")  # what a resumed run may change
Log = list[dict[str, Any]]
Tensors = dict[str, torch.Tensor]


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """What is written.

    Attributes:
        config: the complete configuration of the run.
        vocabulary: of the caption encoder.
        width: of the input of the image encoder.
        kind: of the images: ``vectors``, ``regions`` or ``pixels``.
        data: what the data are known by, see ``data.identity``.
        log: a dictionary an epoch.
        tensors: everything else, by name, see ``tensors_of``.
        path: the file that was read.
    """

    config: Config
    vocabulary: Vocabulary
    width: int
    kind: str
    data: str
    log: Log
    tensors: Tensors
    path: Path | None = None

    def part(self, prefix: str) -> Tensors:
        """The tensors whose names begin with ``MODEL``, ``STATE`` or ``RANDOM``, without it."""
        return {k.removeprefix(prefix): v for k, v in self.tensors.items() if k.startswith(prefix)}

    @property
    def weights(self) -> Tensors:
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

    def restore(self, optimiser: torch.optim.Optimizer) -> None:
        """Put the optimiser and the random numbers into this state; learning rates are those of the epoch.

        Raises:
            BadInput: the file has no such state, or that of another model.
        """
        random = self.part(RANDOM)
        if "cpu" not in random:
            raise BadInput("holds the model only", where=self.path, fix=f"resume from {LAST}")
        state: dict[int, Tensors] = {}
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


def tensors_of(model: nn.Module, optimiser: torch.optim.Optimizer | None = None) -> Tensors:
    """The state of a model; with ``optimiser`` also what a run is resumed from: its state and the random numbers."""
    found = {MODEL + name: t for name, t in model.state_dict().items()}
    if optimiser is not None:
        for number, values in optimiser.state_dict()["state"].items():
            found |= {f"{STATE}{number}.{key}": torch.as_tensor(value) for key, value in values.items()}
        found[RANDOM + "cpu"] = torch.get_rng_state()
        if torch.cuda.is_available():
            found[RANDOM + "cuda"] = torch.cuda.get_rng_state()
    return {name: tensor.detach().cpu().contiguous() for name, tensor in found.items()}


def check_same(stored: Config, config: Config, where: Path, free: tuple[str, ...] = ()) -> None:
    """Refuse the folder of a run of other settings, but for some; raises UsageError, which names one of them."""
    now = config.flat()
    for name, value in stored.flat().items():
        if now[name] != value and name not in free:
            what = f"was trained with {name} = {value!r}, not {now[name]!r}"
            if name.endswith(".fingerprint"):  # the names of the files are equal
                named = [config.loss.name] if name.startswith("loss.") else [config.model.image, config.model.text]
                shas = zip(filter(None, map(file_of, named)), value.split(), now[name].split(), strict=False)
                what = f"{next((file for file, old, new in shas if old != new), name)} was changed since"
            fix = f"use the same configuration, choose another {spell('out')}, or delete this folder"
            raise UsageError(what, where=where, fix=fix)


def save(checkpoint: Checkpoint, path: Path) -> None:
    """Write a checkpoint.

    Raises:
        DiskError: the disk is full, or may not be written; an older file is left as it was.
    """
    from safetensors.torch import save as to_bytes

    header = {
        "schema": SCHEMA,
        "config": checkpoint.config.to_dict(),
        "vocabulary": list(checkpoint.vocabulary.words),
        "width": checkpoint.width,
        "kind": checkpoint.kind,
        "data": checkpoint.data,
        "log": checkpoint.log,
    }
    with write_atomically(path, parents=True) as stream:
        stream.write(to_bytes(checkpoint.tensors, {"vsebench": json.dumps(header)}))


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
        config, vocabulary = from_dict(header["config"]), Vocabulary(tuple(header["vocabulary"]))
        log = [dict(line) for line in header["log"]]
        return Checkpoint(config, vocabulary, header["width"], header["kind"], header["data"], log, tensors, file)
    except Exception as error:  # of safetensors, of JSON, and of a header that is not what was written
        raise _damaged(file, error) from error


def _damaged(file: Path | None, error: Exception) -> BadInput:
    what = error.what if isinstance(error, VsebenchError) else first_line(error)
    return BadInput(f"the checkpoint is damaged, or of another program: {what}", where=file, fix=FIX)
