"""Several processes (``torchrun``): each encodes a part of a batch, and all see all embeddings.

Every process draws the same batches. It encodes its share, gathers the embeddings of the others, and computes the loss
of the complete batch, so that negatives are those of the complete batch; gradients of its share are then added up over
the processes. The result is that of one process, but for the order of additions; and but for layers that depend on
other images of the share or on random numbers, which are the batch normalisation of ResNet and the dropout of VGG.
The first process evaluates and writes the files.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

import torch
from torch import distributed

from vsebench.errors import UsageError, VsebenchError, count_of

Made = TypeVar("Made")


def start() -> None:
    """Join the processes that ``torchrun`` has started; does nothing outside of it."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1 and not distributed.is_initialized():
        cuda = torch.cuda.is_available()
        if cuda:
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
        # The others wait while the first one computes features or relevance, which may take hours.
        distributed.init_process_group("cpu:gloo,cuda:nccl" if cuda else "gloo", timeout=timedelta(days=7))


def stop() -> None:
    """Leave the processes."""
    if count() > 1:
        distributed.destroy_process_group()


def count() -> int:
    """The number of processes."""
    return int(distributed.get_world_size()) if distributed.is_available() and distributed.is_initialized() else 1


def rank() -> int:
    """The number of this process, from 0."""
    return int(distributed.get_rank()) if count() > 1 else 0


def is_first() -> bool:
    """Whether this process writes files and messages."""
    return rank() == 0


def of_first(make: Callable[[], Made]) -> Made:
    """What the first process makes, in all of them, which then decide alike.

    The others wait for it: files that the first one wrote before are complete then.

    Raises:
        VsebenchError: what the first one raises, in all of them.
    """
    if count() == 1:
        return make()
    found: list[Any] = [None]
    if is_first():
        try:
            found = [make()]
        except VsebenchError as error:
            found = [error]
    distributed.broadcast_object_list(found, 0, device=torch.device("cpu"))
    if isinstance(found[0], VsebenchError):
        raise found[0]
    made: Made = found[0]
    return made


def first_before_others(make: Callable[[], Made]) -> Made:
    """What every process makes, the first one before the others, which find the files that it has built.

    Raises:
        VsebenchError: what the first one raises, in all of them.
    """
    own: list[Made] = []
    of_first(lambda: own.append(make()))
    return own[0] if own else make()


def check(batch: int, least: int, device: torch.device, alone: bool = False) -> None:
    """Refuse what the processes cannot share.

    Args:
        batch: pairs in a batch, or images.
        least: how many one may have.
        device: of every process.
        alone: whether a batch has images alone, as many anchors as candidates in every process.

    Raises:
        UsageError: fewer GPUs than processes (NCCL has one a GPU), or batches that cannot be divided among them.
    """
    here, gpus = int(os.environ.get("LOCAL_WORLD_SIZE", "1")), torch.cuda.device_count()
    unit = count() * (2 if alone else 1)
    if device.type == "cuda" and here > gpus:
        what = f"{here} processes for {count_of(gpus, 'GPU')}"
        raise UsageError(what, fix="start one process a GPU (torchrun --nproc-per-node gpu), or add --device cpu")
    if batch % unit:
        what = f"train.batch is {batch}, for {count_of(count(), 'process', 'processes')}"
        what += ", each with as many anchors as candidates" * alone
        raise UsageError(what, fix=f"give a multiple of {unit}")
    if least < unit:
        items = count_of(least, "image" if alone else "pair")
        what = f"a batch may have no more than {items}, for {count_of(count(), 'process', 'processes')}"
        more = "images" if alone else "training captions"
        raise UsageError(what, fix=f"start fewer processes, lower loss.neighbours, or give more {more}")


def slice_of(batch: dict[str, Any]) -> dict[str, Any]:
    """The share of a batch that this process encodes; everything, without other processes."""
    share = len(batch["items"]) // count()
    mine = slice(rank() * share, (rank() + 1) * share)
    return {k: v[mine] if k in ("images", "mask", "words", "lengths") else v for k, v in batch.items()}


def gathered(share: torch.Tensor) -> torch.Tensor:
    """The embeddings of all processes, in their order; only the share of this one has a gradient."""
    if count() == 1:
        return share
    parts = [torch.empty_like(share) for _ in range(count())]
    distributed.all_gather(parts, share.detach().contiguous())
    parts[rank()] = share
    return torch.cat(parts)


def add_gradients(model: torch.nn.Module) -> None:
    """Add the gradients of all processes; does nothing without other processes.

    Hyper-parameters of the loss (``learned``) have their complete gradient in every process.
    """
    for name, parameter in model.named_parameters():
        if count() > 1 and parameter.grad is not None and not name.startswith("learned."):
            distributed.all_reduce(parameter.grad)
