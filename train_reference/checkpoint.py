"""Checkpoints: one safetensors file with the weights, and everything else as JSON in its header.

``last.safetensors`` has the state of the optimiser and of the random numbers too, so that a resumed run gives the same
bits as one that was never interrupted. A file appears complete or not at all.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save as to_bytes

from vsebench.errors import BadInput, UsageError, VsebenchError, first_line
from vsebench.files import write

from .config import Config, from_dict

SCHEMA, BEST, LAST = "vsebench/checkpoint/5", "best.safetensors", "last.safetensors"
MODEL, STATE, RANDOM = "model.", "optimiser.", "random."
FREE = ("train.epochs", "train.device", "train.threads", "train.deterministic")  # what a resumed run may change
FIX = "give a checkpoint that this version of vsebench wrote; last.safetensors may be complete"
Log = list[dict[str, Any]]


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """What is written, and what was read."""

    config: Config
    vocabulary: tuple[str, ...]
    width: int  # of the input of the image encoder
    kind: str  # of the images
    data: str  # see ``data.identity``
    log: Log  # a dictionary an epoch
    tensors: dict[str, torch.Tensor]  # of a file that was read
    path: Path | None = None

    def part(self, prefix: str) -> dict[str, torch.Tensor]:
        """The tensors whose names begin with ``MODEL``, ``STATE`` or ``RANDOM``, without it."""
        return {k.removeprefix(prefix): v for k, v in self.tensors.items() if k.startswith(prefix)}

    def load_into(self, model: torch.nn.Module, optimiser: torch.optim.Optimizer | None = None) -> None:
        """Give a model these weights, and with ``optimiser`` it and the random numbers their state; raises BadInput."""
        try:
            model.load_state_dict(self.part(MODEL))
            if optimiser is not None:
                state: dict[int, dict[str, torch.Tensor]] = {}
                for name, tensor in self.part(STATE).items():
                    number, key = name.split(".", 1)
                    state.setdefault(int(number), {})[key] = tensor
                optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
                torch.set_rng_state(self.part(RANDOM)["cpu"])
                if torch.cuda.is_available() and RANDOM + "cuda" in self.tensors:
                    torch.cuda.set_rng_state(self.part(RANDOM)["cuda"])
        except (RuntimeError, ValueError, LookupError, TypeError) as error:
            said = " ".join(str(error).split())[:200]
            raise BadInput(
                f"holds another model, or no state to resume from: {said}", where=self.path, fix=FIX
            ) from error


def save(found: Checkpoint, path: Path, model: torch.nn.Module, optimiser: torch.optim.Optimizer | None = None) -> None:
    """Write a checkpoint, with ``optimiser`` one to resume from; raises DiskError, and then an older file stays."""
    tensors = {MODEL + name: tensor for name, tensor in model.state_dict().items()}
    if optimiser is not None:
        for number, values in optimiser.state_dict()["state"].items():
            tensors |= {f"{STATE}{number}.{key}": torch.as_tensor(value) for key, value in values.items()}
        tensors[RANDOM + "cpu"] = torch.get_rng_state()
        if torch.cuda.is_available():
            tensors[RANDOM + "cuda"] = torch.cuda.get_rng_state()
    header = {name: getattr(found, name) for name in ("vocabulary", "width", "kind", "data", "log")}
    text = json.dumps({"schema": SCHEMA, "config": found.config.to_dict(), **header})
    with write(path, parents=True) as stream:
        stream.write(to_bytes({k: v.detach().cpu().contiguous() for k, v in tensors.items()}, {"vsebench": text}))


def read(path: Path) -> Checkpoint:
    """Read a checkpoint from its file, or from the folder of a run (its best epoch); raises BadInput."""
    file = path / BEST if path.is_dir() else path
    if not file.is_file():
        what = f"no {BEST} in this folder" if path.is_dir() else "no such checkpoint"
        raise BadInput(what, where=path, fix="give a file or folder that vsebench train-reference wrote")
    try:
        with safe_open(file, framework="pt") as stream:
            header = json.loads((stream.metadata() or {}).get("vsebench", ""))
            if header.pop("schema") != SCHEMA:
                raise ValueError(f"its schema is not '{SCHEMA}'")
            tensors = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118 (it is no dictionary)
        header |= {"config": from_dict(header["config"]), "vocabulary": tuple(header["vocabulary"])}
        header["log"] = [dict(line) for line in header["log"]]
        return Checkpoint(**header, tensors=tensors, path=file)
    except Exception as error:  # of safetensors, of JSON, and of a header that is not what was written
        said = error.what if isinstance(error, VsebenchError) else first_line(error)
        raise BadInput(
            f"the checkpoint is damaged, or was not written by vsebench: {said}", where=file, fix=FIX
        ) from error


def check_same(stored: Config, config: Config, where: Path, free: tuple[str, ...] = ()) -> None:
    """Refuse the folder of a run of other settings, but for some; raises UsageError, which names one of them."""
    now = config.flat()
    for name, value in stored.flat().items():
        if now[name] != value and name not in free:
            what = f"was trained with {name} = {value!r}, not {now[name]!r}"
            if name.endswith(".fingerprint"):
                what = f"the file of its {name.partition('.')[0]} was changed since"
            fix = "use the same configuration, choose another folder (--out), or delete this one"
            raise UsageError(what, where=where, fix=fix)
