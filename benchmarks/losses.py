"""Tasks of training steps with every loss, as multiples of those with MH, and naive forms; torch has one thread."""

from __future__ import annotations

import itertools
from functools import cache, partial
from typing import Any

from train_reference.losses import get_loss, loss_names

from .inputs import Inputs
from .peers.loss_loops import FORMS
from .task import Floor, Outcome, Peer, Task, Work

DIM = 1024
SIZES = (128, 512)
QUICK = (24, 32)  # batch and dimension
GOALS = {"ladder": "<= 1.2 CPU MH", "kendall_sw_hs": "<= 1.5 CPU MH", "log_ratio": "<= 1.2 CPU MH"}
COMPLETE = {"sam": "cider", "ladder": "match", "kendall_sw_hs": "match", "log_ratio": "match"}
PAIRS = 1280  # of the complete steps that are timed together


@cache
def batch(b: int, dim: int, double: bool) -> tuple[Any, Any, Any, Any]:
    """Vectors (b, dim) of images and of captions, positives and degrees (b, b): 2-5 % of the degrees are tied."""
    import torch

    torch.set_num_threads(1)
    rng, dtype = torch.Generator().manual_seed(0), torch.float64 if double else torch.float32
    images = torch.randn(b, dim, generator=rng, dtype=dtype)
    captions = images + 12 * torch.randn(b, dim, generator=rng, dtype=dtype)
    points = torch.nn.functional.normalize(torch.randn(b, 16, generator=rng, dtype=dtype), dim=1)
    degree = ((points @ points.T).clamp(-1, 1) * 1000).round() / 1000
    degree.fill_diagonal_(1.0)
    return images.requires_grad_(), captions.requires_grad_(), torch.eye(b, dtype=torch.bool), degree


def step(given: Inputs, loss: str, b: int, form: str | None = None) -> Work:
    """The value and the gradients of both vectors: normalise, product, loss (or a naive form of it), and back."""
    import torch
    from torch.nn.functional import normalize

    images, captions, positive, degree = batch(*(QUICK if given.quick else (b, DIM)), given.quick)
    entry, naive = get_loss(loss), FORMS[form][0] if form else None

    def value(scores: Any) -> Any:
        if naive is not None:
            return naive(scores, degree)
        return entry.function(scores, positive, **({"degree": degree} if entry.needs_degree else {}))

    def work() -> Outcome:
        found = value(normalize(images, dim=1) @ normalize(captions, dim=1).T)
        gradients = torch.autograd.grad(found, (images, captions))
        if not given.quick:
            return Outcome()  # sums of float32
        values = found, *(g.ravel() for g in gradients)
        return Outcome(dict(zip(("value", "images", "captions"), (v.detach().numpy() for v in values), strict=True)))

    return work


def complete(given: Inputs, loss: str, relevance: str, b: int) -> Work:
    """Steps of the trainer: batches from the loader and its thread, encoders, loss, Adam."""
    from train_reference import train

    run, count = _prepared(given, loss, relevance, b)
    batches = itertools.chain.from_iterable(map(run.loader, itertools.count()))

    def work() -> None:
        for one in itertools.islice(batches, count):
            train.step(run, one, 0)

    return work


def making(given: Inputs, loss: str, relevance: str, b: int) -> Work:
    """Making the batches of the same steps, as in the thread of the loader."""
    run, count = _prepared(given, loss, relevance, b)
    rows = list(itertools.islice(run.loader.order(0), count))
    return lambda: [run.loader.make(captions) for captions in rows]


def _prepared(given: Inputs, loss: str, relevance: str, b: int) -> tuple[Any, int]:
    from train_reference import config, train
    from train_reference.data import no_bar

    scenes, b = ("scenes-tiny", QUICK[0]) if given.quick else ("scenes-10k", b)
    wanted = {"name": loss, "relevance": relevance, "own_degree": "one"}
    options = {"data": {"name": scenes}, "loss": wanted, "train": {"threads": 1, "batch": b}}
    return train.prepare(config.from_dict(options), no_bar), 2 if given.quick else max(2, PAIRS // b)


def _of_size(b: int) -> list[Task]:
    """The tasks of one size of the batch."""
    floor, whole = (Floor("MH", partial(f, b=b, **more)) for f, more in (
        (partial(step, loss="mh"), {}), (partial(complete, loss="mh"), {"relevance": "cider"})))  # fmt: skip
    largest = ["<= 200 MiB"] if b == max(SIZES) else []
    out = [Task("mh", "", partial(step, loss="mh", b=b), floor)]
    for name in loss_names():
        if name != "mh":
            goal = ", ".join([*([GOALS[name]] if name in GOALS else []), *largest])
            out.append(Task(name, "", partial(step, loss=name, b=b), floor, goal))
    for name, degrees in COMPLETE.items():
        of = {"loss": name, "relevance": degrees, "b": b}
        out.append(Task(f"{name}: complete", f"degrees of {degrees}", partial(complete, **of), whole, "<= 1.3 CPU MH"))
        out.append(Task(f"{name}: batches", "made in the thread of the loader", partial(making, **of), whole))
    if b != max(SIZES):
        for form, (_, words) in FORMS.items():
            name = form.split()[0]
            peer = Peer(f"losses/{name}, {b}", 1e-9)
            out.append(Task(f"naive {form}", words, partial(step, loss=name, b=b, form=form), floor, peer=peer))
    return [Task(**{**vars(task), "name": f"{task.name}, {b}"}) for task in out]


TASKS = tuple(task for b in SIZES for task in _of_size(b))
