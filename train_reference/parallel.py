"""Several processes (``torchrun``): each encodes its share of a batch, and computes the loss of the complete batch.

The gradients of the shares are added up. Only dropout and batch statistics see the share instead of the batch.
"""

import atexit
import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch
from torch import distributed

from vsebench.errors import UsageError, VsebenchError


def start() -> None:
    """Join the processes that ``torchrun`` has started; does nothing outside of it."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1 and not distributed.is_initialized():
        if cuda := torch.cuda.is_available():
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
        distributed.init_process_group("cpu:gloo,cuda:nccl" if cuda else "gloo", timeout=timedelta(days=7))
        atexit.register(distributed.destroy_process_group)


def count() -> int:
    """The number of processes."""
    return int(distributed.get_world_size()) if distributed.is_initialized() else 1


def rank() -> int:
    """The number of this process, from 0; the first one writes."""
    return int(distributed.get_rank()) if distributed.is_initialized() else 0


def of_first(make: Callable[[], Any]) -> Any:
    """What the first process makes, in all of them; the others wait. Its VsebenchError is raised in all of them."""
    if count() == 1:
        return make()
    try:
        found: list[Any] = [make() if rank() == 0 else None]
    except VsebenchError as error:
        found = [error]
    distributed.broadcast_object_list(found, 0, device=torch.device("cpu"))
    if isinstance(found[0], VsebenchError):
        raise found[0]
    return found[0]


def gathered(share: torch.Tensor) -> torch.Tensor:
    """The embeddings of all processes, in their order; only the share of this one has a gradient."""
    if count() == 1:
        return share
    parts = [torch.empty_like(share) for _ in range(count())]
    distributed.all_gather(parts, share.detach().contiguous())
    parts[rank()] = share
    return torch.cat(parts)


def add_gradients(parameters: list[torch.nn.Parameter]) -> None:
    """Add the gradients of all processes; a parameter that only some of them used has gradient 0 in the others."""
    if count() == 1:
        return
    used = torch.tensor([p.grad is not None for p in parameters], dtype=torch.int32, device=parameters[0].device)
    distributed.all_reduce(used)
    for parameter, times in zip(parameters, used.tolist(), strict=True):
        if times:
            parameter.grad = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
            distributed.all_reduce(parameter.grad)


def check(batch: int, least: int, unit: int) -> None:
    """Refuse batches of a number of items that is no multiple of ``unit``, or below it."""
    if batch % unit or least < unit:
        what = f"batches of {batch} items (some have {least}) cannot be split evenly over {count()} processes"
        raise UsageError(what, fix=f"set train.batch to a multiple of {unit}, and loss.neighbours below it")
